"""Text → token numbers: bytes, characters, words, Chinese words (jieba); subwords.py: BPE, WordPiece and Unigram.

Every tokenizer has the same verbs: `encode(texts) → Sequences`, `spans(texts)`, where each token stands in its text,
`decode(ids) → str`, `to_json()` and, here, `learn(texts)` and `from_json(dict)`. Its tokens as texts, also those that it does not
know: `spelled(texts)`; the way back: `joined(tokens)`. It owns its `special` tokens: others ask it for their numbers. Those that
are learned here begin with six of them; one that comes from elsewhere (`Imported`) has those it has, where it has them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Annotated, Self

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.examples.stored import chunks
from wenmai.data.storage import saved as take
from wenmai.data.storage.caches import folder_for
from wenmai.data.text.special import OWN, SPECIAL, beginning_special
from wenmai.data.text.subwords import SUBWORDS, Imported, Subwords
from wenmai.data.text.vocabulary import NUMBERED
from wenmai.errors import Mistake, unknown
from wenmai.locale import Message
from wenmai.options import TEXTS, Size

KINDS = ("bytes", "characters", "words", "jieba", *SUBWORDS)  # that can be learned

# Scripts written without spaces: each of their characters is a word of its own.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f\u0e00-\u0e7f"
WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:['’][^\W{UNSPACED}]+)*|[^\w\s]")
CHINESE = re.compile(f"[{UNSPACED}]")
MARKS = "\u3000-\u303f\uff00-\uffef\u2018-\u201d·—…"  # that stand among them
CLOSE = re.compile(f"[{UNSPACED}{MARKS}]")
# The same words of a text that holds ASCII only, found twice as fast.
PLAIN_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s\x1c-\x1f]", re.ASCII)
MOST = 1_000_000  # distinct words that are counted at once: beyond, the rarest so far are forgotten

CUT = {
    "bytes": Message("read byte by byte"),
    "characters": Message("read character by character"),
    "spaces": Message("cut at spaces"),
    "jieba": Message("cut into Chinese words by jieba"),
    "words": Message("cut into words"),
    "bpe": Message("cut into bpe"),
    "wordpiece": Message("cut into wordpiece"),
    "unigram": Message("cut into unigram"),
    "imported": Message("cut as the vocabulary has it"),
}


def learn(
    texts: Sequence[str],
    also: list[str] = (),
    *,
    tokenizer: Annotated[str, TEXTS] = "auto",
    vocabulary: Annotated[Size, TEXTS] = 30_000,
    min_count: Annotated[Size, TEXTS] = 1,
    lowercase: Annotated[bool | None, TEXTS] = None,
):
    """A tokenizer for these texts. `also` names further words to know (those of pretrained vectors); `lowercase` is
    yes for words and no otherwise unless said."""
    kind = suited(texts) if tokenizer == "auto" else tokenizer
    if kind not in KINDS:
        raise unknown("tokenizer", kind, ("auto", *KINDS))
    lowercase = kind in ("words", "jieba") if lowercase is None else lowercase
    if kind in SUBWORDS:
        return Subwords.learn(texts, kind, vocabulary, lowercase)
    if kind == "bytes":
        return Bytes(lowercase)
    if kind == "characters":
        return Characters.learn(texts, vocabulary, min_count, lowercase)
    return Words.learn(texts, kind, vocabulary, min_count, lowercase, also)


def suited(texts: Sequence[str]) -> str:
    """Characters for Chinese and its neighbours and for names (a few words each), words otherwise."""
    sample = list(texts[:: max(1, len(texts) // 2000)])
    joined = "".join(sample)
    if joined and len(CHINESE.findall(joined)) > 0.3 * len(joined):
        return "characters"
    words = sum(len(text.split()) for text in sample) / max(1, len(sample))
    return "characters" if words < 4 else "words"


def joined(tokens: list[str]) -> tuple[str, list[int]]:
    """Tokens as one text, and where each begins in it: with spaces, but none between characters of scripts that have none."""
    pieces, starts, at = [], [], 0
    single = sum(map(len, tokens)) < 1.1 * len(
        tokens
    )  # characters: the digits and letters among them stand close too
    for before, token in zip(["", *tokens], tokens):
        if before and not single and not (CLOSE.match(before[-1]) and CLOSE.match(token[:1])):
            pieces.append(" ")
            at += 1
        starts.append(at)
        pieces.append(token)
        at += len(token)
    return "".join(pieces), starts


def from_json(saved: dict):
    """What `to_json` gave; Unfit if it did not."""
    kind = take.one_of(saved, "kind", (*KINDS, "spaces", Imported.kind))
    own = {
        "bytes": Bytes,
        "characters": Characters,
        "words": Words,
        "jieba": Words,
        "spaces": Spaces,
        Imported.kind: Imported,
    }
    return own.get(kind, Subwords).from_json(saved)


def most_common(counts: dict[str, int], vocabulary: int, min_count: int) -> list[str]:
    """The most frequent first, ties in alphabetical order, so that equal texts give equal numbers."""
    kept = [token for token, count in counts.items() if count >= min_count]
    kept.sort(key=lambda token: (-counts[token], token))
    return kept[: max(0, vocabulary - len(SPECIAL))]


def points(text: str) -> np.ndarray:
    """The code point of every character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


