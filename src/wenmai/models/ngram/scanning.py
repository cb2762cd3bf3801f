"""The lines of an ARPA file, read as bytes: a number, n words, at most one number more."""

import numpy as np

from wenmai.data.storage.caches import njit
from wenmai.data.text.vocabulary import END, UNK, lookup

LOWEST = -99.0  # stands for the logarithm of 0
ROUNDING = 1e-3  # a logarithm of a probability that is this much above 0 is 0
MORE, HEADING, BAD, NUMBER, UNKNOWN = range(5)  # how scanning ends


@njit(cache=True, nogil=True)
def scan(data, at, n, letters, starts, slots, grams, numbers):
    """Whole lines from `at` on, into grams (room, n) and numbers (2, room), until a line opens with \\. Where no words are known
    (slots is empty), grams get where the word begins and ends.
    (how it ended, where in data, n-grams found, lines taken, which cell is wrong)"""
    rows = lines = 0
    cells = np.empty((n + 2, 2), np.int64)
    while True:
        end = at
        while end < len(data) and data[end] != 10:
            end += 1
        if end == len(data):
            return MORE, at, rows, lines, 0
        size, place = 0, at
        while place < end and size <= n + 2:
            while place < end and blank(data[place]):
                place += 1
            if place < end:
                start = place
                while place < end and not blank(data[place]):
                    place += 1
                if size < n + 2:
                    cells[size, 0], cells[size, 1] = start, place
                size += 1
        if size and data[cells[0, 0]] == 92:
            return HEADING, at, rows, lines, 0
        if size:
            if rows == len(grams) or size < n + 1 or size > n + 2:
                return BAD, at, rows, lines, 0
            prob = number_in(data, cells[0, 0], cells[0, 1])
            backoff = number_in(data, cells[n + 1, 0], cells[n + 1, 1]) if size == n + 2 else 0.0
            if not (prob <= ROUNDING and backoff < 99):  # a number that is none is neither
                return NUMBER, at, rows, lines, 0
            numbers[0, rows], numbers[1, rows] = max(min(prob, 0.0), LOWEST), max(backoff, LOWEST)
            if len(slots) == 0:
                grams[rows, 0], grams[rows, 1] = cells[1, 0], cells[1, 1]
            else:
                for word in range(n):
                    number = number_of(
                        data, cells[word + 1, 0], cells[word + 1, 1], letters, starts, slots
                    )
                    if number < 0:
                        return UNKNOWN, at, rows, lines, word + 1
                    grams[rows, word] = number
            rows += 1
        lines += 1
        at = end + 1


@njit(inline="always")
def blank(letter):
    return letter == 32 or 9 <= letter <= 13 or letter == 0


@njit(inline="always")
def number_of(data, at, end, letters, starts, slots):
    """The number of a word, −1 where it has none. <unk>, <s> and </s>, words like others in these files, are found as well."""
    number = lookup(data, at, end, letters, starts, slots)
    if number == UNK:
        number = -1
        for special in range(END + 1):
            if same(data, at, end, letters[starts[special] : starts[special + 1]]):
                number = special
    return number


@njit(inline="always")
def same(data, at, end, letters):
    equal = end - at == len(letters)
    if equal:
        for n in range(len(letters)):
            equal = equal and data[at + n] == letters[n]
    return equal


INFINITE = tuple(
    np.frombuffer(word, np.uint8).copy()
    for word in (b"inf", b"infinity", b"Inf", b"Infinity", b"INF", b"INFINITY")
)


@njit(cache=True, nogil=True)
def number_in(data, at, end):
    """What stands there as a number; NaN where it is none."""
    negative = data[at] == 45
    if negative or data[at] == 43:
        at += 1
    for word in INFINITE:
        if same(data, at, end, word):
            return -np.inf if negative else np.inf
    value, digits, power, behind = 0.0, 0, 0, False
    while at < end and (48 <= data[at] <= 57 or (data[at] == 46 and not behind)):
        if data[at] == 46:
            behind = True
        else:
            digits += 1
            if value < 1e15:  # further digits are beyond what is kept
                value = value * 10 + (data[at] - 48)
                power -= behind
            else:
                power += not behind
        at += 1
    if digits == 0:
        return np.nan
    if at < end and (data[at] | 32) == 101:  # e
        at += 1
        down = at < end and data[at] == 45
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        exponent, start = 0, at
        while at < end and 48 <= data[at] <= 57:
            exponent = min(exponent * 10 + (data[at] - 48), 999)
            at += 1
        if at == start:
            return np.nan
        power += -exponent if down else exponent
    if at != end:
        return np.nan
    value = value * 10.0**power if power >= 0 else value / 10.0**-power
    return -value if negative else value
