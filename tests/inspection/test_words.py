"""Pieces and bytes are joined into whole words and characters, never ##so and never half a character."""

import numpy as np
import pytest

from wenmai.data.inputs.target_texts import TargetTexts
from wenmai.data.text import tokenizers
from wenmai.inspection.words import (
    Word,
    averaged,
    last_of,
    summed,
    without,
    words_read,
    words_written,
)
from wenmai.tasks.writing import token_names

SENTENCES = [
    "He tossed this tennis ball to serve",
    "Bark is very cute and he is a dog",
    "小狗很可爱，它叫旺财。",
    "他把网球抛起来发球",
    "naïve café 🙂 done",
    "don't stop, 真的!",
]
KINDS = ("words", "characters", "bytes", "bpe", "wordpiece", "unigram")


def known(kind: str):
    small = (
        {}
        if kind == "bytes"
        else {"vocabulary": {"bpe": 290, "wordpiece": 120, "unigram": 90}.get(kind, 500)}
    )
    return tokenizers.learn(SENTENCES, tokenizer=kind, lowercase=False, **small)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_read_is_in_words(kind, text):
    tokenizer = known(kind)
    ids = tokenizer.encode([text])[0]
    found = words_read(tokenizer, tokenizer.special, ids, [text])
    assert sorted(place for word in found for place in word.places) == list(range(len(ids)))
    names = [word.name for word in found]
    assert not any(
        "�" in name or name.startswith("##") or "Ġ" in name or "▁" in name for name in names
    )
    assert "".join(names).replace("␣", "").replace(" ", "") == "".join(text.split())
    for word in found:
        _, start, end = word.span
        assert text[start:end].strip() == word.name or word.name == "␣"
    if kind in ("bpe", "wordpiece", "unigram") and text.isascii():
        assert names == text.split()


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("kind", KINDS)
def test_so_is_what_was_written(kind, text):
    lines = TargetTexts(known(kind), 64, 64).lines
    ids = [*lines.tokenizer.encode([text])[0].tolist(), lines.special.end]
    found = words_written(lines.tokenizer, lines.special, ids, token_names(lines, ids))
    assert [place for word in found for place in word.places] == list(range(len(ids)))
    names = [word.name for word in found]
    assert names[-1] == "</s>" and not any(
        "�" in name or "##" in name or "Ġ" in name or "▁" in name for name in names
    )
    assert "".join(names[:-1]).replace("␣", "") == "".join(text.split())
    if kind in ("bpe", "wordpiece", "unigram") and text.isascii():
        assert names[:-1] == text.split()


def test_two_texts_stand_in_any_order_and_may_be_cut():
    tokenizer = known("words")
    first, second = ("Bark is very cute", "he is a dog")
    ids = [
        *tokenizer.encode([second])[0].tolist(),
        tokenizer.special.separator,
        *tokenizer.encode([first])[0].tolist()[:3],
    ]
    found = words_read(tokenizer, tokenizer.special, np.array(ids), [first, second])
    assert [(word.name, word.span and word.span[0]) for word in found] == [
        ("he", 1),
        ("is", 1),
        ("a", 1),
        ("dog", 1),
        ("<sep>", None),
        ("Bark", 0),
        ("is", 0),
        ("very", 0),
    ]


def test_a_word_that_is_unknown_is_named_as_it_is_written():
    tokenizer = tokenizers.learn(["a b"], tokenizer="words")
    text = "A zebra b"
    assert [
        word.name
        for word in words_read(tokenizer, tokenizer.special, tokenizer.encode([text])[0], [text])
    ] == text.split()


def test_numbers_of_places_become_numbers_of_words():
    words, values = [Word("a", [0, 1]), Word("b", [2])], np.arange(6.0).reshape(2, 3)
    assert summed(values, words).tolist() == [[1, 2], [7, 5]] and averaged(
        values, words
    ).tolist() == [[0.5, 2], [3.5, 5]]
    assert last_of(values.T, words).tolist() == [[1, 4], [2, 5]]
    assert last_of(values.T, words, first=True).tolist() == [[0, 3], [2, 5]]


def test_a_word_goes_with_one_of_its_spaces():
    assert without("a truly good film", 2, 7) == "a good film" and without("a film", 0, 1) == "film"
    assert without("a film", 2, 6) == "a " and without("小狗很可爱", 2, 3) == "小狗可爱"
