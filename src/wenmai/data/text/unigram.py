"""Unigram (Kudo 2018): the probability of a text is the product of those of its pieces; the best pieces are found by starting
with too many and taking away, again and again, those that are missed least.

    E      how often each piece is expected, over all ways to cut a word:  forward and backward over its letters
    M      p(piece) ∝ its expected count; what is expected less than half a time goes
    prune  of what is left the fourth goes whose loss is smallest: count · (log p − log p of the best way to write it without)

The same words give the same pieces: they are counted and sorted before, and everything is added in one order."""

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np

from wenmai.data.storage.caches import njit

LONGEST = 16  # letters of a piece
SEEDS = 4  # times as many pieces as are wanted to begin with, and some thousand more
SHRINK = 0.75
MOST = 1_000_000  # distinct words that are counted at once
WORDS = 400_000  # letters of the most frequent words from which pieces are learned


def pieces(words: Counter, size: int) -> list[tuple[str, float]]:
    """`size` pieces at the most with their log p, the most probable first; every letter is one of them."""
    if not words:
        return []
    held, total = [], 0
    for word, count in sorted(words.items(), key=lambda pair: (-pair[1], pair[0])):
        held.append((word, count))
        total += len(word)
        if total > WORDS:
            break
    letters = sorted({letter for word in words for letter in word})
    number = {letter: at for at, letter in enumerate(letters)}
    counts = Counter()
    for word, count in held:
        for start in range(len(word)):
            for end in range(start + 2, min(len(word), start + LONGEST) + 1):
                counts[word[start:end]] += count
    seeds = sorted(
        (piece for piece, count in counts.items() if count > 1),
        key=lambda one: (-counts[one] * len(one), one),
    )
    alone = Counter()
    for word, count in held:
        for letter in word:
            alone[letter] += count
    known = letters + seeds[: SEEDS * size + 2000]
    often_read = [max(1, alone[letter]) for letter in letters] + [
        counts[piece] for piece in known[len(letters) :]
    ]
    weights = np.array(often_read, np.float64)
    flat = np.array([number[letter] for word, _ in held for letter in word], np.int64)
    starts = np.cumsum([0, *(len(word) for word, _ in held)])
    often = np.array([count for _, count in held], np.float64)
    wanted = max(size, len(letters))
    while True:
        places = cut_places(known, held, flat, starts)
        for _ in range(2):
            scores = np.log(weights) - math.log(weights.sum())
            weights = np.maximum(expected(*places, starts, often, scores), 1e-3)
            keep = (weights >= 0.5) | (np.arange(len(known)) < len(letters))
            if not keep.all():
                known, weights = [piece for piece, kept in zip(known, keep) if kept], weights[keep]
                places = cut_places(known, held, flat, starts)
        scores = np.log(weights) - math.log(weights.sum())
        if len(known) <= wanted:
            break
        losses = weights * (scores - best_without(known, scores))
        losses[: len(letters)] = np.inf
        left = max(wanted, int(SHRINK * len(known)))
        kept = np.sort(np.lexsort((np.arange(len(known)), -losses))[:left])
        known, weights = [known[at] for at in kept], weights[kept]
    order = sorted(range(len(known)), key=lambda at: (-scores[at], known[at]))
    return [(known[at], float(scores[at])) for at in order]


def cut_places(
    known: list[str], held: list, flat: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Of every letter, the pieces that end there: (where each letter's begin, which pieces, how long they are)"""
    at, ids, sizes = {piece: number for number, piece in enumerate(known)}, [], []
    bounds = [0]
    for word, _ in held:
        for end in range(1, len(word) + 1):
            for size in range(1, min(end, LONGEST) + 1):
                piece = at.get(word[end - size : end])
                if piece is not None:
                    ids.append(piece)
                    sizes.append(size)
            bounds.append(len(ids))
    return np.array(bounds, np.int64), np.array(ids, np.int64), np.array(sizes, np.int64)


@njit(cache=True)
def expected(bounds, ids, sizes, starts, often, scores):
    """How often each piece is expected in all words, each counted as often as it was read."""
    counts = np.zeros(len(scores))
    for word in range(len(starts) - 1):
        first, length = starts[word], starts[word + 1] - starts[word]
        forward, backward = np.full(length + 1, -np.inf), np.full(length + 1, -np.inf)
        forward[0] = backward[length] = 0.0
        for end in range(1, length + 1):
            for k in range(bounds[first + end - 1], bounds[first + end]):
                forward[end] = np.logaddexp(forward[end], forward[end - sizes[k]] + scores[ids[k]])
        for end in range(length, 0, -1):
            for k in range(bounds[first + end - 1], bounds[first + end]):
                begin = end - sizes[k]
                backward[begin] = np.logaddexp(backward[begin], backward[end] + scores[ids[k]])
        for end in range(1, length + 1):
            for k in range(bounds[first + end - 1], bounds[first + end]):
                log_p = forward[end - sizes[k]] + scores[ids[k]] + backward[end] - forward[length]
                counts[ids[k]] += often[word] * np.exp(log_p)
    return counts


def best_without(known: list[str], scores: np.ndarray) -> np.ndarray:
    """The log p of the best way to write each piece by others."""
    at, best = dict(zip(known, scores.tolist())), np.empty(len(known))
    for number, piece in enumerate(known):
        ways = [0.0] + [-math.inf] * len(piece)
        for end in range(1, len(piece) + 1):
            for begin in range(end):
                if end - begin < len(piece) and (score := at.get(piece[begin:end])) is not None:
                    ways[end] = max(ways[end], ways[begin] + score)
        best[number] = ways[-1]
    return best


def counted(texts: Iterable[list[str]], cut) -> Counter:
    """The words of all texts, as `cut` parts them."""
    words = Counter()
    for chunk in texts:
        for text in chunk:
            words.update(word for word, _ in cut(text))
        if len(words) > 2 * MOST:
            words = Counter(
                dict(sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST])
            )
    return words
