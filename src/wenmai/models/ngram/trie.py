"""The n-grams of a model in little room: a tree that is read backwards, packed bit by bit.

Level n holds its n-grams sorted by their last word, the word before it, …, as they were counted; so those that end with one
(n−1)-gram stand side by side, told apart by their first word alone. A word is looked up, then the word before it among what
stands there, and so on as far as the tree goes (as KenLM's trie, Heafield 2011). What is passed on the way are the contexts of
the next word: their back-off weights are all that has to be remembered. How an n-gram is packed: packing.py.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.data.storage.saved import Unfit
from wenmai.data.text.vocabulary import BEGIN, UNK
from wenmai.models.ngram import layout
from wenmai.models.ngram.counts import NONE, Level, words_level
from wenmai.models.ngram.layout import at_most_zero
from wenmai.models.ngram.packing import bits_at, longer_at, pack, plan_of, unpacked, weights_at
from wenmai.models.ngram.smoothing import Smoothed, Weights

DEEPEST = 8


@dataclass(frozen=True, eq=False)
class Trie:
    data: np.ndarray  # (words of 64 bits,) uint64: all levels end to end, each from a word of its own on, and one word more
    sizes: np.ndarray  # (order,) int64: how many n-grams each order has

    @classmethod
    def of(cls, levels: list[Level], smoothed: Smoothed) -> Self:
        levels, weights = layout.in_order(levels, smoothed)
        sizes = np.array([len(level) for level in levels], np.int64)
        plan, length = plan_of(sizes)
        data, first = np.zeros(length, np.uint64), levels[0].word
        for n, level in enumerate(levels):
            first = first if n == 0 else first[level.context]
            prob, backoff = (
                values.astype(np.float32).view(np.uint32)
                for values in (weights[n].log_prob, weights[n].backoff)
            )
            longer = np.zeros(0, np.int64)
            if n + 1 < len(levels):
                longer = np.searchsorted(levels[n + 1].suffix, np.arange(len(level) + 1))
            pack(data, plan[n], first, prob, backoff, longer)
        return cls(layout.fixed(data), sizes)

    def levels(self) -> tuple[list[Level], Smoothed]:
        """Those that stand side by side have one suffix; the context of an n-gram is that of its suffix, after its first word."""
        levels, weights, keys, beside = (
            [words_level(np.zeros(self.sizes[0], np.int64))],
            [],
            [],
            None,
        )
        for n in range(self.order):
            size, plan = int(self.sizes[n]), self.plan[n]
            first, prob, backoff, longer = unpacked(self.data, plan, size, n + 1 < self.order)
            weights.append(Weights(prob, backoff))
            if n:
                suffix = np.repeat(np.arange(len(beside), dtype=np.int32), beside)
                context = (
                    first
                    if n == 1
                    else layout.places(
                        keys[-1], levels[-1].context[suffix].astype(np.int64) << 32 | first
                    )
                )
                levels.append(
                    Level(levels[-1].word[suffix], context, suffix, np.zeros(size, np.int64))
                )
                keys.append(suffix.astype(np.int64) << 32 | first)
                if (first >= self.sizes[0]).any() or (keys[-1][1:] <= keys[-1][:-1]).any():
                    raise Unfit("data: the n-grams are not in order")
            beside = np.diff(longer)
            if n + 1 < self.order and (
                longer[0] or longer[-1] != self.sizes[n + 1] or (beside < 0).any()
            ):
                raise Unfit("data: the levels do not fit one another")
        return levels, Smoothed(weights)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"data": self.data, "sizes": self.sizes}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        sizes = layout.sizes_of(arrays)
        return cls(layout.array_of(arrays, "data", np.uint64, plan_of(sizes)[1]), sizes)

    @property
    def order(self) -> int:
        return len(self.sizes)

    @cached_property
    def plan(self) -> np.ndarray:
        return layout.fixed(plan_of(self.sizes)[0])

    @cached_property
    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """What every kernel reads."""
        return self.data, self.plan

    @cached_property
    def nothing(self) -> tuple[int, ...]:
        return (NONE,) * max(1, self.order - 1)

    def start(self, sentences: int) -> np.ndarray:
        """The last words, the newest first."""
        states = np.full((sentences, len(self.nothing)), NONE, np.int32)
        states[:, 0] = BEGIN if self.order > 1 else NONE
        return states

    def advance(self, states: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_probs, after = (
            np.empty(len(states), np.float32),
            np.empty((len(states), len(self.nothing)), np.int32),
        )
        advance(*self.known, layout.numbers(states), layout.numbers(words), log_probs, after)
        return log_probs, after

    def following(self, state: np.ndarray) -> np.ndarray:
        log_probs = np.empty(int(self.sizes[0]), np.float32)
        following(*self.known, layout.numbers(state), log_probs)
        return log_probs

    def one(self, state: tuple[int, ...], word: int) -> tuple[float, tuple[int, ...]]:
        word = word if 0 <= word < self.sizes[0] else UNK
        log_prob, length = one(*self.known, state, word)
        return log_prob, ((word, *state)[:length] + self.nothing[length:])

    def matched(self, state: tuple[int, ...], word: int) -> tuple[int, float, list[float]]:
        """(words of the longest n-gram that is known, its log p, the weights paid for contexts that were too long)"""
        word = word if 0 <= word < self.sizes[0] else UNK
        log_prob, length, known, paid = longest(*self.known, np.array(state, np.int32), word)
        return (
            int(length),
            float(log_prob),
            [float(paid[context]) for context in reversed(range(length - 1, known))],
        )

    def score(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        threads: int | None = None,
        separately: bool = False,
    ) -> np.ndarray:
        return layout.read_through(score, self.known, tokens, starts, threads, separately)


@njit(inline="always")
def climb(data, plan, word, history, begin, known, paid):
    """(log p of the longest n-gram that ends with the word after this history, its length). `history[begin:]` are the words
    before, the newest first, `known` of them; `paid` takes the back-off weights of all its suffixes that can be contexts."""
    at, depth, order = np.int64(word), 1, len(plan)
    prob, paid[0] = weights_at(data, plan[0], at)
    while depth <= known and depth < order:
        level, before = plan[depth], np.int64(history[begin + depth - 1])
        start, end = longer_at(data, plan[depth - 1], at, level[4])
        last = end
        while start < end:
            middle = (start + end) // 2
            if np.int64(bits_at(data, level[0] + middle * level[1], level[2])) < before:
                start = middle + 1
            else:
                end = middle
        if (
            start >= last
            or np.int64(bits_at(data, level[0] + start * level[1], level[2])) != before
        ):
            break
        at = start
        prob, paid[depth] = weights_at(data, level, at)
        depth += 1
    return prob, depth


@njit(inline="always")
def in_vocabulary(plan, word):
    return word if 0 <= word < plan[0, 4] else UNK


@njit(inline="always")
def cost(data, plan, state, paid):
    """How many of these words are a context that is known; `paid` takes what its suffixes cost."""
    words = 0
    while words < len(state) and words < len(plan) - 1 and 0 <= state[words] < plan[0, 4]:
        words += 1
    return climb(data, plan, state[0], state, 1, words - 1, paid)[1] if words else 0


@njit(inline="always")
def total(prob, depth, known, paid):
    """log p of an n-gram, and the weights of the contexts that it had to back off from"""
    for context in range(depth - 1, known):
        prob += paid[context]
    return at_most_zero(prob)


@njit(cache=True)
def longest(data, plan, state, word):
    """(log p of the longest n-gram that is known, its length, how long the context is, what its suffixes cost)"""
    paid, fresh = np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
    known = cost(data, plan, state, paid)
    prob, depth = climb(data, plan, word, state, 0, known, fresh)
    return prob, depth, known, paid


@njit(cache=True, nogil=True)
def one(data, plan, state, word):
    """(log p, how many words the next state knows)"""
    paid, fresh = np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
    known = cost(data, plan, state, paid)
    prob, depth = climb(data, plan, in_vocabulary(plan, word), state, 0, known, fresh)
    return total(prob, depth, known, paid), min(depth, len(plan) - 1)


@njit(cache=True, nogil=True)
def advance(data, plan, states, words, log_probs, after):
    paid, fresh = np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
    for at in range(min(len(states), len(words))):
        word, state = in_vocabulary(plan, words[at]), states[at]
        known = cost(data, plan, state, paid)
        prob, depth = climb(data, plan, word, state, 0, known, fresh)
        log_probs[at] = total(prob, depth, known, paid)
        for n in range(after.shape[1]):
            after[at, n] = NONE if n >= min(depth, len(plan) - 1) else state[n - 1] if n else word


@njit(cache=True, nogil=True)
def following(data, plan, state, log_probs):
    paid, fresh = np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
    known = cost(data, plan, state, paid)
    for word in range(len(log_probs)):
        prob, depth = climb(data, plan, word, state, 0, known, fresh)
        log_probs[word] = total(prob, depth, known, paid)


@njit(cache=True, nogil=True)
def score(data, plan, tokens, starts, first, last, sums, each):
    """Σ log p of the sentences first … last − 1, and of every token, if there is room for it"""
    most = len(plan) - 1
    history, paid, fresh = (
        np.empty(DEEPEST, np.int32),
        np.empty(DEEPEST, np.float32),
        np.empty(DEEPEST, np.float32),
    )
    for sentence in range(first, last):
        history[0] = BEGIN
        known, summed = cost(data, plan, history[:1], paid), 0.0
        for at in range(max(0, starts[sentence]), min(len(tokens), starts[sentence + 1])):
            word = in_vocabulary(plan, tokens[at])
            prob, depth = climb(data, plan, word, history, 0, known, fresh)
            prob = total(prob, depth, known, paid)
            summed += prob
            if len(each):
                each[at] = prob
            known, paid, fresh = min(depth, most), fresh, paid
            for n in range(most - 1, 0, -1):
                history[n] = history[n - 1]
            history[0] = word
        sums[sentence] = summed
