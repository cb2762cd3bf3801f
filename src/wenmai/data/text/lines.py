"""Lines: what a language model reads. Running text becomes numbers of tokens, every line opened and closed.

The numbers are the tokenizer's own, and so are the tokens that open and close a line. Words between spaces are numbered as they
first appear, while the text is read; other tokenizers learn before.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from wenmai.data.files.corpus import END as LINE_END
from wenmai.data.files.corpus import Corpus, lines_in
from wenmai.data.storage import saved as take
from wenmai.data.storage.caches import njit
from wenmai.data.text import tokenizers
from wenmai.data.text.vocabulary import BEGIN, NUMBERED, SPECIAL, Growing, Vocabulary
from wenmai.errors import Mistake, unknown
from wenmai.locale import Message

FIRST = len(SPECIAL)  # the first number of a word between spaces
KINDS = ("spaces", *tokenizers.KINDS)
UNITS = {
    "spaces": "word",
    "words": "word",
    "jieba": "word",
    "characters": "character",
    "bytes": "byte",
}
PIECE = 1 << 20
FEW = 24


@dataclass
class Running:
    """A text as it is read, some megabytes of numbers at a time."""

    lines: Lines
    corpus: Corpus

    def blocks(self) -> Iterator[np.ndarray]:
        """(N,) int32 each, whole lines, each with its opening and its end."""
        return self.lines.token_blocks(self.corpus)


class Lines:
    kind, pairs, longest = "lines", False, 0

    def __init__(self, tokenizer, words: Vocabulary | None = None, lowercase: bool = False):
        """`tokenizer` is one of data.tokenizers, or None for words between spaces, whose numbers `words` holds."""
        self.tokenizer, self.words, self.lowercase = tokenizer, words, lowercase
        self.name = tokenizer.kind if tokenizer else "spaces"
        self.unit = UNITS.get(self.name, "subword")
        self.special = NUMBERED if tokenizer is None else tokenizer.special
        self.corpus_tokens = 0  # tokens of the text that it was learned from

    @classmethod
    def learn(
        cls,
        corpus: Corpus,
        *,
        tokenizer: str = "auto",
        lowercase: bool = False,
        vocabulary: int | None = None,
        min_count: int = 1,
    ) -> Lines:
        kind = suited(corpus) if tokenizer == "auto" else tokenizer
        if kind not in KINDS:
            raise unknown("tokenizer", kind, ("auto", *KINDS))
        if vocabulary is not None and vocabulary <= FIRST:
            raise Mistake(
                "vocabulary={vocabulary}: expected at least {least}; three are <unk>, <s> and </s>.",
                vocabulary=vocabulary,
                least=FIRST + 1,
            )
        if kind == "bytes" and (vocabulary is not None or min_count > 1):
            raise Mistake(
                "tokenizer=bytes knows every byte there is, 256 of them: leave out vocabulary and min_count."
            )
        if kind != "spaces":
            limits = {"vocabulary": vocabulary} if vocabulary else {}
            return cls(
                tokenizers.learn(
                    corpus.texts(),
                    tokenizer=kind,
                    lowercase=lowercase,
                    min_count=min_count,
                    **limits,
                )
            )
        lines = cls(None, None, lowercase)
        if vocabulary or min_count > 1:
            lines.words = lines.most_frequent(corpus, vocabulary, min_count)
        return lines

    def most_frequent(self, corpus: Corpus, most: int | None, least: int) -> Vocabulary:
        """Of words that were read as often, those that came first."""
        growing, counts = Growing(), np.zeros(0, np.int64)
        for block in corpus.blocks():
            block_counts = np.bincount(growing.read(self.lowered(block)), minlength=len(counts))
            block_counts[: len(counts)] += counts
            counts = block_counts
        order = FIRST + np.argsort(-counts[FIRST:], kind="stable")
        kept = np.sort(order[counts[order] >= least][: most and max(0, most - FIRST)])
        every = growing.done()
        return Vocabulary.of([every.word(number) for number in kept])

    def __len__(self) -> int:
        """Of words between spaces, those that are known so far: before the text is read, the special ones."""
        if self.tokenizer is None:
            return FIRST if self.words is None else len(self.words)
        return len(self.tokenizer.tokens)

    @property
    def vocabulary(self) -> int:
        return len(self)

    @property
    def opening(self) -> int:
        return BEGIN if self.tokenizer is None else self.special.opening(len(self))

    def tokens(self) -> list[str]:
        """In the order of their numbers."""
        return self.words.words() if self.tokenizer is None else self.tokenizer.tokens

    # Text → numbers

    def encode(self, corpus: Corpus) -> Running:
        return Running(self, corpus)

    def read_all(self, corpus: Corpus) -> np.ndarray:
        """All of it as one row (N,): the end of a line that was, then token after token, every line closed by its end."""
        blocks = [block[block != self.opening] for block in self.token_blocks(corpus)]
        self.corpus_tokens = self.corpus_tokens or sum(map(len, blocks))
        return np.concatenate([np.array([self.special.end], np.int32), *blocks])

    def lowered(self, block: bytes) -> bytes:
        return block.decode("utf-8", "replace").lower().encode() if self.lowercase else block

    def token_blocks(self, corpus: Corpus) -> Iterator[np.ndarray]:
        if self.tokenizer is None and self.words is None:
            growing = Growing()
            for block in corpus.blocks():
                yield growing.read(self.lowered(block))
            self.words = growing.done()
        else:
            for block in corpus.blocks(PIECE if self.tokenizer else 1 << 24):
                yield with_openings(*self.numbers(block), self.opening)

    def numbers(self, block: bytes) -> tuple[np.ndarray, np.ndarray]:
        """(tokens of all lines (N,) int32, each line closed by its end; where each line starts (lines + 1,))"""
        if self.tokenizer is None:
            return self.words.numbers(self.lowered(block))
        if self.name == "bytes":
            return bytes_in(self.lowered(block), self.special.end)
        rows = self.tokenizer.encode(lines_in(block))
        return with_ends(rows.flat, rows.offsets, self.special.end)

    def prompt(self, text: str) -> np.ndarray:
        """The tokens of a text that goes on (N,); its line ends close lines."""
        tokens, _ = self.numbers(text.encode("utf-8", "replace") or LINE_END)
        return tokens[:-1] if not text.endswith("\n") else tokens

    def number(self, token: str) -> int:
        """Of a single token."""
        if self.tokenizer is None:
            return self.words.number(token.lower() if self.lowercase else token)
        tokens = self.prompt(token)
        if len(tokens) != 1 and self.special.unknown is None:
            raise Mistake(
                "{token!r} is {count} tokens, and none is unknown here; ask for one token at a time.",
                token=token[:40],
                count=len(tokens),
            )
        return int(tokens[0]) if len(tokens) == 1 else self.special.unknown

    # Numbers → text

    def text(self, numbers: list[int]) -> str:
        """As one would write it; the end of every line is a line end."""
        rows, row = [], []
        for number in numbers:
            if number == self.special.end:
                rows.append(row)
                row = []
            else:
                row.append(number)
        return "\n".join(map(self.line, [*rows, row]))

    def line(self, numbers: list[int]) -> str:
        return (
            " ".join(map(self.words.word, numbers))
            if self.tokenizer is None
            else self.tokenizer.decode(numbers)
        )

    def added(self, seen: list[int], more: list[int]) -> str:
        """What these add to a line."""
        if self.tokenizer is None:
            return " " * bool(seen) + self.line(more)
        return self.line([*seen, *more])[len(self.line(seen)) :]

    def pieces(
        self, before: list[int], numbers: Iterable[int], lines: int | None, spaced: bool
    ) -> Iterator[str]:
        """The text of these numbers, each as soon as it can be written, up to so many lines that end; `before` were written
        already, and a space after them if `spaced`. What a token looks like depends on a few before it at the most."""
        return filter(None, self.each_piece(before, numbers, lines, spaced))

    def each_piece(
        self, before: list[int], numbers: Iterable[int], lines: int | None, spaced: bool
    ) -> Iterator[str]:
        """The same with a piece for every number: "" for one with which nothing can be written yet. So who writes many texts
        at once can hand over a number and take its piece."""
        if self.name == "bytes":
            yield from written_bytes(numbers, lines, self.special.end)
            return
        end = self.special.end
        seen = before[len(before) - before[::-1].index(end) :] if end in before else before
        seen, waiting, ended = seen[-FEW:], [], 0
        spaced = spaced and self.name not in (
            "characters",
            *tokenizers.SUBWORDS[:1],
        )  # which write their own spaces
        for number in numbers:
            if number == end:
                ended += 1
                if ended == lines:
                    return
                seen, waiting = [], []
                yield "\n"
                continue
            waiting.append(number)
            piece = self.added(seen, waiting)
            if not piece.endswith("\ufffd"):  # a character that is not whole yet
                yield piece.removeprefix(" ") if spaced else piece
                seen, waiting, spaced = [*seen, *waiting][-FEW:], [], False
            else:
                yield ""

    # Keeping

    def notes(self, corpus) -> list[str]:
        cut = tokenizers.CUT[self.name]
        if self.tokenizer is None and self.words is None:
            return [Message("texts are {cut}", cut=cut)]
        return [Message("texts are {cut}: {tokens:,} tokens known", cut=cut, tokens=len(self))]

    def arrays(self) -> dict[str, np.ndarray]:
        """The words, where there may be millions of them: they are mapped from a file, not read."""
        if self.tokenizer is not None:
            return {}
        return {
            "words.letters": self.words.letters,
            "words.starts": self.words.starts,
            "words.slots": self.words.slots,
        }

    def to_json(self) -> dict:
        tokenizer = self.tokenizer.to_json() if self.tokenizer else None
        return {"kind": self.kind, "lowercase": self.lowercase, "tokenizer": tokenizer}

    @classmethod
    def from_json(cls, saved) -> Lines:
        kept = take.value(saved, "tokenizer")
        return cls(
            tokenizers.from_json(kept) if kept is not None else None,
            None,
            take.flag(saved, "lowercase"),
        )

    def take_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Unfit where they cannot be those of a vocabulary; what they hold is tested when it is used."""
        if self.tokenizer is not None:
            return
        letters, starts, slots = (
            arrays.get(f"words.{name}") for name in ("letters", "starts", "slots")
        )
        kinds = [
            None if array is None or array.ndim != 1 else array.dtype
            for array in (letters, starts, slots)
        ]
        if kinds[0] != np.uint8 or kinds[1] not in (np.int32, np.int64) or kinds[2] != np.int32:
            raise take.Unfit("it lacks the words, or they are not where they should be")
        if len(starts) <= FIRST or len(slots) < 2 or len(slots) & (len(slots) - 1):
            raise take.Unfit("the table of its words is not whole")
        self.words = Vocabulary(letters, starts, slots)


