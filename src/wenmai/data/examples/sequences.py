"""Ragged rows in two arrays: what every text, sound and numeric sequence becomes before it is a batch."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np


class Sequences:
    """N rows of different length, laid end to end: row i is `flat[starts[i]:stops[i]]`, from `offsets[i]` to `offsets[i + 1]`.
    Windows that overlap have no `offsets`.

    `flat` is (ΣT,) for tokens and (ΣT, F) for frames. `beside` holds further arrays of (ΣT,): `segment`, which text of a pair
    a token stands in; `form`, which row of `letters` spells it. Where rows are windows of others, `example` (N,) says of which.
    Arrays are all there is, so rows can be cut, taken and mapped from disk without a loop.
    """

    example: np.ndarray | None = None
    uncut: np.ndarray | None = (
        None  # (N,) how long rows were, where they were cut to what can be read
    )

    def __init__(
        self,
        flat: np.ndarray,
        offsets: np.ndarray,
        beside: dict[str, np.ndarray] | None = None,
        letters: Sequences | None = None,
    ):
        self.flat, self.offsets, self.beside, self.letters = flat, offsets, beside or {}, letters
        self.starts, self.stops = offsets[:-1], offsets[1:]  # of every row

    @classmethod
    def of(cls, rows: list, dtype=np.int32) -> Sequences:
        lengths = np.fromiter((len(row) for row in rows), np.int64, len(rows))
        flat = (
            np.concatenate([np.asarray(row, dtype) for row in rows])
            if len(rows)
            else np.zeros(0, dtype)
        )
        return cls(flat, offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, row):
        if isinstance(row, slice):
            return self.take(np.arange(len(self))[row])
        row = range(len(self))[row]
        return self.flat[self.starts[row] : self.stops[row]]

    @property
    def lengths(self) -> np.ndarray:
        return self.stops - self.starts

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        return self.stops[rows] - self.starts[rows]

    @property
    def costs(self) -> np.ndarray:
        """How many tokens a network reads of every row."""
        return self.lengths

    def tokens_read(self, row: int, longest: int) -> np.ndarray:
        """What a network reads of a row, at once."""
        return self[row][:longest]

    @property
    def segment(self) -> np.ndarray | None:
        return self.beside.get("segment")

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where the elements of these rows stand in `flat`, row after row."""
        lengths = self.lengths_of(rows)
        offsets = offsets_of(lengths)
        # position k of the new flat array is start of its row + how far it stands into the row
        return np.repeat(self.starts[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])

    def take(self, rows: np.ndarray) -> Sequences:
        index = self.places(rows)
        subset = self.cut_at(
            offsets_of(self.lengths_of(rows)), None if self.example is None else self.example[rows]
        )
        subset.flat, subset.uncut = self.flat[index], None
        subset.beside = {name: values[index] for name, values in self.beside.items()}
        return subset

    def cut_at(self, offsets: np.ndarray, example: np.ndarray | None) -> Sequences:
        """The same elements in rows that begin and end elsewhere."""
        rows = copy(self)
        rows.offsets, rows.starts, rows.stops, rows.example = (
            offsets,
            offsets[:-1],
            offsets[1:],
            example,
        )
        return rows

    def cut_as(self, windows: Sequences) -> Sequences:
        """In windows as those of other rows, of the same lengths."""
        rows = copy(self)
        rows.offsets, rows.starts, rows.stops, rows.example = (
            windows.offsets,
            windows.starts,
            windows.stops,
            windows.example,
        )
        return rows

    def windows(self, longest: int, stride: int | None = None) -> Sequences:
        """The same elements in rows of at most `longest`: a longer row becomes several, cut evenly; or, with a `stride`, several
        that overlap, one beginning every so many elements, the last ending where the row does."""
        lengths = self.lengths
        if not len(lengths) or lengths.max() <= longest:
            return self
        count = np.maximum(
            1, -(-lengths // longest) if stride is None else 1 - (longest - lengths) // stride
        )  # in a row
        number = np.arange(count.sum()) - np.repeat(
            np.cumsum(count) - count, count
        )  # of the window in its row
        example = np.repeat(np.arange(len(lengths)), count)
        if stride is None:
            starts = self.starts[example] + number * lengths[example] // count[example]
            return self.cut_at(np.append(starts, self.offsets[-1]), example)
        windows = copy(self)
        windows.offsets, windows.starts, windows.example = (
            None,
            self.starts[example] + number * stride,
            example,
        )
        windows.stops = np.minimum(windows.starts + longest, self.stops[example])
        return windows

    def padded(
        self, rows: np.ndarray, longest: int, pad=0
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """The rows as a rectangle: values (B, T) or (B, T, F), mask (B, T), what stands beside (B, T); cut at `longest`."""
        lengths = np.minimum(self.lengths_of(rows), longest)
        steps = np.arange(max(1, lengths.max(initial=1)))
        mask = steps < lengths[:, None]  # (B, T)
        index = np.where(mask, self.starts[rows][:, None] + steps, 0)
        if not len(self.flat):
            nothing = {
                name: np.zeros(mask.shape, array.dtype) for name, array in self.beside.items()
            }
            return np.full(mask.shape + self.flat.shape[1:], pad, self.flat.dtype), mask, nothing
        values = self.flat[index]
        values[~mask] = pad
        return (
            values,
            mask,
            {name: np.where(mask, array[index], 0) for name, array in self.beside.items()},
        )


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
