"""Stories: a context and a question about it, which are read apart, and the answer, which is written.

    <s> question </s>  sentence  sentence  …  </s>        what is read, one row
     0     0       0      1         2       …               `segment`: 0 is the question, then sentence by sentence

A network that reads them apart asks `segment`. A long sentence counts as several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.inputs.sides import ALMOST_ALL, SPARE, Pairs
from wenmai.data.inputs.target_texts import WRITTEN, TargetTexts
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers
from wenmai.data.text.sentence_places import sentences_of
from wenmai.errors import unknown
from wenmai.options import Size

LONG = 40  # tokens of a sentence; of a longer one, every so many are another


class Stories(Pairs):
    """`source` reads, `target` writes; each has a tokenizer of its own."""

    def __init__(self, source: TargetTexts, target: TargetTexts, usual: int):
        super().__init__(source, target, 1.0, usual)

    @classmethod
    def learn(
        cls,
        stories: Sequence[tuple[str, str]],
        targets: list[str],
        *,
        max_length: Size = 2048,
        target_tokenizer: str = "auto",
        **tokenizing,
    ) -> Stories:
        """`max_length` tokens of question and context together are read at the most. What is read is in lower case unless it is
        said otherwise, so that a name is the same wherever it stands; what is written is for people to read."""
        tokenizing = {"vocabulary": 8_000} | tokenizing
        texts = list(dict.fromkeys(text for pair in stories for text in pair))
        first = tokenizing.pop("tokenizer", "auto")
        if first == "auto":  # words, or characters where there are no spaces
            first = tokenizers.suited([f"{context} {question}" for context, question in stories])
        second = (
            first if target_tokenizer == "auto" else target_tokenizer
        )  # an answer is most often a word of its context
        for name, kind in (("tokenizer", first), ("target_tokenizer", second)):
            if kind not in tokenizers.KINDS:
                raise unknown(name, kind, ("auto", *tokenizers.KINDS))
        lowered = {
            "lowercase": tokenizing.get("lowercase") is not False
        }  # what is read, unless that is refused
        source = TargetTexts.learn(texts, max_length, tokenizer=first, **(tokenizing | lowered))
        target = TargetTexts.learn(targets, max_length, tokenizer=second, **tokenizing)
        return cls(
            source,
            target,
            int(np.quantile(target.encode(targets).lengths, ALMOST_ALL, method="higher")),
        )

    def most(self, lengths: np.ndarray) -> np.ndarray:
        """How many tokens are written: an answer is no longer for a longer context."""
        return np.full(len(lengths), min(self.target.most, WRITTEN, self.usual + SPARE))

    def encode(self, values: Sequence[tuple[str, str]]) -> Sequences:
        """(context, question) pairs; a sentence that comes again is cut once. What goes beyond `max_length` is not read, and of a
        question no more than half of that."""
        special, most = self.source.special, self.source.most
        opening = special.end if special.begin is None else special.begin
        parts, known = self.parts(values)
        numbers = {text: number for number, text in enumerate(known)}
        tokens = self.source.tokenizer.encode(known)
        rows, segments = [], []
        for question, sentences in parts:
            row = [
                np.array([opening]),
                tokens[numbers[question]][: max(1, (most - 2) // 2)],
                np.array([special.end]),
            ]
            pieces = [tokens[numbers[text]] for text in sentences]
            pieces = [
                piece[start : start + LONG]
                for piece in pieces
                for start in range(0, len(piece), LONG)
            ]
            sizes = [sum(map(len, row)), *map(len, pieces)]
            row = np.concatenate([*row, *pieces, [special.end]])
            segment = np.append(np.repeat(np.arange(len(sizes)), sizes), max(1, len(sizes) - 1))
            rows.append(row[:most])
            segments.append(segment[:most])
        offsets = offsets_of(np.fromiter(map(len, rows), np.int64, len(rows)))
        flat, segment = (
            np.concatenate([np.zeros(0, np.int32), *each]).astype(np.int32)
            for each in (rows, segments)
        )
        return Sequences(flat, offsets, {"segment": segment})

    @staticmethod
    def parts(values) -> tuple[list[tuple[str, list[str]]], list[str]]:
        """((question, sentences) of every pair, all of these texts once)"""
        cut: dict[str, list[str]] = {}
        for context, _ in values:
            if context not in cut:
                cut[context] = [context[start:end] for start, end in sentences_of(context)]
        parts = [(question, cut[context]) for context, question in values]
        return parts, list(
            dict.fromkeys(text for question, sentences in parts for text in (question, *sentences))
        )

    def spelled(self, values) -> list[list[str | None]]:
        """The tokens of every row as they stand there, capital or small; None for what is no word of it."""
        parts, known = self.parts(values)
        words = {
            text: [text[start:end] for start, end in row]
            for text, row in zip(known, self.source.tokenizer.spans(known))
        }
        asked = max(1, (self.source.most - 2) // 2)
        return [
            [
                None,
                *words[question][:asked],
                None,
                *(word for text in sentences for word in words[text]),
            ]
            for question, sentences in parts
        ]

    def to_json(self) -> dict:
        return {
            "kind": "stories",
            "source": self.source.to_json(),
            "target": self.target.to_json(),
            "usual": self.usual,
        }

    @classmethod
    def from_json(cls, saved) -> Stories:
        source, target = (
            TargetTexts.from_json(take.value(saved, side)) for side in ("source", "target")
        )
        return cls(source, target, take.integer(saved, "usual", 1))
