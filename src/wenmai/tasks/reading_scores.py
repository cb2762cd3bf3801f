"""Exact match and F1 of an answer, as SQuAD's and CMRC's own scripts count them. Of several references the best counts.

SQuAD   words in lower case, without marks and a, an, the            Rajpurkar et al. 2016; 2018 where some have no answer
        F1 = 2PR / (P + R) over the words that both have, however they stand
CMRC    Chinese by characters, other words as they are, without marks        Cui et al. 2019
        F1 over the longest run that both have in common
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from wenmai.data.text.tokenizers import CHINESE

RULES = ("squad", "squad2", "cmrc")
ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_MARKS = str.maketrans("", "", string.punctuation)
# The marks that CMRC's script leaves out; its …… is two characters, and so none of them.
CMRC_MARKS = frozenset(r"-:_*^/\~`+=" + "，。：？！“”；’《》·、「」（）－～『』")
CMRC_CHARACTER = re.compile("[\u4e00-\u9fa5]")


def rules_for(texts: Sequence[str], impossible: bool) -> str:
    """Which of the scripts counts answers such as these; `impossible`: some questions have none."""
    letters = "".join(texts)
    if len(CHINESE.findall(letters)) > 0.3 * len(letters):
        return "cmrc"
    return "squad2" if impossible else "squad"


def best_scores(
    answers: Sequence[str], references: Sequence[Sequence[str]], rules: str
) -> np.ndarray:
    """(N, 2): exact match and F1 of every answer, against the best of its references; none: "" is right."""
    scores = np.zeros((len(answers), 2))
    for row, (answer, known) in enumerate(zip(answers, references)):
        if rules == "squad2":
            known = [text for text in known if squad_words(text)]
        for text in known or [""]:
            scores[row] = np.maximum(scores[row], pair_scores(answer, text, rules))
    return scores


@lru_cache(1 << 16)
def pair_scores(answer: str, reference: str, rules: str) -> tuple[float, float]:
    if rules == "cmrc":
        return cmrc_scores(answer, reference)
    ours, theirs = squad_words(answer), squad_words(reference)
    exact = float(ours == theirs)
    if rules == "squad2" and not (ours and theirs):
        return exact, exact
    return exact, f1(sum((Counter(ours) & Counter(theirs)).values()), len(ours), len(theirs))


def f1(same: int, ours: int, theirs: int) -> float:
    if not same:
        return 0.0
    precision, recall = same / ours, same / theirs
    return 2 * precision * recall / (precision + recall)


def squad_words(text: str) -> list[str]:
    return ARTICLES.sub(" ", text.lower().translate(WITHOUT_MARKS)).split()


def cmrc_scores(answer: str, reference: str) -> tuple[float, float]:
    """Where a question has no answer, which CMRC's never lack, both have to be empty."""
    both = (text.lower().strip() for text in (answer, reference))
    ours, theirs = ("".join(letter for letter in text if letter not in CMRC_MARKS) for text in both)
    exact = float(ours == theirs)
    if not answer or not reference:
        return exact, exact
    first, second = cmrc_segments(answer), cmrc_segments(reference)
    return exact, f1(longest_run(first, second), len(first), len(second))


def cmrc_segments(text: str) -> list[str]:
    """Chinese characters, and what stands between them in words."""
    segments, other = [], ""
    for letter in text.lower().strip():
        if letter in CMRC_MARKS:
            continue
        if CMRC_CHARACTER.match(letter):
            segments += [*treebank_words(other), letter]
            other = ""
        else:
            other += letter
    return segments + treebank_words(other)


def longest_run(first: list[str], second: list[str]) -> int:
    """How many segments the longest common run has."""
    most, ends = 0, [0] * (len(second) + 1)
    for segment in first:
        ends = [0] + [before + 1 if segment == other else 0 for before, other in zip(ends, second)]
        most = max(most, max(ends))
    return most


# The words of the Penn Treebank (Marcus et al. 1993) in a sentence, one rule after another. CMRC's script has them from NLTK,
# which first looks for the ends of sentences: an answer is taken as one.
TREEBANK = [
    (re.compile(rule), by)
    for rule, by in (
        (r"([«“‘„]|`+)", r" \1 "),
        (r'^"', " `` "),
        (r"""([ (\[{<])("|'{2})""", r"\1 `` "),
        (r"(?<!\w)(')(?!(?:re|ve|ll|[mtsdn])\b)(?=\w)", r"\1 "),
        (
            r"""([^.])(\.)([\])}>"'»”’ ]*)\s*$""",
            r"\1 \2 \3 ",
        ),  # the last full stop, not those of e.g.
        (r"([:,])(\D)", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"(\.{2,}|[;@#$%&\u2012-\u2015?!*])", r" \1 "),
        (r"([^'])' ", r"\1 ' "),
        (r"([\]\[(){}<>]|--)", r" \1 "),
        (r"^|$", " "),
        (r"([»”’])", r" \1 "),
        (r"''|\"", " '' "),
        (r"\s+", " "),
        (r"([^' ])('[smd]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'re|'ve|n't) ", r"\1 \2 "),
        (r"\b(can)(not)\b", r" \1 \2 "),
        (r"\b(d)('ye)\b", r" \1 \2 "),
        (r"\b(gim|lem)(me)\b", r" \1 \2 "),
        (r"\b(gon|wan)(na)\b", r" \1 \2 "),
        (r"\b(got)(ta)\b", r" \1 \2 "),
        (r"\b(more)('n)\b", r" \1 \2 "),
        (r" ('t)(is|was)\b", r" \1 \2 "),
    )
]


@lru_cache(1 << 14)
def treebank(text: str) -> tuple[str, ...]:
    if not text or text.isspace():
        return ()
    for rule, by in TREEBANK:
        text = rule.sub(by, text)
    return tuple(text.split())


def treebank_words(text: str) -> list[str]:
    return list(treebank(text))
