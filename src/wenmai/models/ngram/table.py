"""The n-grams of a model as one table that is walked word by word.

A *node* is an n-gram below the highest order, which can be a context; node 0 is the empty one, the words follow, then pairs, ….
From a node and the next word one step finds the longest n-gram that is known,

    node, word → log p(word | node), the node from which the next word is read

looked up under (node, word) in a hash table whose line holds both. Where there is none, the node pays its back-off weight and
its suffix is asked instead (Katz 1987; as an automaton: Allauzen, Mohri & Roark 2003). A node that nothing follows, and
that costs nothing, is no use as a context: its longest suffix that is stands for it.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.data.storage.prefetching import AHEAD, ask
from wenmai.data.storage.saved import Unfit
from wenmai.data.storage.threads import side_by_side
from wenmai.data.text.vocabulary import BEGIN, UNK
from wenmai.models.ngram import layout
from wenmai.models.ngram.counts import Level, words_level
from wenmai.models.ngram.layout import at_most_zero, proper, weight
from wenmai.models.ngram.smoothing import Smoothed

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
LINE = np.dtype(
    [("key", "<u8"), ("log_prob", "<f4"), ("next", "<i4")]
)  # 16 bytes: four of them in a line of the cache
WORD = np.dtype([("log_prob", "<f4"), ("next", "<i4")])
PARTS = 2  # of the table, filled side by side; another number would make another file
SENTENCES = 16  # that a thread reads at once
READ = np.dtype(
    [
        ("sentence", "<i8"),
        ("at", "<i8"),
        ("total", "<f8"),
        ("node", "<i4"),
        ("paid", "<f4"),
        ("back", "<i8"),
    ]
)
NODE = np.dtype([("backoff", "<f4"), ("suffix", "<i4")])


@dataclass(frozen=True, eq=False)
class Table:
    words: np.ndarray  # (V,) WORD: log_prob of every word by itself, and the node it leads to
    nodes: np.ndarray  # (nodes,) NODE
    lines: np.ndarray  # (a power of two,) LINE, hashed by (node, word)
    sizes: np.ndarray  # (order,) int64: how many n-grams each order has

    @classmethod
    def of(cls, levels: list[Level], smoothed: Smoothed) -> Self:
        levels, weights = layout.in_order(levels, smoothed)
        order, sizes = len(levels), [len(level) for level in levels]
        bases = np.cumsum([1, *sizes])  # where the nodes of each order begin
        nodes = np.zeros(bases[order - 1], NODE)
        leads = np.zeros(
            bases[order - 1], np.int32
        )  # from every node, to the one that stands for it
        for n in range(order - 1):
            follows = weights[n].backoff != 0
            follows[levels[n + 1].context] = True
            part = nodes[bases[n] : bases[n + 1]]
            part["backoff"] = weights[n].backoff
            part["suffix"] = suffix = (
                0 if n == 0 else leads[bases[n - 1] : bases[n]][levels[n].suffix]
            )
            lead = leads[bases[n] : bases[n + 1]]
            lead[:] = suffix
            np.copyto(lead, np.arange(bases[n], bases[n + 1], dtype=np.int32), where=follows)
        words = np.zeros(sizes[0], WORD)
        words["log_prob"] = weights[0].log_prob
        words["next"] = leads[1 : 1 + sizes[0]] if order > 1 else 0
        lines = np.empty(1 << max(1, int(np.ceil(np.log2(max(1, sum(sizes[1:])) * 1.4)))), LINE)
        borders = list(pairwise(np.linspace(0, len(lines), PARTS + 1).astype(np.int64).tolist()))
        side_by_side(clear, [(lines, *between) for between in borders])
        for n in range(1, order):
            after = (
                leads[bases[n - 1] : bases[n]][levels[n].suffix]
                if n == order - 1
                else leads[bases[n] : bases[n + 1]]
            )
            entries = levels[n].context, levels[n].word, weights[n].log_prob, after
            late = side_by_side(
                insert, [(lines, bases[n - 1], *entries, *between) for between in borders]
            )
            insert_late(
                lines,
                bases[n - 1],
                *entries,
                np.array([at for part in late for at in part], np.int64),
            )
        return cls(
            layout.fixed(words), layout.fixed(nodes), layout.fixed(lines), np.array(sizes, np.int64)
        )

    def levels(self) -> tuple[list[Level], Smoothed]:
        """A node's number says which n-gram of which order it is; so a line's context tells its order, and sorting by word and
        context brings back the n-grams as they were counted."""
        lines = self.lines[self.lines["key"] != EMPTY]
        context, word = (
            (lines["key"] >> np.uint64(32)).astype(np.int64),
            (lines["key"] & np.uint64(0xFFFFFFFF)).astype(np.int64),
        )
        if (word >= len(self.words)).any():
            raise Unfit("lines: found a word beyond the vocabulary")
        bases = np.cumsum([1, *self.sizes])
        levels, keys, probs = (
            [words_level(np.zeros(len(self.words), np.int64))],
            [],
            [self.words["log_prob"]],
        )
        for n in range(1, self.order):
            inside = np.flatnonzero((context >= bases[n - 1]) & (context < bases[n]))
            key = word[inside] << 32 | context[inside] - bases[n - 1]
            order = np.argsort(key)
            key = key[order]
            if len(key) != self.sizes[n] or (key[1:] == key[:-1]).any():
                raise Unfit(
                    "lines: found {count:,} n-grams of {order} words, expected {expected:,} different ones",
                    count=len(key),
                    order=n + 1,
                    expected=self.sizes[n],
                )
            last, before = key >> 32, (key & 0xFFFFFFFF).astype(np.int32)
            suffix = (
                last if n == 1 else layout.places(keys[-1], last << 32 | levels[-1].suffix[before])
            )
            levels.append(
                Level(
                    last.astype(np.int32),
                    before,
                    suffix.astype(np.int32),
                    np.zeros(len(key), np.int64),
                )
            )
            keys.append(key)
            probs.append(lines["log_prob"][inside[order]])
        backoffs = [self.nodes["backoff"][bases[n] : bases[n + 1]] for n in range(self.order - 1)]
        backoffs.append(np.zeros(self.sizes[-1], np.float32))
        return levels, Smoothed(
            [layout.tested(prob, backoff) for prob, backoff in zip(probs, backoffs)]
        )

    def arrays(self) -> dict[str, np.ndarray]:
        lines = self.lines.view(np.uint64).reshape(-1, 2)
        return {
            "lines": lines,
            "nodes": self.nodes.view(np.uint64),
            "words": self.words.view(np.uint64),
            "sizes": self.sizes,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        sizes = layout.sizes_of(arrays)
        words = layout.array_of(arrays, "words", np.uint64, int(sizes[0]))
        nodes = layout.array_of(arrays, "nodes", np.uint64, 1 + int(sizes[:-1].sum()))
        lines = layout.array_of(arrays, "lines", np.uint64, None, 2)
        if len(lines) < 2 or len(lines) & (len(lines) - 1) or len(lines) < sizes[1:].sum():
            raise Unfit(
                "lines: found {count:,}, expected a power of two and room for all n-grams",
                count=len(lines),
            )
        return cls(words.view(WORD), nodes.view(NODE), lines.view(LINE)[:, 0], sizes)

    @property
    def order(self) -> int:
        return len(self.sizes)

    @cached_property
    def known(self) -> tuple:
        """What every kernel reads."""
        return self.words, self.nodes, self.lines, self.order

    def start(self, sentences: int) -> np.ndarray:
        return np.full((sentences, 1), self.words["next"][BEGIN], np.int32)

    def advance(self, states: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_probs, after = np.empty(len(states), np.float32), np.empty((len(states), 1), np.int32)
        advance(*self.known, layout.numbers(states), layout.numbers(words), log_probs, after)
        return log_probs, after

    def following(self, state: np.ndarray) -> np.ndarray:
        log_probs = np.empty(len(self.words), np.float32)
        following(*self.known, int(state[0]), log_probs)
        return log_probs

    def one(self, state: tuple[int, ...], word: int) -> tuple[float, tuple[int, ...]]:
        log_prob, node = one(*self.known, state[0], word)
        return log_prob, (node,)

    def matched(self, state: tuple[int, ...], word: int) -> tuple[int, float, list[float]]:
        """(words of the longest n-gram that is known, its log p, the weights paid for contexts that were too long)"""
        word, node, paid = word if 0 <= word < len(self.words) else UNK, state[0], []
        while 0 < node < len(self.nodes) and len(paid) < self.order:
            place = slot_of(self.lines, node, word)
            if place >= 0:
                return self.length_of(node) + 1, float(self.lines["log_prob"][place]), paid
            paid.append(float(self.nodes["backoff"][node]))
            node = int(self.nodes["suffix"][node])
        return 1, float(self.words["log_prob"][word]), paid

    def length_of(self, node: int) -> int:
        """Words of a node: its number says its order."""
        return int(np.searchsorted(np.cumsum([1, *self.sizes]), node, "right"))

    def score(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        threads: int | None = None,
        separately: bool = False,
    ) -> np.ndarray:
        return layout.read_through(score, self.known, tokens, starts, threads, separately)


@njit(inline="always")
def place_of(node, word, mask):
    key = (np.uint64(node) << np.uint64(32)) | np.uint64(word)
    mixed = (key ^ (key >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return key, (mixed ^ (mixed >> np.uint64(29))) & mask


@njit(cache=True, nogil=True)
def clear(lines, first, last):
    for place in range(first, last):
        lines[place].key, lines[place].log_prob, lines[place].next = EMPTY, 0, 0


@njit(cache=True, nogil=True)
def insert(lines, base, context, word, log_prob, after, first, last):
    """What has its place between these two, a thread's own part of the table; returns what found no room there."""
    mask, late = np.uint64(len(lines) - 1), [0 for _ in range(0)]
    for at in range(len(word)):
        if at + AHEAD < len(word):
            place = np.int64(place_of(base + context[at + AHEAD], word[at + AHEAD], mask)[1])
            if first <= place < last:
                ask(lines, place)
        key, place = place_of(base + context[at], word[at], mask)
        place = np.int64(place)
        if first <= place < last:
            while place < last and lines[place].key != EMPTY:
                place += 1
            if place < last:
                lines[place].key, lines[place].log_prob, lines[place].next = (
                    key,
                    log_prob[at],
                    after[at],
                )
            else:
                late.append(at)
    return late


