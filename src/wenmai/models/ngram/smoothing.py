"""Smoothing: what is taken from the n-grams that were seen and given to those that were not.

c(hw) is how often the word w follows the context h, c(h) the sum of it over w, T(h) how many different words follow h, and h′ is
h without its first word. Every kind is one of two shapes:

    interpolated   p(w|h) = u(hw) + γ(h) p(w|h′)                       u = 0 for what was not seen
    backing off    p(w|h) = u(hw) if hw was seen, else γ(h) p(w|h′)

    none, add-one, add-δ   p = (c(hw) + δ) / (c(h) + δV), whatever shorter contexts say              additive.py
    absolute               u = (c − D) / c(h),  γ = D T(h) / c(h)                                    Ney, Essen & Kneser 1994
    witten-bell            u = c / (c(h) + T(h)),  γ = T(h) / (c(h) + T(h))                          Witten & Bell 1991
    katz                   u = d_c c / c(h), backing off                                             Katz 1987
    kneser-ney             as absolute, with counts of a kind of their own below the highest order   Kneser & Ney 1995
    modified-kneser-ney    and with three discounts, for c = 1, 2 and more                           Chen & Goodman 1999

Discounts are estimated in discounts.py. The counts of Kneser and Ney: below the highest order, not how often an n-gram stands in
the text but after how many different words it does; one that opens a sentence, before which nothing stands, keeps its own.

The words themselves (order 1) are interpolated with 1/V, the same for each of the V words that can follow, <unk> among them.
"""

from itertools import pairwise

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.data.storage.prefetching import AHEAD, ask
from wenmai.data.storage.threads import side_by_side, threads
from wenmai.errors import Mistake
from wenmai.models.ngram.additive import additive
from wenmai.models.ngram.counts import Level
from wenmai.models.ngram.discounts import KATZ, discounts, failure_notes
from wenmai.models.ngram.weights import Smoothed, Smoothing, Weights, logarithm

SMALL = 1 << 16  # n-grams: fewer are not worth a thread
ADDITIVE = ("none", "add-one", "add-delta")


def smooth(
    levels: list[Level],
    kind: Smoothing,
    begin: int,
    delta: float = 1.0,
    kept: list[np.ndarray] | None = None,
) -> Smoothed:
    """Probabilities and back-off weights of all n-grams. `begin` opens a sentence and never follows anything. What n-grams would
    have that are not `kept` (a mask for every order) goes to γ; pruning.by_count then takes them out."""
    if kind in ADDITIVE:
        if kind == "add-delta" and not 0 < delta < np.inf:
            raise Mistake(
                "delta={value:g}: expected a number above 0, which is added to every count; 1 is usual, and less is "
                "mostly better.",
                value=delta,
            )
        return Smoothed(
            additive(levels, {"none": 0.0, "add-one": 1.0}.get(kind, delta), begin, kept), kind=kind
        )
    weights, discounts_of, failed, below = [], [], {}, np.full(1, 1 / (len(levels[0]) - 1))
    for n, level in enumerate(levels):
        counts = adjusted(levels, n, begin) if kind.endswith("kneser-ney") else level.count
        if n == 0:
            counts = np.where(levels[0].word == begin, 0, counts)
        contexts = 1 if n == 0 else len(levels[n - 1])
        context, suffix = (
            (np.zeros(len(level), np.int32),) * 2 if n == 0 else (level.context, level.suffix)
        )
        discount, failure = discounts(kind, counts_of_counts(levels, n, counts))
        if failure:
            failed.setdefault(failure, []).append(n + 1)
        keep = np.ones(0, bool) if kept is None else kept[n]  # none: all
        sums = np.zeros((contexts, 3))
        side_by_side(
            followed, [(counts, context, *part, discount, keep, sums) for part in parts(contexts)]
        )
        total, left, kinds = np.ascontiguousarray(sums.T)
        del sums
        if kind == "witten-bell":
            total, left = total + kinds, left + kinds
        rest = np.divide(left, total, out=np.ones(contexts), where=total > 0)  # γ
        if kind == "katz" and n:
            prob = all_shared(counts, context, discount, total, np.zeros(contexts), suffix, below)
            rest = left_by(prob, context, suffix, below, total, keep, len(levels[0]) - 1)
        else:
            prob = all_shared(counts, context, discount, total, rest, suffix, below)
        if n == 0:
            prob[begin] = 1.0  # it is never asked for
        else:
            weights[-1].backoff[:] = logarithm(rest)
        discounts_of.append(discount[1:].tolist())
        weights.append(Weights(logarithm(prob), np.zeros(len(level), np.float32)))
        below = prob
    return Smoothed(weights, discounts_of, failure_notes(failed), kind)


