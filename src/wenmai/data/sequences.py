"""Ragged rows in two arrays: what every text, sound and numeric sequence becomes before it is a batch."""

from __future__ import annotations

import numpy as np


class Sequences:
    """N rows of different length, laid end to end: row i is `flat[offsets[i]:offsets[i + 1]]`.

    `flat` is (ΣT,) for tokens and (ΣT, F) for frames; `segment`, where there is one, is (ΣT,) and says which text of a
    pair a token stands in. Two arrays are all there is, so rows can be cut, taken and mapped from disk without a loop.
    """

    def __init__(self, flat: np.ndarray, offsets: np.ndarray, segment: np.ndarray | None = None):
        self.flat, self.offsets, self.segment = flat, offsets, segment

    @classmethod
    def of(cls, rows: list, dtype=np.int32) -> Sequences:
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        flat = np.concatenate([np.asarray(row, dtype) for row in rows]) if len(rows) else np.zeros(0, dtype)
        return cls(flat, offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.flat[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray) -> Sequences:
        lengths = self.lengths[rows]
        offsets = offsets_of(lengths)
        # position k of the new flat array is start of its row + how far it stands into the row
        index = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Sequences(self.flat[index], offsets, None if self.segment is None else self.segment[index])

    def padded(self, rows: np.ndarray, longest: int, pad=0) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The rows as a rectangle: values (B, T) or (B, T, F), mask (B, T), segment (B, T) or None; cut at `longest`."""
        lengths = np.minimum(self.lengths[rows], longest)
        steps = np.arange(max(1, lengths.max(initial=1)))
        mask = steps < lengths[:, None]  # (B, T)
        index = np.where(mask, self.offsets[:-1][rows][:, None] + steps, 0)
        if not len(self.flat):
            return np.full(mask.shape + self.flat.shape[1:], pad, self.flat.dtype), mask, None
        values = self.flat[index]
        values[~mask] = pad
        segment = None if self.segment is None else np.where(mask, self.segment[index], 0)
        return values, mask, segment


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def join_pairs(first: Sequences, second: Sequences, separator: int) -> Sequences:
    """`a [SEP] b` for every row, with segment 0 up to and including [SEP] and 1 after it."""
    a, b = first.lengths, second.lengths
    offsets = offsets_of(a + 1 + b)
    flat = np.full(offsets[-1], separator, first.flat.dtype)
    segment = np.zeros(offsets[-1], np.int8)
    at_a = np.repeat(offsets[:-1] - first.offsets[:-1], a) + np.arange(first.offsets[-1])
    at_b = np.repeat(offsets[:-1] + a + 1 - second.offsets[:-1], b) + np.arange(second.offsets[-1])
    flat[at_a], flat[at_b], segment[at_b] = first.flat, second.flat, 1
    return Sequences(flat, offsets, segment)