def suited(corpus: Corpus) -> str:
    """Characters for Chinese and its neighbours and for lists of names (a word or two a line), else words between spaces."""
    sample = lines_in(next(corpus.blocks(1 << 20), b""))[:5000]
    joined = "".join(sample)
    if joined and len(tokenizers.CHINESE.findall(joined)) > 0.3 * len(joined):
        return "characters"
    words = [len(line.split()) for line in sample if line.strip()]
    return "characters" if sum(words) < 2 * len(words) else "spaces"


def bytes_in(block: bytes, end: int) -> tuple[np.ndarray, np.ndarray]:
    """As `numbers`: every byte is a token as it is, the end of a line its `end`; there are as many tokens as bytes."""
    data, first = (
        np.frombuffer(block if block.endswith(LINE_END) else block + LINE_END, np.uint8),
        len(tokenizers.SPECIAL),
    )
    tokens = np.where(data == ord(LINE_END), end, data.astype(np.int32) + first).astype(np.int32)
    return tokens, np.concatenate([[0], np.flatnonzero(tokens == end) + 1])


def written_bytes(numbers: Iterable[int], lines: int | None, end: int) -> Iterator[str]:
    """Characters as soon as they are whole. Bytes that are no part of one are �; what is not whole at the end is left out."""
    decoder, ended, first = (
        codecs.getincrementaldecoder("utf-8")("replace"),
        0,
        len(tokenizers.SPECIAL),
    )
    for number in numbers:
        closes = number == end
        ended += closes
        piece = decoder.decode(b"" if closes else bytes([number - first]), final=closes)
        if closes and ended != lines:
            piece += "\n"
        yield piece
        if closes and ended == lines:
            return


@njit(cache=True, nogil=True)
def with_openings(tokens, starts, begin):
    numbers, at = np.empty(len(tokens) + len(starts) - 1, np.int32), 0
    for line in range(len(starts) - 1):
        numbers[at] = begin
        at += 1
        for place in range(starts[line], starts[line + 1]):
            numbers[at] = tokens[place]
            at += 1
    return numbers


@njit(cache=True, nogil=True)
def with_ends(tokens, starts, end):
    closed, ends, at = (
        np.empty(len(tokens) + len(starts) - 1, np.int32),
        np.zeros(len(starts), np.int64),
        0,
    )
    for line in range(len(starts) - 1):
        for place in range(starts[line], starts[line + 1]):
            closed[at] = tokens[place]
            at += 1
        closed[at] = end
        at += 1
        ends[line + 1] = at
    return closed, ends