def adjusted(levels: list[Level], n: int, begin: int) -> np.ndarray:
    """After how many different words an n-gram stands; what opens a sentence keeps its count, and so does the highest order."""
    if n + 1 == len(levels):
        return levels[n].count
    opens = levels[0].word == begin
    for one in levels[1 : n + 1]:
        opens = opens[one.context]
    return np.where(
        opens, levels[n].count, np.bincount(levels[n + 1].suffix, minlength=len(levels[n]))
    )


def counts_of_counts(levels: list[Level], n: int, counts: np.ndarray) -> np.ndarray:
    """n_r for r = 0 … KATZ + 1, and behind them how many were seen more often."""
    level = levels[n]
    seen = np.bincount(np.minimum(counts, KATZ + 2), minlength=KATZ + 3).astype(np.float64)
    chain = pairwise(levels[: n + 1])
    if (
        n + 1 < len(levels)
        and len(level)
        and all(longer.suffix[-1] == len(shorter) - 1 for shorter, longer in chain)
    ):
        # lmplz, KenLM's estimator, enters the very last n-gram of each order, as long as each ends with the one before, with its
        # count in the text; so that both agree on every number, so does this. Other counts are those in the text anyway.
        seen[min(counts[-1], KATZ + 2)] -= 1
        seen[min(level.count[-1], KATZ + 2)] += 1
    return seen


def parts(size: int) -> list[tuple[int, int]]:
    """Bounds of as many parts as there are threads."""
    return list(
        pairwise(
            np.linspace(0, size, (threads() if size >= SMALL else 1) + 1).astype(np.int64).tolist()
        )
    )


@njit(cache=True, nogil=True)
def followed(counts, context, low, high, discounts, keep, sums):
    """Of the contexts low … high − 1: how often each is followed, what is left of that for shorter ones, and by how many
    different words; (contexts, 3), zeros before."""
    most, everything = len(discounts) - 1, len(keep) == 0
    for at in range(len(counts)):
        if at + AHEAD < len(counts) and low <= context[at + AHEAD] < high:
            ask(sums, context[at + AHEAD])
        before = context[at]
        if counts[at] and low <= before < high:
            sums[before, 0] += counts[at]
            sums[before, 1] += (
                discounts[min(counts[at], most)] if everything or keep[at] else counts[at]
            )
            sums[before, 2] += 1


def all_shared(counts, context, discounts, total, rest, suffix, shorter) -> np.ndarray:
    prob = np.empty(len(counts))
    side_by_side(
        shared,
        [
            (counts, context, discounts, total, rest, suffix, shorter, *part, prob)
            for part in parts(len(counts))
        ],
    )
    return prob


@njit(cache=True, nogil=True)
def shared(counts, context, discounts, total, rest, suffix, shorter, first, last, prob):
    """p = (c − D_c) / total + γ p(w|h′)"""
    most = len(discounts) - 1
    for at in range(first, last):
        if at + AHEAD < last:
            ask(total, context[at + AHEAD])
            ask(rest, context[at + AHEAD])
        before, u = context[at], 0.0
        if counts[at]:
            u = (counts[at] - discounts[min(counts[at], most)]) / total[before]
        prob[at] = u + rest[before] * shorter[suffix[at]]


@njit(cache=True, nogil=True)
def left_by(prob, context, suffix, shorter, total, keep, size):
    """α(h) = (1 − Σ p(w|h)) / (1 − Σ p(w|h′)), the sums over the words that were seen after h. Where discounts took nothing,
    since all counts are high, a count of 1 is set aside for what was not seen; where all words were seen, nothing is."""
    above, below, kinds = np.zeros(len(total)), np.zeros(len(total)), np.zeros(len(total), np.int64)
    everything = len(keep) == 0
    for at in range(len(prob)):
        if everything or keep[at]:
            above[context[at]] += prob[at]
            below[context[at]] += shorter[suffix[at]]
            kinds[context[at]] += 1
    rest = np.ones(len(total))
    for h in range(len(total)):
        scale = 1.0
        if kinds[h] == size:
            scale = 1 / above[h]
        elif above[h] > 1 - 1e-6:
            scale = total[h] / (total[h] + 1)
        if kinds[h]:
            rest[h] = (1 - scale * above[h]) / (1 - below[h]) if kinds[h] < size else 1.0
        above[h] = scale
    for at in range(len(prob)):
        prob[at] *= above[context[at]]
    return rest
