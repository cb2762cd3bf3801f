"""The n-grams of a model as one table that is walked word by word.

A *node* is an n-gram below the highest order, which can be a context; node 0 is the empty one, the words follow, then pairs, ….
From a node and the next word one step finds the longest n-gram that is known,

    node, word → log p(word | node), the node from which the next word is read

looked up under (node, word) in a hash table whose line holds both. Where there is none, the node pays its back-off weight and
its suffix is asked instead (Katz 1987; as an automaton: Allauzen, Mohri & Roark 2003). A node that nothing follows, and
that costs nothing, is no use as a context: its longest suffix that is stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from wenmai.models.ngram.counts import Level
from wenmai.models.ngram.smoothing import Smoothed

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
LINE = np.dtype([("key", "<u8"), ("log_prob", "<f4"), ("next", "<i4")])  # 16 bytes: four of them in a line of the cache
NODE = np.dtype([("backoff", "<f4"), ("suffix", "<i4")])


@dataclass
class Table:
    words: np.ndarray  # (V,) LINE: log_prob of every word by itself, and the node it leads to
    nodes: np.ndarray  # (nodes,) NODE
    lines: np.ndarray  # (a power of two,) LINE, hashed by (node, word)
    order: int

    @classmethod
    def of(cls, levels: list[Level], smoothed: Smoothed) -> Table:
        order, sizes = len(levels), [len(level) for level in levels]
        bases = np.cumsum([1, *sizes])  # where the nodes of each order begin
        nodes = np.zeros(bases[order - 1] if order > 1 else 1, NODE)
        leads = np.zeros(1, np.int32)  # from every node, to the one that stands for it
        for n in range(order - 1):
            level, weights = levels[n], smoothed.levels[n]
            follows = weights.backoff != 0
            follows[levels[n + 1].context] = True
            part = nodes[bases[n] : bases[n + 1]]
            part["backoff"] = weights.backoff
            suffix = np.zeros(sizes[n], np.int32) if n == 0 else leads[bases[n - 1] + level.suffix]
            part["suffix"] = suffix
            own = np.arange(bases[n], bases[n + 1], dtype=np.int32)
            leads = np.concatenate([leads, np.where(follows, own, suffix)])
        words = np.zeros(sizes[0], LINE)
        words["log_prob"] = smoothed.levels[0].log_prob
        words["next"] = leads[1 : 1 + sizes[0]] if order > 1 else 0
        count = sum(sizes[1:])
        lines = np.zeros(1 << max(1, int(np.ceil(np.log2(max(1, count) * 1.4)))), LINE)
        lines["key"] = EMPTY
        for n in range(1, order):
            level, weights = levels[n], smoothed.levels[n]
            context = (bases[n - 1] + level.context).astype(np.int64)
            after = leads[bases[n - 1] + level.suffix] if n == order - 1 else leads[bases[n] : bases[n + 1]]
            insert(lines, context, level.word, weights.log_prob, after)
        return cls(words, nodes, lines, order)


@njit(inline="always")
def place_of(node, word, mask):
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(word)
    mixed = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return key, (mixed ^ (mixed >> np.uint64(29))) & mask


@njit(cache=True, nogil=True)
def insert(lines, context, word, log_prob, after):
    mask = np.uint64(len(lines) - 1)
    for at in range(len(word)):
        key, place = place_of(context[at], word[at], mask)
        while lines[place].key != EMPTY:
            place = (place + np.uint64(1)) & mask
        lines[place].key, lines[place].log_prob, lines[place].next = key, log_prob[at], after[at]


@njit(inline="always")
def step(words, nodes, lines, mask, node, word):
    """(log p of the word after this node, the next node, how many nodes it had to back off)"""
    paid, back = np.float32(0), 0
    while node > 0:
        key, place = place_of(node, word, mask)
        while True:
            found = lines[place].key
            if found == key:
                return paid + lines[place].log_prob, lines[place].next, back
            if found == EMPTY:
                break
            place = (place + np.uint64(1)) & mask
        paid += nodes[node].backoff
        node = nodes[node].suffix
        back += 1
    return paid + words[word].log_prob, words[word].next, back


@njit(cache=True, nogil=True)
def score(words, nodes, lines, tokens, starts, opened, first, last, sums):
    """Σ log p of the sentences first … last − 1; `opened` is the node after the opening of a sentence."""
    mask = np.uint64(len(lines) - 1)
    for sentence in range(first, last):
        node, total = opened, 0.0
        for at in range(starts[sentence], starts[sentence + 1]):
            log_prob, node, _ = step(words, nodes, lines, mask, node, tokens[at])
            total += log_prob
        sums[sentence] = total


@njit(cache=True, nogil=True)
def following(words, nodes, lines, node):
    """log p of every word after this node."""
    mask, found = np.uint64(len(lines) - 1), np.empty(len(words), np.float32)
    for word in range(len(words)):
        found[word], _, _ = step(words, nodes, lines, mask, node, word)
    return found


@njit(cache=True, nogil=True)
def reached(words, nodes, lines, node, tokens):
    """The node after reading these words from here."""
    mask = np.uint64(len(lines) - 1)
    for word in tokens:
        _, node, _ = step(words, nodes, lines, mask, node, word)
    return node
