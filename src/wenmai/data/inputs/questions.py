"""Questions and the passages that answer them: how both are cut, and read together. Every token knows its place in the text."""

from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np

from wenmai.data.examples.passages import Passages, Reading
from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers, vectors
from wenmai.data.text.wrapping import Wrapping
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.options import Size

WINDOW, STRIDE = 384, 128  # Devlin et al. 2019
PIECE = 1 << 16  # characters of a text that are cut into tokens at once


class Questions:
    """`longest`: places that the network knows; `reading.window` of them are read at once."""

    kind, pairs, corpus_tokens, rare, spelling = "tokens", True, 0, None, None

    def __init__(
        self,
        tokenizer,
        reading: Reading,
        longest: int,
        embedding: str = "random",
        table: np.ndarray | None = None,
        width: int | None = None,
    ):
        self.tokenizer, self.reading, self.longest, self.embedding = (
            tokenizer,
            reading,
            longest,
            embedding,
        )
        self.wrapping = reading.wrapping
        self.vectors, self.vectors_width = table, width if table is None else int(table.shape[1])
        self.vocabulary, self.special = len(tokenizer.tokens), tokenizer.special
        self.unit = "chinese" if tokenizer.kind == "characters" else "words"

    @classmethod
    def learn(
        cls,
        values,
        *,
        embedding: str = "random",
        max_length: Size = WINDOW,
        stride: Size = STRIDE,
        **tokenizing,
    ) -> Self:
        """`max_length` tokens are read at once, question and passage; a longer passage in windows, one every `stride` tokens."""
        texts = list(dict.fromkeys(text for pair in values for text in pair))
        words, table = vectors.chosen(embedding)
        if table is not None:
            tokenizing.setdefault("tokenizer", "words")  # vectors are of words
        tokenizer = tokenizers.learn(texts, words, **tokenizing)
        reading = checked(Reading(max_length, stride, Wrapping.of(tokenizer.special)))
        return cls(
            tokenizer,
            reading,
            max_length,
            embedding,
            vectors.for_tokens(tokenizer.tokens, words, table),
        )

    @classmethod
    def reading_as(cls, inputs, run: str, options: Mapping) -> Self:
        """Cut as another run cuts its texts, and no longer than it can read; `given`: max_length and stride, where said."""
        special, longest = inputs.tokenizer.special, inputs.longest or WINDOW
        wrapping = getattr(inputs, "wrapping", None)
        if wrapping is None and None in (special.begin, special.separator):
            raise Mistake(
                "{run} knows no sign that stands between two texts; start from another run.",
                run=run,
            )
        window = options.get("max_length", min(WINDOW, longest))
        if window > longest:
            raise Mistake(
                "max_length={window}: {run} reads {longest} tokens at once, expected no more.",
                window=window,
                run=run,
                longest=longest,
            )
        reading = Reading(window, options.get("stride", STRIDE), wrapping or Wrapping.of(special))
        return cls(
            inputs.tokenizer,
            checked(reading),
            longest,
            getattr(inputs, "embedding", "random"),
            width=getattr(inputs, "vectors_width", None),
        )

    def encode(self, values) -> Passages:
        """(context, question) pairs; a text that comes again is cut once."""
        contexts = {
            text: number
            for number, text in enumerate(dict.fromkeys(context for context, _ in values))
        }
        tokens, places = placed(self.tokenizer, list(contexts))
        which = np.fromiter((contexts[context] for context, _ in values), np.int64, len(values))
        offsets = offsets_of(tokens.lengths_of(which) + 1)
        flat, spans = np.zeros(offsets[-1], np.int32), np.zeros((offsets[-1], 2), np.int32)
        index = tokens.places(which)
        inside = np.ones(len(flat), bool)
        inside[offsets[:-1]] = False  # "nothing"
        flat[inside], spans[inside] = tokens.flat[index], places[index]
        questions = self.asked([question for _, question in values])
        return Passages(
            flat, offsets, spans, [context for context, _ in values], questions, self.reading
        )

    def asked(self, questions: list[str]) -> Sequences:
        rows = self.tokenizer.encode(questions)
        most = self.reading.asked
        if rows.lengths.max(initial=0) <= most:
            return rows
        return Sequences.of([rows[row][:most] for row in range(len(rows))])

    def notes(self, values) -> list[str]:
        cut = tokenizers.CUT[self.tokenizer.kind]
        known = Message("texts are {cut}: {tokens:,} tokens known", cut=cut, tokens=self.vocabulary)
        return [known, *vectors.notes(self.vectors, self.embedding)]

    def to_json(self) -> dict:
        return {
            "kind": "questions",
            "window": self.reading.window,
            "stride": self.reading.stride,
            "longest": self.longest,
            "embedding": self.embedding,
            "vectors_width": self.vectors_width,
            "tokenizer": self.tokenizer.to_json(),
            "wrapping": self.wrapping.to_json(),
        }

    @classmethod
    def from_json(cls, saved) -> Self:
        tokenizer = tokenizers.from_json(take.value(saved, "tokenizer"))
        wrapping = Wrapping.from_json(take.value(saved, "wrapping"), len(tokenizer.tokens))
        longest = take.integer(saved, "longest", 1)
        reading = Reading(
            take.integer(saved, "window", 1, longest), take.integer(saved, "stride", 1), wrapping
        )
        if not fits(reading):
            raise take.Unfit('"window" has no room for a question and a passage')
        return cls(
            tokenizer,
            reading,
            longest,
            take.text(saved, "embedding"),
            width=take.maybe_integer(saved, "vectors_width", 1),
        )