@njit(cache=True, nogil=True)
def insert_late(lines, base, context, word, log_prob, after, late):
    mask = np.uint64(len(lines) - 1)
    for at in late:
        key, place = place_of(base + context[at], word[at], mask)
        while lines[place].key != EMPTY:
            place = (place + np.uint64(1)) & mask
        lines[place].key, lines[place].log_prob, lines[place].next = key, log_prob[at], after[at]


@njit(inline="always")
def line_of(lines, mask, node, word):
    """Where the word stands after this node; −1 where it does not."""
    key, place = place_of(node, word, mask)
    for _ in range(len(lines)):
        if lines[place].key == key:
            return np.int64(place)
        if lines[place].key == EMPTY:
            break
        place = (place + np.uint64(1)) & mask
    return np.int64(-1)


@njit(cache=True)
def slot_of(lines, node, word):
    return line_of(lines, np.uint64(len(lines) - 1), node, word)


@njit(inline="always")
def step(words, nodes, lines, order, node, word):
    """(log p of the word after this node, the next node)"""
    if not 0 <= word < len(words):
        word = UNK
    mask, paid, back = np.uint64(len(lines) - 1), np.float32(0), 0
    while 0 < node < len(nodes) and back < order:
        place = line_of(lines, mask, node, word)
        if place >= 0:
            return at_most_zero(paid + proper(lines[place].log_prob)), lines[place].next
        paid += weight(nodes[node].backoff)
        node = nodes[node].suffix
        back += 1
    return at_most_zero(paid + proper(words[word].log_prob)), words[word].next


