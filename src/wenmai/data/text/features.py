"""Token sequences → sparse rows of n-gram features, counts or tf-idf: what the linear rungs read.

    tf-idf:  x_{d,g} = tf(d, g) · (ln((1 + N) / (1 + df(g))) + 1),  each row then divided by its length ‖x_d‖₂

An n-gram is a 64-bit key (a hash of its tokens), a dictionary is an open-addressing table of keys, and one compiled
pass over the tokens looks every n-gram up, adds equal ones and weighs them: no string is ever made.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of, runs
from wenmai.data.storage.caches import njit
from wenmai.data.storage.saved import Unfit

EMPTY = np.uint64(0)
BOUNDARY = np.uint64(0xFFFF_FFFF)  # stands before the first and after the last token
MOST = 4_000_000  # n-grams that are kept
HELD = (
    1 << 25
)  # n-grams of all rows, 8 bytes each, up to which those that are learned from are held in memory
PIECE = 1 << 21  # n-grams of the rows that are looked at together


@dataclass
class Rows:
    """Sparse rows (CSR): row i has `values[k]` in column `columns[k]` for starts[i] ≤ k < starts[i + 1]."""

    starts: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: np.ndarray) -> Self:
        counts = np.diff(self.starts)[rows]
        starts = offsets_of(counts)
        index = np.repeat(self.starts[:-1][rows] - starts[:-1], counts) + np.arange(starts[-1])
        return Rows(starts, self.columns[index], self.values[index], self.width)

    def over(self, order: np.ndarray) -> Iterator[tuple[Self, np.ndarray, slice | np.ndarray]]:
        """The rows in this order, in as many pieces as need be, here one: (rows, their order, which of all they are)."""
        yield self, order, slice(None)

    @classmethod
    def of_dense(cls, table: np.ndarray) -> Self:
        """A dense (N, F) table; zeros, as in the dark of a picture, cost nothing."""
        rows, columns = np.nonzero(table)
        starts = np.searchsorted(rows, np.arange(len(table) + 1)).astype(np.int64)
        return cls(
            starts,
            columns.astype(np.int32),
            table[rows, columns].astype(np.float32),
            table.shape[1],
        )


class Pieces:
    """As Rows, where there are too many to be held: each time they are gone over, they are made a piece at a time."""

    def __init__(
        self, make: Callable[[Sequences], Rows], texts: Sequences, longest: int, width: int
    ):
        self.make, self.texts, self.longest, self.width = make, texts, longest, width

    def __len__(self) -> int:
        return len(self.texts)

    def over(self, order: np.ndarray) -> Iterator[tuple[Rows, np.ndarray, np.ndarray]]:
        """While one piece is learned from, two threads make the next ones."""
        pieces = [
            order[start:stop]
            for start, stop in runs(self.texts.lengths_of(order) + 2, PIECE // self.longest)
        ]
        if len(pieces) == 1:
            yield self.made(order), np.arange(len(order)), order
            return
        with ThreadPoolExecutor(2) as threads:
            coming = deque(threads.submit(self.made, rows) for rows in pieces[:2])
            for number, rows in enumerate(pieces):
                piece = coming.popleft().result()
                coming.extend(
                    threads.submit(self.made, later) for later in pieces[number + 2 : number + 3]
                )
                yield piece, np.arange(len(rows)), rows

    def made(self, rows: np.ndarray) -> Rows:
        return self.make(self.texts.take(rows))


class Ngrams:
    """The n-grams of 1 to `longest` tokens that stand in at least `min_documents` training rows, and of these the `most`
    that stand in the most rows. While they are counted, half as many again are remembered; then the rarest are forgotten."""

    def __init__(
        self,
        table: np.ndarray,
        slots: np.ndarray,
        inverse: np.ndarray,
        longest: int,
        weighting: str,
        padded: bool,
    ):
        self.table, self.slots, self.inverse = (
            table,
            slots,
            inverse,
        )  # keys; their columns; idf of every column
        self.longest, self.weighting, self.padded = longest, weighting, padded

    @classmethod
    def learn(
        cls,
        texts: Sequences,
        longest: int,
        weighting: str,
        padded: bool,
        min_documents: int = 1,
        most: int = MOST,
    ) -> Self:
        size, room = 1 << 16, 3 << 14
        counted = (
            np.zeros(size, np.uint64),
            np.zeros(size, np.int32),
            np.zeros(room, np.uint64),
            np.zeros(room, np.int32),
            np.zeros(room, np.int32),
            0,
        )  # table, slots, keys, documents, seen_in, count
        for start, stop in runs(texts.lengths + 2, PIECE // longest):
            part = texts.take(np.arange(start, stop))
            counted = count_rows(
                segmented(part), part.offsets, longest, padded, start, *counted, most
            )
        keys, documents = (part[: counted[-1]] for part in counted[2:4])
        del counted
        if min_documents > 1:
            keys, documents = (
                keys[documents >= min_documents],
                documents[documents >= min_documents],
            )
        if len(keys) > most:
            stay = kept(documents, most)
            keys, documents = keys[stay], documents[stay]
        inverse = (
            np.log((1 + len(texts)) / (1 + documents)) + 1
            if weighting == "tf-idf"
            else np.ones(len(keys))
        )
        return cls(*dictionary(keys), inverse.astype(np.float32), longest, weighting, padded)

    def pieces(self, texts: Sequences) -> Pieces:
        return Pieces(self.rows, texts, self.longest, len(self.inverse))

    def rows(self, texts: Sequences) -> Rows:
        room = (texts.lengths + 2 * self.padded) * self.longest
        starts, columns, values = weigh(
            segmented(texts),
            texts.offsets,
            self.table,
            self.slots,
            self.inverse,
            self.longest,
            self.padded,
            int(room.sum()),
            int(room.max(initial=0)),
            self.weighting == "tf-idf",
        )
        return Rows(starts, columns, values, len(self.inverse))

    def places(self, texts: Sequences) -> dict[int, list[tuple[int, int]]]:
        """Of one text: for every column that it has, the n-grams that are counted there, (first place, how many tokens) each; −1
        and T are the boundaries. Keys cannot be read back, so that the text's own n-grams are hashed again."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for column, first, length in matched(
            segmented(texts), self.table, self.slots, self.longest, self.padded
        ):
            spans.setdefault(int(column), []).append((int(first), int(length)))
        return spans

    def state(self) -> dict[str, np.ndarray]:
        used = self.table != EMPTY
        return {
            "ngram_keys": self.table[used].view(np.int64),
            "ngram_columns": self.slots[used],
            "idf": self.inverse,
        }

    STATE = {"ngram_keys": np.int64, "ngram_columns": np.int32, "idf": np.float32}  # noqa: RUF012 (nobody changes it)

    @classmethod
    def from_state(cls, state: dict, longest: int, weighting: str, padded: bool) -> Self:
        keys = in_place(state["ngram_keys"], state["ngram_columns"])
        if not (
            np.isfinite(state["idf"]) & (state["idf"] > 0)
        ).all():  # rows are divided by their length
            raise Unfit("idf: found a number that is not above 0")
        return cls(*dictionary(keys), state["idf"], longest, weighting, padded)


