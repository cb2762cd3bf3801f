"""Encoders of `transformers`: BERT, RoBERTa, DistilBERT, ELECTRA; the same weights, the same texts, the same answers."""

import json

import numpy as np
import pytest
import torch
from checkpoints import FAMILIES, PAIRS, TEXTS, checkpoint, transformers

import wenmai
from wenmai import Classifier, Regressor
from wenmai.data.examples.rows import Examples
from wenmai.data.inputs import kinds
from wenmai.exchange import exporting, hugging_face


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_same_weights_answer_the_same(kind, tmp_path):
    labels = {0: "good", 1: "bad", 2: "so-so"}
    theirs, known = checkpoint(
        tmp_path / "checkpoint", kind, id2label=labels, label2id={v: k for k, v in labels.items()}
    )
    ours = hugging_face.imported(tmp_path / "checkpoint")
    read = known(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = theirs(**read).logits.softmax(-1).numpy()
    assert ours.classes_.tolist() == ["bad", "good", "so-so"]
    assert np.allclose(ours.predict_proba(TEXTS), expected[:, [1, 0, 2]], atol=1e-4)
    ours.save(tmp_path / "run")
    assert np.allclose(
        wenmai.load(tmp_path / "run").predict_proba(TEXTS), expected[:, [1, 0, 2]], atol=1e-4
    )
    exporting.exported(ours, tmp_path / "folder")
    again = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path / "folder"
    ).eval()
    assert type(again).__name__.removesuffix("ForSequenceClassification") == {
        "roberta": "Bert"
    }.get(kind, FAMILIES[kind])
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "folder")(
        TEXTS, padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        assert np.allclose(
            again(**read).logits.softmax(-1).numpy(), expected[:, [1, 0, 2]], atol=1e-4
        )
    back = hugging_face.imported(tmp_path / "folder")
    assert np.allclose(back.predict_proba(TEXTS), expected[:, [1, 0, 2]], atol=1e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_bare_one_gives_the_same_states_and_can_be_started_from(kind, tmp_path):
    theirs, known = checkpoint(tmp_path / "checkpoint", kind, "Model")
    start = hugging_face.checkpoint(tmp_path / "checkpoint")
    rows = start.inputs.encode(TEXTS)
    assert [row.tolist() for row in rows] == known(TEXTS)["input_ids"]
    assert start.inputs.tokenizer.spans(TEXTS) == [
        known(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"]
        for text in TEXTS
    ]
    read = known(TEXTS, padding=True, return_tensors="pt")
    batch = Examples(rows).batch(np.arange(len(TEXTS)))
    with torch.no_grad():
        expected = theirs(**read).last_hidden_state
        states, mask, _ = start.model.body(*start.model.input(batch))
    assert torch.equal(mask, read["attention_mask"].bool())
    assert torch.allclose(states[mask], expected[mask], atol=1e-4)
    pairs = kinds.continued(start.inputs, "tokens", PAIRS, "run")
    assert [row.tolist() for row in pairs.encode(PAIRS)] == known(*zip(*PAIRS))["input_ids"]
    two = known(*map(list, zip(*PAIRS)), padding=True, return_tensors="pt")
    batch = Examples(pairs.encode(PAIRS)).batch(np.arange(len(PAIRS)))
    with torch.no_grad():
        states, mask, _ = start.model.body(*start.model.input(batch))
        assert torch.allclose(states[mask], theirs(**two).last_hidden_state[mask], atol=1e-4)
    model = Classifier("bert", steps=2, validation=0.0).fit(
        TEXTS * 3, ["x", "y", "x", "y"] * 3, start=start
    )
    assert any(
        "weights of the input layer and the body are loaded" in str(note) for note in model.notes_
    )
    assert (
        len(
            Regressor("bert", steps=2, validation=0.0)
            .fit(PAIRS * 6, [0.0, 1.0] * 6, start=start)
            .predict(PAIRS)
        )
        == 2
    )


@pytest.mark.parametrize("longest", [4, 5, 6, 9, 30])
def test_texts_that_are_too_long_are_cut_as_there(longest, tmp_path):
    _, known = checkpoint(tmp_path / "checkpoint", "bert", "Model")
    start = hugging_face.checkpoint(tmp_path / "checkpoint")
    start.inputs.longest = longest
    expected = known(TEXTS, truncation=True, max_length=longest)["input_ids"]
    assert [row.tolist() for row in start.inputs.encode(TEXTS)] == expected
    pairs = kinds.continued(start.inputs, "tokens", PAIRS, "run")
    expected = known(*map(list, zip(*PAIRS)), truncation="longest_first", max_length=longest)[
        "input_ids"
    ]
    assert [row.tolist() for row in pairs.encode(PAIRS)] == expected


def test_trained_here_loaded_there_and_back(tmp_path, wenmai_cli, monkeypatch):
    """From a checkpoint on the command line, to a folder that transformers loads, with the same answers, and back."""
    monkeypatch.chdir(tmp_path)
    checkpoint(tmp_path / "checkpoint", "bert", "Model")
    rows = "".join(f"the cat {n},pos\na mat {n},neg\n" for n in range(20))
    (tmp_path / "films.csv").write_text("text,label\n" + rows)
    ran = wenmai_cli(
        "train",
        "bert",
        "films.csv",
        "--from",
        "checkpoint",
        "--set",
        "steps=3",
        "--out",
        "run",
        "--json",
    )
    assert ran.status == 0 and "started from checkpoint (bert)" in ran.out + ran.err, ran
    assert wenmai_cli("export", "run", "--format", "hf", "--out", "folder").status == 0
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained("folder").eval()
    known = transformers.AutoTokenizer.from_pretrained("folder")
    with torch.no_grad():
        expected = (
            theirs(**known(TEXTS, padding=True, return_tensors="pt")).logits.softmax(-1).numpy()
        )
    run = wenmai.load("run")
    assert np.allclose(run.predict_proba(TEXTS), expected, atol=1e-4)
    assert (
        [theirs.config.id2label[number] for number in range(2)]
        == run.classes_.tolist()
        == ["neg", "pos"]
    )
    assert wenmai_cli("import", "folder", "--out", "again").status == 0
    assert np.array_equal(wenmai.load("again").predict_proba(TEXTS), run.predict_proba(TEXTS))


def test_what_cannot_be_started_from_is_told(tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint(tmp_path / "checkpoint", "bert", "Model")
    (tmp_path / "films.csv").write_text("text,label\nthe cat,a\na mat,b\n" * 5)
    ran = wenmai_cli("train", "gpt", "films.csv", "--from", "checkpoint")
    assert ran.status == 2 and "holds the rung bert" in ran.err
    about = json.loads((tmp_path / "checkpoint" / "config.json").read_text())
    (tmp_path / "checkpoint" / "config.json").write_text(json.dumps(about | {"hidden_size": 24}))
    ran = wenmai_cli("train", "bert", "films.csv", "--from", "checkpoint")
    assert (
        ran.status == 2 and "has the shape (16, 16), and config.json asks for (16, 24)" in ran.err
    ), ran.err
