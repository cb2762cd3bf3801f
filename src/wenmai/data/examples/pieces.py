"""Rows of words that a network reads in pieces, and answers word by word.

    words             Wenmai       tags
    pieces      [CLS] wen   ##mai  tags  [SEP]       what is read (B, T)
    answers           1            3                 where the first piece of every word stands (B, W)

A word that has no piece, as a control character has none, answers from the place at which it would stand.
"""

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of


class WordPieces(Sequences):
    """An element is a word: its number, from 1 on, is a row of `pieces`, which are read instead of it, with tokens `before` and
    `after` every row; `letters` spells it, if somebody reads them. Length, offsets and targets are those of words."""

    def __init__(
        self,
        flat: np.ndarray,
        offsets: np.ndarray,
        pieces: Sequences,
        before: tuple[int, ...],
        after: tuple[int, ...],
        letters: Sequences | None = None,
    ):
        super().__init__(flat, offsets, letters=letters)
        self.pieces, self.before, self.after = pieces, before, after

    @property
    def around(self) -> int:
        """How many tokens stand around a row."""
        return len(self.before) + len(self.after)

    def ends(self) -> np.ndarray:
        """(ΣW + 1,) how many pieces stand before each word."""
        return offsets_of(self.pieces.lengths[self.flat])

    @property
    def costs(self) -> np.ndarray:
        ends = self.ends()
        return ends[self.stops] - ends[self.starts] + self.around

    def tokens_read(self, row: int, longest: int) -> np.ndarray:
        (values,), (mask,), _ = self.padded(np.array([row]), longest)
        return values[mask]

    def windows(self, longest: int, stride: int | None = None) -> Sequences:
        """Cut between words, about evenly; no word has more pieces than there is room for."""
        costs, ends, room = self.costs, self.ends(), longest - self.around
        if not len(costs) or costs.max() <= longest:
            return self
        count, starts = np.ones(len(costs), np.int64), [self.starts]
        for row in np.flatnonzero(costs > longest):
            inner = cut_between(ends[self.starts[row] : self.stops[row] + 1], room)
            count[row] += len(inner)
            starts.append(self.starts[row] + inner)
        example = np.repeat(np.arange(len(costs)), count)
        return self.cut_at(
            np.append(np.sort(np.concatenate(starts), kind="stable"), self.offsets[-1]), example
        )

    def padded(
        self, rows: np.ndarray, longest: int, pad=0
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """What is read (B, T), its mask, and beside it `answers` (B, W), −1 where a row has fewer words; of a row that is too
        long, the first words."""
        lengths, before, after = self.lengths_of(rows), self.before, self.after
        steps = np.arange(max(1, lengths.max(initial=1)))
        there = steps < lengths[:, None]  # (B, W)
        words = np.where(
            there,
            self.flat[np.where(there, self.starts[rows][:, None] + steps, 0)]
            if len(self.flat)
            else 0,
            0,
        )
        count = np.where(there, self.pieces.lengths_of(words), 0)  # of pieces
        there &= np.cumsum(count, 1) <= longest - self.around
        words, count = np.where(there, words, 0), np.where(there, count, 0)
        first, total = len(before) + np.cumsum(count, 1) - count, count.sum(1)
        places = np.arange(max(1, total.max(initial=0) + self.around))
        mask = places < (total + self.around)[:, None]  # (B, T)
        values = np.full(mask.shape, pad, np.int32)
        values[:, : len(before)] = before
        for number, token in enumerate(after):
            values[np.arange(len(rows)), len(before) + total + number] = token
        inside = (places >= len(before)) & (places < (len(before) + total)[:, None])
        values[inside] = self.pieces.flat[self.pieces.places(words[there])]
        beside = {"answers": np.where(there, np.minimum(first, len(places) - 1), -1)}
        return values, mask, beside | ({} if self.letters is None else {"form": words})


def cut_between(ends: np.ndarray, room: int) -> np.ndarray:
    """Before which words to cut a row, so that no piece of it is larger than `room`: as few cuts as will do. `ends` (W + 1,):
    where every word begins, counted in pieces, and where the last one ends."""
    total = ends[-1] - ends[0]
    for count in range(-(-total // room), total + 1):
        cuts = np.unique(np.searchsorted(ends, ends[0] + total * np.arange(1, count) // count))
        cuts = cuts[(cuts > 0) & (cuts < len(ends) - 1)]
        if np.diff(ends[np.concatenate([[0], cuts, [len(ends) - 1]])]).max() <= room:
            break
    return cuts
