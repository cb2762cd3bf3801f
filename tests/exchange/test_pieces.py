"""Words in pieces: bert tags words that its tokenizer cuts further; the same pieces and the same answers as `transformers`."""

import numpy as np
import pytest
import torch
from test_encoders import FAMILIES, checkpoint

import wenmai
from wenmai import Classifier, Tagger
from wenmai.data.examples.pieces import cut_between
from wenmai.data.inputs import kinds
from wenmai.exchange import hugging_face

transformers = pytest.importorskip("transformers")

ROWS = [
    ["the", "cats", "Café", "你好"],
    ["a", "\x01", "mat", "\u200b"],
    [],
    ["🙂", "mats", ",", "cat's"],
]
TAGS = [["O", "B-X", "O", "B-Y"], ["O", "O", "B-Y", "O"], [], ["O", "B-X", "O", "B-X"]]


def words_of(known, rows):
    return known([row or [""] for row in rows], is_split_into_words=True)


@pytest.mark.parametrize("kind", FAMILIES)
def test_words_are_cut_as_there(kind, tmp_path):
    _, known = checkpoint(tmp_path / "checkpoint", kind, "Model")
    if kind == "roberta":  # transformers asks for this before it takes words
        known.backend_tokenizer.pre_tokenizer.add_prefix_space = True
    start = hugging_face.checkpoint(tmp_path / "checkpoint")
    inputs = kinds.continued(start.inputs, "given", ROWS, "run")
    encoded = inputs.encode(ROWS)
    rows = [0, 1, 3] if kind == "roberta" else [0, 1, 2, 3]  # there an empty row is a space
    for row in rows:
        expected = words_of(known, [ROWS[row]])
        assert encoded.tokens_read(row, 99).tolist() == expected["input_ids"][0]
        _, mask, beside = encoded.padded(np.array([row]), 99)
        places = beside["answers"][0][: len(ROWS[row])]
        of = expected.word_ids(0)
        assert [place for word, place in enumerate(places) if word in of] == [
            of.index(w) for w in range(len(places)) if w in of
        ]
        assert (places >= 1).all() and (places < mask.sum()).all()
    assert encoded.lengths.tolist() == [len(row) for row in ROWS]
    assert encoded.costs.tolist() == [len(encoded.tokens_read(row, 99)) for row in range(4)]


def test_the_same_weights_tag_the_same(tmp_path):
    """The head of BertForTokenClassification, at every first piece."""
    theirs, known = checkpoint(
        tmp_path / "checkpoint", "bert", "ForTokenClassification", num_labels=9
    )
    start = hugging_face.checkpoint(tmp_path / "checkpoint")
    ours = Tagger("bert", steps=1, learning_rate=1e-30, weight_decay=0.0, validation=0.0).fit(
        ROWS, TAGS, start=start
    )
    assert len(ours.classes_) == 9  # O, and B, I, E, S of two kinds
    with torch.no_grad():
        ours.model_.head.output.weight.copy_(theirs.classifier.weight)
        ours.model_.head.output.bias.copy_(theirs.classifier.bias)
    chances = ours.predict_proba(ROWS)
    for row, words in enumerate(ROWS):
        read = known([words or [""]], is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            expected = theirs(**read).logits[0].softmax(-1).numpy()
        assert len(chances[row]) == len(words)
        of = read.word_ids(0)
        for word in range(len(words)):
            if word in of:
                assert np.allclose(chances[row][word], expected[of.index(word)], atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [{}, {"crf": True}, {"characters": "cnn"}, {"tokenizer": "bpe"}, {"max_length": 6}],
    ids=str,
)
def test_one_answer_a_word(options, tmp_path):
    model = Tagger("bert", width=8, heads=2, layers=1, steps=3, validation=0.0, **options).fit(
        ROWS * 3, TAGS * 3
    )
    asked = [*ROWS, ["unbelievablysolongawordthatnothing"] * 9, ["the"] * 700]
    answers = model.predict(asked)
    assert [len(tags) for tags in answers] == [len(row) for row in asked]
    assert wenmai.load(model.save(tmp_path / "run")).predict(asked) == answers
    assert model.evaluate(ROWS, TAGS).keys() >= {"span_f1", "token_accuracy"}
    assert model.answers(["the cats"])[0]["tokens"] == ["the", "cats"]


def test_windows_are_cut_between_words():
    generator = np.random.default_rng(0)
    for _ in range(200):
        room = int(generator.integers(1, 9))
        ends = np.cumsum([0, *generator.integers(0, room + 1, generator.integers(1, 30))]) + 5
        if ends[-1] - ends[0] <= room:
            continue
        edges = [0, *cut_between(ends, room), len(ends) - 1]
        assert edges == sorted(set(edges)) and np.diff(ends[edges]).max() <= room


def test_windows_answer_for_every_word_in_its_place():
    """A long row in windows: as its windows alone, one after the other."""
    model = Tagger("bert", width=8, heads=2, layers=1, steps=3, validation=0.0, max_length=9).fit(
        ROWS * 3, TAGS * 3
    )
    long = ["the", "mat", "cats", "a"] * 8
    examples = model.examples([long])
    windows = examples.windows(9).inputs
    assert len(windows) > 3 and (windows.costs <= 9).all()
    parts = [long[start:stop] for start, stop in zip(windows.starts, windows.stops)]
    assert [word for part in parts for word in part] == long
    alone = np.concatenate([model.outputs(model.examples([part])).flat for part in parts])
    assert np.allclose(model.outputs(examples).flat, alone, atol=1e-5)


def test_from_tags_to_classes_and_back(tmp_path):
    """A run that tags is started from for a class, and the other way; letters are asked for beside a body that is kept."""
    tagger = Tagger("bert", width=8, heads=2, layers=1, steps=2, validation=0.0).fit(
        ROWS * 3, TAGS * 3
    )
    texts = ["the cat", "a mat"] * 6
    classifier = Classifier("bert", steps=2, validation=0.0).fit(
        texts, ["x", "y"] * 6, start=tagger
    )
    pairs = Classifier("bert", steps=2, validation=0.0).fit(
        list(zip(texts, texts)), ["x", "y"] * 6, start=tagger
    )
    assert classifier.inputs_.wrapping == pairs.inputs_.wrapping == tagger.inputs_.wrapping
    again = Tagger("bert", steps=2, validation=0.0, characters="lstm").fit(
        ROWS * 3, TAGS * 3, start=classifier
    )
    assert (
        again.model_.spelling.reader is not None
        and again.inputs_.tokenizer is tagger.inputs_.tokenizer
    )
    further = Tagger("bert", steps=1, validation=0.0, learning_rate=1e-30, weight_decay=0.0).fit(
        ROWS * 3, TAGS * 3, start=again
    )
    assert torch.allclose(
        further.model_.spelling.table.weight, again.model_.spelling.table.weight, atol=1e-6
    )


def test_too_little_room_for_a_word():
    with pytest.raises(
        wenmai.Mistake, match="max_length=2: what stands around a row takes 2 places"
    ):
        Tagger("bert", max_length=2).fit(ROWS * 3, TAGS * 3)
