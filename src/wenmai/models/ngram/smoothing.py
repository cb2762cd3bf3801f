"""Smoothing: what is taken from the n-grams that were seen and given to those that were not.

c(hw) is how often the word w follows the context h, c(h) the sum of it over w, T(h) how many different words follow h, h′ is h
without its first word, and n_r how many n-grams of an order were seen r times. Every kind is one of two shapes:

    interpolated   p(w|h) = u(hw) + γ(h) p(w|h′)                       u = 0 for what was not seen
    backing off    p(w|h) = u(hw) if hw was seen, else γ(h) p(w|h′)

    none               u = c(hw) / c(h),  γ = 0                                                     relative frequency
    add-one, add-δ     p = (c(hw) + δ) / (c(h) + δV): u, and γ = δV / (c(h) + δV), shared evenly     Laplace; Lidstone 1920
    absolute           u = (c − D) / c(h),  γ = D T(h) / c(h),  D = n₁ / (n₁ + 2n₂)                 Ney, Essen & Kneser 1994
    witten-bell        u = c / (c(h) + T(h)),  γ = T(h) / (c(h) + T(h))                              Witten & Bell 1991
    katz               u = d_c c / c(h), backing off; Good-Turing's d_r below for r ≤ 5, else 1      Katz 1987
    kneser-ney         as absolute, with counts of a kind of their own below the highest order       Kneser & Ney 1995
    modified-kneser-ney   and with three discounts, for c = 1, 2 and more                            Chen & Goodman 1999

The counts of Kneser and Ney: below the highest order, not how often an n-gram stands in the text but after how many different
words it does; one that opens a sentence, before which nothing stands, keeps its own.

The words themselves (order 1) are interpolated with 1/V, the same for each of the V words that can follow, <unk> among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numba import njit

from wenmai.models.ngram.counts import Level

Smoothing = Literal["none", "add-one", "add-delta", "absolute", "witten-bell", "katz", "kneser-ney", "modified-kneser-ney"]
KATZ = 5  # counts above this are believed


@dataclass
class Weights:
    """The probability of every n-gram of an order, and what is left after it as a context; logarithms to base 10."""

    log_prob: np.ndarray  # (M,) float32
    backoff: np.ndarray  # (M,) float32


@dataclass
class Smoothed:
    levels: list[Weights]
    discounts: list[list[float]] = field(default_factory=list)  # of every order, for counts of 1, 2 and more
    notes: list[str] = field(default_factory=list)


def smooth(levels: list[Level], kind: Smoothing, begin: int, delta: float = 1.0) -> Smoothed:
    """Probabilities and back-off weights of all n-grams. `begin` opens a sentence and never follows anything."""
    size, notes, discounts, found, below = len(levels[0]) - 1, [], [], [], None  # size: V
    evenly = kind in ("none", "add-one", "add-delta")  # what is left does not depend on shorter contexts
    for n, level in enumerate(levels):
        counts = level.count
        if kind.endswith("kneser-ney") and n + 1 < len(levels):
            counts = adjusted(level, levels[n + 1], levels[: n + 1], begin)
        if n == 0:
            counts = counts.copy()
            counts[begin] = 0
        contexts = 1 if n == 0 else len(levels[n - 1])
        context = np.zeros(len(level), np.int32) if n == 0 else level.context
        seen = np.bincount(np.minimum(counts, KATZ + 2), minlength=KATZ + 3)  # n_r
        if counts is not level.count and len(level) and (n == 0 or level.suffix[-1] == len(levels[n - 1]) - 1):
            # lmplz, KenLM's estimator, enters the very last n-gram of each order with its count in the text; so that both agree
            # on every number, so does this
            seen[min(counts[-1], KATZ + 2)] -= 1
            seen[min(level.count[-1], KATZ + 2)] += 1
        taken = discounts_of(kind, seen.astype(np.float64), n + 1, delta, notes)
        total, left, kinds = followed(counts, context, contexts, taken)
        if kind == "witten-bell":
            total, left = total + kinds, kinds
        elif kind in ("add-one", "add-delta"):
            total, left = total - taken[0] * size, np.full(contexts, -taken[0] * size)
        rest = np.divide(left, total, out=np.ones(contexts), where=total > 0)  # γ
        shorter = np.full(1, 1 / size, np.float32) if n == 0 else below
        suffix = np.zeros(len(level), np.int32) if n == 0 else level.suffix
        if kind == "katz" and n:
            prob = shared(counts, context, taken, total, np.zeros(contexts), suffix, shorter)
            rest = left_by(prob, context, suffix, shorter, total)
        else:
            prob = shared(counts, context, taken, total, np.zeros(contexts) if evenly else rest, suffix, shorter)
        if n == 0:
            prob[begin] = 1.0  # it is never asked for
        else:
            found[-1].backoff[:] = logarithm(rest.astype(np.float32))
        discounts.append(taken[1:].tolist())
        found.append(Weights(logarithm(prob), np.zeros(len(level), np.float32)))
        below = prob
    return Smoothed(found, discounts, notes)


def adjusted(level: Level, longer: Level, levels: list[Level], begin: int) -> np.ndarray:
    """After how many different words an n-gram stands; what opens a sentence keeps its count."""
    counts = np.bincount(longer.suffix, minlength=len(level))
    opens = np.zeros(len(levels[0]), bool)
    opens[begin] = True
    for one in levels[1:]:
        opens = opens[one.context]
    return np.where(opens, level.count, counts)


def discounts_of(kind: Smoothing, seen: np.ndarray, order: int, delta: float, notes: list[str]) -> np.ndarray:
    """D_r for r = 0, 1, 2, …; the last of them holds for all that is more."""
    if kind in ("none", "witten-bell"):
        return np.zeros(1)
    if kind in ("add-one", "add-delta"):
        return np.full(1, -1.0 if kind == "add-one" else -delta)  # nothing is taken, something given
    if kind == "katz":
        return good_turing(seen, order, notes)
    if not seen[1] or not seen[2]:
        notes.append(f"order {order}: no n-gram was seen once, or none twice, so the discount is 0.5 instead of an estimate; "
                     "more text, or a lower order, would give one.")  # fmt: skip
        return np.array([0.0, 0.5])
    share = seen[1] / (seen[1] + 2 * seen[2])
    if kind != "modified-kneser-ney":
        return np.array([0.0, share])
    three = [r - (r + 1) * share * seen[r + 1] / seen[r] if seen[r] else -1.0 for r in (1, 2, 3)]
    if not all(0 < taken <= r for r, taken in zip((1, 2, 3), three)):
        notes.append(f"order {order}: the counts of counts give no three discounts, so 0.5, 1 and 1.5 stand in; more text, or "
                     "smoothing=kneser-ney, would give better ones.")  # fmt: skip
        three = [0.5, 1.0, 1.5]
    return np.array([0.0, *three])


def good_turing(seen: np.ndarray, order: int, notes: list[str]) -> np.ndarray:
    """d_r = (r*/r − q) / (1 − q), r* = (r+1) n_{r+1} / n_r, q = (k+1) n_{k+1} / n₁; as what is taken, r (1 − d_r)."""
    q = (KATZ + 1) * seen[KATZ + 1] / seen[1] if seen[1] else 1.0
    r = np.arange(1, KATZ + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ((r + 1) * seen[2 : KATZ + 2] / seen[1 : KATZ + 1] / r - q) / (1 - q)
    if not (np.isfinite(ratio).all() and (ratio > 0).all() and (ratio <= 1).all()):
        notes.append(f"order {order}: Good-Turing needs n-grams that were seen 1 to {KATZ + 1} times, ever fewer of them, so the "
                     "discount is 0.5 instead; more text, or smoothing=witten-bell, would do.")  # fmt: skip
        return np.array([0.0, 0.5])
    return np.concatenate([[0.0], r * (1 - ratio), [0.0]])


def logarithm(prob: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log10(prob)


@njit(cache=True, nogil=True)
def followed(counts, context, contexts, discounts):
    """Of every context: how often it is followed, what discounts take from that, and by how many different words."""
    total, left, kinds = np.zeros(contexts), np.zeros(contexts), np.zeros(contexts)
    most = len(discounts) - 1
    for at in range(len(counts)):
        if counts[at]:
            before = context[at]
            total[before] += counts[at]
            left[before] += discounts[min(counts[at], most)]
            kinds[before] += 1
    return total, left, kinds


@njit(cache=True, nogil=True)
def shared(counts, context, discounts, total, rest, suffix, shorter):
    """p = (c − D_c) / total + γ p(w|h′)"""
    prob, most = np.empty(len(counts), np.float32), len(discounts) - 1
    for at in range(len(counts)):
        before, u = context[at], 0.0
        if total[before] > 0:
            taken = discounts[min(counts[at], most)] if counts[at] or discounts[0] < 0 else 0.0
            u = (counts[at] - taken) / total[before]
        prob[at] = u + rest[before] * shorter[suffix[at]]
    return prob


@njit(cache=True, nogil=True)
def left_by(prob, context, suffix, shorter, total):
    """α(h) = (1 − Σ p(w|h)) / (1 − Σ p(w|h′)), the sums over the words that were seen after h. Where discounts took nothing,
    since all counts are high, a count of 1 is set aside for what was not seen."""
    above, below = np.zeros(len(total)), np.zeros(len(total))
    for at in range(len(prob)):
        above[context[at]] += prob[at]
        below[context[at]] += shorter[suffix[at]]
    full = above > 1 - 1e-6
    for at in range(len(prob)):
        if full[context[at]]:
            prob[at] *= total[context[at]] / (total[context[at]] + 1)
    rest = np.ones(len(total))
    for h in range(len(total)):
        if total[h] > 0:
            rest[h] = (1 / (total[h] + 1) if full[h] else 1 - above[h]) / max(1 - below[h], 1e-12)
    return rest