class Bytes:
    """One token a byte of UTF-8: 256 of them for every text there is, none of it unknown and nothing to learn."""

    kind, special = "bytes", OWN

    def __init__(self, lowercase: bool):
        self.lowercase, self.tokens = lowercase, SPECIAL + [f"<{byte:02X}>" for byte in range(256)]

    def encode(self, texts: list[str]) -> Sequences:
        rows = [as_bytes(text, self.lowercase) for text in texts]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return Sequences(
            np.frombuffer(b"".join(rows), np.uint8).astype(np.int32) + len(SPECIAL),
            offsets_of(lengths),
        )

    def spans(self, texts: list[str]) -> list[list[tuple[int, int]]]:
        return [
            [
                (at, at + 1)
                for at, letter in enumerate(text)
                for _ in as_bytes(letter, self.lowercase)
            ]
            for text in texts
        ]

    def spelled(self, texts: list[str]) -> list[list[str]]:
        return [[self.tokens[number] for number in row] for row in self.encode(texts)]

    def decode(self, ids) -> str:
        """What is not whole is written as an escape."""
        return bytes(i - len(SPECIAL) for i in ids if i >= len(SPECIAL)).decode(
            "utf-8", "backslashreplace"
        )

    def to_json(self) -> dict:
        return {"kind": self.kind, "lowercase": self.lowercase}

    @classmethod
    def from_json(cls, saved) -> Self:
        return cls(take.flag(saved, "lowercase"))


def as_bytes(text: str, lowercase: bool) -> bytes:
    return (text.lower() if lowercase else text).encode("utf-8", "replace")


def lowered_spans(text: str) -> list[tuple[int, int]]:
    """Where every character of the text in lower case stands in the text as it is: İ becomes two."""
    return [(at, at + 1) for at, letter in enumerate(text) for _ in letter.lower()]


class Characters:
    """One token a code point; a whole list of texts is encoded in one NumPy look-up."""

    special = OWN

    def __init__(self, tokens: list[str], lowercase: bool):
        self.kind, self.tokens, self.lowercase = "characters", tokens, lowercase
        self.table = np.full(0x110000, self.special.unknown, np.int32)  # code point → number
        self.table[[ord(token) for token in tokens[len(SPECIAL) :]]] = np.arange(
            len(SPECIAL), len(tokens)
        )

    @classmethod
    def learn(cls, texts, vocabulary, min_count, lowercase) -> Self:
        counts = np.zeros(0x110000, np.int64)  # of every code point
        for chunk in chunks(texts):
            joined = "".join(chunk)
            chunk_counts = np.bincount(points(joined.lower() if lowercase else joined))
            counts[: len(chunk_counts)] += chunk_counts
        known = np.flatnonzero(counts)
        counts = dict(zip(map(chr, known.tolist()), counts[known].tolist()))
        return cls(SPECIAL + most_common(counts, vocabulary, min_count), lowercase)

    def encode(self, texts: list[str]) -> Sequences:
        if self.lowercase:
            texts = [text.lower() for text in texts]
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return Sequences(self.table[points("".join(texts))], offsets_of(lengths))

    def spans(self, texts: list[str]) -> list[list[tuple[int, int]]]:
        return [
            lowered_spans(text) if self.lowercase else [(at, at + 1) for at in range(len(text))]
            for text in texts
        ]

    def spelled(self, texts: list[str]) -> list[list[str]]:
        return [list(text.lower() if self.lowercase else text) for text in texts]

    def joined(self, tokens: list[str]) -> str:
        return "".join(tokens)

    def decode(self, ids) -> str:
        return self.joined(
            [self.tokens[i] for i in ids if i >= len(SPECIAL) or i == self.special.unknown]
        )

    def to_json(self) -> dict:
        return {"kind": self.kind, "lowercase": self.lowercase, "tokens": self.tokens}

    @classmethod
    def from_json(cls, saved) -> Self:
        tokens = beginning_special(take.texts(saved, "tokens"))
        if max(map(len, tokens[len(SPECIAL) :]), default=1) > 1 or "" in tokens:
            raise take.Unfit("found a token of another length, expected single characters")
        return cls(tokens, take.flag(saved, "lowercase"))


