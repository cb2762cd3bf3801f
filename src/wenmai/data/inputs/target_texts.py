"""TargetTexts: the texts that a model learns to write, each a row of tokens that is closed by its end.

The numbers are the tokenizer's own. A text may hold line ends; they are characters like others.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Self

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.inputs.copying import ExtendedTokenizer
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers
from wenmai.data.text.lines import Lines, with_ends
from wenmai.errors import Mistake

WRITTEN = 1 << 14  # tokens of one text, at the most


class TargetTexts:
    def __init__(self, tokenizer, longest: int, most: int):
        """`longest`: tokens of the longest text that was learned from, its end among them: no longer one is written. `most`: how
        many of a text are read at all."""
        self.lines, self.longest, self.most = Lines(tokenizer), longest, most
        self.tokenizer, self.vocabulary, self.unit, self.special = (
            tokenizer,
            len(self.lines),
            self.lines.unit,
            self.lines.special,
        )

    @classmethod
    def learn(
        cls,
        texts: list[str],
        most: int,
        *,
        vocabulary: int = 30_000,
        lowercase: bool | None = None,
        **tokenizing,
    ) -> Self:
        """Letters stay as they are, capital or small, unless it is said otherwise: what is written is for people to read."""
        if vocabulary <= len(tokenizers.SPECIAL):
            own = len(tokenizers.SPECIAL)
            raise Mistake(
                "vocabulary={size}: expected at least {least}; {own} are signs of our own, such as <unk>.",
                size=vocabulary,
                least=own + 1,
                own=own,
            )
        learned = cls(
            tokenizers.learn(texts, vocabulary=vocabulary, lowercase=bool(lowercase), **tokenizing),
            1,
            most,
        )
        if not learned.knows_tokens():
            count = len(texts)
            raise Mistake(
                "the {texts} texts hold no token that is known; expected letters or words to write with.",
                texts=count,
            )
        learned.longest = int(learned.encode(texts).lengths.max())
        return learned

    @property
    def written(self) -> int:
        """How many tokens of a text are written at the most, whatever a file says."""
        return min(self.longest, WRITTEN)

    def knows_tokens(self) -> bool:
        """Beside those that are special."""
        return self.vocabulary > len(self.special.numbers)

    def encode(self, texts: list[str]) -> Sequences:
        """Every row ends with the token that closes a text, unless it is longer than `most` and cut there."""
        rows = self.tokenizer.encode(texts)
        flat, starts = with_ends(rows.flat, rows.offsets, self.special.end)
        lengths = np.minimum(np.diff(starts), self.most)
        offsets = offsets_of(lengths)
        return Sequences(
            flat[np.repeat(starts[:-1] - offsets[:-1], lengths) + np.arange(offsets[-1])], offsets
        )

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Of every token."""
        own = set(self.special.numbers)
        return {
            token: number for number, token in enumerate(self.tokenizer.tokens) if number not in own
        }

    def knowing(self, words: Collection[str]) -> Self:
        """The same, that can also write these words: their numbers follow on the vocabulary's."""
        return (
            TargetTexts(ExtendedTokenizer(self.tokenizer, words), self.longest, self.most)
            if words
            else self
        )

    def text(self, numbers: list[int]) -> str:
        return "".join(self.pieces(numbers))

    def pieces(self, numbers: Iterable[int]) -> Iterator[str]:
        """The text of these numbers up to its end, each piece as soon as it can be written. A text that is cut into bytes has a
        space before it, which is taken away again."""
        spaced = self.tokenizer.kind == "bpe"
        for piece in self.lines.pieces([], numbers, 1, False):
            yield piece.removeprefix(" ") if spaced else piece
            spaced = False

    def cut(self, rows: Sequences) -> int:
        """How many of these encoded texts are longer than what is read of them."""
        return int((rows.flat[rows.offsets[1:] - 1] != self.special.end).sum()) if len(rows) else 0

    def to_json(self) -> dict:
        return {"tokenizer": self.tokenizer.to_json(), "longest": self.longest, "most": self.most}

    @classmethod
    def from_json(cls, saved) -> Self:
        tokenizer = tokenizers.from_json(take.value(saved, "tokenizer"))
        texts = cls(tokenizer, take.integer(saved, "longest", 1), take.integer(saved, "most", 1))
        if not texts.knows_tokens() or texts.longest > texts.most:
            raise take.Unfit('"tokenizer" knows nothing, or "longest" is above "most"')
        return texts
