"""Tokens in their row → sparse rows of features, one row a token: what the linear taggers read.

The usual templates (Ratnaparkhi 1996, Collins 2002), with w the word, s its shape (Xxx-00), and neighbours up to `window` away:

    w_{−n} … w_{+n};  w_{−1}w_0, w_0w_{+1}, w_{−1}w_{+1}, w_{−2}w_{−1}, w_{+1}w_{+2}, w_{−1}w_0w_{+1}
    s_{−1}, s_0, s_{+1}, s_{−1}s_0, s_0s_{+1}
    lower-case w_0;  the first and last 1 to 4 letters of w_0;  the last three of w_{−1} and w_{+1}

A feature is a 64-bit key, as in `features`: no string is ever made.
"""

from __future__ import annotations

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.data.storage.caches import njit
from wenmai.data.text.features import EMPTY, Rows, dictionary, extend, find, in_place, insert

WORD, LOWER, SHAPE, PREFIX, SUFFIX = (
    0,
    1,
    2,
    3,
    7,
)  # columns of the attributes; prefixes and suffixes of 1 to 4 letters
ATTRIBUTES = 11
# What word, lower case, shape and ending begin with. Of small numbers one is undone by a letter of its size, and keys meet.
SEEDS = (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89)  # π


class Templates:
    """The features that stand at no fewer than `min_count` training tokens."""

    def __init__(self, table: np.ndarray, slots: np.ndarray, width: int, alphabet, window: int):
        self.table, self.slots, self.width, self.alphabet, self.window = (
            table,
            slots,
            width,
            alphabet,
            window,
        )

    @classmethod
    def learn(cls, inputs: Sequences, alphabet, window: int, min_count: int = 1) -> Templates:
        empty = cls(np.zeros(16, np.uint64), np.zeros(16, np.int32), 0, alphabet, window)
        keys, counts = counted(*empty.attributes(inputs), inputs.offsets, window)
        return cls.of(keys[counts >= min_count], alphabet, window)

    @classmethod
    def of(cls, keys: np.ndarray, alphabet, window: int) -> Templates:
        return cls(*dictionary(keys), len(keys), alphabet, window)

    def attributes(self, inputs: Sequences) -> tuple[np.ndarray, np.ndarray]:
        """(U, ATTRIBUTES) keys of every distinct token, and which of them each token is."""
        letters = self.alphabet.tokens
        number = {letter: at for at, letter in enumerate(letters)}
        kind = [letter_kind(letter) for letter in letters]
        lower = [number.get(letter.lower(), at) for at, letter in enumerate(letters)]
        spelled = inputs.letters
        return described(
            spelled.flat, spelled.offsets, np.array(kind, np.int64), np.array(lower)
        ), inputs.beside["form"]

    def rows(self, inputs: Sequences) -> Rows:
        attributes, form = self.attributes(inputs)
        starts, columns = known_columns(
            attributes, form, inputs.offsets, self.window, self.table, self.slots
        )
        return Rows(starts, columns, np.ones(len(columns), np.float32), self.width)

    def named(self, inputs: Sequences, tokens: list[str], at: int) -> list[tuple[int, str]]:
        """(column, name) of the features of one place of one row: w the word, s its shape, ^ and $ the ends of the row."""
        attributes, form = self.attributes(inputs)
        keys = np.empty(2 * self.window + 32, np.uint64)
        count = keys_at(attributes, form, len(form), at, self.window, keys)
        named_slots = [
            (find(self.table, key), name)
            for key, name in zip(keys[:count], names_at(tokens, at, self.window))
        ]
        return [
            (int(self.slots[place]), name)
            for place, name in named_slots
            if self.table[place] != EMPTY
        ]

    def state(self) -> dict[str, np.ndarray]:
        used = self.table != EMPTY
        return {
            "template_keys": self.table[used].view(np.int64),
            "template_columns": self.slots[used],
        }

    STATE = {"template_keys": np.int64, "template_columns": np.int32}  # noqa: RUF012 (nobody changes it)

    @classmethod
    def from_state(cls, state: dict, alphabet, window: int) -> Templates:
        return cls.of(in_place(state["template_keys"], state["template_columns"]), alphabet, window)


def letter_kind(letter: str) -> int:
    """Capital, small, digit, other letter (Chinese has no case), or a mark, which is a kind of its own."""
    if len(letter) > 1 or letter.isupper():
        return 0
    return (
        1
        if letter.islower()
        else 2
        if letter.isdigit()
        else 3
        if letter.isalpha()
        else 4 + ord(letter)
    )


@njit(cache=True)
def described(flat, offsets, kind, lower):
    attributes = np.zeros((len(offsets) - 1, ATTRIBUTES), np.uint64)
    for form in range(len(offsets) - 1):
        start, end = offsets[form], offsets[form + 1]
        word, low, shape = np.uint64(SEEDS[0]), np.uint64(SEEDS[1]), np.uint64(SEEDS[2])
        before, run = -1, 0
        for at in range(start, end):
            word = extend(word, np.uint64(flat[at]))
            low = extend(low, np.uint64(lower[flat[at]]))
            run = run + 1 if kind[flat[at]] == before else 0
            before = kind[flat[at]]
            if run < 2:  # Xxx for a word of any length
                shape = extend(shape, np.uint64(before))
            if at - start < 4:
                attributes[form, PREFIX + at - start] = word
        attributes[form, WORD], attributes[form, LOWER], attributes[form, SHAPE] = word, low, shape
        ending = np.uint64(SEEDS[3])
        for n in range(min(4, end - start)):
            ending = extend(ending, np.uint64(flat[end - 1 - n]))
            attributes[form, SUFFIX + n] = ending
    return attributes


