"""Merging the n-grams of sorted runs into levels.

An order is merged after the one below it, so that it is known which number g the (n−1)-grams of a run have among all; and then
the runs are sorted by

    (g of the (n−1)-gram that it ends with, first word)     as one number of 64 bits

which is the order of levels. An n-gram takes its last word from the one that it ends with. What it begins with, w₁ … w_{n−1}, is
found among those that end with w₂ … w_{n−1}, which stand side by side, by their first word.
"""

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from wenmai.data.examples.stored import Spool
from wenmai.data.storage.caches import njit
from wenmai.data.storage.threads import side_by_side, threads
from wenmai.errors import Mistake
from wenmai.locale.theirs import Theirs
from wenmai.models.ngram.counts import Level, words_level

MOST = 2**31 - 1  # n-grams of an order, tokens of a run
CHUNK = 1 << 19  # n-grams that are merged before they are written
NOTHING = np.zeros((0, 3), np.int32)


class Column(Spool):
    """An array in a file without a name: written at its end, then read as an array."""

    def __init__(self, kind: type, folder: Path | None):
        self.kind, self.size, self.named = np.dtype(kind), 0, folder is not None
        super().__init__(folder)

    def append(self, values: np.ndarray) -> None:
        super().append(
            memoryview(np.ascontiguousarray(values, self.kind)).cast("B") if values.size else b""
        )
        self.size += values.size

    def no_room(self, error: OSError) -> Mistake:
        if not self.named:
            return super().no_room(error)
        return Mistake(
            "{folder}: {why}, while n-grams were put there that are too many for memory; make room, or name another "
            "folder.",
            folder=self.folder,
            why=Theirs(error.strerror or error),
        )

    def array(self) -> np.ndarray:
        """(size,); the file lives as long as it."""
        return (
            np.frombuffer(mmap.mmap(self.file.fileno(), 0), self.kind)
            if self.size
            else np.zeros(0, self.kind)
        )


def merged(
    rows: np.ndarray, ends: list[int], below: np.ndarray, bases: list[int]
) -> Iterator[tuple[np.ndarray, ...]]:
    """(first words, suffixes, counts) of an order, some at a time. Run r is rows[ends[r] : ends[r + 1]], its (n−1)-grams begin at
    below[bases[r]]. The second column of the rows is then the number of each among all, as the next order needs it."""
    at, stop = np.array(ends[:-1], np.int64), np.array(ends[1:], np.int64)
    origin = np.array(bases[:-1] or [0] * len(at), np.int64)
    number = 0
    while True:
        first, suffix, counts = (
            np.empty(CHUNK, np.int32),
            np.empty(CHUNK, np.int32),
            np.empty(CHUNK, np.int64),
        )
        filled = merge(rows, at, stop, below, origin, number, first, suffix, counts)
        yield first[:filled], suffix[:filled], counts[:filled]
        number += filled
        if filled < CHUNK:
            return


