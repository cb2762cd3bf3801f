"""Texts, and ways to look at n-grams, that several tests use."""

import os
from pathlib import Path

import numpy as np

from wenmai.data.text.vocabulary import BEGIN, END, UNK

FILES = Path(__file__).parent / "files"
PTB = Path(os.environ.get("WENMAI_DATA", Path(__file__).parents[3] / "shared" / "data")) / "ptb"


def a_text(sentences: int = 500, seed: int = 0) -> list[list[str]]:
    """Sentences in which the next word depends on the last one; tests/models/files/lmplz.arpa.xz was made from these."""
    chance, text = np.random.default_rng(seed), []
    for _ in range(sentences):
        word, sentence = 0, []
        for _ in range(int(chance.integers(1, 12))):
            word = (
                (3 * word + int(chance.integers(1, 4))) % 211
                if chance.random() < 0.5
                else int(chance.zipf(1.5)) % 1009
            )
            sentence.append(f"w{word}")
        text.append(sentence)
    return text


def numbered(text: list[list[str]]) -> tuple[np.ndarray, list[str]]:
    names = {"<unk>": UNK, "<s>": BEGIN, "</s>": END}
    tokens = [
        number
        for sentence in text
        for number in (BEGIN, *(names.setdefault(word, len(names)) for word in sentence), END)
    ]
    return np.array(tokens, np.int32), list(names)


def in_words(levels, names) -> list[list[tuple]]:
    tables = [[(name,) for name in names]]
    for level in levels[1:]:
        tables.append(
            [(*tables[-1][before], names[word]) for before, word in zip(level.context, level.word)]
        )
    return tables


def by_hand(text: str) -> dict[tuple, tuple[float, float]]:
    found = {}
    for line in text.splitlines():
        cells = line.split("\t")
        if len(cells) > 1:
            found[tuple(cells[1].split(" "))] = (
                float(cells[0]),
                float(cells[2]) if len(cells) > 2 else 0.0,
            )
    return found


def total(layout, rows: list[list[int]]) -> np.ndarray:
    return layout.score(np.concatenate(rows).astype(np.int32), np.cumsum([0, *map(len, rows)]))