class Words:
    """Unicode words and marks; with kind `jieba`, Chinese words instead of single Chinese characters."""

    special = OWN

    def __init__(self, tokens: list[str], kind: str, lowercase: bool):
        self.kind, self.tokens, self.lowercase = kind, tokens, lowercase
        self.numbers = {token: number for number, token in enumerate(tokens)}

    @classmethod
    def learn(cls, texts, kind, vocabulary, min_count, lowercase, also) -> Self:
        words = cls([], kind, lowercase)
        counts = Counter()
        for chunk in chunks(texts):
            counts.update(chain.from_iterable(map(words.split, chunk)))
            if len(counts) > max(MOST, 4 * vocabulary):
                counts = thinned(counts, max(MOST, 4 * vocabulary) // 2)
        tokens = SPECIAL + most_common(counts, vocabulary, min_count)
        known = set(tokens)
        return cls(tokens + [word for word in also if word not in known], kind, lowercase)

    def split(self, text: str) -> list[str]:
        if self.lowercase:
            text = text.lower()
        if self.kind == "jieba":
            return [word for word in jieba().lcut(text) if not word.isspace()]
        return (PLAIN_WORD if text.isascii() else WORD).findall(text)

    def encode(self, texts: list[str]) -> Sequences:
        rows = list(map(self.split, texts))
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        numbers = map(self.numbers.get, chain.from_iterable(rows), repeat(self.special.unknown))
        return Sequences(np.fromiter(numbers, np.int32, int(lengths.sum())), offsets_of(lengths))

    def spans(self, texts: list[str]) -> list[list[tuple[int, int]]]:
        return [list(self.places(text)) for text in texts]

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where every word stands. In lower case a text may be longer than as it is written."""
        written, text = text, text.lower() if self.lowercase else text
        own = lowered_spans(written) if len(text) != len(written) else None
        at = 0
        for word in self.split(text):
            at = text.index(word, at)
            end = at + len(word)
            yield (at, end) if own is None else (own[at][0], own[end - 1][1])
            at = end

    def spelled(self, texts: list[str]) -> list[list[str]]:
        return list(map(self.split, texts))

    def joined(self, tokens: list[str]) -> str:
        return " ".join(tokens)

    def decode(self, ids) -> str:
        return self.joined([self.tokens[i] for i in ids if i not in self.special.unsaid])

    to_json = Characters.to_json

    @classmethod
    def from_json(cls, saved) -> Self:
        tokens, kind = (
            take.texts(saved, "tokens"),
            take.one_of(saved, "kind", ("words", "jieba", "given")),
        )
        return cls(beginning_special(tokens), kind, take.flag(saved, "lowercase"))


class Spaces(Words):
    """Words between spaces, numbered as a running text numbers them (vocabulary.py)."""

    special = NUMBERED

    def __init__(self, tokens: list[str], lowercase: bool):
        super().__init__(tokens, "spaces", lowercase)
        for (
            number
        ) in self.special.numbers:  # a text that says <s> itself means a word, which is unknown
            self.numbers.pop(tokens[number], None)

    def split(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()

    @classmethod
    def from_json(cls, saved) -> Self:
        tokens = take.texts(saved, "tokens")
        if len(tokens) <= max(cls.special.numbers):
            raise take.Unfit("the tokens lack those that open and close a line")
        return cls(tokens, take.flag(saved, "lowercase"))


def thinned(counts: Counter, most: int) -> Counter:
    """Without the words that were counted least, all that are equally rare alike, so that `most` at the most are left."""
    least = 0
    while len(counts) > most:
        least += 1
        counts = Counter({word: count for word, count in counts.items() if count > least})
    return counts


def jieba():
    try:
        import jieba
    except ImportError:
        raise Mistake(
            "tokenizer=jieba needs the package jieba: pip install 'wenmai[chinese]'."
        ) from None
    jieba.setLogLevel("WARNING")  # it reports its dictionary on standard error otherwise
    if not jieba.dt.initialized:
        with folder_for("jieba") as jieba.dt.tmp_dir:
            jieba.initialize()
    return jieba