def in_place(saved: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The key of every column, which each have one."""
    if not np.array_equal(np.sort(columns), np.arange(len(columns))) or not saved.all():
        raise Unfit("the features' columns do not follow one another")
    keys = np.empty(len(columns), np.uint64)
    keys[columns] = saved.view(np.uint64)
    return keys


def dictionary(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the keys, hashed; of each its column)"""
    size = 1 << max(4, int(len(keys) * 1.6).bit_length())
    table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    insert(table, slots, keys)
    return table, slots


def segmented(texts: Sequences) -> np.ndarray:
    """Tokens as unsigned numbers; those of a pair's second text are told apart by a high bit."""
    flat = texts.flat.astype(np.uint64)
    return (
        flat if texts.segment is None else flat | (texts.segment.astype(np.uint64) << np.uint64(31))
    )


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
    return flat[at] if start <= at < end else BOUNDARY


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
def count_rows(
    flat, offsets, longest, padded, first_row, table, slots, keys, documents, seen_in, count, most
):
    """Adds the n-grams of these rows to those counted before: every key in order of first appearance, the number of rows it
    stands in, and the last of them. Where more than 1.5 · `most` keys come together, the rarest are dropped."""
    margin = 1 if padded else 0
    for row in range(len(offsets) - 1):
        start, end, number = offsets[row], offsets[row + 1], first_row + row
        for first in range(start - margin, end + margin):
            key = np.uint64(0)
            for at in range(first, min(first + longest, end + margin)):
                key = extend(key, token_at(flat, start, end, at))
                place = find(table, key)
                if table[place] == EMPTY:
                    table[place], slots[place], keys[count] = key, count, key
                    documents[count], seen_in[count] = 1, number
                    count += 1
                    if count * 2 > most * 3:
                        stay, count = kept(documents[:count], most), 0
                        for column in range(len(stay)):
                            if stay[column]:
                                keys[count], documents[count] = keys[column], documents[column]
                                seen_in[count] = seen_in[column]
                                count += 1
                        table[:] = EMPTY
                        insert(table, slots, keys[:count])
                    elif count == len(keys):  # three quarters of the table
                        size = 2 * len(table)
                        table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
                        insert(table, slots, keys)
                        keys = np.append(keys, np.zeros(count, np.uint64))
                        documents = np.append(documents, np.zeros(count, np.int32))
                        seen_in = np.append(seen_in, np.zeros(count, np.int32))
                else:
                    column = slots[place]
                    if seen_in[column] != number:
                        seen_in[column] = number
                        documents[column] += 1
    return table, slots, keys, documents, seen_in, count


@njit(cache=True)
def kept(documents, most):
    """Which of the n-grams stay: the `most` that stand in the most rows, of equals those that came first."""
    counts = np.bincount(documents)
    least, above = len(counts) - 1, 0
    while least > 0 and above + counts[least] <= most:
        above += counts[least]
        least -= 1
    stay = documents > least
    for column in range(len(documents)):
        if documents[column] == least and above < most:
            stay[column] = True
            above += 1
    return stay


@njit(cache=True)
def matched(flat, table, slots, longest, padded):
    """[(column, first place, length)] of the n-grams of one text that are known"""
    margin, matches = 1 if padded else 0, []
    for first in range(-margin, len(flat) + margin):
        key = np.uint64(0)
        for at in range(first, min(first + longest, len(flat) + margin)):
            key = extend(key, token_at(flat, 0, len(flat), at))
            place = find(table, key)
            if table[place] != EMPTY:
                matches.append((slots[place], first, at - first + 1))
    return matches


@njit(cache=True, nogil=True)
def weigh(flat, offsets, table, slots, inverse, longest, padded, room, widest, normalise):
    starts = np.zeros(len(offsets), np.int64)
    columns, values = np.empty(room, np.int32), np.empty(room, np.float32)
    row_columns = np.empty(widest, np.int32)
    margin = 1 if padded else 0
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
                    row_columns[count] = slots[place]
                    count += 1
        row_columns[:count].sort()
        begin = filled
        for k in range(count):
            if filled > begin and columns[filled - 1] == row_columns[k]:
                values[filled - 1] += 1
            else:
                columns[filled], values[filled] = row_columns[k], 1
                filled += 1
        if normalise:
            total = 0.0
            for k in range(begin, filled):
                values[k] *= inverse[columns[k]]
                total += values[k] * values[k]
            for k in range(begin, filled):
                values[k] /= np.sqrt(total)
        starts[row + 1] = filled
    return starts, columns[:filled], values[:filled]