def fits(reading: Reading) -> bool:
    return bool(reading.wrapping.before) and reading.window >= reading.around + 2


def checked(reading: Reading) -> Reading:
    if not fits(reading):
        raise Mistake(
            "max_length={longest}: what stands around a question and a passage takes {around} places, and each of them "
            "at least one more; allow more.",
            longest=reading.window,
            around=reading.around,
        )
    return reading


def placed(tokenizer, texts: list[str]) -> tuple[Sequences, np.ndarray]:
    """(tokens, the characters that each stands for (ΣT, 2)). A long text is cut into pieces first, so that what a tokenizer notes
    beside its tokens is never held of all of it."""
    flats, spans, sizes = (
        [np.zeros(0, np.int32)],
        [np.zeros((0, 2), np.int32)],
        np.zeros(len(texts), np.int64),
    )
    for parts in together(texts):
        rows, places = encoded(tokenizer, [texts[row][start:end] for row, start, end in parts])
        flats.append(rows.flat)
        each = np.repeat(np.array([start for _, start, _ in parts], np.int32), rows.lengths)
        spans.append((places + each[:, None]).astype(np.int32))
        np.add.at(sizes, [row for row, *_ in parts], rows.lengths)
    return Sequences(np.concatenate(flats), offsets_of(sizes)), np.concatenate(spans)


def together(texts: list[str]) -> Iterator[list[tuple[int, int, int]]]:
    """(row, from, to) of the pieces of all texts, a megabyte of them at a time."""
    group, size = [], 0
    for row, text in enumerate(texts):
        for start, end in pieces(text):
            if group and size + end - start > 16 * PIECE:
                yield group
                group, size = [], 0
            group.append((row, start, end))
            size += end - start
    if group:
        yield group


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """From where to where: cut ahead of a space, if there is one in the second half of a piece."""
    start = 0
    while len(text) - start > PIECE:
        end = text.rfind(" ", start + PIECE // 2, start + PIECE)
        end = start + PIECE if end < 0 else end
        yield start, end
        start = end
    yield start, len(text)


def encoded(tokenizer, texts: list[str]) -> tuple[Sequences, np.ndarray]:
    rows = tokenizer.encode_placed(texts) if hasattr(tokenizer, "encode_placed") else None
    tokens, spans = rows or (tokenizer.encode(texts), tokenizer.spans(texts))
    flat = [place for text, row in zip(texts, spans) for place in without_spaces(text, row)]
    return tokens, np.array(flat, np.int32).reshape(-1, 2)


def without_spaces(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A token of bytes holds the space before it, which is no part of an answer."""
    return [
        (start + 1, end) if end - start > 1 and text[start].isspace() else (start, end)
        for start, end in spans
    ]
