"""Counting n-grams of every order in one sort each.

Positions of the text are kept sorted by the n-gram that ends there, the last word first: (w_i, w_{i−1}, …, w_{i−n+1}). From
the order for n−1 words the order for n follows by a single stable pass: take the position after each, and drop it into the
bucket of its word (as the Burrows-Wheeler transform is walked, Ferragina & Manzini 2000). Equal n-grams stand side by side;
and since every order refines the one before it, an n-gram lies inside the shorter one that it ends with.

Threads share the words: each takes those between two bounds, with all places in their buckets. How many of these places go on to
every word is the same for all orders, since a pass moves places only within their buckets. So each thread knows from the start
which part of every bucket is its own to fill.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.data.storage.prefetching import AHEAD, ask
from wenmai.data.storage.threads import side_by_side, threads

NONE = -1
SMALL = 1 << 16  # tokens: fewer are not worth a thread


@dataclass
class Level:
    """The n-grams of one order, sorted by their last word, the word before it, …"""

    word: np.ndarray  # (M,) int32: the last one
    context: np.ndarray  # (M,) int32: which n-gram of the order below stands before it
    suffix: np.ndarray  # (M,) int32: which n-gram of the order below it ends with
    count: np.ndarray  # (M,) int64: how often it stands in the text

    def __len__(self) -> int:
        return len(self.word)


def words_level(counts: np.ndarray) -> Level:
    """The first: every word, without context or suffix."""
    nothing = np.full(len(counts), NONE, np.int32)
    return Level(np.arange(len(counts), dtype=np.int32), nothing, nothing, counts)


def count(tokens: np.ndarray, vocabulary: int, order: int, begin: int) -> list[Level]:
    """The levels 1 … order of a text: numbers of words (N,) int32, every sentence opened by `begin` and closed by its end.
    No n-gram reaches beyond the opening of its sentence. The first level holds all words of the vocabulary."""
    return list(counted(tokens, vocabulary, order, begin))


def counted(tokens: np.ndarray, vocabulary: int, order: int, begin: int) -> Iterator[Level]:
    """One level after the other, so that none has to be held. Beside them 16 bytes a token are held, in two arrays of pairs:
    at every place the position, and which n-gram ends there; a negative number where it would reach beyond the opening."""
    parts = threads() if len(tokens) >= SMALL else 1
    cuts = np.linspace(0, len(tokens), parts + 1).astype(np.int64)
    at = np.zeros((parts, vocabulary), np.int64)  # of every part: where it goes on in every bucket
    side_by_side(
        tally, [(tokens[first:last], own) for (first, last), own in zip(pairwise(cuts), at)]
    )
    counts = at.sum(0)
    yield words_level(counts)
    if order == 1:
        return
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])  # of the buckets
    pairs, refined = np.empty((len(tokens), 2), np.int32), np.empty((len(tokens), 2), np.int32)
    begun = stacked(starts, at)
    side_by_side(
        sort_by_word,
        [(tokens, *between, own, pairs) for between, own in zip(pairwise(cuts), begun)],
    )
    words = [
        0,
        *np.searchsorted(starts, cuts[1:-1]).tolist(),
        vocabulary,
    ]  # the bounds between parts, now of words
    at[:] = 0
    side_by_side(
        tally_after, [(tokens, *between, own) for between, own in zip(pairwise(words), at)]
    )
    begun = stacked(starts, at)
    for _ in range(order - 1):
        at[:] = begun
        side_by_side(
            refine,
            [
                (tokens, pairs, starts, *part, begin, own, refined)
                for part, own in zip(pairwise(words), at)
            ],
        )
        lengths = side_by_side(sizes, [(refined, starts, *between) for between in pairwise(words)])
        ends = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(lengths, 0)])
        columns = [np.empty(ends[-1, 0], kind) for kind in (np.int32, np.int32, np.int32, np.int64)]
        side_by_side(
            cut,
            [
                (refined, pairs, starts, *between, *first, *columns)
                for between, first in zip(pairwise(words), ends)
            ],
        )
        pairs, refined = refined, pairs
        yield Level(*columns)
        del columns


def stacked(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Where in every bucket each part begins, whose counts these are."""
    return starts[:-1] + np.cumsum(counts, 0) - counts


@njit(cache=True, nogil=True)
def tally(tokens, counts):
    for word in tokens:
        counts[word] += 1


@njit(cache=True, nogil=True)
def tally_after(tokens, low, high, counts):
    """What follows the words low … high − 1; the opening of the first sentence follows the end of the last."""
    before = tokens[-1] if len(tokens) else 0
    for word in tokens:
        if low <= before < high:
            counts[word] += 1
        before = word


@njit(cache=True, nogil=True)
def sort_by_word(tokens, first, last, at, pairs):
    for position in range(first, last):
        word = tokens[position]
        pairs[at[word], 0], pairs[at[word], 1] = position, word
        at[word] += 1


@njit(cache=True, nogil=True)
def refine(tokens, pairs, starts, low, high, begin, at, refined):
    """Positions sorted by one word more, and which n-gram stands before each."""
    last = starts[high]
    for place in range(starts[low], last):
        if place + AHEAD < last:
            ask(tokens, pairs[place + AHEAD, 0] + 1)
        position = pairs[place, 0] + 1
        if position == len(tokens):
            position = 0
        word = tokens[position]
        where = at[word]
        at[word] += 1
        refined[where, 0] = position
        refined[where, 1] = NONE if word == begin else pairs[place, 1]


@njit(cache=True, nogil=True)
def sizes(refined, starts, low, high):
    """How many n-grams of this order there are, and how many that reach beyond the opening."""
    real = lost = 0
    for word in range(low, high):
        for place in range(starts[word], starts[word + 1]):
            if place == starts[word] or refined[place, 1] != refined[place - 1, 1]:
                if refined[place, 1] >= 0:
                    real += 1
                else:
                    lost += 1
    return real, lost


@njit(cache=True, nogil=True)
def cut(refined, shorter, starts, low, high, real, lost, last, before, after, counts):
    """What each n-gram is made of; its number takes the place of the one before it."""
    for word in range(low, high):
        place, end = starts[word], starts[word + 1]
        while place < end:
            start, context = place, refined[place, 1]
            number = real if context >= 0 else NONE - 1 - lost
            while place < end and refined[place, 1] == context:
                refined[place, 1] = number
                place += 1
            if context >= 0:
                last[real], before[real], after[real], counts[real] = (
                    word,
                    context,
                    shorter[start, 1],
                    place - start,
                )
                real += 1
            else:
                lost += 1
