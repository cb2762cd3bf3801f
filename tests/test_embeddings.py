"""embed: one vector a text, of any network, whatever stands beside it; files of any size; nearest texts; words for GloVe."""

import json

import numpy as np
import pytest
import torch

import wenmai
from wenmai import Classifier, LanguageModel, Mistake, Regressor, Tagger, Translator
from wenmai.data.text import vectors as word_files
from wenmai.embeddings import Embedder, Nearest

TEXTS = [
    "the cat sat on the mat",
    "a dog",
    "the dog ran",
    "cats and dogs",
    "mat",
    "the long road ran on and on and on",
]
LABELS = ["cat", "dog", "dog", "cat", "cat", "dog"]
RUNGS = {
    "mlp": {"hidden": 8, "layers": 2, "window": 3},
    "cnn": {"filters": 4, "layers": 2},
    "rnn": {"hidden": 8},
    "lstm": {"hidden": 8, "layers": 2, "bidirectional": True},
    "attention": {"hidden": 8, "layers": 2},
    "transformer": {"width": 8, "heads": 2, "layers": 2},
    "gpt": {"width": 8, "heads": 2, "layers": 2},
    "bert": {"width": 8, "heads": 2, "layers": 2},
}


def fitted(rung: str, **options):
    return Classifier(rung, steps=3, validation=0.0, dropout=0.0, **options).fit(
        TEXTS * 4, LABELS * 4
    )


@pytest.fixture(scope="module")
def models():
    return {rung: fitted(rung, **options) for rung, options in RUNGS.items()}


@pytest.mark.parametrize("rung", RUNGS)
def test_a_vector_is_the_texts_own(rung, models):
    """Of a text alone as among others; the mean of what the body says at its real places."""
    model = models[rung]
    together = model.embed(TEXTS)
    assert together.shape == (len(TEXTS), model.model_.body.width) and together.dtype == np.float32
    for row, text in enumerate(TEXTS):
        assert np.allclose(model.embed([text])[0], together[row], atol=1e-5)
        batch = model.examples([text]).batch(np.arange(1))
        with torch.no_grad():
            y, _, _ = model.model_.body(*model.model_.input(batch))
        assert np.allclose(y[0].mean(0).numpy(), together[row], atol=1e-5)
    unit = model.embed(TEXTS, normalize=True)
    assert np.allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-5) and np.allclose(
        unit * np.linalg.norm(together, axis=1, keepdims=True), together, atol=1e-5
    )


@pytest.mark.parametrize("rung", RUNGS)
def test_every_layer_and_pooling(rung, models):
    model, depth = models[rung], RUNGS[rung].get("layers", 1)
    layers = [model.embed(TEXTS, layer=layer) for layer in range(depth + 1)]
    assert np.allclose(layers[-1], model.embed(TEXTS), atol=1e-6)
    assert all(
        layer.shape != layers[-1].shape or not np.allclose(layer, layers[-1], atol=1e-3)
        for layer in layers[:-1]
    )
    with pytest.raises(Mistake, match=f"to {depth}, the last layer"):
        model.embed(TEXTS, layer=depth + 1)
    batch = model.examples(TEXTS[:1]).batch(np.arange(1))
    with torch.no_grad():
        y = model.model_.body(*model.model_.input(batch))[0][0].numpy()
    for pooling, expected in {"cls": y[0], "last": y[-1], "max": y.max(0)}.items():
        assert np.allclose(model.embed(TEXTS[:1], pooling=pooling)[0], expected, atol=1e-5)
    with pytest.raises(Mistake, match="pooling"):
        model.embed(TEXTS, pooling="median")


def test_layers_of_a_transformer_are_what_its_blocks_say(models):
    model = models["bert"]
    batch = model.examples(TEXTS[:1]).batch(np.arange(1))
    with torch.no_grad():
        y = model.model_.body.blocks[0](model.model_.input(batch)[0], None)[
            0
        ]  # (T, H), by the formulas
    assert np.allclose(model.embed(TEXTS[:1], layer=1)[0], y.mean(0).numpy(), atol=1e-5)
    assert not np.allclose(model.embed(TEXTS[:1])[0], y.mean(0).numpy(), atol=1e-3)


