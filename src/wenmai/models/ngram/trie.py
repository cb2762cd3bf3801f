"""The n-grams of a model in little room: a tree that is read backwards, packed bit by bit.

Level n holds its n-grams sorted by their last word, the word before it, …, as they were counted; so those that end with one
(n−1)-gram stand side by side, told apart by their first word alone. A word is looked up, then the word before it among what
stands there, and so on as far as the tree goes (as KenLM's trie, Heafield 2011). What is passed on the way are the contexts of
the next word: their back-off weights are all that has to be remembered.

    n-gram      first word      log p     back-off weight     where the longer ones begin
    bits        ⌈log₂ V⌉        31        32                  as many as the level above needs

The words themselves lack the first field, since their place says it; the highest order lacks the last two. log p is never
above 0, so its sign is not kept. One n-gram more, at the end of a level, says where the longer ones of the last end.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from wenmai.data.saved import Unfit
from wenmai.data.vocabulary import BEGIN, UNK
from wenmai.models.ngram.counts import NONE, Level
from wenmai.models.ngram.layout import (
    array_of,
    at_most_zero,
    divided,
    first_level,
    fixed,
    in_order,
    numbers,
    places,
    proper,
    sizes_of,
    weight,
)
from wenmai.models.ngram.smoothing import Smoothed, Weights

DEEPEST = 8
PROB, BACKOFF = 31, 32  # bits


@dataclass(frozen=True, eq=False)
class Trie:
    data: np.ndarray  # (words of 64 bits,) uint64: all levels end to end, each from a word of its own on, and one word more
    sizes: np.ndarray  # (order,) int64: how many n-grams each order has

    @classmethod
    def of(cls, levels: list[Level], smoothed: Smoothed) -> Trie:
        levels, weights = in_order(levels, smoothed)
        sizes = np.array([len(level) for level in levels], np.int64)
        plan, length = plan_of(sizes)
        data, first = np.zeros(length, np.uint64), levels[0].word
        for n, level in enumerate(levels):
            first = first if n == 0 else first[level.context]
            prob, backoff = (values.astype(np.float32).view(np.uint32) for values in (weights[n].log_prob, weights[n].backoff))
            longer = np.zeros(0, np.int64)
            if n + 1 < len(levels):
                longer = np.searchsorted(levels[n + 1].suffix, np.arange(len(level) + 1))
            pack(data, plan[n], first, prob, backoff, longer)
        return cls(fixed(data), sizes)

    def levels(self) -> tuple[list[Level], Smoothed]:
        """Those that stand side by side have one suffix; the context of an n-gram is that of its suffix, behind its first word."""
        found, weights, keys, beside = [first_level(int(self.sizes[0]))], [], [], None
        for n in range(self.order):
            size, plan = int(self.sizes[n]), self.plan[n]
            first, prob, backoff, longer = unpacked(self.data, plan, size, n + 1 < self.order)
            weights.append(Weights(prob, backoff))
            if n:
                suffix = np.repeat(np.arange(len(beside), dtype=np.int32), beside)
                context = first if n == 1 else places(keys[-1], found[-1].context[suffix].astype(np.int64) << 32 | first)
                found.append(Level(found[-1].word[suffix], context, suffix, np.zeros(size, np.int64)))
                keys.append(suffix.astype(np.int64) << 32 | first)
                if (first >= self.sizes[0]).any() or (keys[-1][1:] <= keys[-1][:-1]).any():
                    raise Unfit("data: the n-grams are not in order")
            beside = np.diff(longer)
            if n + 1 < self.order and (longer[0] or longer[-1] != self.sizes[n + 1] or (beside < 0).any()):
                raise Unfit("data: the levels do not fit one another")
        return found, Smoothed(weights)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"data": self.data, "sizes": self.sizes}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Trie:
        sizes = sizes_of(arrays)
        return cls(array_of(arrays, "data", np.uint64, plan_of(sizes)[1]), sizes)

    @property
    def order(self) -> int:
        return len(self.sizes)

    @cached_property
    def plan(self) -> np.ndarray:
        return fixed(plan_of(self.sizes)[0])

    @cached_property
    def known(self) -> tuple[np.ndarray, np.ndarray]:
        """What every kernel reads."""
        return self.data, self.plan

    @cached_property
    def nothing(self) -> tuple[int, ...]:
        return (NONE,) * max(1, self.order - 1)

    def start(self, sentences: int) -> np.ndarray:
        """The last words, the newest first."""
        states = self.empty(sentences)
        states[:, 0] = BEGIN if self.order > 1 else NONE
        return states

    def empty(self, sentences: int) -> np.ndarray:
        return np.full((sentences, len(self.nothing)), NONE, np.int32)

    def advance(self, states: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found, after = np.empty(len(states), np.float32), np.empty((len(states), len(self.nothing)), np.int32)
        advance(*self.known, numbers(states), numbers(words), found, after)
        return found, after

    def following(self, state: np.ndarray) -> np.ndarray:
        found = np.empty(int(self.sizes[0]), np.float32)
        following(*self.known, numbers(state), found)
        return found

    def one(self, state: tuple[int, ...], word: int) -> tuple[float, tuple[int, ...]]:
        word = word if 0 <= word < self.sizes[0] else UNK
        log_prob, length = one(*self.known, state, word)
        return log_prob, ((word, *state)[:length] + self.nothing[length:])

    def score(self, tokens: np.ndarray, starts: np.ndarray, threads: int | None = None) -> np.ndarray:
        tokens, starts, sums = numbers(tokens), numbers(starts, np.int64), np.zeros(len(starts) - 1)
        each = np.zeros(0, np.float32)
        divided(lambda first, last: score(*self.known, tokens, starts, first, last, sums, each), starts, len(tokens),
                threads or os.cpu_count() or 1)  # fmt: skip
        return sums

    def token_scores(self, tokens: np.ndarray, starts: np.ndarray, threads: int | None = None) -> np.ndarray:
        tokens, starts, sums = numbers(tokens), numbers(starts, np.int64), np.zeros(len(starts) - 1)
        each = np.zeros(len(tokens), np.float32)
        divided(lambda first, last: score(*self.known, tokens, starts, first, last, sums, each), starts, len(tokens),
                threads or os.cpu_count() or 1)  # fmt: skip
        return each


def plan_of(sizes: np.ndarray) -> tuple[np.ndarray, int]:
    """(of every level: its first bit, the bits of an n-gram, of its first word, of where the longer ones begin, and how many
    n-grams it has; how many words of 64 bits that makes)"""
    counts, bit = [int(size) for size in sizes], 0
    rows = []
    for n, size in enumerate(counts):
        first = 0 if n == 0 else (counts[0] - 1).bit_length()
        longer = counts[n + 1].bit_length() if n + 1 < len(counts) else 0
        whole = first + PROB + (BACKOFF + longer if n + 1 < len(counts) else 0)
        rows.append([bit, whole, first, longer, size])
        bit += -(-whole * (size + (n + 1 < len(counts))) // 64) * 64
    return np.array(rows, np.int64), bit // 64 + 1


@njit(inline="always")
def bits_at(data, bit, width):
    """`width` bits, at most 64, of this word and the next: the second is there even where nothing of it is wanted."""
    place, shift = bit >> 6, np.uint64(bit & 63)
    both = (data[place] >> shift) | ((data[place + 1] << np.uint64(1)) << (np.uint64(63) - shift))
    return both & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))


@njit(inline="always")
def put_bits(data, bit, value):
    place, shift = bit >> 6, np.uint64(bit & 63)
    data[place] |= np.uint64(value) << shift
    data[place + 1] |= (np.uint64(value) >> np.uint64(1)) >> (np.uint64(63) - shift)


@njit(cache=True, nogil=True)
def pack(data, plan, first, prob, backoff, longer):
    bit, whole, width = plan[0], plan[1], plan[2]
    for at in range(len(first)):
        if width:
            put_bits(data, bit, first[at])
        put_bits(data, bit + width, prob[at] & np.uint32(0x7FFFFFFF))
        if len(longer):
            put_bits(data, bit + width + PROB, backoff[at])
            put_bits(data, bit + width + PROB + BACKOFF, longer[at])
        bit += whole
    if len(longer):
        put_bits(data, bit + width + PROB + BACKOFF, longer[len(first)])


@njit(cache=True, nogil=True)
def unpacked(data, plan, size, below):
    bit, whole, width = plan[0], plan[1], plan[2]
    first, longer = np.empty(size, np.int32), np.zeros(size + 1 if below else 1, np.int64)
    prob, backoff = np.empty(size, np.float32), np.zeros(size, np.float32)
    for at in range(size):
        first[at] = bits_at(data, bit, width) if width else at
        prob[at], paid = weights_at(data, plan, at)
        if below:
            backoff[at], longer[at] = paid, bits_at(data, bit + width + PROB + BACKOFF, plan[3])
        bit += whole
    if below:
        longer[size] = bits_at(data, bit + width + PROB + BACKOFF, plan[3])
    return first, prob, backoff, longer


@njit(inline="always")
def weights_at(data, plan, at):
    """(log p, the back-off weight, which means nothing in the highest order)"""
    both = bits_at(data, plan[0] + at * plan[1] + plan[2], PROB + BACKOFF)
    prob = np.uint32(both | np.uint64(0x80000000))  # with its sign again
    return proper(prob.view(np.float32)), weight(np.uint32(both >> np.uint64(PROB)).view(np.float32))


@njit(inline="always")
def longer_at(data, plan, at, most):
    """(where those that end with this one begin, and end)"""
    bit = plan[0] + at * plan[1] + plan[2] + PROB + BACKOFF
    return np.int64(bits_at(data, bit, plan[3])), min(np.int64(bits_at(data, bit + plan[1], plan[3])), most)


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
        if start >= last or np.int64(bits_at(data, level[0] + start * level[1], level[2])) != before:
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


@njit(cache=True, nogil=True)
def one(data, plan, state, word):
    """(log p, how many words the next state knows)"""
    paid, fresh = np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
    known = cost(data, plan, state, paid)
    prob, depth = climb(data, plan, in_vocabulary(plan, word), state, 0, known, fresh)
    return total(prob, depth, known, paid), min(depth, len(plan) - 1)


@njit(cache=True, nogil=True)
def advance(data, plan, states, read, found, after):
    paid, fresh = np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
    for at in range(min(len(states), len(read))):
        word, state = in_vocabulary(plan, read[at]), states[at]
        known = cost(data, plan, state, paid)
        prob, depth = climb(data, plan, word, state, 0, known, fresh)
        found[at] = total(prob, depth, known, paid)
        for n in range(after.shape[1]):
            after[at, n] = NONE if n >= min(depth, len(plan) - 1) else state[n - 1] if n else word


@njit(cache=True, nogil=True)
def following(data, plan, state, found):
    paid, fresh = np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
    known = cost(data, plan, state, paid)
    for word in range(len(found)):
        prob, depth = climb(data, plan, word, state, 0, known, fresh)
        found[word] = total(prob, depth, known, paid)


@njit(cache=True, nogil=True)
def score(data, plan, tokens, starts, first, last, sums, each):
    """Σ log p of the sentences first … last − 1, and of every token, if there is room for it"""
    most = len(plan) - 1
    history, paid, fresh = np.empty(DEEPEST, np.int32), np.empty(DEEPEST, np.float32), np.empty(DEEPEST, np.float32)
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
