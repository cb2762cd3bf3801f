"""Counting what is larger than memory: sorted runs in files, and one merge (Knuth, The Art of Computer Programming 3, 5.4).

As much text as fits is counted at a time, and what was found is written to files as a *run*: of every n-gram the first word, the
number in this run of the (n−1)-gram that it ends with, and how often it was seen; 12 bytes. What the runs hold is then merged
into levels, which are files too, read as arrays. Files have no name, and are gone when nobody holds them.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from wenmai.data.storage.threads import threads
from wenmai.data.text.vocabulary import BEGIN
from wenmai.models.ngram.counts import Level, count, counted
from wenmai.models.ngram.merging import CHUNK, MOST, NOTHING, Column, Tree, merged

HELD = 20  # bytes a token and order, if every n-gram is a new one: text and sort, then a row of every level
SPILLED = 56  # bytes a token: text 4, sort 16, one level 20, first words 8, and the blocks from which it is put together
BESIDE = 8 * 3  # bytes a word of the vocabulary, and 16 for every thread
BUFFERS = 48 * CHUNK  # bytes: what is put together before it is written, and after it was read
LEAST = 1 << 16  # tokens of a run, however little memory there is


def count_blocks(
    blocks: Iterable[np.ndarray],
    vocabulary: Callable[[], int],
    order: int,
    memory: int | None = None,
    folder: Path | None = None,
) -> list[Level]:
    """The levels of a text that comes in blocks of whole sentences, (N,) int32, as `count` gives them; how many words there are
    is asked when all blocks were read. In at most so many bytes of memory, if it says so, and then with files in this folder."""
    held, size, words, blocks = [], 0, 0, iter(blocks)
    for block in blocks:
        held.append(block)
        size, words = size + len(block), max(words, int(block.max(initial=0)) + 1)
        if size > MOST or (
            memory is not None and HELD * order * size + (BESIDE + 16 * threads()) * words > memory
        ):
            return spilled(held, blocks, vocabulary, order, memory, folder)
    tokens = np.concatenate([np.zeros(0, np.int32), *held])
    held.clear()
    return count(tokens, vocabulary(), order, BEGIN)


def spilled(
    held: list[np.ndarray],
    blocks: Iterator[np.ndarray],
    vocabulary: Callable[[], int],
    order: int,
    memory: int | None,
    folder: Path | None,
) -> list[Level]:
    runs = Runs(order, folder)

    def room() -> int:
        left = (
            MOST * SPILLED
            if memory is None
            else memory - BUFFERS - (BESIDE + 16 * threads()) * len(runs.counts)
        )
        return min(MOST, max(LEAST, left // SPILLED))

    def every() -> Iterator[np.ndarray]:
        while held:
            yield held.pop(0)
        yield from blocks

    for tokens in pieces(every(), room):
        runs.add(tokens)
    return runs.merged(vocabulary())


def pieces(blocks: Iterable[np.ndarray], room: Callable[[], int]) -> Iterator[np.ndarray]:
    """The blocks put together, or cut between sentences, to as many tokens as there is room for. A sentence stays whole."""
    held, size, most = [], 0, room()
    for block in blocks:
        while size + len(block) > most:
            fits = np.flatnonzero(block[: most - size + 1] == BEGIN)
            end = int(fits[-1]) if len(fits) else 0
            if end == 0 and not held:  # not even one: it is taken as it is
                end = (
                    int(np.argmax(block[1:] == BEGIN)) + 1
                    if (block[1:] == BEGIN).any()
                    else len(block)
                )
            tokens, block = np.concatenate([*held, block[:end]]), block[end:]
            held, size = [], 0
            yield tokens
            most = room()
        if len(block):
            held.append(block)
            size += len(block)
    if held:
        yield np.concatenate(held)


class Runs:
    """The n-grams of all runs, those of one order in one file: (rows, 3) int32."""

    def __init__(self, order: int, folder: Path | None = None):
        self.folder, self.counts = folder, np.zeros(0, np.int64)  # how often every word was seen
        self.rows = [Column(np.int32, folder) for _ in range(order - 1)]
        self.ends = [[0] for _ in range(order - 1)]

    def add(self, tokens: np.ndarray) -> None:
        levels = counted(tokens, int(tokens.max(initial=0)) + 1, len(self.rows) + 1, BEGIN)
        words = next(levels)
        self.counts, first = total(self.counts, words.count), words.word
        for n in range(len(self.rows)):
            level = next(levels)
            first = first[level.context]
            self.write(n, first, level.suffix, level.count)
            del level  # before the next is made

    def write(self, n: int, *columns: np.ndarray) -> None:
        for start in range(0, len(columns[0]), CHUNK):
            self.rows[n].append(
                np.stack([column[start : start + CHUNK].astype(np.int32) for column in columns], 1)
            )
        self.ends[n].append(self.ends[n][-1] + len(columns[0]))

    def merged(self, vocabulary: int) -> list[Level]:
        tree, below, bases = (
            Tree(total(self.counts, np.zeros(vocabulary, np.int64)), self.folder),
            NOTHING,
            [0],
        )
        for n, ends in enumerate(self.ends):
            rows = self.rows[n].array().reshape(-1, 3)
            tree.add(merged(rows, ends, below, bases))
            below, bases, self.rows[n] = rows, ends, None
        return tree.levels


def total(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Their sum, as long as the longer."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    longer = longer.copy()
    longer[: len(shorter)] += shorter
    return longer
