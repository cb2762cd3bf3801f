"""Every way to start from a run and from a checkpoint of others: pairs, numbers, tags; and gpt, which classifies and composes."""

import numpy as np
import pytest
import torch
from test_encoders import checkpoint

import wenmai
from wenmai import Classifier, Composer, LanguageModel, Mistake, Regressor, Tagger
from wenmai.exchange import exporting, hugging_face

transformers = pytest.importorskip("transformers")

TEXTS = ["the cat sat on a mat", "a cat is here", "the mat is good", "cats sat"] * 6
PAIRS, LABELS = [(text, text[::-1]) for text in TEXTS], ["x", "y"] * 12


@pytest.fixture(scope="module")
def starts(tmp_path_factory):
    """bert and gpt: a checkpoint as transformers writes it, and a run."""
    folder = tmp_path_factory.mktemp("starts")
    checkpoint(folder / "bert", "bert", "Model")
    Classifier("bert", width=8, heads=2, layers=2, steps=2, tokenizer="wordpiece").fit(
        TEXTS, LABELS
    ).save(folder / "bert-run")
    writer = LanguageModel(
        "gpt", width=8, heads=2, layers=2, steps=3, context=16, tokenizer="bpe", vocabulary=300
    ).fit(TEXTS)
    writer.save(folder / "gpt-run")
    exporting.exported(writer, folder / "gpt")
    LanguageModel("gpt", width=8, heads=2, layers=2, steps=3, context=16).fit(TEXTS).save(
        folder / "gpt-words"
    )
    return {
        name: folder / name if "-" in name else hugging_face.checkpoint(folder / name)
        for name in ("bert", "bert-run", "gpt", "gpt-run", "gpt-words")
    }


@pytest.mark.parametrize("start", ["bert", "bert-run"])
def test_pairs_numbers_and_tags(start, starts, tmp_path):
    rows = [text.split() for text in TEXTS]
    tags = [["O"] * (len(row) - 1) + ["B-end"] for row in rows]
    for model, asked, targets in (
        (Classifier, PAIRS, LABELS),
        (Classifier, TEXTS, LABELS),
        (Regressor, TEXTS, np.arange(24.0)),
        (Regressor, PAIRS, np.arange(24.0)),
        (Tagger, rows, tags),
    ):
        trained = model("bert", steps=2).fit(asked, targets, start=starts[start])
        assert trained.start_["loaded"] > 1000
        again = wenmai.load(trained.save(tmp_path / "run", replace=True))
        np.testing.assert_array_equal(
            np.asarray(again.predict(asked), object), np.asarray(trained.predict(asked), object)
        )
    pairs = Classifier("bert", steps=2).fit(PAIRS, LABELS, start=starts[start])
    read = pairs.examples(PAIRS).batch(np.arange(4))
    assert set(read.segment.unique().tolist()) == {0, 1}


@pytest.mark.parametrize("start", ["gpt", "gpt-run", "gpt-words"])
def test_gpt_classifies(start, starts, tmp_path):
    model = Classifier("gpt", steps=2).fit(TEXTS, LABELS, start=starts[start])
    assert (
        wenmai.load(model.save(tmp_path / "run")).predict(TEXTS).tolist()
        == model.predict(TEXTS).tolist()
    )


@pytest.mark.parametrize("start", ["gpt", "gpt-run", "gpt-words"])
def test_gpt_composes(start, starts, tmp_path):
    """Table and body of the decoder are the run's; what it is told is new."""
    labels = [text.split()[0] for text in TEXTS]
    still = {"steps": 1, "learning_rate": 1e-30, "weight_decay": 0.0}
    known = starts[start].model if start == "gpt" else wenmai.load(starts[start]).model_
    model = Composer("gpt", **still).fit(labels, TEXTS, start=starts[start])
    decoder = model.model_.decoder
    for ours, theirs in ((decoder.words, known.input), (decoder.body, known.body)):
        for name, value in theirs.state_dict().items():
            assert torch.allclose(ours.state_dict()[name], value, atol=1e-6), name
    assert any("are loaded" in str(note) for note in model.notes_)
    model = Composer("gpt", steps=3).fit(labels, TEXTS, start=starts[start])
    assert (
        wenmai.load(model.save(tmp_path / "run")).predict(labels).tolist()
        == model.predict(labels).tolist()
    )


@pytest.mark.slow
def test_it_helps_to_have_read(starts):
    """Texts that a run has learned are written sooner by one that starts from it."""
    writer = LanguageModel(
        "gpt",
        width=16,
        heads=2,
        layers=2,
        steps=300,
        context=32,
        dropout=0.0,
        tokenizer="characters",
        learning_rate=1e-2,
    ).fit(TEXTS)
    labels = [text.split()[0] for text in TEXTS]
    options = {"steps": 20, "validation": 0.0, "learning_rate": 3e-3}
    started = (
        Composer("gpt", **options)
        .fit(labels, TEXTS, start=writer)
        .evaluate(labels, TEXTS)["perplexity"]
    )
    anew = Composer(
        "gpt", width=16, heads=2, layers=2, dropout=0.0, tokenizer="characters", **options
    ).fit(labels, TEXTS)
    assert started < 0.8 * anew.evaluate(labels, TEXTS)["perplexity"]


def test_what_cannot_start_a_composer(starts):
    labels = [text.split()[0] for text in TEXTS]
    with pytest.raises(Mistake, match="does not go on with a text"):
        Composer("gpt").fit(
            labels, TEXTS, start=Classifier("gpt", steps=1, width=8, heads=2).fit(TEXTS, LABELS)
        )
    with pytest.raises(Mistake, match="writes by a body of another form"):
        Composer("lstm").fit(
            labels, TEXTS, start=LanguageModel("lstm", steps=1, hidden=8).fit(TEXTS)
        )
    with pytest.raises(Mistake, match="says how inputs are read"):
        Composer("gpt", tokenizer="bpe").fit(labels, TEXTS, start=starts["gpt-run"])
    with pytest.raises(Mistake, match="was built with width=8"):
        Composer("gpt", width=32).fit(labels, TEXTS, start=starts["gpt-run"])
