"""Every head that an encoder of `transformers` may have: the same weights, the same texts, the same answers, there and back."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from checkpoints import FAMILIES, PAIRS, TEXTS, WORDS, checkpoint, transformers
from safetensors.torch import load_file, save_file

import wenmai
from wenmai import Classifier, Mistake
from wenmai.data.examples.rows import Examples
from wenmai.exchange import exporting, hugging_face

LABELS = ["B-PER", "O", "I-PER", "I-LOC", "B-LOC"]
TOKENS = [
    ["the", "cat", "sat"],
    ["你", "好", ",", "cats", "mat"],
    ["a"],
    ["Café", "🙂", "on", "mats", "\x01", "a"],
]


def labelled(names) -> dict:
    return {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: n for n, name in enumerate(names)},
    }


def read_by(known, texts):
    read = known(texts, padding=True, return_tensors="pt")
    return read, read["attention_mask"].bool()


@torch.no_grad()
def states(model, rows) -> tuple[torch.Tensor, torch.Tensor]:
    batch = Examples(rows).batch(np.arange(len(rows)))
    y, mask, _ = model.model_.body(*model.model_.input(batch))
    return y, mask


# Hidden words


@torch.no_grad()
def same_words(model, theirs, known) -> bool:
    read, real = read_by(known, TEXTS)
    logits = theirs(**read)
    logits = logits.prediction_logits if hasattr(logits, "prediction_logits") else logits.logits
    y, mask = states(model, model.inputs_.encode(TEXTS))
    assert torch.equal(mask, real)
    return torch.allclose(model.model_.head.words(y)[mask], logits.log_softmax(-1)[real], atol=1e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_hidden_words_there_and_back(kind, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    theirs, known = checkpoint(tmp_path / "checkpoint", kind, "ForMaskedLM")
    assert wenmai_cli("import", "checkpoint", "--out", "run").status == 0
    model = wenmai.load("run")
    assert (model.task_name, model.rung) == ("pretrain", "bert") and same_words(
        model, theirs, known
    )
    assert wenmai_cli("export", "run", "--format", "hf", "--out", "folder").status == 0
    again = transformers.AutoModelForMaskedLM.from_pretrained("folder").eval()
    assert type(again).__name__ == (
        "ElectraForMaskedLM" if kind == "electra" else "BertForMaskedLM"
    )
    assert same_words(model, again, transformers.AutoTokenizer.from_pretrained("folder"))
    back = hugging_face.imported(Path("folder"))
    assert all(
        torch.equal(value, back.model_.state_dict()[name])
        for name, value in model.model_.state_dict().items()
    )


def test_words_are_filled_in_as_there(tmp_path):
    theirs, known = checkpoint(tmp_path / "checkpoint", "bert", "ForMaskedLM")
    model = hugging_face.imported(tmp_path / "checkpoint")
    with torch.no_grad():
        logits = theirs(**known("the [MASK] sat", return_tensors="pt")).logits[0, 2].softmax(-1)
    best = [(WORDS[number], float(p)) for p, number in zip(*logits.topk(16)) if number > 4][:3]
    found = model.fill("the [MASK] sat", 3)[0]
    assert [one["word"] for one in found] == [
        word.removeprefix("##") if word.startswith("##") else word for word, _ in best
    ] or [one["word"] for one in found] == [word for word, _ in best]
    assert np.allclose([one["probability"] for one in found], [p for _, p in best], atol=1e-4)


@pytest.mark.parametrize("named", ["BertForPreTraining", "BertForMaskedLM"])
def test_both_parts_of_bert_as_it_was_pretrained(named, tmp_path):
    """Whichever of the two config.json names, and with the names of weights that TensorFlow had."""
    folder = tmp_path / "checkpoint"
    theirs, known = checkpoint(folder, "bert", "ForPreTraining")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for name, value in load_file(folder / "model.safetensors").items()
    }
    save_file(
        old | {"bert.embeddings.position_ids": torch.arange(20)[None]}, folder / "model.safetensors"
    )
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(about | {"architectures": [named]}))
    model = hugging_face.imported(folder)
    assert same_words(model, theirs, known)
    with torch.no_grad():
        read = known(*map(list, zip(*PAIRS)), padding=True, return_tensors="pt")
        expected = theirs(**read).seq_relationship_logits.softmax(-1).numpy()
    assert np.allclose(model.predict_proba(PAIRS)[:, ::-1], expected, atol=1e-4)
    exporting.exported(model, tmp_path / "folder")
    again = transformers.AutoModelForPreTraining.from_pretrained(tmp_path / "folder").eval()
    assert type(again).__name__ == "BertForPreTraining" and same_words(model, again, known)
    with torch.no_grad():
        assert np.allclose(
            again(**read).seq_relationship_logits.softmax(-1).numpy(), expected, atol=1e-5
        )
    start = hugging_face.checkpoint(folder)
    assert torch.equal(start.model.head.dense.layer.weight, theirs.bert.pooler.dense.weight)


# Bare ones


@pytest.mark.parametrize(
    "kind, head", [*((kind, "Model") for kind in FAMILIES), ("electra", "ForPreTraining")]
)
def test_a_bare_one_embeds_and_is_started_from(kind, head, tmp_path, wenmai_cli, monkeypatch):
    """Every layer, and sentences as sentence-transformers pools them: the mean over the attention mask, to length 1."""
    monkeypatch.chdir(tmp_path)
    theirs, known = checkpoint(tmp_path / "checkpoint", kind, head)
    ran = wenmai_cli("import", "checkpoint", "--out", "run")
    assert ran.status == 0 and "wenmai embed run" in ran.err, ran.err
    assert json.loads(wenmai_cli("info", "run", "--json").out)["next"][0] == "wenmai embed run FILE"
    (tmp_path / "texts.txt").write_text("the cat\na mat\n")
    assert wenmai_cli("embed", "run", "texts.txt", "--out", "vectors.npy").status == 0
    assert np.load("vectors.npy").shape == (2, 16)
    model, (read, real) = wenmai.load("run"), read_by(known, TEXTS)
    with torch.no_grad():
        body = theirs if head == "Model" else theirs.base_model
        layers = body(**read, output_hidden_states=True).hidden_states
    for layer, expected in enumerate(layers):
        mean = (expected * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True)
        if (
            kind == "electra" and not layer
        ):  # there it is what stands before the table is brought to the body's width
            continue
        assert np.allclose(model.embed(TEXTS, layer=layer), mean, atol=1e-4), layer
    unit = torch.nn.functional.normalize(mean, dim=-1)
    assert np.allclose(model.embed(TEXTS, normalize=True), unit, atol=1e-4)
    assert np.allclose(model.embed(TEXTS, pooling="cls"), layers[-1][:, 0], atol=1e-4)
    with pytest.raises(Mistake, match="no layer that says words"):
        model.fill("a [MASK]")
    again = Classifier("bert", steps=1, validation=0.0).fit(
        TEXTS * 3, ["x", "y", "x", "y"] * 3, start="run"
    )
    assert any(
        "weights of the input layer and the body are loaded" in str(note) for note in again.notes_
    )


def test_a_bare_one_is_written_again(tmp_path):
    theirs, known = checkpoint(tmp_path / "checkpoint", "bert", "Model")
    exporting.exported(hugging_face.imported(tmp_path / "checkpoint"), tmp_path / "folder")
    again = transformers.BertModel.from_pretrained(
        tmp_path / "folder", add_pooling_layer=False
    ).eval()
    read, real = read_by(known, TEXTS)
    with torch.no_grad():
        assert torch.allclose(
            again(**read).last_hidden_state[real], theirs(**read).last_hidden_state[real], atol=1e-4
        )


# Answers to questions

ASKED = [("the cat sat on a mat, 你好 the cats", "a cat"), ("a mat", "the cat sat")]


@torch.no_grad()
def same_spans(model, theirs, known) -> None:
    """Scores of every place of the context, and of the first, with padding."""
    read = known(
        [question for _, question in ASKED],
        [context for context, _ in ASKED],
        padding=True,
        return_tensors="pt",
    )
    logits, outputs = theirs(**read), model.outputs(model.examples(ASKED))
    for row, ours in enumerate(outputs):
        places = [0, *(at for at, part in enumerate(read.sequence_ids(row)) if part == 1)]
        expected = torch.stack([logits.start_logits[row], logits.end_logits[row]], -1)[places]
        np.testing.assert_allclose(ours, expected.numpy(), atol=1e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_answers_there_and_back(kind, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    theirs, known = checkpoint(
        tmp_path / "checkpoint",
        kind,
        "ForQuestionAnswering",
        num_labels=2,
        max_position_embeddings=66,
    )
    assert wenmai_cli("import", "checkpoint", "--out", "run").status == 0
    model = wenmai.load("run")
    assert (model.task_name, model.rung) == ("answer", "bert")
    same_spans(model, theirs, known)
    (context, question), *_ = ASKED
    answer = model.answer(context, question)
    assert context[answer["start"] : answer["end"]] == answer["answer"] != ""
    asked = wenmai_cli("answer", "run", "--context", context, "--question", question, "--json")
    assert asked.status == 0 and json.loads(asked.out.splitlines()[-1])["answers"][0] == answer
    assert wenmai_cli("export", "run", "--format", "hf", "--out", "folder").status == 0
    again = transformers.AutoModelForQuestionAnswering.from_pretrained("folder").eval()
    same_spans(model, again, transformers.AutoTokenizer.from_pretrained("folder"))
    np.testing.assert_allclose(
        hugging_face.imported(Path("folder")).outputs(model.examples(ASKED)).flat,
        model.outputs(model.examples(ASKED)).flat,
        atol=1e-5,
    )


# Tags


@pytest.mark.parametrize("kind", FAMILIES)
def test_tags_there_and_back(kind, tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    theirs, known = checkpoint(
        tmp_path / "checkpoint", kind, "ForTokenClassification", **labelled(LABELS)
    )
    assert wenmai_cli("import", "checkpoint", "--out", "run").status == 0
    model = wenmai.load("run")
    assert model.task_.scheme == "bio" and sorted(model.classes_.tolist()) == sorted(LABELS)
    rows = [row[:3] if kind == "roberta" else row for row in TOKENS]
    same_tags(model, theirs, known, rows, kind == "roberta")
    answer = model.answers([" ".join(rows[1])])[0]
    assert answer["text"] == " ".join(rows[1]) and all(
        span["label"] in ("PER", "LOC") for span in answer["spans"]
    )
    tags = model.predict(rows)
    assert (
        model.evaluate(rows, tags)["span_f1"] in (0.0, 1.0)
        and model.evaluate(rows, tags)["token_accuracy"] == 1.0
    )
    assert wenmai_cli("export", "run", "--format", "hf", "--out", "folder").status == 0
    again = transformers.AutoModelForTokenClassification.from_pretrained("folder").eval()
    same_tags(
        model, again, transformers.AutoTokenizer.from_pretrained("folder"), rows, kind == "roberta"
    )
    assert np.allclose(
        np.concatenate(hugging_face.imported(Path("folder")).predict_proba(rows)),
        np.concatenate(model.predict_proba(rows)),
        atol=1e-6,
    )


@torch.no_grad()
def same_tags(model, theirs, known, rows, spaced: bool) -> None:
    """At the first piece of every word."""
    order = [theirs.config.label2id[name] for name in model.classes_.tolist()]
    for row, ours in zip(rows, model.predict_proba(rows)):
        if spaced:  # a word of bytes has a space before it
            pieces = [known(f" {word}", add_special_tokens=False)["input_ids"] for word in row]
            ids = [
                known.cls_token_id,
                *(token for word in pieces for token in word),
                known.sep_token_id,
            ]
            first = np.cumsum([1, *map(len, pieces[:-1])])
            logits = theirs(input_ids=torch.tensor([ids])).logits[0, first]
        else:
            read = known(row, is_split_into_words=True, return_tensors="pt")
            words = read.word_ids(0)
            at = [words.index(number) if number in words else None for number in range(len(row))]
            logits = theirs(**read).logits[0, [place for place in at if place is not None]]
            ours = ours[[place is not None for place in at]]
        assert np.allclose(ours, logits.softmax(-1).numpy()[:, order], atol=1e-4), row


@pytest.mark.parametrize(
    "labels, scheme",
    {
        ("NN", "VB", "O"): "plain",
        ("O", "B-X", "M-X", "E-X", "S-X"): "bmes",
        ("O", "B-X", "I-X", "L-X", "U-X"): "bilou",
        ("I-X", "O"): "bio",
        ("B", "I", "O"): "bio",
        ("LABEL_0", "LABEL_1"): "plain",
        ("B-X", "I-X", "E-X", "S-X", "O"): "bioes",
    }.items(),
)
def test_labels_of_every_scheme(labels, scheme, tmp_path):
    theirs, known = checkpoint(
        tmp_path / "checkpoint", "bert", "ForTokenClassification", **labelled(labels)
    )
    model = hugging_face.imported(tmp_path / "checkpoint")
    assert model.task_.scheme == scheme
    rows = TOKENS[:2]
    model.save(tmp_path / "run")
    tags = wenmai.load(tmp_path / "run").predict(rows)
    assert [len(row) for row in tags] == [3, 5]
    if scheme == "plain":
        same_tags(model, theirs, known, rows, False)
        assert {tag for row in tags for tag in row} <= set(labels)
    assert model.evaluate(rows, tags)["token_accuracy"] == 1.0


# Numbers


def test_numbers_there_and_back(tmp_path):
    theirs, known = checkpoint(tmp_path / "checkpoint", "bert", num_labels=1)
    model = hugging_face.imported(tmp_path / "checkpoint")
    read, _ = read_by(known, TEXTS)
    with torch.no_grad():
        expected = theirs(**read).logits[:, 0].numpy()
    assert model.task_name == "regress" and np.allclose(model.predict(TEXTS), expected, atol=1e-4)
    trained, start = (
        wenmai.Regressor("bert", steps=3, validation=0.0),
        hugging_face.checkpoint(tmp_path / "checkpoint"),
    )
    trained.fit(TEXTS * 4, [100.0, 200.0, 300.0, 150.0] * 4, start=start)
    exporting.exported(trained, tmp_path / "folder")
    again = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "folder"
    ).eval()
    with torch.no_grad():
        assert np.allclose(again(**read).logits[:, 0].numpy(), trained.predict(TEXTS), rtol=1e-4)
    assert np.allclose(
        hugging_face.imported(tmp_path / "folder").predict(TEXTS), trained.predict(TEXTS), rtol=1e-4
    )


# Tokenizers


@pytest.mark.parametrize("lies", ["vocab.txt", "tokenizer.json"])
@pytest.mark.parametrize(
    "said",
    [
        {},
        {"do_lower_case": False},
        {"strip_accents": False},
        {"tokenize_chinese_chars": False},
        {"do_lower_case": False, "strip_accents": True},
    ],
    ids=str,
)
def test_texts_are_cut_as_tokenizer_config_says(said, lies, tmp_path):
    words = [*WORDS, "The", "Café", "café", "Cafe", "你好", "##好", "\u2028x", "ﬁ", "fi", "é"]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"), **said).save_pretrained(folder)
    about = json.loads((folder / "tokenizer_config.json").read_text())
    if lies == "vocab.txt":
        (folder / "tokenizer.json").unlink()
        shutil.copy(tmp_path / "vocab.txt", folder)
    else:  # which was written before it was said otherwise
        transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    transformers.BertConfig(vocab_size=len(words)).save_pretrained(folder)
    known = transformers.AutoTokenizer.from_pretrained(folder)
    ours, wrapping = hugging_face.framed_tokenizer(folder)
    texts = [
        *TEXTS,
        "The Café the CAFÉ",
        "你好 好",
        "tab\there\nnew\rline",
        "a\u0000b\ufffdc\u200b",
        "e\u0301 é",
        "ﬁ 👩‍👩‍👧 🇨🇳",
        "",
        "\u2028x",
        "a" * 150,
    ]
    assert [row.tolist() for row in wrapping.wrapped(ours.encode(texts))] == known(texts)[
        "input_ids"
    ]
    assert (
        ours.spans(texts)
        == known(texts, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"]
    )


# What does not fit


def damaged(folder: Path, what: str) -> None:
    config, weights = (
        json.loads((folder / "config.json").read_text()),
        load_file(folder / "model.safetensors"),
    )
    name = "bert.encoder.layer.1.output.dense.weight"
    if what == "missing":
        del weights[name]
    elif what == "headless":
        del weights["cls.predictions.transform.dense.weight"]
    elif what == "extra":
        weights["bert.encoder.layer.2.output.dense.weight"] = torch.zeros(3)
    elif what == "misshapen":
        weights[name] = weights[name][:, :5].contiguous()
    elif what == "two tables":
        weights["cls.predictions.decoder.weight"] = (
            weights["bert.embeddings.word_embeddings.weight"] + 1
        )
    elif what == "vocabulary":
        weights["bert.embeddings.word_embeddings.weight"] = weights[
            "bert.embeddings.word_embeddings.weight"
        ][:7].contiguous()
    elif what == "nan":
        weights["cls.predictions.bias"][0] = float("inf")
    elif what == "family":
        config["model_type"] = "t5"
    elif what == "architecture":
        config["architectures"] = ["BertForMultipleChoice"]
    elif what == "architectures":
        config["architectures"] = [7]
    elif what == "positions":
        config["position_embedding_type"] = "relative_key"
    elif what == "activation":
        config["hidden_act"] = "swish"
    elif what == "heads":
        config["num_attention_heads"] = 3
    elif what == "layers":
        config["num_hidden_layers"] = 1
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    whole = (folder / "model.safetensors").read_bytes()
    if what == "truncated":
        (folder / "model.safetensors").write_bytes(whole[:-100])
    elif what == "lying":  # of its sizes
        (folder / "model.safetensors").write_bytes(whole.replace(b"[16,24]", b"[16,25]", 1))
    elif what == "huge head":
        (folder / "model.safetensors").write_bytes((1 << 60).to_bytes(8, "little") + whole[8:])
    elif what == "empty":
        (folder / "model.safetensors").write_bytes(b"")
    elif what == "no tokenizer":
        for file in ("tokenizer.json", "vocab.txt"):
            (folder / file).unlink(missing_ok=True)
    elif what == "flags":
        (folder / "tokenizer_config.json").write_text('{"do_lower_case": "maybe"}')


SENTENCES = {
    "missing": "the weight encoder.layer.1.output.dense.weight is missing",
    "headless": "the weight cls.predictions.transform.dense.weight is missing",
    "extra": "BertForMaskedLM has no weights of these names: encoder.layer.2.output.dense.weight",
    "misshapen": "has the shape (16, 5), and config.json asks for (16, 24)",
    "two tables": "words are looked up in one table and said by another (cls.predictions.decoder.weight)",
    "vocabulary": "the vocabulary has 16 tokens, and the weights are of 7",
    "nan": "the weight cls.predictions.bias holds what is no number",
    "family": '"model_type" is "t5", expected one of gpt2, bert, roberta, distilbert, electra',
    "architecture": "holds BertForMultipleChoice, whose answers cannot be imported (those of BertForSequenceClassification, ",
    "architectures": '"architectures" is 7',
    "positions": "its positions are of another kind than learned ones",
    "activation": '"hidden_act" is "swish"',
    "heads": "cannot be shared by heads=3",
    "layers": "has no weights of these names: encoder.layer.1.",
    "truncated": "model.safetensors cannot be read",
    "lying": "model.safetensors cannot be read",
    "huge head": "model.safetensors cannot be read",
    "empty": "model.safetensors cannot be read",
    "no tokenizer": "it has no tokenizer.json, vocab.txt or vocab.json",
    "flags": '"do_lower_case" is "maybe"',
}


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masked") / "checkpoint"
    checkpoint(folder, "bert", "ForMaskedLM")
    return folder


@pytest.mark.parametrize("what", SENTENCES)
def test_what_does_not_fit_is_told_and_nothing_is_imported(
    what, masked, tmp_path, wenmai_cli, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(masked, tmp_path / "copy")
    damaged(tmp_path / "copy", what)
    ran = wenmai_cli("import", "copy", "--out", "run")
    assert ran.status == 2 and ran.err.count("\n") == 1 and SENTENCES[what] in ran.err, ran.err
    assert not (tmp_path / "run").exists()


def test_a_body_with_a_head_that_is_not_known_is_started_from(tmp_path):
    theirs, _ = checkpoint(tmp_path / "checkpoint", "bert", "ForMultipleChoice")
    with pytest.raises(Mistake, match="wenmai train bert DATA --from"):
        hugging_face.imported(tmp_path / "checkpoint")
    start = hugging_face.checkpoint(tmp_path / "checkpoint")
    assert torch.equal(
        start.model.input.table.weight, theirs.bert.embeddings.word_embeddings.weight
    )


@pytest.mark.parametrize(
    "labels, sentence", [(["a", "a"], "does not name every class once"), ([], "cannot be read")]
)
def test_labels_that_are_none(labels, sentence, tmp_path):
    checkpoint(tmp_path / "checkpoint", "bert")
    about = json.loads((tmp_path / "checkpoint" / "config.json").read_text())
    about["id2label"] = dict(enumerate(labels)) or "none"
    (tmp_path / "checkpoint" / "config.json").write_text(json.dumps(about))
    with pytest.raises(Mistake, match=sentence):
        hugging_face.imported(tmp_path / "checkpoint")


def test_what_cannot_be_written_is_told(tmp_path):
    def refused(model, sentence: str) -> None:
        with pytest.raises(Mistake, match=sentence):
            exporting.exported(model, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    tokens, tags = [["a", "b"], ["b"]] * 6, [["B-X", "O"], ["O"]] * 6
    sizes = {"width": 8, "heads": 2, "layers": 1, "steps": 1, "validation": 0.0}
    refused(wenmai.Tagger("bert", crf=True, **sizes).fit(tokens, tags), "no CRF")
    refused(wenmai.Tagger("bert", characters="cnn", **sizes).fit(tokens, tags), "characters")
    texts, labels = ["a b", "b"] * 6, ["x", "y"] * 6
    refused(
        Classifier("bert", tokenizer="characters", **sizes).fit(texts, labels),
        "tokenizer=wordpiece",
    )
    sizes["tokenizer"] = "wordpiece"
    refused(Classifier("bert", pooling="mean", **sizes).fit(texts, labels), "pooling=first")
    refused(Classifier("bert", dense="relu", **sizes).fit(texts, labels), "dense=relu, segments=0")
    refused(Classifier("bert", embed=4, **sizes).fit(texts, labels), "dense=tanh and no embed")
    documents = ["a b a b.\nb a.", "b b.\na."] * 6
    sizes |= {"max_length": 16}
    refused(wenmai.Encoder("bert", embed=4, **sizes).fit(documents), "dense=tanh and no embed")
    refused(
        wenmai.Encoder("bert", embed=4, dense="gelu", **sizes).fit(documents), "no next_sentence"
    )
    refused(
        wenmai.Encoder("bert", embed=4, next_sentence=False, activation="relu", **sizes).fit(
            documents
        ),
        "dense=gelu",
    )
