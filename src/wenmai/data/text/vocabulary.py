"""Words and their numbers: text as bytes, cut at white space, a sentence a line.

Numbers are given in the order in which words first appear, after <unk>, <s> and </s>; where a text says <s> or </s> itself, it
is the unknown word. The words lie end to end in one array, and a hash table finds them, so that both can be mapped from a file
and read without a Python object a word.
"""

from itertools import pairwise
from typing import Self

import numpy as np

from wenmai.data.storage.threads import side_by_side, threads
from wenmai.data.text.hashing import (
    BEGIN,
    END,
    UNK,
    grow,
    hashed,
    line_end,
    lookup,
    numbered,
    put,
    put_all,
    sizes,
)
from wenmai.data.text.special import Special

SPECIAL = ("<unk>", "<s>", "</s>")
NUMBERED = Special(unknown=UNK, begin=BEGIN, end=END)  # as the compiled loops number them
SMALL = 1 << 20  # bytes: fewer are not worth a thread


class Vocabulary:
    def __init__(self, letters: np.ndarray, starts: np.ndarray, slots: np.ndarray):
        self.letters, self.starts = letters, starts  # (bytes,) uint8, (V + 1,) int32 or int64
        self.slots = slots  # (a power of two,) int32

    @classmethod
    def of(cls, words: list[str]) -> Self:
        made = Growing()
        for word in words:
            made.add(word.encode())
        return made.done()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def word(self, number: int) -> str:
        return (
            self.letters[self.starts[number] : self.starts[number + 1]]
            .tobytes()
            .decode("utf-8", "replace")
        )

    def words(self) -> list[str]:
        joined = self.letters.tobytes()
        return [
            joined[start:end].decode("utf-8", "replace")
            for start, end in pairwise(self.starts.tolist())
        ]

    def number(self, word: str) -> int:
        """UNK where it is not known."""
        data = np.frombuffer(word.encode("utf-8", "surrogatepass"), np.uint8)
        return (
            int(lookup(data, 0, len(data), self.letters, self.starts, self.slots))
            if len(data)
            else UNK
        )

    def numbers(self, text: bytes) -> tuple[np.ndarray, np.ndarray]:
        """(words of all lines (N,) int32, each line closed by END; where each line starts (lines + 1,))"""
        data = np.frombuffer(text, np.uint8)
        count, lines = sizes(data)
        words, starts = np.empty(count, np.int32), np.empty(lines + 1, np.int64)
        numbered(data, self.letters, self.starts, self.slots, words, starts)
        return words, starts


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
        self.size, number = put(
            data, 0, len(data), self.letters, self.starts, self.slots, self.size
        )
        return number

    def read(self, text: bytes) -> np.ndarray:
        """The words of these lines (N,) int32, each line opened by BEGIN and closed by END; new words get a number."""
        pieces = halves(np.frombuffer(text, np.uint8), threads() if len(text) >= SMALL else 1)
        readers = [
            self,
            *(Growing() for _ in pieces[1:]),
        ]  # the others number words as their piece has them
        words = side_by_side(Growing.read_piece, zip(readers, pieces))
        numbers = [
            self.join(other.letters, other.starts[: other.size + 1]) for other in readers[1:]
        ]
        joined, ends = np.empty(sum(map(len, words)), np.int32), np.cumsum([0, *map(len, words)])
        joined[: ends[1]] = words[0]
        calls = zip(numbers, words[1:], pairwise(ends[1:]))
        side_by_side(
            np.take,
            [
                (number, some, None, joined[start:end], "clip")
                for number, some, (start, end) in calls
            ],
        )
        return joined

    def read_piece(self, data: np.ndarray) -> np.ndarray:
        words, at, filled = (
            np.empty(2 * len(data) + 2, np.int32),
            0,
            0,
        )  # room for line ends alone; what stays unused is free
        while at < len(data):
            self.room(1 << 16, 1 << 12)
            self.size, at, filled = grow(
                data, at, self.letters, self.starts, self.slots, self.size, words, filled
            )
            if at < len(data):
                self.room(
                    2 * len(self.letters) - int(self.starts[self.size]), self.size + (1 << 12)
                )
        return words[:filled]

    def join(self, letters: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Takes up the words of another, in its order. Returns the number here of each of its words, (its V,) int32."""
        numbers = np.empty(len(starts) - 1, np.int32)
        self.room(int(starts[-1]), len(numbers))
        self.size = put_all(
            letters, starts, self.letters, self.starts, self.slots, self.size, numbers
        )
        return numbers

    def room(self, letters: int, words: int) -> None:
        """For so many more of both, the hash table at most half full."""
        while int(self.starts[self.size]) + letters > len(self.letters):
            self.letters = np.concatenate([self.letters, np.empty_like(self.letters)])
        while self.size + words + 1 > len(self.starts):
            self.starts = np.concatenate([self.starts, np.zeros_like(self.starts)])
        if 2 * (self.size + words) > len(self.slots):
            self.slots = hashed(
                self.letters,
                self.starts,
                self.size,
                max(1 << 13, 1 << (4 * (self.size + words)).bit_length()),
            )

    def done(self) -> Vocabulary:
        """In as little room as it takes, whatever it grew through."""
        starts = self.starts[: self.size + 1]
        starts = starts.astype(np.int32 if starts[-1] < 1 << 31 else np.int64)
        slots = hashed(self.letters, self.starts, self.size, 1 << (2 * self.size - 1).bit_length())
        return Vocabulary(self.letters[: starts[-1]].copy(), starts, slots)


def halves(data: np.ndarray, parts: int) -> list[np.ndarray]:
    """The text in at most so many pieces of whole lines, about as long as one another."""
    cuts = [0]
    for part in range(1, parts):
        cuts.append(line_end(data, max(cuts[-1], len(data) * part // parts)))
    return [
        data[start:end] for start, end in pairwise([*cuts, len(data)]) if start < end or start == 0
    ]
