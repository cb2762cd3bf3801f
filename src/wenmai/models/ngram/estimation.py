"""From counts to a model: smoothed, pruned, laid out. What the user chose is a Recipe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wenmai.data.vocabulary import BEGIN
from wenmai.errors import Mistake
from wenmai.models.ngram.counts import Level, count
from wenmai.models.ngram.pruning import prune
from wenmai.models.ngram.smoothing import Smoothing, fitted_delta, smooth
from wenmai.models.ngram.table import Table
from wenmai.models.ngram.trie import Trie

HIGHEST = 7
LAYOUTS = {"fast": Table, "small": Trie}
Layout = Literal["fast", "small"]
HELD = 0.1  # of the text, to fit δ by
ENOUGH = 20_000_000  # tokens to fit it by


@dataclass(frozen=True)
class Recipe:
    order: int
    smoothing: Smoothing
    delta: float | None
    prune: tuple[int, ...]
    threshold: float
    layout: Layout

    @property
    def fits_delta(self) -> bool:
        return self.smoothing == "add-delta" and self.delta is None

    def estimate(self, levels: list[Level], delta: float | None = None) -> tuple[Table | Trie, list[str]]:
        """(the model, what is worth saying of it)"""
        levels, smoothed = smooth(levels, self.smoothing, BEGIN, self.delta or delta or 1.0, self.prune)
        if self.threshold:
            levels, smoothed = prune(levels, smoothed, self.threshold)
        return LAYOUTS[self.layout].of(levels, smoothed), smoothed.notes

    def delta_for(self, tokens: np.ndarray, vocabulary: int) -> float:
        """δ by which the last tenth of these sentences is most likely, counted in the rest."""
        openings = np.flatnonzero(tokens == BEGIN)
        cut = openings[min(len(openings) - 1, int(len(openings) * (1 - HELD)))]
        if not cut:
            return 1.0  # of one sentence nothing can be held out
        return fitted_delta(count(tokens[:cut], vocabulary, self.order, BEGIN), tokens[cut:])


def recipe(order: int, smoothing: Smoothing, delta: float | None, prune: str, threshold: float, layout: Layout) -> Recipe:
    if not 1 <= order <= HIGHEST:
        raise Mistake(f"order={order}: expected 1 to {HIGHEST}, how long the n-grams are.")
    if delta is not None and smoothing != "add-delta":
        raise Mistake(f"delta={delta} goes with smoothing=add-delta; leave it out.")
    if delta is not None and delta <= 0:
        raise Mistake(f"delta={delta}: expected more than 0; smoothing=none adds nothing.")
    return Recipe(order, smoothing, delta, thresholds(prune, order), threshold, layout)


def thresholds(text: str, order: int) -> tuple[int, ...]:
    """"0 0 1" → one for every order; the last holds for those that are not named."""
    words = re.split(r"[\s,]+", text.strip())
    if not all(word.isdecimal() for word in words) or len(words) > order:
        raise Mistake(f"prune={text}: expected counts for orders 1 to {order}, as in 0,0,1; the last holds for the rest.")
    found: Sequence[int] = [int(word) for word in words]
    found = [*found, *[found[-1]] * (order - len(found))]
    if found[0] or found != sorted(found):
        raise Mistake(f"prune={text}: expected 0 for single words, and no less for an order than for the one below it; words are "
                      "left out with --set min_count.")  # fmt: skip
    return tuple(found)