class Tree:
    """Levels, built one after the other from first words, suffixes and counts."""

    def __init__(self, counts: np.ndarray, folder: Path | None = None):
        self.folder, self.levels = folder, [words_level(counts)]
        self.first = self.levels[0].word

    def add(self, chunks: Iterable[tuple[np.ndarray, ...]]) -> None:
        below, kinds = self.levels[-1], (np.int32, np.int32, np.int64, np.int32, np.int32)
        first, suffix, count, word, context = columns = [
            Column(kind, self.folder) for kind in kinds
        ]
        for firsts, suffixes, counts in chunks:
            for column, values in zip(columns, (firsts, suffixes, counts, below.word[suffixes])):
                column.append(values)
            if first.size > MOST:
                raise Mistake(
                    "the text has more than {most:,} n-grams of {order} words, expected fewer; choose a lower order, "
                    "or less text.",
                    most=MOST,
                    order=len(self.levels) + 1,
                )
        firsts, suffixes = first.array(), suffix.array()
        if len(self.levels) == 1:
            context = first
        else:
            longer = self.longer()
            starts = range(0, len(firsts), CHUNK)
            for some in range(0, len(starts), threads()):
                calls = [
                    (
                        firsts[start : start + CHUNK],
                        suffixes[start : start + CHUNK],
                        below.context,
                        longer,
                        self.first,
                    )
                    for start in starts[some : some + threads()]
                ]
                for numbers in side_by_side(contexts, calls):
                    context.append(numbers)
        self.levels.append(Level(word.array(), context.array(), suffixes, count.array()))
        self.first = firsts

    def longer(self) -> np.ndarray:
        """For every n-gram two orders below, where those of the order below begin that end with it; (M + 1,)"""
        suffix, size, at, starts = (
            self.levels[-1].suffix,
            len(self.levels[-2]) + 1,
            0,
            Column(np.int32, self.folder),
        )
        for low in range(0, size, CHUNK):
            block = np.empty(min(CHUNK, size - low), np.int32)
            at = begins(suffix, low, at, block)
            starts.append(block)
        return starts.array()


@njit(inline="always")
def key_of(rows, at, below, origin):
    suffix = (
        below[origin + rows[at, 1], 1] if len(below) else rows[at, 1]
    )  # a word has the same number in all runs
    return (np.uint64(suffix) << np.uint64(32)) | np.uint64(rows[at, 0])


@njit(cache=True, nogil=True)
def sink(keys, run, size, node):
    """Puts the key at this node of the heap into its place below."""
    while 2 * node + 1 < size:
        child = 2 * node + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[node] <= keys[child]:
            return
        keys[node], keys[child] = keys[child], keys[node]
        run[node], run[child] = run[child], run[node]
        node = child


@njit(cache=True, nogil=True)
def merge(rows, at, ends, below, origin, number, first, suffix, count):
    """Goes on from `at` until `first` is full; how many different n-grams there were."""
    keys, run, size = np.empty(len(at), np.uint64), np.empty(len(at), np.int64), 0
    for one in range(len(at)):
        if at[one] < ends[one]:
            keys[size], run[size] = key_of(rows, at[one], below, origin[one]), one
            size += 1
    for node in range(size // 2 - 1, -1, -1):
        sink(keys, run, size, node)
    filled, last = 0, np.uint64(0)
    while size:
        key, one = keys[0], run[0]
        if filled == 0 or key != last:
            if filled == len(first):
                break
            first[filled], suffix[filled], count[filled] = (
                key & np.uint64(0xFFFFFFFF),
                key >> np.uint64(32),
                0,
            )
            last = key
            filled += 1
        count[filled - 1] += rows[at[one], 2]
        rows[at[one], 1] = number + filled - 1
        at[one] += 1
        if at[one] < ends[one]:
            keys[0] = key_of(rows, at[one], below, origin[one])
        else:
            size -= 1
            keys[0], run[0] = keys[size], run[size]
        sink(keys, run, size, 0)
    return filled


@njit(cache=True, nogil=True)
def begins(suffix, low, at, starts):
    """Where the n-grams with the suffixes low, low + 1, … begin, of which those before `at` have lower ones."""
    for n in range(len(starts)):
        starts[n] = at
        while at < len(suffix) and suffix[at] == low + n:
            at += 1
    return at


@njit(cache=True, nogil=True)
def contexts(first, suffix, before, longer, below):
    """The n-gram without its last word: among those that end with what stands before it in its suffix, by the first word."""
    numbers, last, start = np.empty(len(first), np.int32), -1, 0
    for n in range(len(first)):
        if suffix[n] != last:
            last = suffix[n]
            start = longer[before[last]]
        end = longer[before[last] + 1]
        while start < end:
            middle = (start + end) // 2
            if below[middle] < first[n]:
                start = middle + 1
            else:
                end = middle
        numbers[n] = start
    return numbers
