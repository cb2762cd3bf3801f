"""Tokens that somebody cut already, as rows that are tagged come; their letters beside them; and how a raw text is cut alike."""

import re
from collections import Counter
from itertools import chain
from typing import Self

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers, vectors
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase


class Tokens:
    """Rows of tokens that somebody cut already, and their letters beside them; a raw text is cut as they seem to be."""

    kind, pairs, corpus_tokens = "tokens", False, 0

    def __init__(
        self,
        tokenizer: tokenizers.Words,
        alphabet: tokenizers.Characters,
        spelling: str,
        longest: int,
        embedding: str,
        table: np.ndarray | None = None,
        rare: np.ndarray | None = None,
        width: int | None = None,
    ):
        self.tokenizer, self.alphabet, self.spelling = tokenizer, alphabet, spelling
        self.longest, self.embedding, self.vectors, self.rare = longest, embedding, table, rare
        self.vectors_width = (
            width if table is None else int(table.shape[1])
        )  # also where the weights hold them
        self.vocabulary, self.special = len(tokenizer.tokens), tokenizer.special
        words = tokenizer.tokens[len(tokenizers.SPECIAL) :][:2000]
        self.single = single_characters(words)
        self.unit = "words" if not self.single else "chinese"

    @classmethod
    def learn(
        cls,
        values,
        embedding,
        longest,
        spelling,
        tokenizer="auto",
        vocabulary=30_000,
        min_count=1,
        lowercase=None,
    ) -> Self:
        if tokenizer != "auto":
            raise Mistake(
                "tokenizer={tokenizer}: these rows are cut into tokens already; leave it out.",
                tokenizer=tokenizer,
            )
        counts = Counter(chain.from_iterable(checked_tokens(values)))
        words, table = vectors.chosen(embedding)
        if spelling == "auto":
            spelling = "cnn" if sum(map(len, counts)) > 1.1 * len(counts) else "none"
        # Who reads the letters sees capitals there; without them a word keeps its own.
        lowercase = (table is not None or spelling != "none") if lowercase is None else lowercase
        alphabet = tokenizers.Characters.learn(list(counts), 30_000, 1, False)
        if lowercase:
            counts, original = Counter(), counts
            for token, count in original.items():
                counts[token.lower()] += count
        known = tokenizers.SPECIAL + tokenizers.most_common(counts, vocabulary, min_count)
        seen = set(known)
        known += [word for word in words if word not in seen]
        table = vectors.for_tokens(known, words, table)
        rare = np.array([counts.get(token, 0) == 1 for token in known])
        rare &= True if table is None else np.isnan(table[:, 0])
        return cls(
            tokenizers.Words(known, "given", lowercase),
            alphabet,
            spelling,
            longest,
            embedding,
            table,
            rare,
        )

    @classmethod
    def reading_as(cls, tokenizer: tokenizers.Words, inputs, longest: int) -> Self:
        """Tokens that are given, numbered as the texts of another task were."""
        alphabet = tokenizers.Characters(list(tokenizers.SPECIAL), lowercase=False)
        return cls(
            tokenizer,
            alphabet,
            "none",
            longest,
            "random",
            width=getattr(inputs, "vectors_width", None),
        )

    def encode(self, values) -> Sequences:
        rows = checked_tokens(
            [self.cut(row)[0] if isinstance(row, str) else row for row in values],
            Message(", or a text"),
        )
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        number: dict[str, int] = {}  # of every distinct token, from 1 on
        form = np.fromiter(
            (number.setdefault(token, len(number) + 1) for token in chain.from_iterable(rows)),
            np.int32,
        )
        known, fold = self.tokenizer.numbers, str.lower if self.tokenizer.lowercase else str
        numbers = np.array(
            [0, *(known.get(fold(token), self.special.unknown) for token in number)], np.int32
        )
        return Sequences(
            numbers[form], offsets_of(lengths), {"form": form}, self.alphabet.encode(["", *number])
        )

    def cut(self, text: str) -> tuple[list[str], list[int]]:
        return cut(text, self.single, self.known)

    def known(self, token: str) -> bool:
        return (token.lower() if self.tokenizer.lowercase else token) in self.tokenizer.numbers

    def notes(self, values) -> list[str]:
        unit = phrase("unit", "characters") if self.single else phrase("unit", "words")
        known = Message(
            "tokens are {unit} as given: {tokens:,} known", unit=unit, tokens=self.vocabulary
        )
        return [known, *vectors.notes(self.vectors, self.embedding)]

    def to_json(self) -> dict:
        return {
            "kind": "given",
            "spelling": self.spelling,
            "longest": self.longest,
            "embedding": self.embedding,
            "vectors_width": self.vectors_width,
            "tokenizer": self.tokenizer.to_json(),
            "alphabet": self.alphabet.to_json(),
            "rare": None if self.rare is None else np.flatnonzero(self.rare).tolist(),
        }

    @classmethod
    def from_json(cls, saved) -> Self:
        kept, rare = take.value(saved, "tokenizer"), None
        tokenizer = (
            tokenizers.Spaces if take.value(kept, "kind") == "spaces" else tokenizers.Words
        ).from_json(kept)
        alphabet = tokenizers.Characters.from_json(take.value(saved, "alphabet"))
        if take.value(saved, "rare") is not None:
            rare = np.zeros(len(tokenizer.tokens), bool)
            rare[np.array(take.integers(saved, "rare", 0, len(rare) - 1), np.int64)] = True
        spelling, longest = (
            take.one_of(saved, "spelling", ("none", "cnn", "lstm")),
            take.integer(saved, "longest", 1),
        )
        return cls(
            tokenizer,
            alphabet,
            spelling,
            longest,
            take.text(saved, "embedding"),
            rare=rare,
            width=take.maybe_integer(saved, "vectors_width", 1),
        )