@pytest.mark.parametrize("name", ["generate", "generate-lstm", "tag", "regress", "translate"])
def test_networks_of_every_task(name):
    sizes = {"steps": 2, "dropout": 0.0}
    if name == "generate":
        model = LanguageModel("gpt", width=8, heads=2, layers=1, context=6, **sizes).fit(TEXTS * 5)
    elif name == "generate-lstm":
        model = LanguageModel("lstm", hidden=8, layers=1, **sizes).fit(TEXTS * 5)
    elif name == "tag":
        model = Tagger("lstm", hidden=8, **sizes).fit(
            [text.split() for text in TEXTS] * 4,
            (
                [["x"] * len(text.split()) for text in TEXTS[:3]]
                + [["y"] * len(text.split()) for text in TEXTS[3:]]
            )
            * 4,
        )
    elif name == "regress":
        model = Regressor("cnn", filters=4, **sizes).fit(TEXTS * 4, np.arange(24.0))
    else:
        model = Translator("transformer", width=8, heads=2, layers=1, feed_forward=8, steps=2).fit(
            TEXTS * 4, TEXTS * 4
        )
    with pytest.warns(UserWarning, match="longer than the 6") if name == "generate" else nothing():
        vectors = model.embed(TEXTS)
    assert np.isfinite(vectors).all() and len(np.unique(vectors.round(5), axis=0)) == len(TEXTS)
    assert np.allclose(model.embed(TEXTS[1:2]), vectors[1:2], atol=1e-5)
    words, table = model.word_vectors()
    assert len(words) == len(table) and "dog" in [word.strip("Ġ▁ ") for word in words]


def test_pairs_and_tags_of_bert():
    """Of two texts that are read together one vector; of words that are read in pieces, all of their pieces."""
    sizes = {"width": 8, "heads": 2, "layers": 1, "steps": 1, "validation": 0.0, "dropout": 0.0}
    pairs = Classifier("bert", **sizes).fit([(text, "a dog") for text in TEXTS] * 4, LABELS * 4)
    assert pairs.embed([("a dog", "the cat")]).shape == (1, 8) and not np.allclose(
        pairs.embed([("a dog", "the cat")]), pairs.embed([("the cat", "a dog")]), atol=1e-4
    )
    assert pairs.embed(["a dog", "the cat"]).shape == (2, 8)
    tags = Tagger("bert", max_length=6, **sizes).fit(
        [["the", "cat"], ["a", "dog"]] * 6, [["x", "y"], ["y", "x"]] * 6
    )
    assert np.allclose(tags.embed([["the", "cat"]]), tags.embed(["the cat"]), atol=1e-6)
    with pytest.warns(UserWarning, match="longer than the 6"):
        assert np.isfinite(tags.embed([["the", "cat"] * 5])).all()


def nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_what_has_no_vectors_says_so():
    model = Classifier("softmax", epochs=1).fit(TEXTS * 4, LABELS * 4)
    with pytest.raises(Mistake, match="softmax is no network"):
        model.embed(TEXTS)
    with pytest.raises(Mistake, match="no words up in a table"):
        model.word_vectors()
    with pytest.raises(Mistake, match="no words up in a table"):
        fitted("mlp", hidden=4, embedding="one-hot").word_vectors()
    assert fitted("mlp", hidden=4).embed([""]).shape == (1, 4)


def test_empty_texts_and_none(models):
    assert models["lstm"].embed(["", " "]).shape == (2, 16)
    assert len(models["lstm"].embed([])) == 0


# The command line


