"""Words and their numbers: text as bytes, cut at white space, a sentence a line.

Numbers are given in the order in which words first appear, after <unk>, <s> and </s>; where a text says <s> or </s> itself, it
is the unknown word. The words lie end to end in one array, and a hash table finds them, so that both can be mapped from a file
and read without a Python object a word. What such a file says is not believed: no lookup leaves the arrays or fails to end.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit

from wenmai.models.ngram.threads import side_by_side, threads

UNK, BEGIN, END = 0, 1, 2
SPECIAL = ("<unk>", "<s>", "</s>")
SMALL = 1 << 20  # bytes: fewer are not worth a thread


class Vocabulary:
    def __init__(self, letters: np.ndarray, starts: np.ndarray, slots: np.ndarray):
        self.letters, self.starts = letters, starts  # (bytes,) uint8, (V + 1,) int32 or int64
        self.slots = slots  # (a power of two,) int32

    @classmethod
    def of(cls, words: list[str]) -> Vocabulary:
        made = Growing()
        for word in words:
            made.add(word.encode())
        return made.done()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def word(self, number: int) -> str:
        return self.letters[self.starts[number] : self.starts[number + 1]].tobytes().decode("utf-8", "replace")

    def words(self) -> list[str]:
        whole = self.letters.tobytes()
        return [whole[start:end].decode("utf-8", "replace") for start, end in pairwise(self.starts.tolist())]

    def number(self, word: str) -> int:
        """UNK where it is not known."""
        data = np.frombuffer(word.encode("utf-8", "surrogatepass"), np.uint8)
        return int(look(data, 0, len(data), self.letters, self.starts, self.slots)) if len(data) else UNK

    def numbers(self, text: bytes) -> tuple[np.ndarray, np.ndarray]:
        """(words of all lines (N,) int32, each line closed by END; where each line starts (lines + 1,))"""
        data = np.frombuffer(text, np.uint8)
        tokens, lines = sizes(data)
        found, starts = np.empty(tokens, np.int32), np.empty(lines + 1, np.int64)
        numbered(data, self.letters, self.starts, self.slots, found, starts)
        return found, starts


class Growing:
    """A vocabulary while a text is read for the first time."""

    def __init__(self):
        self.letters, self.starts = np.empty(1 << 16, np.uint8), np.zeros(1 << 12, np.int64)
        self.slots, self.size = np.full(1 << 13, -1, np.int32), 0
        for word in SPECIAL:
            self.add(word.encode())

    def add(self, word: bytes) -> int:
        data = np.frombuffer(word, np.uint8)
        self.room(len(data), 1)
        self.size, number = put(data, 0, len(data), self.letters, self.starts, self.slots, self.size)
        return number

    def read(self, text: bytes) -> np.ndarray:
        """The words of these lines (N,) int32, each line opened by BEGIN and closed by END; new words get a number."""
        pieces = halves(np.frombuffer(text, np.uint8), threads() if len(text) >= SMALL else 1)
        readers = [self, *(Growing() for _ in pieces[1:])]  # the others number words as their piece has them
        found = side_by_side(Growing.read_piece, zip(readers, pieces))
        numbers = [self.join(other) for other in readers[1:]]
        whole, ends = np.empty(sum(map(len, found)), np.int32), np.cumsum([0, *map(len, found)])
        whole[: ends[1]] = found[0]
        calls = zip(numbers, found[1:], pairwise(ends[1:]))
        side_by_side(np.take, [(number, some, None, whole[start:end], "clip") for number, some, (start, end) in calls])
        return whole

    def read_piece(self, data: np.ndarray) -> np.ndarray:
        tokens, lines = sizes(data)
        found, at, filled = np.empty(tokens + lines, np.int32), 0, 0
        while at < len(data):
            self.room(1 << 16, 1 << 12)
            self.size, at, filled = grow(data, at, self.letters, self.starts, self.slots, self.size, found, filled)
            if at < len(data):
                self.room(2 * len(self.letters) - int(self.starts[self.size]), self.size + (1 << 12))
        return found

    def join(self, other: Growing) -> np.ndarray:
        """Takes up the words of another, in its order. Returns the number here of each of its words, (its V,) int32."""
        self.room(int(other.starts[other.size]), other.size)
        numbers = np.empty(other.size, np.int32)
        self.size = put_all(other.letters, other.starts, self.letters, self.starts, self.slots, self.size, numbers)
        return numbers

    def room(self, letters: int, words: int) -> None:
        """For so many more of both, the hash table at most half full."""
        while int(self.starts[self.size]) + letters > len(self.letters):
            self.letters = np.concatenate([self.letters, np.empty_like(self.letters)])
        while self.size + words + 1 > len(self.starts):
            self.starts = np.concatenate([self.starts, np.zeros_like(self.starts)])
        if 2 * (self.size + words) > len(self.slots):
            self.slots = hashed(self.letters, self.starts, self.size, max(1 << 13, 1 << (4 * (self.size + words)).bit_length()))

    def done(self) -> Vocabulary:
        return Vocabulary(self.letters[: self.starts[self.size]].copy(), self.starts[: self.size + 1].copy(), self.slots)


def halves(data: np.ndarray, parts: int) -> list[np.ndarray]:
    """The text in at most so many pieces of whole lines, about as long as one another."""
    cuts = [0]
    for part in range(1, parts):
        at = max(cuts[-1], len(data) * part // parts)
        cuts.append(line_end(data, at))
    return [data[start:end] for start, end in pairwise([*cuts, len(data)]) if start < end or start == 0]


@njit(cache=True, nogil=True)
def line_end(data, at):
    while at < len(data) and data[at] != 10:
        at += 1
    return min(at + 1, len(data))


@njit(inline="always")
def white(letter):
    return letter == 32 or 9 <= letter <= 13


@njit(inline="always")
def hash_of(data, start, end):
    """FNV-1a, mixed at the end."""
    value = np.uint64(0xCBF29CE484222325)
    for at in range(start, end):
        value = (value ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
    return value ^ (value >> np.uint64(29))


@njit(inline="always")
def slot_of(data, start, end, letters, starts, slots):
    """(where the word stands in the table, its number); if it does not: the free place where it would, and -1."""
    mask = np.uint64(len(slots) - 1)
    slot = hash_of(data, start, end) & mask
    for _ in range(len(slots)):
        number = slots[slot]
        if number < 0 or number >= len(starts) - 1:
            break
        first, last = starts[number], starts[number + 1]
        same = last - first == end - start and first >= 0 and last <= len(letters)
        if same:
            for n in range(end - start):
                if letters[first + n] != data[start + n]:
                    same = False
                    break
        if same:
            return slot, number
        slot = (slot + np.uint64(1)) & mask
    return slot, np.int32(-1)


@njit(inline="always")
def plain(number):
    """What was not found, and what only we may write, is unknown."""
    return number if number > END else np.int32(UNK)


@njit(cache=True, nogil=True)
def look(data, start, end, letters, starts, slots):
    return plain(slot_of(data, start, end, letters, starts, slots)[1])


@njit(cache=True, nogil=True)
def put(data, start, end, letters, starts, slots, size):
    slot, number = slot_of(data, start, end, letters, starts, slots)
    if number >= 0:
        return size, number
    first = starts[size]
    for n in range(end - start):
        letters[first + n] = data[start + n]
    starts[size + 1] = first + end - start
    slots[slot] = size
    return size + 1, np.int32(size)


@njit(cache=True, nogil=True)
def put_all(data, bounds, letters, starts, slots, size, numbers):
    for n in range(len(numbers)):
        size, numbers[n] = put(data, bounds[n], bounds[n + 1], letters, starts, slots, size)
    return size


@njit(cache=True, nogil=True)
def hashed(letters, starts, size, count):
    slots = np.full(count, -1, np.int32)
    for number in range(size):
        slots[slot_of(letters, starts[number], starts[number + 1], letters, starts, slots)[0]] = number
    return slots


@njit(cache=True, nogil=True)
def sizes(data):
    """(words and line ends, lines); a last line without an end is one too."""
    words = lines = 0
    inside = False
    for letter in data:
        space = white(letter)
        words += not space and not inside
        inside = not space
        lines += letter == 10
    lines += len(data) > 0 and data[-1] != 10
    return words + lines, lines


@njit(cache=True, nogil=True)
def grow(data, at, letters, starts, slots, size, found, filled):
    """Reads on from byte `at`, until there is no more room for words; a line that was begun stays begun."""
    fresh = at == 0 or data[at - 1] == 10
    while at < len(data):
        if fresh:
            found[filled] = BEGIN
            filled += 1
            fresh = False
        if data[at] == 10:
            found[filled] = END
            filled += 1
            at += 1
            fresh = True
            continue
        if white(data[at]):
            at += 1
            continue
        end = at
        while end < len(data) and not white(data[end]):
            end += 1
        if starts[size] + end - at > len(letters) or size + 2 > len(starts) or 2 * size > len(slots):
            return size, at, filled - (data[at - 1] == 10 or at == 0)
        size, number = put(data, at, end, letters, starts, slots, size)
        found[filled] = plain(number)
        filled += 1
        at = end
    if not fresh:
        found[filled] = END
        filled += 1
    return size, at, filled


@njit(cache=True, nogil=True)
def numbered(data, letters, starts, slots, found, lines):
    at = filled = line = 0
    lines[0] = 0
    while at < len(data):
        if data[at] == 10:
            found[filled] = END
            filled += 1
            line += 1
            lines[line] = filled
            at += 1
        elif white(data[at]):
            at += 1
        else:
            end = at
            while end < len(data) and not white(data[end]):
                end += 1
            found[filled] = plain(slot_of(data, at, end, letters, starts, slots)[1])
            filled += 1
            at = end
    if line + 1 < len(lines):
        found[filled] = END
        lines[line + 1] = filled + 1
