"""Words of the source that the target's vocabulary lacks: their numbers on both sides, and the way back to text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.data.inputs.copying import copied, written
from wenmai.data.inputs.sides import Pairs
from wenmai.data.text.tokenizers import OWN
from wenmai.errors import Mistake

SOURCES = ["please call Ann now", "please ask Bob or Ann", "call me and call her"]
TARGETS = ["Ann calls", "Bob asks", "I call"]
UNK, END = OWN.unknown, OWN.end


def pairs(**options) -> Pairs:
    return Pairs.learn(SOURCES, TARGETS, **{"tokenizer": "words"} | options)


def test_numbers_go_on_in_the_order_of_the_source():
    both = pairs()
    known, first = both.target.numbers, both.target.vocabulary
    sources = copied(both, ["call Zoe and Ann or Zoe and Yan", "Yan calls"])
    assert sources.beside["copies"].tolist() == [
        *(
            known["call"],
            first,
            first + 1,
            known["Ann"],
            first + 2,
            first,
            first + 1,
            first + 3,
            END,
        ),
        first,
        known["calls"],
        END,
    ]
    assert [list(words) for words in sources.words] == [["Zoe", "and", "or", "Yan"], ["Yan"]]
    np.testing.assert_array_equal(
        sources.flat, both.encode(["call Zoe and Ann or Zoe and Yan", "Yan calls"]).flat
    )
    targets = written(both, ["Yan calls Xu", "Yan calls Zoe"], sources)
    assert targets.flat.tolist() == [
        first + 3,
        known["calls"],
        UNK,
        END,
        first,
        known["calls"],
        UNK,
        END,
    ]
    taken = sources.take(np.array([1, 1, 0]))
    assert [list(words)[-1] for words in taken.words] == ["Yan", "Yan", "Yan"] and taken[
        0
    ].tolist() == sources[1].tolist()
    target = both.target.knowing(sources.words[0])
    assert target.text(targets[0].tolist()) == "Yan calls <unk>"
    assert list(target.pieces([first, known["calls"], first + 3, END])) == ["Zoe", " calls", " Yan"]


def test_a_source_that_is_cut_has_no_words_beyond():
    both = pairs(max_length=3)
    sources = copied(both, ["Zoe and Yan or Xu", "Zoe and", "Zoe and Yan"])
    assert [list(words) for words in sources.words] == [
        ["Zoe", "and", "Yan"],
        ["Zoe", "and"],
        ["Zoe", "and", "Yan"],
    ]
    assert [row.tolist()[-1] == END for row in (sources[0], sources[1], sources[2])] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"tokenizer": "characters"},
        {"tokenizer": "words", "lowercase": True},
        {"tokenizer": "bytes"},
        {"tokenizer": "bpe", "joint": False, "vocabulary": 300},
        {"tokenizer": "bpe"},
        {"tokenizer": "wordpiece"},
        {"tokenizer": "wordpiece", "lowercase": True, "joint": False},
        {"tokenizer": "unigram", "joint": False},
    ],
    ids=str,
)
def test_what_is_copied_whole_reads_as_the_source(options):
    both = pairs(**options)
    texts = ["call Ωω and 王明 now", "please", "Zoe's ask"]
    sources = copied(both, texts)
    assert sources.lengths.tolist() == both.encode(texts).lengths.tolist()
    for row, text in enumerate(texts):
        numbers = sources.take(np.array([row])).beside["copies"].tolist()
        found = both.target.knowing(sources.words[row]).text(numbers)
        wanted = text.lower() if options.get("lowercase") else text
        assert UNK not in numbers and found.replace(" ", "") == wanted.replace(" ", "")
    if (
        options["tokenizer"] != "unigram"
    ):  # which cuts what it does not know as it likes, on either side
        assert UNK not in written(both, texts, sources).flat


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=12), min_size=1, max_size=4))
def test_any_text_has_numbers(texts):
    """Half characters too; what is written out can be kept."""
    for both in KINDS:
        sources = copied(both, texts)
        assert sources.lengths.tolist() == both.encode(texts).lengths.tolist()
        for row, words in enumerate(sources.words):
            numbers = sources.take(np.array([row])).beside["copies"]
            assert numbers.max() < both.target.vocabulary + len(words) or not words
            both.target.knowing(words).text(numbers.tolist()).encode()
        written(both, texts, sources)


KINDS = [
    pairs(),
    pairs(tokenizer="characters"),
    pairs(tokenizer="wordpiece", joint=False),
    pairs(tokenizer="bytes"),
]


def test_two_kinds_of_tokens_are_refused():
    with pytest.raises(
        Mistake,
        match="found words for the texts that are read and characters for those that are written",
    ):
        copied(pairs(target_tokenizer="characters"), SOURCES)
