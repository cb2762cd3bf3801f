"""Counts are those of a plain loop, and both layouts say the same."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wenmai.models.ngram import trie as tries
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.smoothing import smooth
from wenmai.models.ngram.table import Table, score

UNK, BEGIN, END = 0, 1, 2
FILES = Path(__file__).parent / "files"
PTB = Path(os.environ.get("WENMAI_DATA", Path(__file__).parents[3] / "shared" / "data")) / "ptb"


def a_text(sentences: int = 500, seed: int = 0) -> list[list[str]]:
    """Sentences in which the next word depends on the last one; tests/models/files/lmplz.arpa.xz was made from these."""
    chance, text = np.random.default_rng(seed), []
    for _ in range(sentences):
        word, sentence = 0, []
        for _ in range(int(chance.integers(1, 12))):
            word = (3 * word + int(chance.integers(1, 4))) % 211 if chance.random() < 0.5 else int(chance.zipf(1.5)) % 1009
            sentence.append(f"w{word}")
        text.append(sentence)
    return text


def numbered(text: list[list[str]]) -> tuple[np.ndarray, list[str]]:
    names = {"<unk>": UNK, "<s>": BEGIN, "</s>": END}
    tokens = [number for sentence in text
              for number in (BEGIN, *(names.setdefault(word, len(names)) for word in sentence), END)]  # fmt: skip
    return np.array(tokens, np.int32), list(names)


def in_words(levels, names) -> list[list[tuple]]:
    tables = [[(name,) for name in names]]
    for level in levels[1:]:
        tables.append([(*tables[-1][before], names[word]) for before, word in zip(level.context, level.word)])
    return tables


@pytest.mark.parametrize("seed", range(30))
def test_counts_are_those_of_a_plain_loop(seed):
    chance = np.random.default_rng(seed)
    order = int(chance.integers(1, 6))
    text = [[f"w{n}" for n in chance.integers(0, 5, chance.integers(0, 7))] for _ in range(chance.integers(1, 9))]
    tokens, names = numbered(text)
    levels = count(tokens, len(names), order, BEGIN)
    tables = in_words(levels, names)
    for n, (level, table) in enumerate(zip(levels, tables), 1):
        padded = [["<s>", *sentence, "</s>"] for sentence in text]
        expected = Counter(tuple(s[at : at + n]) for s in padded for at in range(len(s) - n + 1))
        assert {gram: int(found) for gram, found in zip(table, level.count) if found} == expected
        if n > 1:
            assert [tables[n - 2][at] for at in level.suffix] == [gram[1:] for gram in table]
            number = {name: at for at, name in enumerate(names)}
            keys = [[number[word] for word in gram[::-1]] for gram in table]
            assert keys == sorted(keys)


def by_hand(text: str) -> dict[tuple, tuple[float, float]]:
    found = {}
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) > 1:
            found[tuple(cells[1].split(" "))] = float(cells[0]), float(cells[2]) if len(cells) > 2 else 0.0
    return found


def total(table: Table, rows: list[list[int]]) -> np.ndarray:
    starts, sums = np.cumsum([0, *map(len, rows)]), np.zeros(len(rows))
    score(table.words, table.nodes, table.lines, np.concatenate(rows).astype(np.int32), starts, int(table.words[BEGIN]["next"]),
          0, len(rows), sums)  # fmt: skip
    return sums


@pytest.mark.parametrize("order", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("kind", ["modified-kneser-ney", "katz", "add-one", "none"])
def test_both_layouts_say_the_same(order, kind):
    tokens, names = numbered(a_text(200))
    levels = count(tokens, len(names), order, BEGIN)
    smoothed = smooth(levels, kind, BEGIN)
    text = a_text(60, seed=1) + a_text(60)
    number = {name: at for at, name in enumerate(names)}
    rows = [[*(number.get(word, UNK) for word in sentence), END] for sentence in text]
    starts, sums = np.cumsum([0, *map(len, rows)]), np.zeros(len(rows))
    small = tries.Trie.of(levels, smoothed)
    tries.score(small.first, small.log_prob, small.backoff, small.longer, small.bases, np.concatenate(rows).astype(np.int32),
                starts, BEGIN, np.array([0, len(rows)]), sums)  # fmt: skip
    np.testing.assert_allclose(sums, total(Table.of(levels, smoothed), rows), atol=1e-4)
