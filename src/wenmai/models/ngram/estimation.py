"""From counts to a model: smoothed, pruned, laid out. What the user chose is a Recipe."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from wenmai.data.storage.saved import Unfit
from wenmai.data.text.vocabulary import BEGIN
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.models.ngram import pruning
from wenmai.models.ngram.additive import LEAST, MOST, fitted_delta
from wenmai.models.ngram.arpa import HIGHEST
from wenmai.models.ngram.counts import Level, count
from wenmai.models.ngram.table import Table
from wenmai.models.ngram.trie import Trie
from wenmai.models.ngram.weights import Smoothing

LAYOUTS = {"fast": Table, "small": Trie}
Layout = Literal["fast", "small"]
HELD = 0.1  # of the text, to fit δ by
ENOUGH = 20_000_000  # tokens to fit it by


@dataclass(frozen=True)
class Recipe:
    order: int
    smoothing: Smoothing
    delta: float | None
    prune: str
    threshold: float
    layout: Layout

    def __post_init__(self):
        if not 1 <= self.order <= HIGHEST:
            raise Mistake(
                "order={order}: expected 1 to {most}, how long the n-grams are.",
                order=self.order,
                most=HIGHEST,
            )
        if self.delta is not None and self.smoothing != "add-delta":
            raise Mistake(
                "delta={delta:g} goes with smoothing=add-delta; leave it out.", delta=self.delta
            )
        pruning.thresholds(self.prune, self.order)

    @property
    def fits_delta(self) -> bool:
        return self.smoothing == "add-delta" and self.delta is None

    def estimate(
        self, levels: list[Level], delta: float | None = None
    ) -> tuple[Table | Trie, list[str]]:
        """(the model, what is worth saying of it); δ where it was fitted. What the levels count is given back."""
        chosen = delta if self.delta is None else self.delta
        levels, smoothed = pruning.by_count(
            levels, self.prune, self.smoothing, BEGIN, 1.0 if chosen is None else chosen
        )
        if self.threshold:
            levels, smoothed = pruning.by_entropy(levels, smoothed, self.threshold)
        for level in levels:
            level.count = np.broadcast_to(np.int64(0), len(level))
        return LAYOUTS[self.layout].of(levels, smoothed), smoothed.notes

    def delta_notes(self, delta: float | None) -> list[str]:
        if delta is None:
            return []
        if not LEAST * 1.01 < delta < MOST / 1.01:
            return [
                Message(
                    "add-delta: δ = {delta:.4g}, the end of what is tried, since held-out lines of this text are all "
                    "like the others, or like none; choose it with --set delta=0.1 or so",
                    delta=delta,
                )
            ]
        return [
            Message("add-delta: δ = {delta:.4g}, fitted on held-out lines of the text", delta=delta)
        ]

    def laid_out(self, arrays: dict[str, np.ndarray], vocabulary: int) -> Table | Trie:
        """A model from its arrays; Unfit where it knows other words."""
        grams = LAYOUTS[self.layout].from_arrays(arrays)
        if grams.sizes[0] != vocabulary:
            raise Unfit(
                "found {words} words, expected {expected}",
                words=grams.sizes[0],
                expected=vocabulary,
            )
        if len(grams.sizes) != self.order:
            raise Unfit(
                "found n-grams of {orders} orders, expected {expected}",
                orders=len(grams.sizes),
                expected=self.order,
            )
        return grams

    def delta_for(self, tokens: np.ndarray, vocabulary: int) -> float:
        """δ by which the last tenth of these sentences is most likely, counted in the rest."""
        cut = last_tenth(tokens)
        if not cut:
            return 1.0  # of one sentence nothing can be held out
        return fitted_delta(count(tokens[:cut], vocabulary, self.order, BEGIN), tokens[cut:], BEGIN)


def last_tenth(tokens: np.ndarray) -> int:
    """Where it begins, at the opening of a sentence; 0 where there is but one."""
    openings = np.flatnonzero(tokens == BEGIN)
    return int(openings[min(len(openings) - 1, int(len(openings) * (1 - HELD)))])
