"""Words that are copied: the tokens of a source, numbered as what is written is.

A token that the target's vocabulary knows has its number there; those that it does not know are the source's own words, V,
V + 1, … in the order in which they first stand in it. A target's unknown token that stands in its source has the same number. The
words themselves go along with the rows, so that what was copied can be written out.
"""

from collections.abc import Iterable
from typing import Self

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.errors import Mistake


class Copied(Sequences):
    """Sources as they are read, with `copies` beside: the same tokens as the target numbers them. `words`: of every row its own,
    each with its number."""

    def __init__(
        self, flat: np.ndarray, offsets: np.ndarray, beside: dict, words: list[dict[str, int]]
    ):
        super().__init__(flat, offsets, beside)
        self.words = words

    def take(self, rows: np.ndarray) -> Self:
        subset = super().take(rows)
        return Copied(subset.flat, subset.offsets, subset.beside, [self.words[row] for row in rows])


def copied(pairs, texts: list[str]) -> Copied:
    """The sources of these Pairs."""
    kinds = pairs.source.tokenizer.kind, pairs.target.tokenizer.kind
    if kinds[0] != kinds[1]:
        raise Mistake(
            "copy=True goes with tokens of one kind on both sides; found {read} for the texts that are read and "
            "{written} for those that are written.",
            read=kinds[0],
            written=kinds[1],
        )
    known, first, rows = pairs.target.numbers, pairs.target.vocabulary, pairs.encode(texts)
    numbers, words = np.full(len(rows.flat), pairs.target.special.end, np.int32), []
    for at, length, row in zip(rows.offsets.tolist(), rows.lengths.tolist(), pairs.spelled(texts)):
        row, own = row[:length], {}
        for place, token in enumerate(row, at):
            if token is not None:  # a mark, which nobody writes
                numbers[place] = (
                    known[token] if token in known else own.setdefault(token, first + len(own))
                )
        words.append(own)
    return Copied(rows.flat, rows.offsets, rows.beside | {"copies": numbers}, words)


def written(pairs, texts: list[str], sources: Copied) -> Sequences:
    """The targets of these sources."""
    targets = pairs.target.encode(texts)
    unknown = targets.flat == pairs.target.special.unknown
    rows = np.flatnonzero(np.add.reduceat(unknown, targets.offsets[:-1]) if len(targets) else [])
    for row, tokens in zip(
        rows.tolist(), pairs.target.tokenizer.spelled([texts[row] for row in rows])
    ):
        own, start = sources.words[row], targets.offsets[row]
        for place in np.flatnonzero(unknown[start : targets.offsets[row + 1]]).tolist():
            targets.flat[start + place] = own.get(tokens[place], pairs.target.special.unknown)
    return targets


class ExtendedTokenizer:
    """A tokenizer that writes some words more, numbered behind its own."""

    def __init__(self, tokenizer, words: Iterable[str]):
        self.tokenizer, self.kind, self.tokens, self.special = (
            tokenizer,
            tokenizer.kind,
            tokenizer.tokens,
            tokenizer.special,
        )
        self.words = [
            word.encode("utf-8", "replace").decode() for word in words
        ]  # without half characters

    def decode(self, ids) -> str:
        ids, size = [int(i) for i in ids], len(self.tokens)
        if max(ids, default=0) < size:
            return self.tokenizer.decode(ids)
        kept = (i for i in ids if i not in self.special.unsaid)
        return self.tokenizer.joined(
            [self.tokens[i] if i < size else self.words[i - size] for i in kept]
        )
