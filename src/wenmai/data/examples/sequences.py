"""Ragged rows in two arrays: what every text, sound and numeric sequence becomes before it is a batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


class Sequences:
    """N rows of different length, laid end to end: row i is `flat[offsets[i]:offsets[i + 1]]`.

    `flat` is (ΣT,) for tokens and (ΣT, F) for frames. `beside` holds further arrays of (ΣT,): `segment`, which text of a pair
    a token stands in; `form`, which row of `letters` spells it. Arrays are all there is, so rows can be cut, taken and
    mapped from disk without a loop.
    """

    def __init__(self, flat: np.ndarray, offsets: np.ndarray, beside: dict[str, np.ndarray] | None = None,
                 letters: Sequences | None = None):  # fmt: skip
        self.flat, self.offsets, self.beside, self.letters = flat, offsets, beside or {}, letters

    @classmethod
    def of(cls, rows: list, dtype=np.int32) -> Sequences:
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        flat = np.concatenate([np.asarray(row, dtype) for row in rows]) if len(rows) else np.zeros(0, dtype)
        return cls(flat, offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row):
        if isinstance(row, slice):
            return self.take(np.arange(len(self))[row])
        row = range(len(self))[row]
        return self.flat[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        return self.offsets[1:][rows] - self.offsets[:-1][rows]

    @property
    def segment(self) -> np.ndarray | None:
        return self.beside.get("segment")

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where the elements of these rows stand in `flat`, row after row."""
        lengths = self.lengths_of(rows)
        offsets = offsets_of(lengths)
        # position k of the new flat array is start of its row + how far it stands into the row
        return np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])

    def take(self, rows: np.ndarray) -> Sequences:
        index = self.places(rows)
        beside = {name: values[index] for name, values in self.beside.items()}
        return Sequences(self.flat[index], offsets_of(self.lengths_of(rows)), beside, self.letters)

    def windows(self, longest: int) -> Sequences:
        """The same elements in rows of at most `longest`: a longer row becomes several, cut evenly."""
        lengths = self.lengths
        if not len(lengths) or lengths.max() <= longest:
            return self
        pieces = np.maximum(1, -(-lengths // longest))
        number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)  # of the piece in its row
        starts = np.repeat(self.offsets[:-1], pieces) + number * np.repeat(lengths, pieces) // np.repeat(pieces, pieces)
        return Sequences(self.flat, np.append(starts, self.offsets[-1]), self.beside, self.letters)

    def padded(self, rows: np.ndarray, longest: int, pad=0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """The rows as a rectangle: values (B, T) or (B, T, F), mask (B, T), what stands beside (B, T); cut at `longest`."""
        lengths = np.minimum(self.lengths_of(rows), longest)
        steps = np.arange(max(1, lengths.max(initial=1)))
        mask = steps < lengths[:, None]  # (B, T)
        index = np.where(mask, self.offsets[:-1][rows][:, None] + steps, 0)
        if not len(self.flat):
            nothing = {name: np.zeros(mask.shape, array.dtype) for name, array in self.beside.items()}
            return np.full(mask.shape + self.flat.shape[1:], pad, self.flat.dtype), mask, nothing
        values = self.flat[index]
        values[~mask] = pad
        return values, mask, {name: np.where(mask, array[index], 0) for name, array in self.beside.items()}


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def runs(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of rows that follow one another and measure `most` together at the most, or are a single larger one."""
    ends, start = np.cumsum(sizes), 0
    del sizes  # a large array, often nobody else's
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, "right")))
        yield start, stop
        start = stop


def joined(parts: list):
    """Rows that came in parts, arrays or Sequences, as one."""
    if len(parts) == 1 or not isinstance(parts[0], Sequences):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    lengths = np.concatenate([part.lengths for part in parts])
    return Sequences(np.concatenate([part.flat for part in parts]), offsets_of(lengths))


def join_pairs(first: Sequences, second: Sequences, separator: int) -> Sequences:
    """`a [SEP] b` for every row, with segment 0 up to and including [SEP] and 1 after it."""
    a, b = first.lengths, second.lengths
    offsets = offsets_of(a + 1 + b)
    flat = np.full(offsets[-1], separator, first.flat.dtype)
    segment = np.zeros(offsets[-1], np.int8)
    at_a = np.repeat(offsets[:-1] - first.offsets[:-1], a) + np.arange(first.offsets[-1])
    at_b = np.repeat(offsets[:-1] + a + 1 - second.offsets[:-1], b) + np.arange(second.offsets[-1])
    flat[at_a], flat[at_b], segment[at_b] = first.flat, second.flat, 1
    return Sequences(flat, offsets, {"segment": segment})
