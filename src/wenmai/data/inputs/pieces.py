"""Words that somebody cut, as rows that are tagged come, for a rung that reads them in pieces: each is cut further by a tokenizer
of subwords, alone, and what stands around a text stands around the row (Devlin et al. 2019)."""

from itertools import chain
from typing import Self

import numpy as np

from wenmai.data.examples.pieces import WordPieces
from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.inputs.tokens import checked_tokens, cut, single_characters
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers
from wenmai.data.text.wrapping import Wrapping
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase


class Pieces:
    """`single`: the words are characters, as Chinese is tagged; `alphabet`: of their letters, where these are read too."""

    kind, pairs, corpus_tokens, rare, vectors, vectors_width = "tokens", False, 0, None, None, None

    def __init__(
        self,
        tokenizer,
        wrapping: Wrapping,
        longest: int,
        single: bool,
        spelling: str = "none",
        alphabet: tokenizers.Characters | None = None,
        embedding: str = "random",
    ):
        self.tokenizer, self.wrapping, self.longest, self.single = (
            tokenizer,
            wrapping,
            longest,
            single,
        )
        self.spelling, self.alphabet, self.embedding = spelling, alphabet, embedding
        self.vocabulary, self.special = len(tokenizer.tokens), tokenizer.special
        self.unit = "chinese" if single else "words"

    @classmethod
    def learn(cls, values, embedding, longest, spelling, tokenizer="auto", **tokenizing) -> Self:
        rows = checked_tokens(values)
        tokenizer = "wordpiece" if tokenizer == "auto" else tokenizer
        known = tokenizers.learn([" ".join(row) for row in rows], tokenizer=tokenizer, **tokenizing)
        wrapping = Wrapping.of(known.special)
        if longest <= len(wrapping.before) + len(wrapping.after):
            raise Mistake(
                "max_length={longest}: what stands around a row takes {around} places, and a word at least one more; "
                "allow more.",
                longest=longest,
                around=len(wrapping.before) + len(wrapping.after),
            )
        return cls(
            known,
            wrapping,
            longest,
            single_characters(chain.from_iterable(rows)),
            embedding=embedding,
        ).spelled(rows, spelling)

    @classmethod
    def reading_as(cls, inputs, values, spelling: str = "auto") -> Self:
        """Words, cut further as another run cuts its texts."""
        rows = [row for row in values if not isinstance(row, str)]
        return cls(
            inputs.tokenizer,
            inputs.wrapping,
            inputs.longest,
            single_characters(chain.from_iterable(rows)),
        ).spelled(rows, spelling)

    def spelled(self, rows, spelling: str) -> Self:
        """The same, with the letters of these words to be read too, where that is asked for."""
        self.spelling = "none" if spelling == "auto" else spelling
        if self.spelling != "none":
            self.alphabet = tokenizers.Characters.learn(
                sorted(set(chain.from_iterable(rows))), 30_000, 1, False
            )
        return self

    def encode(self, values) -> WordPieces:
        rows = checked_tokens(
            [self.cut(row)[0] if isinstance(row, str) else row for row in values],
            Message(", or a text"),
        )
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        number: dict[str, int] = {}  # of every distinct word, from 1 on: 0 is none
        flat = np.fromiter(
            (number.setdefault(word, len(number) + 1) for word in chain.from_iterable(rows)),
            np.int32,
        )
        words = ["", *number]
        letters = None if self.alphabet is None else self.alphabet.encode(words)
        return WordPieces(
            flat,
            offsets_of(lengths),
            self.pieces_of(words),
            self.wrapping.before,
            self.wrapping.after,
            letters,
        )

    def pieces_of(self, words: list[str]) -> Sequences:
        """A row a word: no more than can be read at once."""
        pieces = getattr(self.tokenizer, "encode_words", self.tokenizer.encode)(words)
        most = self.longest - len(self.wrapping.before) - len(self.wrapping.after)
        if pieces.lengths.max(initial=0) <= most:
            return pieces
        return Sequences.of([pieces[row][:most] for row in range(len(pieces))])

    def cut(self, text: str) -> tuple[list[str], list[int]]:
        return cut(text, self.single)

    def notes(self, values) -> list[str]:
        unit = phrase("unit", "characters") if self.single else phrase("unit", "words")
        return [
            Message(
                "tokens are {unit} as given, each read in pieces: {tokens:,} known",
                unit=unit,
                tokens=self.vocabulary,
            )
        ]

    def to_json(self) -> dict:
        return {
            "kind": "pieces",
            "single": self.single,
            "longest": self.longest,
            "spelling": self.spelling,
            "tokenizer": self.tokenizer.to_json(),
            "wrapping": self.wrapping.to_json(),
            "alphabet": None if self.alphabet is None else self.alphabet.to_json(),
        }

    @classmethod
    def from_json(cls, saved) -> Self:
        tokenizer = tokenizers.from_json(take.value(saved, "tokenizer"))
        wrapping = Wrapping.from_json(take.value(saved, "wrapping"), len(tokenizer.tokens))
        spelling, alphabet = (
            take.one_of(saved, "spelling", ("none", "cnn", "lstm")),
            take.value(saved, "alphabet"),
        )
        if (alphabet is None) != (spelling == "none"):
            raise take.Unfit('"alphabet" and "spelling" do not belong together')
        longest = take.integer(saved, "longest", len(wrapping.before) + len(wrapping.after) + 1)
        return cls(
            tokenizer,
            wrapping,
            longest,
            take.flag(saved, "single"),
            spelling,
            None if alphabet is None else tokenizers.Characters.from_json(alphabet),
        )
