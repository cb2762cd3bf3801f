"""From text alone to answers elsewhere: pretrained here, fine-tuned three ways, written, loaded by `transformers`, read again."""

import numpy as np
import pytest
import torch
from checkpoints import transformers

import wenmai

LINES = [
    f"the {a} {b} on the {c}."
    for a in ("cat", "dog", "bird")
    for b in ("sat", "slept", "ran")
    for c in ("mat", "road")
]
TEXTS = ["the cat sat on the mat.", "the dog ran", "bird on road", "你好, the Café 🙂"]
ROWS = [line.strip(".").split() for line in LINES]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("there")
    encoder = wenmai.Encoder(
        "bert", width=16, heads=2, layers=2, steps=4, max_length=24, vocabulary=120, dropout=0.0
    )
    encoder.fit("\n\n".join("\n".join(LINES[start : start + 3]) for start in range(0, 18, 3))).save(
        folder / "pretrained"
    )
    start, same = folder / "pretrained", {"steps": 4, "validation": 0.0}
    wenmai.Classifier("bert", **same).fit(LINES, ["a", "b", "c"] * 6, start=start).save(
        folder / "classify"
    )
    wenmai.Regressor("bert", **same).fit(LINES, np.arange(18.0), start=start).save(
        folder / "regress"
    )
    tags = [["O", "B-ANIMAL", "I-ANIMAL"] + ["O"] * (len(row) - 3) for row in ROWS]
    wenmai.Tagger("bert", **same).fit(ROWS, tags, start=start).save(folder / "tag")
    return folder


@torch.no_grad()
def there(folder, name: str):
    """What transformers makes of the texts."""
    auto = {
        "pretrained": "PreTraining",
        "classify": "SequenceClassification",
        "regress": "SequenceClassification",
        "tag": "TokenClassification",
    }[name]
    model = getattr(transformers, f"AutoModelFor{auto}").from_pretrained(folder).eval()
    known = transformers.AutoTokenizer.from_pretrained(folder)
    if name == "tag":
        read = known(ROWS, is_split_into_words=True, padding=True, return_tensors="pt")
        first = [
            [read.word_ids(row).index(word) for word in range(len(words))]
            for row, words in enumerate(ROWS)
        ]
        logits = model(**read).logits.softmax(-1)
        return np.concatenate([logits[row, at].numpy() for row, at in enumerate(first)])
    read = known(TEXTS, padding=True, return_tensors="pt")
    if name == "pretrained":
        real = read["attention_mask"].bool()
        return model(**read).prediction_logits.softmax(-1)[real].numpy()
    return (
        model(**read).logits.softmax(-1).numpy()
        if name == "classify"
        else model(**read).logits[:, 0].numpy()
    )


@torch.no_grad()
def here(model, name: str):
    if name == "tag":
        return np.concatenate(model.predict_proba(ROWS))
    if name == "pretrained":
        from wenmai.data.examples.rows import Examples

        batch = Examples(model.inputs_.encode(TEXTS)).batch(np.arange(len(TEXTS)))
        y, mask, _ = model.model_.body(*model.model_.input(batch))
        return model.model_.head.words(y)[mask].exp().numpy()
    return model.predict_proba(TEXTS) if name == "classify" else model.predict(TEXTS)


@pytest.mark.parametrize("name", ["pretrained", "classify", "regress", "tag"])
def test_the_same_answers_there_and_back(name, place, tmp_path, wenmai_cli):
    run, folder, again = place / name, tmp_path / "folder", tmp_path / "again"
    assert wenmai_cli("export", run, "--format", "hf", "--out", folder).status == 0
    expected = here(wenmai.load(run), name)
    assert np.allclose(there(folder, name), expected, atol=1e-4)
    ran = wenmai_cli("import", folder, "--out", again)
    assert ran.status == 0, ran.err
    assert np.allclose(here(wenmai.load(again), name), expected, atol=1e-5)
    texts = ["the cat", "a dog ran"]
    assert np.allclose(wenmai.load(again).embed(texts), wenmai.load(run).embed(texts), atol=1e-5)


def test_words_are_filled_in_the_same(place, tmp_path, wenmai_cli):
    assert (
        wenmai_cli(
            "export", place / "pretrained", "--format", "hf", "--out", tmp_path / "folder"
        ).status
        == 0
    )
    assert wenmai_cli("import", tmp_path / "folder", "--out", tmp_path / "again").status == 0
    known, again = (
        wenmai.load(folder).fill("the [MASK] sat on the [MASK].", 3)
        for folder in (place / "pretrained", tmp_path / "again")
    )
    assert [[one["word"] for one in place] for place in known] == [
        [one["word"] for one in place] for place in again
    ]
