"""Counting n-grams of every order in one sort each.

Positions of the text are kept sorted by the n-gram that ends there, the last word first: (w_i, w_{i−1}, …, w_{i−n+1}). From
the order for n−1 words the order for n follows by a single stable pass: take the position after each, and drop it into the
bucket of its word (as the Burrows-Wheeler transform is walked, Ferragina & Manzini 2000). Equal n-grams stand side by side;
and since every order refines the one before it, an n-gram lies inside the shorter one that it ends with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

NONE = -1


@dataclass
class Level:
    """The n-grams of one order, sorted by their last word, the word before it, …"""

    word: np.ndarray  # (M,) int32: the last one
    context: np.ndarray  # (M,) int32: which n-gram of the order below stands before it
    suffix: np.ndarray  # (M,) int32: which n-gram of the order below it ends with
    count: np.ndarray  # (M,) int64: how often it stands in the text

    def __len__(self) -> int:
        return len(self.word)


def count(tokens: np.ndarray, vocabulary: int, order: int, begin: int) -> list[Level]:
    """The levels 1 … order of a text: numbers of words (N,) int32, every sentence opened by `begin` and closed by its end.
    No n-gram reaches beyond the opening of its sentence. The first level holds all words of the vocabulary."""
    counts = np.bincount(tokens, minlength=vocabulary).astype(np.int64)
    starts = np.zeros(vocabulary + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    every = np.arange(vocabulary, dtype=np.int32)
    nothing = np.full(vocabulary, NONE, np.int32)
    levels = [Level(every, nothing, nothing, counts)]
    positions = sort_by_word(tokens, starts)
    group = np.repeat(every, counts)  # at every place of `positions`, which n-gram it is
    entry = every.copy()  # of every group, which n-gram of the level; NONE where it would reach beyond the opening
    for _ in range(order - 1):
        positions, context = refine(tokens, positions, group, starts, begin)
        groups, real = sizes(starts, context, entry, begin)
        group, entry, word, before, after, found = cut(starts, context, group, entry, begin, groups, real)
        levels.append(Level(word, before, after, found))
    return levels


@njit(cache=True, nogil=True)
def sort_by_word(tokens, starts):
    at, positions = starts.copy(), np.empty(len(tokens), np.int32)
    for position in range(len(tokens)):
        word = tokens[position]
        positions[at[word]] = position
        at[word] += 1
    return positions


@njit(cache=True, nogil=True)
def refine(tokens, positions, group, starts, begin):
    """Positions sorted by one word more, and which group the n-gram before each belongs to."""
    at, refined = starts.copy(), np.empty((len(positions), 2), np.int32)  # side by side: one line of the cache for both
    for place in range(len(positions)):
        position = positions[place] + 1
        if position == len(tokens):
            position = 0  # the opening of the first sentence follows the end of the last
        word = tokens[position]
        where = at[word]
        at[word] += 1
        refined[where, 0] = position
        refined[where, 1] = NONE if word == begin else group[place]
    return refined[:, 0], refined[:, 1]


@njit(cache=True, nogil=True)
def sizes(starts, context, entry, begin):
    """How many groups there are now, and how many of them are n-grams of this order."""
    groups = real = 0
    for word in range(len(starts) - 1):
        for place in range(starts[word], starts[word + 1]):
            if place == starts[word] or context[place] != context[place - 1]:
                groups += 1
                real += word != begin and entry[context[place]] != NONE
    return groups, real


@njit(cache=True, nogil=True)
def cut(starts, context, shorter, entry, begin, groups, real):
    """The groups at every place, and what each n-gram of this order is made of."""
    group, entries = np.empty_like(shorter), np.empty(groups, np.int32)
    last, before, after = np.empty(real, np.int32), np.empty(real, np.int32), np.empty(real, np.int32)
    found = np.zeros(real, np.int64)
    number = at = -1
    for word in range(len(starts) - 1):
        inside = False
        for place in range(starts[word], starts[word + 1]):
            if place == starts[word] or context[place] != context[place - 1]:
                number += 1
                inside = word != begin and entry[context[place]] != NONE
                if inside:
                    at += 1
                    last[at], before[at], after[at] = word, entry[context[place]], entry[shorter[place]]
                entries[number] = at if inside else NONE
            group[place] = number
            if inside:
                found[at] += 1
    return group, entries, last, before, after, found
