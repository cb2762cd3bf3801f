"""The n-grams of a model in little room: a tree that is read backwards.

Level n holds its n-grams sorted by their last word, the word before it, …, as they were counted; so those that end with one
(n−1)-gram stand side by side, told apart by their first word alone. A word is looked up, then the word before it among what
stands there, and so on as far as the tree goes (as KenLM's trie, Heafield 2011). What is passed on the way are the contexts of
the next word: their back-off weights are all that has to be remembered.

    a word that can be a context   its first word, log p, back-off weight, where the longer ones begin     16 bytes
    of the highest order           its first word, log p                                                    8 bytes
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from wenmai.models.ngram.counts import Level
from wenmai.models.ngram.smoothing import Smoothed

DEEPEST = 8


@dataclass
class Trie:
    """All levels end to end; `bases` says where each begins."""

    first: np.ndarray  # (n-grams,) int32
    log_prob: np.ndarray  # (n-grams,) float32
    backoff: np.ndarray  # (those below the highest order,) float32
    longer: np.ndarray  # (those below the highest order + 1,) int32: where those that end with it begin
    bases: np.ndarray  # (order + 1,) int64

    @property
    def order(self) -> int:
        return len(self.bases) - 1

    @classmethod
    def of(cls, levels: list[Level], smoothed: Smoothed) -> Trie:
        bases = np.cumsum([0, *map(len, levels)])
        first, longer, leftmost = [levels[0].word], [], levels[0].word
        for n, level in enumerate(levels[1:], 1):
            leftmost = leftmost[level.context]
            first.append(leftmost)
            longer.append(bases[n] + np.searchsorted(level.suffix, np.arange(len(levels[n - 1]))))
        longer.append(bases[-1:])
        below = smoothed.levels[:-1]
        return cls(np.concatenate(first), np.concatenate([weights.log_prob for weights in smoothed.levels]),
                   np.concatenate([weights.backoff for weights in below] or [np.zeros(0, np.float32)]),
                   np.concatenate(longer).astype(np.int32), bases)  # fmt: skip


@njit(inline="always")
def find(first, start, end, word):
    """The place between these two where the word stands, or would."""
    while start < end:
        middle = (start + end) // 2
        if first[middle] < word:
            start = middle + 1
        else:
            end = middle
    return start


@njit(cache=True, nogil=True)
def score(first, log_prob, backoff, longer, bases, tokens, starts, begin, sentences, sums):
    """Σ log p of the sentences `sentences[0]` … `sentences[1]` − 1, each opened by `begin`."""
    order, below = len(bases) - 1, len(backoff)
    history, paid = np.empty(DEEPEST, np.int32), np.zeros(DEEPEST, np.float32)  # the last words, and what contexts of them cost
    fresh = np.zeros(DEEPEST, np.float32)
    for sentence in range(sentences[0], sentences[1]):
        history[0], known, total = begin, 1 if order > 1 else 0, 0.0
        paid[0] = backoff[begin] if order > 1 else np.float32(0)
        for at in range(starts[sentence], starts[sentence + 1]):
            word = tokens[at]
            node, depth = word, 1
            prob = log_prob[node]
            while depth <= known and depth < order:
                fresh[depth - 1] = backoff[node]
                start, end = longer[node], longer[node + 1]
                found = find(first, start, end, history[depth - 1])
                if found == end or first[found] != history[depth - 1]:
                    break
                node, depth = found, depth + 1
                prob = log_prob[node]
            if depth < order and node < below:
                fresh[depth - 1] = backoff[node]
            total += prob
            for context in range(depth - 1, known):
                total += paid[context]
            known = min(depth, order - 1)
            for n in range(min(order - 2, DEEPEST - 1), 0, -1):
                history[n] = history[n - 1]
            history[0] = word
            for n in range(known):
                paid[n] = fresh[n]
        sums[sentence] = total
