"""Pruning: n-grams are dropped that the model can do without, by their counts or by what they change.

By count: an n-gram that stands in the text no more often than the threshold of its order goes. Discounts are estimated before;
what the dropped had after a context goes to the shorter one (as KenLM's lmplz, Heafield et al. 2013):

    γ(h) = (Σ D_c over the kept + Σ c over the dropped) / c(h)

By relative entropy (Stolcke 1998): dropping hw alone changes the model p into p′, where w is backed off for and α(h) grows to

    α′(h) = (α(h) S + p(w|h)) / (S + p(w|h′)),   S = 1 − Σ p(v|h′) over the words v kept after h

    D(p‖p′) = p(h) { p(w|h) [log p(w|h) − log p(w|h′) − log α′(h)] + α(h) S [log α(h) − log α′(h)] }

and hw goes if perplexity rises by a smaller share than the threshold, exp D − 1 < threshold, as in SRILM's -prune. Every
n-gram is judged by itself against the model as it was; the highest order goes first; one that a kept longer one begins or ends
with stays.
"""

from collections.abc import Sequence

import numpy as np

from wenmai.data.files.columns import short
from wenmai.data.text.vocabulary import BEGIN, END
from wenmai.errors import Mistake
from wenmai.models.ngram.counts import Level
from wenmai.models.ngram.smoothing import ADDITIVE, smooth
from wenmai.models.ngram.weights import Smoothed, Smoothing, Weights


def thresholds(prune: str | Sequence[int], order: int) -> list[int]:
    """One for every order, from "0 0 1": the last one holds for all that are higher."""
    cells = (
        prune.replace(",", " ").split()
        if isinstance(prune, str)
        else [str(value) for value in prune]
    )
    prune = short(" ".join(cells))
    if not all(cell.isascii() and cell.isdigit() for cell in cells):
        raise Mistake(
            "prune={given}: expected a whole number for every order, as in 0 0 1, which drops what was seen once from "
            "order 3 on.",
            given=prune,
        )
    least = [int(cell) for cell in cells] or [0]
    if len(least) > order:
        raise Mistake(
            "prune={given}: found {actual} thresholds, expected at most {order}, one for every order.",
            given=prune,
            actual=len(least),
            order=order,
        )
    if least[0]:
        raise Mistake(
            "prune={given}: found {actual} for single words, expected 0; words that are too rare become <unk> before "
            "n-grams are counted.",
            given=prune,
            actual=least[0],
        )
    if least != sorted(least):
        raise Mistake(
            "prune={given}: expected thresholds that do not fall; an n-gram is not seen more often than what it "
            "begins with.",
            given=prune,
        )
    return least + least[-1:] * (order - len(least))


def by_count(
    levels: list[Level],
    prune: str | Sequence[int],
    kind: Smoothing,
    begin: int = BEGIN,
    delta: float = 1.0,
) -> tuple[list[Level], Smoothed]:
    """Smoothed, without n-grams that stand in the text no more often than their order's threshold."""
    least = thresholds(prune, len(levels))
    if not any(least):
        return levels, smooth(levels, kind, begin, delta)
    refuse(kind, ("none",))
    keep = [level.count > most for level, most in zip(levels, least)]
    keep[0][:] = True
    return kept(levels, smooth(levels, kind, begin, delta, keep), keep)


def by_entropy(
    levels: list[Level], smoothed: Smoothed, threshold: float
) -> tuple[list[Level], Smoothed]:
    """Without n-grams whose loss raises perplexity by a smaller share than the threshold, such as 1e-8."""
    refuse(smoothed.kind, ADDITIVE)
    keep = [np.ones(len(level), bool) for level in levels]
    weights = [Weights(one.log_prob, one.backoff.copy()) for one in smoothed.levels]
    needed = np.zeros(len(levels[-1]), bool)  # what a kept longer n-gram begins or ends with
    joint = context_probabilities(levels, smoothed)
    for n in range(len(levels) - 1, 0, -1):
        level, below = levels[n], weights[n - 1]
        entropy, prob, shorter, unseen = divergence(level, weights[n], below, joint[n - 1])
        keep[n] = needed | (np.expm1(entropy) >= threshold)
        gone = ~keep[n]
        changed = np.unique(level.context[gone])
        given_back = np.bincount(level.context[gone], prob[gone], minlength=len(below.backoff))[
            changed
        ]
        room = np.bincount(level.context[gone], shorter[gone], minlength=len(below.backoff))[
            changed
        ]
        left = 10.0 ** below.backoff[changed].astype(np.float64) * unseen[changed]
        below.backoff[changed] = np.log10((left + given_back) / (unseen[changed] + room))
        needed = np.zeros(len(levels[n - 1]), bool)
        needed[level.context[keep[n]]] = needed[level.suffix[keep[n]]] = True
    return kept(levels, Smoothed(weights, smoothed.discounts, smoothed.notes, smoothed.kind), keep)


def refuse(kind: Smoothing | None, refused: tuple[str, ...]) -> None:
    if kind in refused:
        raise Mistake(
            "smoothing={kind} cannot be pruned so: it has no shorter contexts to fall back on; leave pruning out, or "
            "use smoothing=modified-kneser-ney.",
            kind=kind,
        )


def context_probabilities(levels: list[Level], smoothed: Smoothed) -> list[np.ndarray]:
    """p(h) of every n-gram below the highest order, by the chain rule. A sentence is opened as often as one is closed."""
    log_joint = [smoothed.levels[0].log_prob.astype(np.float64)]
    log_joint[0][BEGIN] = log_joint[0][END]
    for level, weights in zip(levels[1:-1], smoothed.levels[1:-1]):
        log_joint.append(log_joint[-1][level.context] + weights.log_prob)
    return [10.0**joint for joint in log_joint]


def divergence(
    level: Level, weights: Weights, below: Weights, joint: np.ndarray
) -> tuple[np.ndarray, ...]:
    """(D(p‖p′) of dropping each n-gram, in nats; p(w|h); p(w|h′); S of every context)"""
    to_nats = np.log(10)
    log_prob, log_shorter = weights.log_prob * to_nats, below.log_prob[level.suffix] * to_nats
    log_rest = below.backoff.astype(np.float64) * to_nats
    prob, shorter = np.exp(log_prob.astype(np.float64)), np.exp(log_shorter.astype(np.float64))
    unseen = np.maximum(
        1 - np.bincount(level.context, shorter, minlength=len(joint)), 0.0
    )  # S; rounding may bring it below 0
    left = np.exp(log_rest) * unseen
    h = level.context
    log_after = np.log((left[h] + prob) / (unseen[h] + shorter))  # α′
    entropy = joint[h] * (
        prob * (log_prob - log_shorter - log_after) + left[h] * (log_rest[h] - log_after)
    )
    return entropy, prob, shorter, unseen


def kept(
    levels: list[Level], smoothed: Smoothed, keep: list[np.ndarray]
) -> tuple[list[Level], Smoothed]:
    """The n-grams of these masks, numbered anew; they stay sorted."""
    left, weights, numbers = [], [], None
    for level, one, mask in zip(levels, smoothed.levels, keep):
        context, suffix = level.context[mask], level.suffix[mask]
        if numbers is not None:
            context, suffix = numbers[context], numbers[suffix]
        left.append(Level(level.word[mask], context, suffix, level.count[mask]))
        weights.append(Weights(one.log_prob[mask], one.backoff[mask]))
        numbers = np.cumsum(mask, dtype=np.int32) - 1
    return left, Smoothed(weights, smoothed.discounts, smoothed.notes, smoothed.kind)
