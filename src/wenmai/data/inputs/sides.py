"""Sides: what an encoder–decoder reads, one of the kinds of inputs.py, and the texts that it writes. Pairs: both are texts."""

from __future__ import annotations

import numpy as np

from wenmai.data.inputs.target_texts import WRITTEN, TargetTexts
from wenmai.data.storage import saved as take
from wenmai.data.text import tokenizers
from wenmai.errors import Mistake, unknown
from wenmai.locale import Message, phrase
from wenmai.options import Size

SPARE = 10  # tokens that may be written beyond what the length of the text that is read says
ALMOST_ALL = 0.99  # of the texts that it learned from may be written for any text, however short


class Sides:
    def __init__(self, source, target: TargetTexts):
        self.source, self.target = source, target
        self.kind, self.unit = source.kind, target.unit  # of what is read; of what is written
        self.longest = max(source.longest, target.most)

    def encode(self, values):
        return self.source.encode(values)

    def notes(self, values) -> list[str]:
        return self.source.notes(values) + self.target.lines.notes(None)

    def to_json(self) -> dict:
        return {"kind": "sides", "source": self.source.to_json(), "target": self.target.to_json()}


class Pairs(Sides):
    """Texts in, texts out: numbered alike, and closed alike. `joint`: one tokenizer has learned from both."""

    def __init__(self, source: TargetTexts, target: TargetTexts, growth: float, usual: int):
        """`growth`: tokens written for each that was read, at the most, where these are more than `usual`."""
        self.source, self.target, self.kind, self.unit = source, target, "tokens", target.unit
        self.growth, self.usual, self.joint = growth, usual, source.tokenizer is target.tokenizer
        self.longest = max(source.most, target.most)

    @classmethod
    def learn(
        cls,
        sources: list[str],
        targets: list[str],
        *,
        max_length: Size = 512,
        target_tokenizer: str = "auto",
        joint: bool | None = None,
        **tokenizing,
    ) -> Pairs:
        """`max_length` tokens of a text are read, and written, at the most; `target_tokenizer`: of the texts that are written, as
        `tokenizer` is of those that are read; `joint`: both are cut by one tokenizer (where both are cut into subwords, unless
        said)."""
        tokenizing = {"vocabulary": 8_000} | tokenizing
        first = tokenizing.pop("tokenizer", "auto")
        second = first if target_tokenizer == "auto" else target_tokenizer
        kinds = [
            suited(texts) if kind == "auto" else kind
            for kind, texts in ((first, sources), (second, targets))
        ]
        for name, kind in zip(("tokenizer", "target_tokenizer"), kinds):
            if kind not in tokenizers.KINDS:
                raise unknown(name, kind, ("auto", *tokenizers.KINDS))
        if joint and kinds[0] != kinds[1]:
            raise Mistake(
                "joint=True goes with one tokenizer for both sides; found {read} for the texts that are read and "
                "{written} for those that are written.",
                read=kinds[0],
                written=kinds[1],
            )
        joint = kinds[0] == kinds[1] and kinds[0] in tokenizers.SUBWORDS if joint is None else joint
        if joint:
            both = TargetTexts.learn(
                [*sources, *targets], max_length, tokenizer=kinds[0], **tokenizing
            )
            source, target = both, TargetTexts(both.tokenizer, 1, max_length)
            target.longest = int(target.encode(targets).lengths.max())
        else:
            source, target = (
                TargetTexts.learn(texts, max_length, tokenizer=kind, **tokenizing)
                for texts, kind in zip((sources, targets), kinds)
            )
        source_lengths, target_lengths = (
            side.encode(texts).lengths for side, texts in ((source, sources), (target, targets))
        )
        usual = int(np.quantile(target_lengths, ALMOST_ALL, method="higher"))
        return cls(
            source, target, 2 * int(target_lengths.sum()) / max(1, int(source_lengths.sum())), usual
        )

    def spelled(self, texts: list[str]) -> list[list[str]]:
        """The tokens of every text that is read."""
        return self.source.tokenizer.spelled(texts)

    def most(self, lengths: np.ndarray) -> np.ndarray:
        """How many tokens are written, at the most, for texts of so many tokens."""
        grown = np.minimum(self.growth * lengths, WRITTEN).astype(np.int64) + SPARE
        return np.minimum(min(self.target.most, WRITTEN), np.maximum(self.usual, grown))

    def notes(self, values) -> list[str]:
        if self.joint:
            return [
                Message(
                    "both sides are cut by one tokenizer, {kind}: {count:,} tokens known",
                    kind=self.target.tokenizer.kind,
                    count=self.target.vocabulary,
                )
            ]
        (kind, count), (own_kind, own_count) = (
            (side.tokenizer.kind, side.vocabulary) for side in (self.source, self.target)
        )
        return [
            Message(
                "what is read is cut into {kind}: {count:,} tokens known", kind=kind, count=count
            ),
            Message(
                "what is written is cut into {kind}: {count:,} tokens known",
                kind=own_kind,
                count=own_count,
            ),
        ]

    def to_json(self) -> dict:
        return {
            "kind": "pairs",
            "source": self.source.to_json(),
            "joint": self.joint,
            "growth": self.growth,
            "usual": self.usual,
            "target": {"longest": self.target.longest} if self.joint else self.target.to_json(),
        }

    @classmethod
    def from_json(cls, saved) -> Pairs:
        source, target = (
            TargetTexts.from_json(take.value(saved, "source")),
            take.value(saved, "target"),
        )
        growth = take.value(saved, "growth")
        if not take.is_number(growth) or not 0 < growth < 1e6:
            raise take.unfit("growth", growth, phrase("saved", "a number above 0"))
        usual = take.integer(saved, "usual", 1)
        if not take.flag(saved, "joint"):
            return cls(source, TargetTexts.from_json(target), growth, usual)
        longest = take.integer(target, "longest", 1)
        if longest > source.most:
            raise take.Unfit('"longest" is above "most"')
        return cls(source, TargetTexts(source.tokenizer, longest, source.most), growth, usual)


def suited(texts: list[str]) -> str:
    """Subwords, and characters where a tokenizer would choose these: Chinese and its neighbours, and a few words each."""
    return "characters" if tokenizers.suited(texts) == "characters" else "bpe"
