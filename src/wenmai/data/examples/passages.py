"""Questions about passages: what is read together, and the places of a passage that may answer.

    [CLS] question [SEP] passage, or a window of it [SEP]        what is read (B, T); the passage has the segment 1
      0                  k, k + 1, …                             places that answer (B, 1 + W): "nothing", then token by token

A passage that is too long is read in windows that overlap. A token is judged in the window in whose middle it stands most
(Devlin et al. 2019), so that together they are one passage again."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.text.wrapping import Wrapping


class Reading(NamedTuple):
    """How passages are read: so many tokens at once; a window begins every `stride` tokens; what stands around."""

    window: int
    stride: int
    wrapping: Wrapping

    @property
    def around(self) -> int:
        return sum(map(len, (self.wrapping.before, self.wrapping.between, self.wrapping.after)))

    @property
    def asked(self) -> int:
        """How many tokens of a question are read, at the most: half of what there is room for."""
        return max(1, (self.window - self.around) // 2)


class Passages(Sequences):
    """A row is a question and its passage. The elements are "nothing", then the tokens of the passage; `places` (ΣW, 2) are the
    characters of `texts` that each stands for."""

    def __init__(
        self,
        flat: np.ndarray,
        offsets: np.ndarray,
        places: np.ndarray,
        texts: Sequence[str],
        questions: Sequences,
        reading: Reading,
    ):
        super().__init__(flat, offsets)
        self.places_in_text, self.texts, self.questions, self.reading = (
            places,
            texts,
            questions,
            reading,
        )

    @property
    def costs(self) -> np.ndarray:
        return self.lengths - 1 + self.questions.lengths + self.reading.around

    def take(self, rows: np.ndarray) -> Passages:
        index = self.places(rows)
        return Passages(
            self.flat[index],
            offsets_of(self.lengths_of(rows)),
            self.places_in_text[index],
            [self.texts[row] for row in rows],
            self.questions.take(rows),
            self.reading,
        )

    def windows(self, longest: int | None = None, stride: int | None = None) -> PassageWindows:
        """All of every passage. The last window of one ends where the passage does."""
        reading, size = self.reading, self.lengths - 1
        room = (
            reading.window - reading.around - self.questions.lengths
        )  # (N,) tokens of the passage
        step = np.minimum(stride or reading.stride, room)
        count = np.where(size > room, 1 - (room - size) // step, 1)
        row = np.repeat(np.arange(len(size)), count)
        number = np.arange(len(row)) - np.repeat(
            np.cumsum(count) - count, count
        )  # of the window in its row
        first = np.minimum(number * step[row], np.maximum(0, size - room)[row])
        windows = copy(self)
        windows.__class__ = PassageWindows
        windows.offsets, windows.example = None, row
        windows.starts = self.starts[row] + 1 + first
        windows.stops = windows.starts + np.minimum(size, room)[row]
        windows.nothing = self.starts[row]  # where "nothing" stands
        return windows

    def padded(
        self, rows: np.ndarray, longest: int = 0, pad=0
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """The first window of every row."""
        windows = self.take(rows).windows()
        return windows.padded(np.flatnonzero(np.diff(windows.example, prepend=-1)), longest, pad)

    def tokens_read(self, row: int, longest: int) -> np.ndarray:
        (values,), (mask,), _ = self.padded(np.array([row]))
        return values[mask]


class PassageWindows(Passages):
    """A row is a window of a passage; `example` says of which."""

    nothing: np.ndarray

    @property
    def costs(self) -> np.ndarray:
        return self.lengths + self.questions.lengths[self.example] + self.reading.around

    def padded(
        self, rows: np.ndarray, longest: int = 0, pad=0
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        wrapping, lengths = self.reading.wrapping, self.lengths_of(rows)
        before, between, after = wrapping.before, wrapping.between, wrapping.after
        asked = self.questions.lengths_of(self.example[rows])
        total = asked + lengths + self.reading.around
        steps = np.arange(max(1, total.max(initial=1)))
        mask = steps < total[:, None]  # (B, T)
        values, segment = np.full(mask.shape, pad, np.int32), np.zeros(mask.shape, np.int64)
        values[:, : len(before)] = before
        inside = (steps >= len(before)) & (steps < (len(before) + asked)[:, None])
        values[inside] = self.questions.flat[self.questions.places(self.example[rows])]
        at, row = len(before) + asked, np.arange(len(rows))
        for token in between:
            values[row, at] = token
            at = at + 1
        inside = (steps >= at[:, None]) & (steps < (at + lengths)[:, None])
        values[inside] = self.flat[self.places(rows)]
        segment[(steps >= at[:, None]) & mask] = wrapping.second
        for number, token in enumerate(after):
            values[row, at + lengths + number] = token
        answers = np.arange(1 + max(0, lengths.max(initial=0)))
        answers = np.where(answers <= lengths[:, None], at[:, None] + answers - 1, -1)  # (B, 1 + W)
        answers[:, 0] = 0
        return values, mask, {"segment": segment, "answers": answers}

    def owned(self) -> tuple[np.ndarray, np.ndarray]:
        """(from, up to): of every window the elements of `flat` that are judged in it. Between two windows, the one whose middle
        is nearer."""
        same = self.example[1:] == self.example[:-1]
        between = (
            self.starts[:-1] + self.stops[1:] + 1
        ) // 2  # equally far from both middles, as windows are equally long
        first, last = self.starts.copy(), self.stops.copy()
        first[1:][same], last[:-1][same] = between[same], between[same]
        return first, last

    def spans_inside(self, spans: np.ndarray) -> np.ndarray:
        """(N, K, 2) where the answers of every row begin and end, as numbers of its elements → the same for every window, counted
        in its own; −1 where one does not stand in it as a whole, and 0 and 0 where none does."""
        inside = spans[self.example] + (self.nothing - self.starts + 1)[:, None, None]
        fits = (
            (spans[self.example][..., 0] > 0)
            & (inside[..., 0] >= 1)
            & (inside[..., 1] <= self.lengths[:, None])
        )
        in_window = np.where(fits[..., None], inside, -1)
        in_window[~fits.any(1), 0] = 0
        return in_window