def single_characters(words) -> bool:
    """Whether these words are characters, as Chinese is tagged."""
    sizes = list(map(len, words))
    return sum(sizes) < 1.1 * len(sizes)


def cut(text: str, single: bool, known=lambda word: False) -> tuple[list[str], list[int]]:
    """The tokens of a raw text and where each begins: characters, or words with the marks around them cut off. What training
    knew as one token stays one."""
    if single:
        starts = [at for at, letter in enumerate(text) if not letter.isspace()]
        return [text[at] for at in starts], starts
    tokens, starts = [], []
    for piece in re.finditer(r"\S+", text):
        for token, at in pieces(piece[0], known):
            tokens.append(token)
            starts.append(piece.start() + at)
    return tokens, starts


def pieces(chunk: str, known) -> list[tuple[str, int]]:
    """One stretch without spaces, cut: marks at its ends, and 's, n't and their like, are tokens of their own, unless
    training knew them together with the word."""
    if len(chunk) > 200:  # no word
        return [(match[0], match.start()) for match in tokenizers.WORD.finditer(chunk)]
    start, end, before, after = 0, len(chunk), [], []
    while start < end:
        word = chunk[start:end]
        if known(word):
            return [*before, (word, start), *after[::-1]]
        if re.fullmatch(r"\w+|(\w\.)+", word):
            break
        clitic = re.fullmatch(r"(.+?)(n['’]t|['’](?:s|re|ve|ll|d|m))", word, re.IGNORECASE)
        if not word[0].isalnum():
            before.append((word[0], start))
            start += 1
        elif clitic or not word[-1].isalnum():
            cut = start + clitic.start(2) if clitic else end - 1
            after.append((chunk[cut:end], cut))
            end = cut
        else:
            break
    middle = [(chunk[start:end], start)] if start < end else []
    if tokenizers.CHINESE.search(
        chunk, start, end
    ):  # and its neighbours stand without spaces: each character is a token
        middle = [
            (match[0], match.start()) for match in tokenizers.WORD.finditer(chunk, start, end)
        ]
    return [*before, *middle, *after[::-1]]


def checked_tokens(values, or_else: str = "") -> list[list[str]]:
    for row, tokens in enumerate(values):
        if not isinstance(tokens, (list, tuple)) or not all(
            isinstance(token, str) for token in tokens
        ):
            raise Mistake(
                "input {row}: expected a list of tokens{or_else}, found {value!r}.",
                row=row + 1,
                or_else=or_else,
                value=str(tokens)[:40],
            )
    return values