@njit(cache=True, inline="always")
def features_at(attributes, form, start, end, at, window, keys):
    """Fills `keys` with the features of the token at this place; returns how many."""
    count = 0
    own = form[at]
    for near in range(-window, window + 1):
        word = (
            attributes[form[at + near], WORD]
            if start <= at + near < end
            else np.uint64(5 + (at + near >= end))
        )
        keys[count] = extend(np.uint64(100 + near), word)
        count += 1
    word = np.empty(5, np.uint64)  # the words from two before to two after
    shape = np.empty(3, np.uint64)
    for near in range(-2, 3):
        inside = start <= at + near < end
        boundary = np.uint64(5 + (at + near >= end))
        word[near + 2] = attributes[form[at + near], WORD] if inside else boundary
        if -1 <= near <= 1:
            shape[near + 1] = attributes[form[at + near], SHAPE] if inside else boundary
    for n, (one, other) in enumerate(((1, 2), (2, 3), (1, 3), (0, 1), (3, 4))):
        keys[count + n] = extend(extend(np.uint64(200 + n), word[one]), word[other])
    keys[count + 5] = extend(extend(extend(np.uint64(205), word[1]), word[2]), word[3])
    for n in range(3):
        keys[count + 6 + n] = extend(np.uint64(210 + n), shape[n])
    for n in range(2):
        keys[count + 9 + n] = extend(extend(np.uint64(213 + n), shape[n]), shape[n + 1])
    keys[count + 11] = extend(np.uint64(215), attributes[own, LOWER])
    count += 12
    for n in range(8):  # prefixes, then suffixes
        if attributes[own, PREFIX + n] != EMPTY:
            keys[count] = extend(np.uint64(220 + n), attributes[own, PREFIX + n])
            count += 1
    for near in (-1, 1):
        if start <= at + near < end and attributes[form[at + near], SUFFIX + 2] != EMPTY:
            keys[count] = extend(np.uint64(230 + near), attributes[form[at + near], SUFFIX + 2])
            count += 1
    return count


@njit(cache=True)
def keys_at(attributes, form, end, at, window, keys):
    return features_at(attributes, form, 0, end, at, window, keys)


def names_at(tokens: list[str], at: int, window: int) -> list[str]:
    """What `features_at` fills in, in its order."""

    def word(near: int) -> str:
        return tokens[at + near] if 0 <= at + near < len(tokens) else "^" if at + near < 0 else "$"

    def joined(kind: str, *nears: int) -> str:
        return " ".join(f"{kind}{near:+d}" if near else kind for near in nears)

    names = [f"{joined('w', near)}={word(near)}" for near in range(-window, window + 1)]
    pairs = ((-1, 0), (0, 1), (-1, 1), (-2, -1), (1, 2), (-1, 0, 1))
    names += [f"{joined('w', *nears)}={' '.join(map(word, nears))}" for nears in pairs]
    names += [
        f"{joined('shape', *nears)} ({' '.join(map(word, nears))})"
        for nears in ((-1,), (0,), (1,), (-1, 0), (0, 1))
    ]
    own = word(0)
    names += [f"lower={own.lower()}"]
    names += [f"prefix={own[:size]}" for size in range(1, min(4, len(own)) + 1)]
    names += [f"suffix={own[-size:]}" for size in range(1, min(4, len(own)) + 1)]
    inside = (near for near in (-1, 1) if 0 <= at + near < len(tokens) and len(word(near)) >= 3)
    return names + [f"suffix{near:+d}={word(near)[-3:]}" for near in inside]


@njit(cache=True)
def counted(attributes, form, offsets, window):
    """Every feature's key in order of first appearance, and at how many tokens it stands."""
    size = 1 << 16
    table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    keys, counts = np.zeros(size, np.uint64), np.zeros(size, np.int64)
    distinct, here = 0, np.empty(2 * window + 32, np.uint64)
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            for k in range(
                features_at(attributes, form, offsets[row], offsets[row + 1], at, window, here)
            ):
                place = find(table, here[k])
                if table[place] != EMPTY:
                    counts[slots[place]] += 1
                    continue
                table[place], slots[place], keys[distinct], counts[distinct] = (
                    here[k],
                    distinct,
                    here[k],
                    1,
                )
                distinct += 1
                if distinct * 2 > size:
                    size *= 2
                    table, slots = np.zeros(size, np.uint64), np.zeros(size, np.int32)
                    insert(table, slots, keys[:distinct])
                    keys = np.concatenate((keys, np.zeros(size - len(keys), np.uint64)))
                    counts = np.concatenate((counts, np.zeros(size - len(counts), np.int64)))
    return keys[:distinct].copy(), counts[:distinct].copy()


@njit(cache=True)
def known_columns(attributes, form, offsets, window, table, slots):
    most = 2 * window + 32
    here = np.empty(most, np.uint64)
    starts = np.zeros(len(form) + 1, np.int64)
    columns = np.empty(1024, np.int32)
    filled = 0
    for row in range(len(offsets) - 1):
        for at in range(offsets[row], offsets[row + 1]):
            if filled + most > len(columns):
                columns = np.concatenate((columns, np.empty(len(columns), np.int32)))
            for k in range(
                features_at(attributes, form, offsets[row], offsets[row + 1], at, window, here)
            ):
                place = find(table, here[k])
                if table[place] != EMPTY:
                    columns[filled] = slots[place]
                    filled += 1
            starts[at + 1] = filled
    return starts, columns[:filled].copy()
