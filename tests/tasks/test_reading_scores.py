"""Exact match and F1 of answers, against the rules of SQuAD's and CMRC's scripts written down once more, another way."""

import random
import re
import string
from collections import Counter

import numpy as np
import pytest

from wenmai.tasks.reading_scores import (
    best_scores,
    cmrc_segments,
    longest_run,
    pair_scores,
    rules_for,
    treebank_words,
)


def plain(text: str) -> str:
    """SQuAD: lower case, no marks, no articles, single spaces."""
    text = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad(answer: str, references: list[str], second: bool) -> tuple[float, float]:
    if second:
        references = [text for text in references if plain(text)] or [""]
    exact, best = 0.0, 0.0
    for text in references:
        ours, theirs = plain(answer).split(), plain(text).split()
        exact = max(exact, float(plain(answer) == plain(text)))
        same = sum(min(ours.count(word), theirs.count(word)) for word in set(ours))
        if second and (not ours or not theirs):
            best = max(best, float(ours == theirs))
        elif same:
            best = max(
                best,
                2
                * (same / len(ours))
                * (same / len(theirs))
                / (same / len(ours) + same / len(theirs)),
            )
    return exact, best


PIECES = [
    "the",
    "a",
    "An",
    "Cat",
    "cat",
    "dog's",
    "1973",
    "U.S.",
    "$12",
    "—",
    "...",
    "well-known",
    "(OAPEC)",
    "",
    " ",
]


@pytest.mark.parametrize("rules", ["squad", "squad2"])
def test_squad_counts_as_its_scripts_do(rules):
    chance = random.Random(0)
    for _ in range(2000):
        answer, *references = (
            " ".join(chance.choices(PIECES, k=chance.randint(0, 5)))
            for _ in range(chance.randint(2, 4))
        )
        found = best_scores([answer], [references], rules)[0]
        assert found.tolist() == list(squad(answer, references, rules == "squad2")), (
            answer,
            references,
        )


def test_what_the_two_versions_differ_in():
    assert pair_scores("the", "a", "squad") == (
        1.0,
        0.0,
    )  # two empty texts are the same, and share no word
    assert pair_scores("the", "a", "squad2") == (1.0, 1.0)
    assert best_scores(["", "cat"], [[], []], "squad2").tolist() == [[1, 1], [0, 0]]
    assert best_scores(["the big cat"], [["dog", "cat", "a big cat!"]], "squad").tolist() == [
        [1, 1]
    ]


def run(first: list[str], second: list[str]) -> int:
    """The longest common run, by trying all."""
    return max(
        (
            size
            for size in range(1, len(first) + 1)
            for at in range(len(first) - size + 1)
            if any(first[at : at + size] == second[to : to + size] for to in range(len(second)))
        ),
        default=0,
    )


MARKS = list("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")


def cmrc(answer: str, reference: str, words) -> tuple[float, float]:
    cut = []
    for text in (answer, reference):
        kept = "".join("" if letter in MARKS else letter for letter in text.lower().strip())
        parts = re.split("([\u4e00-\u9fa5])", kept)
        cut.append(
            (
                kept,
                [
                    one
                    for part in parts
                    for one in ([part] if re.fullmatch("[\u4e00-\u9fa5]", part) else words(part))
                ],
            )
        )
    (ours, first), (theirs, second) = cut
    same = run(first, second)
    share = (same / len(first), same / len(second)) if same else (0, 0)
    return float(ours == theirs), 2 * share[0] * share[1] / sum(share) if same else 0.0


CHINESE = [
    "踢爆",
    "4分钟",
    "，",
    "……",
    "《泡泡堂》",
    "NPC",
    "2V2",
    " ",
    "U.S.",
    "3.5%",
    "a, b",
    "玩家",
    "don't",
    "(x)",
    "。",
]


@pytest.mark.slow
def test_cmrc_counts_as_its_script_does():
    nltk = pytest.importorskip("nltk.tokenize")
    words = (
        nltk.NLTKWordTokenizer().tokenize
    )  # its sentences need a model that has to be fetched: texts are one each
    chance = random.Random(1)
    for _ in range(2000):
        answer, reference = (
            "".join(chance.choices(CHINESE, k=chance.randint(1, 6))) for _ in range(2)
        )
        assert pair_scores(answer, reference, "cmrc") == cmrc(answer, reference, words), (
            answer,
            reference,
        )


def test_words_are_cut_as_nltk_cuts_them():
    nltk = pytest.importorskip("nltk.tokenize")
    words = nltk.NLTKWordTokenizer().tokenize
    chance = random.Random(2)
    pieces = [
        "e.g.",
        "cannot",
        "gonna",
        "it's",
        "don't",
        "'tis",
        "3,000",
        "a,b",
        "x;y",
        '"so"',
        "(in)",
        "3.5",
        "u.s.",
        "me.",
        "$5",
        "50%",
        "...",
        "what?",
        "we'll",
        "rock 'n' roll",
        "'s",
        "dogs'",
        " ",
        "&",
        "#1",
        "<b>",
        "''",
        "’",
    ]
    for _ in range(3000):
        text = chance.choice(["", " "]).join(chance.choices(pieces, k=chance.randint(1, 4)))
        assert treebank_words(text) == words(text), text


def test_runs_and_segments():
    assert cmrc_segments("《泡泡堂》NPC 2v2") == ["泡", "泡", "堂", "npc", "2v2"]
    chance = random.Random(3)
    for _ in range(300):
        first, second = (chance.choices("abc", k=chance.randint(0, 7)) for _ in range(2))
        assert longest_run(first, second) == run(first, second)


def test_the_texts_say_whose_rules_hold():
    assert rules_for(["踢爆", "4分钟"], False) == "cmrc"
    assert (
        rules_for(["October 1973"], False) == "squad"
        and rules_for(["October 1973"], True) == "squad2"
    )
    assert rules_for([], False) == "squad"


def test_a_mean_of_many_rows():
    found = best_scores(["a cat", "dog"], [["cat"], ["the cat", "cow"]], "squad")
    assert np.array_equal(found, [[1, 1], [0, 0]]) and Counter(found.ravel().tolist()) == {
        1.0: 2,
        0.0: 2,
    }