@njit(cache=True, nogil=True)
def one(words, nodes, lines, order, node, word):
    return step(words, nodes, lines, order, node, word)


@njit(cache=True, nogil=True)
def advance(words, nodes, lines, order, states, tokens, log_probs, after):
    for at in range(min(len(states), len(tokens))):
        log_probs[at], after[at, 0] = step(words, nodes, lines, order, states[at, 0], tokens[at])


@njit(cache=True, nogil=True)
def following(words, nodes, lines, order, node, log_probs):
    for word in range(len(words)):
        log_probs[word], _ = step(words, nodes, lines, order, node, word)


@njit(cache=True, nogil=True)
def score(words, nodes, lines, order, tokens, starts, first, last, sums, each):
    """Σ log p of the sentences first … last − 1, and log p of every token if there is room for it"""
    mask, after_opening, count = (
        np.uint64(len(lines) - 1),
        words[BEGIN].next,
        min(SENTENCES, last - first),
    )
    reading = np.zeros(
        count, READ
    )  # sentences that are read at once: while memory answers for one, the others go on
    for one in range(count):
        reading[one].sentence, reading[one].at, reading[one].node = (
            first + one,
            max(0, starts[first + one]),
            after_opening,
        )
    behind, left = first + count, count
    while left:
        for one in range(count):
            own = reading[one]
            if own.sentence < 0:
                continue
            if own.at >= min(len(tokens), starts[own.sentence + 1]):
                sums[own.sentence] = own.total
                own.sentence, own.node, own.total, own.paid, own.back = (
                    -1,
                    after_opening,
                    0.0,
                    0.0,
                    0,
                )
                if behind < last:
                    own.sentence, own.at = behind, max(0, starts[behind])
                    behind += 1
                else:
                    left -= 1
                continue
            word = tokens[own.at]
            if not 0 <= word < len(words):
                word = UNK
            if 0 < own.node < len(nodes) and own.back < order:
                place = line_of(lines, mask, own.node, word)
                if place < 0:  # its suffix is asked, when its turn comes again
                    own.paid += weight(nodes[own.node].backoff)
                    own.node = nodes[own.node].suffix
                    own.back += 1
                    ask(lines, place_of(own.node, word, mask)[1])
                    ask(nodes, own.node)
                    continue
                log_prob, after = lines[place].log_prob, lines[place].next
            else:
                log_prob, after = words[word].log_prob, words[word].next
            log_prob = at_most_zero(own.paid + proper(log_prob))
            own.total += log_prob
            if len(each):
                each[own.at] = log_prob
            own.node, own.paid, own.back = after, 0.0, 0
            own.at += 1
            if own.at < len(tokens):
                ask(lines, place_of(own.node, tokens[own.at], mask)[1])
                ask(nodes, own.node)
