"""Token sequences → sparse rows of n-gram features, counts or tf-idf: what the linear rungs read.

    tf-idf:  x_{d,g} = tf(d, g) · (ln((1 + N) / (1 + df(g))) + 1),  each row then divided by its length ‖x_d‖₂

An n-gram is a 64-bit key (a hash of its tokens), a dictionary is an open-addressing table of keys, and one compiled
pass over the tokens looks every n-gram up, adds equal ones and weighs them: no string is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from wenmai.data.sequences import Sequences

EMPTY = np.uint64(0)
EDGE = np.uint64(0xFFFF_FFFF)  # stands before the first and after the last token


@dataclass
class Rows:
    """Sparse rows (CSR): row i has `values[k]` in column `columns[k]` for starts[i] ≤ k < starts[i + 1]."""

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: np.ndarray) -> Rows:
        counts = np.diff(self.starts)[rows]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(counts, out=starts[1:])
        index = np.repeat(self.starts[:-1][rows] - starts[:-1], counts) + np.arange(starts[-1])
        return Rows(starts, self.columns[index], self.values[index], self.width)

    @classmethod
    def of_dense(cls, table: np.ndarray) -> Rows:
        """A dense (N, F) table; zeros, as in the dark of a picture, cost nothing."""
        rows, columns = np.nonzero(table)
        starts = np.searchsorted(rows, np.arange(len(table) + 1)).astype(np.int64)
        return cls(starts, columns.astype(np.int32), table[rows, columns].astype(np.float32), table.shape[1])


class Ngrams:
    """The n-grams of 1 to `longest` tokens that stand in at least `min_documents` training rows."""

    def __init__(self, table: np.ndarray, slots: np.ndarray, inverse: np.ndarray, longest: int, weighting: str, edges: bool):
        self.table, self.slots, self.inverse = table, slots, inverse  # keys; their columns; idf of every column
        self.longest, self.weighting, self.edges = longest, weighting, edges

    @classmethod
    def learn(cls, texts: Sequences, longest: int, weighting: str, edges: bool, min_documents: int = 1) -> Ngrams:
        keys, documents = distinct_keys(segmented(texts), texts.offsets, longest, edges)
        if min_documents > 1:
            keys, documents = keys[documents >= min_documents], documents[documents >= min_documents]
        size = 1 << max(4, int(len(keys) * 1.6).bit_length())
        table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
        insert(table, slots, keys)
        if weighting == "tf-idf":
            inverse = np.log((1 + len(texts)) / (1 + documents)) + 1
        else:
            inverse = np.ones(len(keys))
        return cls(table, slots, inverse.astype(np.float32), longest, weighting, edges)

    def rows(self, texts: Sequences) -> Rows:
        room = (texts.lengths + 2 * self.edges) * self.longest
        starts, columns, values = weigh(
            segmented(texts), texts.offsets, self.table, self.slots, self.inverse, self.longest, self.edges,
            int(room.sum()), int(room.max(initial=0)), self.weighting == "tf-idf",
        )  # fmt: skip
        return Rows(starts, columns, values, len(self.inverse))

    def state(self) -> dict[str, np.ndarray]:
        used = self.table != EMPTY
        return {"ngram_keys": self.table[used].view(np.int64), "ngram_columns": self.slots[used], "idf": self.inverse}

    @classmethod
    def from_state(cls, state: dict, longest: int, weighting: str, edges: bool) -> Ngrams:
        keys = np.empty(len(state["idf"]), np.uint64)
        keys[state["ngram_columns"]] = state["ngram_keys"].view(np.uint64)
        size = 1 << max(4, int(len(keys) * 1.6).bit_length())
        table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
        insert(table, slots, keys)
        return cls(table, slots, state["idf"], longest, weighting, edges)


def segmented(texts: Sequences) -> np.ndarray:
    """Tokens as unsigned numbers; those of a pair's second text are told apart by a high bit."""
    flat = texts.flat.astype(np.uint64)
    return flat if texts.segment is None else flat | (texts.segment.astype(np.uint64) << np.uint64(31))


@njit(cache=True, inline="always")
def extend(key, token):
    """The key of an n-gram from the key of its first n − 1 tokens (a multiply-and-shift mix, never 0)."""
    key = (key ^ (token + np.uint64(1))) * np.uint64(0x9E3779B97F4A7C15)
    key ^= key >> np.uint64(29)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(32)
    return key | np.uint64(1)


@njit(cache=True, inline="always")
def token_at(flat, start, end, at):
    return flat[at] if start <= at < end else EDGE


@njit(cache=True)
def find(table, key):
    """Where the key stands, or the empty place where it would."""
    last = np.uint64(len(table) - 1)
    at = (key >> np.uint64(7)) & last
    while table[at] != EMPTY and table[at] != key:
        at = (at + np.uint64(1)) & last
    return at


@njit(cache=True)
def insert(table, slots, keys):
    for column in range(len(keys)):
        at = find(table, keys[column])
        table[at], slots[at] = keys[column], column


@njit(cache=True)
def distinct_keys(flat, offsets, longest, edges):
    """Every n-gram's key in order of first appearance, and the number of rows it stands in."""
    size = 1 << 16
    table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    keys, documents, seen_in = np.zeros(size, np.uint64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    count = 0
    margin = 1 if edges else 0
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        for first in range(start - margin, end + margin):
            key = np.uint64(0)
            for at in range(first, min(first + longest, end + margin)):
                key = extend(key, token_at(flat, start, end, at))
                place = find(table, key)
                if table[place] == EMPTY:
                    table[place], slots[place], keys[count] = key, count, key
                    documents[count], seen_in[count] = 1, row
                    count += 1
                    if count * 2 > size:
                        size *= 2
                        table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
                        insert(table, slots, keys[:count])
                        keys = np.concatenate((keys, np.zeros(size - len(keys), np.uint64)))
                        documents = np.concatenate((documents, np.zeros(size - len(documents), np.int64)))
                        seen_in = np.concatenate((seen_in, np.zeros(size - len(seen_in), np.int64)))
                else:
                    column = slots[place]
                    if seen_in[column] != row:
                        seen_in[column] = row
                        documents[column] += 1
    return keys[:count].copy(), documents[:count].copy()


@njit(cache=True)
def weigh(flat, offsets, table, slots, inverse, longest, edges, room, widest, normalise):
    starts = np.zeros(len(offsets), np.int64)
    columns, values = np.empty(room, np.int32), np.empty(room, np.float32)
    found = np.empty(widest, np.int32)
    margin = 1 if edges else 0
    filled = 0
    for row in range(len(offsets) - 1):
        start, end = offsets[row], offsets[row + 1]
        count = 0
        for first in range(start - margin, end + margin):
            key = np.uint64(0)
            for at in range(first, min(first + longest, end + margin)):
                key = extend(key, token_at(flat, start, end, at))
                place = find(table, key)
                if table[place] != EMPTY:
                    found[count] = slots[place]
                    count += 1
        found[:count].sort()
        begin = filled
        for k in range(count):
            if filled > begin and columns[filled - 1] == found[k]:
                values[filled - 1] += 1
            else:
                columns[filled], values[filled] = found[k], 1
                filled += 1
        if normalise:
            total = 0.0
            for k in range(begin, filled):
                values[k] *= inverse[columns[k]]
                total += values[k] * values[k]
            for k in range(begin, filled):
                values[k] /= np.sqrt(total)
        starts[row + 1] = filled
    return starts, columns[:filled].copy(), values[:filled].copy()
