"""Questions with several choices: a row is a question, and read are as many texts as it has choices.

Rows of a batch stand one under the other with all their choices (ΣK, T); `example` says which question each belongs to."""

from __future__ import annotations

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of


class Choices(Sequences):
    """The elements of a row are numbers of `texts`, one for each choice."""

    def __init__(self, flat: np.ndarray, offsets: np.ndarray, texts: Sequences):
        super().__init__(flat, offsets)
        self.texts = texts

    @property
    def costs(self) -> np.ndarray:
        """Of every question, all its choices as long as the longest."""
        return self.longest_of(np.arange(len(self))) * self.lengths

    def longest_of(self, rows: np.ndarray) -> np.ndarray:
        """(N,) of every question how long the longest text is that is read."""
        if not len(self.flat):
            return np.zeros(len(rows), np.int64)
        return np.maximum.reduceat(self.texts.lengths_of(self.flat), self.starts)[rows]

    def take(self, rows: np.ndarray) -> Choices:
        return Choices(self.flat[self.places(rows)], offsets_of(self.lengths_of(rows)), self.texts)

    def padded(
        self, rows: np.ndarray, longest: int, pad=0
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        values, mask, beside = self.texts.padded(self.flat[self.places(rows)], longest, pad)
        return (
            values,
            mask,
            beside | {"example": np.repeat(np.arange(len(rows)), self.lengths_of(rows))},
        )

    def tokens_read(self, row: int, longest: int) -> np.ndarray:
        """Of its first choice."""
        return self.texts.tokens_read(int(self[row][0]), longest)