@pytest.fixture(scope="module")
def run(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("embed") / "run"
    models["bert"].save(folder)
    (folder.parent / "texts.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    return folder


def test_files_of_any_size(run, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("wenmai.cli.answers.CHUNK", 4)  # rows at a time
    texts = run.parent / "texts.txt"
    ran = wenmai_cli("embed", run, texts, "--out", "vectors.npy", "--json")
    assert ran.status == 0, ran.err
    assert json.loads(ran.out) == {"run": str(run), "rows": 6, "width": 8, "out": "vectors.npy"}
    expected = wenmai.load(run).embed(TEXTS)
    assert np.allclose(np.load("vectors.npy"), expected, atol=1e-6)
    assert (
        wenmai_cli(
            "embed", run, texts, "--out", "v.npy", "--layer", 1, "--pooling", "cls", "--normalize"
        ).status
        == 0
    )
    assert np.allclose(np.load("v.npy"), wenmai.load(run).embed(TEXTS, 1, "cls", True), atol=1e-6)
    parquet = pytest.importorskip("pyarrow.parquet")
    assert wenmai_cli("embed", run, texts, "--out", "vectors.parquet").status == 0
    table = parquet.read_table("vectors.parquet")
    assert table["text"].to_pylist() == TEXTS and np.allclose(
        table["vector"].to_pylist(), expected, atol=1e-6
    )
    ran = wenmai_cli("embed", run, texts)
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["text"] for line in lines] == TEXTS and np.allclose(
        [line["vector"] for line in lines], expected, atol=1e-6
    )
    assert len(json.loads(wenmai_cli("embed", run, texts, "--json").out)["answers"]) == len(TEXTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "v.npy",
        "vectors.npy",
        "vectors.parquet",
    ]


def test_the_nearest_texts(run, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.setattr("wenmai.cli.answers.CHUNK", 2)
    texts = run.parent / "texts.txt"
    ran = wenmai_cli("embed", run, texts, "--nearest", TEXTS[2], "--top", 3, "--json")
    found = json.loads(ran.out)["nearest"]
    vectors = wenmai.load(run).embed(TEXTS, normalize=True)
    cosines = vectors @ vectors[2]
    order = np.argsort(-cosines, kind="stable")[:3]
    assert [one["row"] - 1 for one in found] == order.tolist() and found[0]["text"] == TEXTS[2]
    assert np.allclose([one["cosine"] for one in found], cosines[order], atol=1e-5)
    shown = wenmai_cli("embed", run, texts, "--nearest", TEXTS[2], "--top", 3).out.splitlines()
    assert shown[0] == f"1.0000\t3\t{TEXTS[2]}" and len(shown) == 3
    nearest = Nearest(np.zeros(2, np.float32), 2)
    nearest.see(["a", "b"], np.zeros((2, 2), np.float32))
    assert [one[2] for one in nearest.best] == ["a", "b"], "no direction is no number"


def test_words_as_glove_has_them(models, tmp_path, wenmai_cli, monkeypatch):
    """And they can be trained with again."""
    monkeypatch.chdir(tmp_path)
    models["mlp"].save("run")
    assert wenmai_cli("embed", "run", "--words", "--out", "vectors.txt").status == 0
    words, table = word_files.read("vectors.txt")
    known, expected = models["mlp"].word_vectors()
    assert (
        words == known
        and np.allclose(table, expected, atol=1e-6)
        and not {"<pad>", "<unk>"} & set(words)
    )
    again = fitted("mlp", hidden=4, embedding="vectors.txt")
    assert any("tokens have vectors from vectors.txt" in str(note) for note in again.notes_)
    Classifier("mlp", hidden=4, steps=1, tokenizer="characters").fit(TEXTS * 4, LABELS * 4).save(
        "letters"
    )
    ran = wenmai_cli("embed", "letters", "--words", "--out", "letters.txt")
    assert ran.status == 0 and "1 tokens have a space in them" in ran.err
    assert " " not in word_files.read("letters.txt")[0]


@pytest.mark.parametrize(
    "arguments, sentence",
    {
        ("embed", "RUN"): "either a file of texts, or --words",
        ("embed", "RUN", "FILE", "--words", "--out", "a.txt"): "either a file of texts, or --words",
        ("embed", "RUN", "--words"): "ends in .txt",
        ("embed", "RUN", "--words", "--out", "a.npy"): "ends in .txt",
        ("embed", "RUN", "FILE", "--out", "a.csv"): "ends in .npy or .parquet",
        ("embed", "RUN", "FILE", "--layer", "9"): "to 2, the last layer",
        ("embed", "RUN", "FILE", "--pooling", "sum"): "pooling",
        ("embed", "nowhere", "FILE"): "nowhere",
        ("embed", "RUN", "nofile.txt"): "nofile.txt is not there",
        ("embed", "RUN", "FILE", "--out", "no/folder/a.npy"): "no/folder",
    }.items(),
)
def test_what_is_wrong_is_told(arguments, sentence, run, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = {"RUN": str(run), "FILE": str(run.parent / "texts.txt")}
    ran = wenmai_cli(*(named.get(one, one) for one in arguments))
    assert ran.status == 2 and sentence in ran.err and len(ran.err.splitlines()) == 1, ran.err
    assert not list(tmp_path.iterdir())


def test_one_network_is_asked_by_several_threads(models):
    from concurrent.futures import ThreadPoolExecutor

    model = models["transformer"]
    expected = [model.embed(TEXTS, layer=layer) for layer in (0, 1, 2)]
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda layer: model.embed(TEXTS, layer=layer), (0, 1, 2)))
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(made, expected))
    assert len(Embedder(model.trained()).body.blocks) == 2
