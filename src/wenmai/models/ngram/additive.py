"""Relative frequencies, and the same with δ added to every count (Laplace 1814: δ = 1; Lidstone 1920).

    p(w|h) = (c(hw) + δ) / (c(h) + δV)        1/V after a context that was never seen; for δ = 0: 0

h has exactly n − 1 words, or begins with the opening of the sentence; call such a context *full*. Shorter ones have no say. To be
walked as all other models are, by backing off, this is written as

    p(w|h) = c(hw) / (c(h) + δV) + γ(h) / V,   γ(h) = δV / (c(h) + δV)

with 1/V as the probability of every n-gram whose context is not full, and 1 as what such a context leaves.
"""

import numpy as np

from wenmai.models.ngram.counts import NONE, Level
from wenmai.models.ngram.held_out import before, ends, places
from wenmai.models.ngram.weights import Weights, logarithm

LEAST, MOST = 1e-8, 1e4  # of δ


def additive(
    levels: list[Level], delta: float, begin: int, kept: list[np.ndarray] | None = None
) -> list[Weights]:
    """Weights of all n-grams; the counts of those that are not `kept` go to γ."""
    size = len(levels[0]) - 1  # V
    uniform = 1 / size if delta else 0.0
    weights, opens = [], levels[0].word == begin  # which n-grams open a sentence
    for n, level in enumerate(levels):
        highest = n + 1 == len(levels)
        context, followed, counts = contexts_of(levels, n, begin)
        full = np.full(len(followed), highest) if n == 0 else opens | highest
        lost = np.zeros(len(followed))
        if kept:
            np.add.at(lost, context[~kept[n]], counts[~kept[n]])
        total = followed + delta * size
        rest = np.divide(
            delta * size + lost, total, out=np.ones(len(total)), where=full & (total > 0)
        )
        prob = np.full(len(level), uniform)
        seen = full[context] & (total[context] > 0)
        prob[seen] = (counts[seen] / total[context[seen]]) + rest[context[seen]] * uniform
        if n == 0:
            prob[begin] = 1.0  # it is never asked for
        else:
            weights[-1].backoff[:] = logarithm(rest)
            opens = opens[level.context]
        weights.append(Weights(logarithm(prob), np.zeros(len(level), np.float32)))
    return weights


def contexts_of(
    levels: list[Level], n: int, begin: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the n-grams of a level: which context each stands after, how often every context is followed, and c(hw)."""
    counts = levels[n].count
    if n == 0:
        counts = np.where(levels[0].word == begin, 0, counts)
        return np.zeros(len(counts), np.int32), np.array([float(counts.sum())]), counts
    context = levels[n].context
    return context, np.bincount(context, counts, minlength=len(levels[n - 1])), counts


def fitted_delta(
    levels: list[Level], held: np.ndarray, begin: int, least: float = LEAST, most: float = MOST
) -> float:
    """The δ under which a held-out text is likeliest. `held` (N,) int32: every sentence opened by `begin`, closed by its end."""
    counts, followed, times = held_counts(levels, held, begin)
    size = len(levels[0]) - 1

    def likelihood(power: float) -> float:
        delta = 10.0**power
        return float(times @ np.log((counts + delta) / (followed + delta * size)))

    # The best of a grid has the maximum beside it; golden section closes in (Kiefer 1953).
    grid = np.linspace(np.log10(least), np.log10(most), 97)
    best = int(np.argmax([likelihood(power) for power in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    golden = (5**0.5 - 1) / 2
    while high - low > 1e-7:
        one, two = high - golden * (high - low), low + golden * (high - low)
        if likelihood(one) < likelihood(two):
            low = one
        else:
            high = two
    return float(10 ** ((low + high) / 2))


def held_counts(
    levels: list[Level], held: np.ndarray, begin: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs c(hw), c(h) that words of a held-out text have after their contexts, and how many words have them. Words
    after a context that was never seen are left out: they have 1/V under any δ."""
    place, grams, asked = places(held, begin), ends(levels, held, begin), []
    for n in range(len(levels)):
        _, followed, counts = contexts_of(levels, n, begin)
        at, context = grams[n], np.zeros(len(held), np.int64) if n == 0 else before(grams[n - 1])
        complete = (
            (place >= n if n + 1 == len(levels) else place == n) & (place > 0) & (context != NONE)
        )
        seen = np.where(at[complete] == NONE, 0, counts[at[complete]] if len(counts) else 0)
        asked.append(np.stack([seen, followed[context[complete]] if len(followed) else seen], 1))
    pairs, times = np.unique(np.concatenate(asked), axis=0, return_counts=True)
    return pairs[:, 0].astype(float), pairs[:, 1].astype(float), times.astype(float)
