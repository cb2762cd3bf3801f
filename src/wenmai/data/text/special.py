"""Tokens that stand for no part of a text. Every vocabulary has those it has, where it has them: its tokenizer is asked."""

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Self

from wenmai.data.storage import saved as take
from wenmai.locale import Listed

SPECIAL = [
    "<pad>",
    "<unk>",
    "<sep>",
    "<bos>",
    "<eos>",
    "<mask>",
]  # of the tokenizers that are learned here


@dataclass(frozen=True)
class Special:
    """The number of each; None where a vocabulary has no such token."""

    pad: int | None = None  # fills rows up
    unknown: int | None = None  # a word that is not known
    begin: int | None = None  # stands before a text
    end: int | None = None  # closes a text, or a line of one
    separator: int | None = None  # stands between two texts
    mask: int | None = None  # hides a word that is to be guessed

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """All that there are, in their order."""
        return tuple(sorted({number for number in asdict(self).values() if number is not None}))

    @property
    def unwritten(self) -> tuple[int, ...]:
        """Those that never follow anything in a text, among them none that is known to stand there: not its end, and not what is
        unknown, which stands for words."""
        return tuple(number for number in self.numbers if number not in (self.end, self.unknown))

    @cached_property
    def unsaid(self) -> frozenset[int]:
        """Those that are left out when tokens are put into words: all but what is unknown."""
        return frozenset(self.numbers) - {self.unknown}

    def opening(self, vocabulary: int) -> int:
        """What stands before a line where lines are counted: `begin`, or, where there is none, or one for both ends of a text,
        the number behind the vocabulary's last."""
        return vocabulary if self.begin in (None, self.end) else self.begin

    def to_json(self) -> dict:
        return {name: number for name, number in asdict(self).items() if number is not None}

    @classmethod
    def from_json(cls, saved: dict, vocabulary: int) -> Self:
        """Unfit if a number is none of the vocabulary's."""
        if not isinstance(saved, dict) or not saved.keys() <= {field.name for field in fields(cls)}:
            raise take.Unfit("the special tokens are not those that a vocabulary may have")
        for name, number in saved.items():
            if not take.is_integer(number) or number >= vocabulary:
                raise take.Unfit(
                    "the special token {name} has the number {actual}, which the vocabulary lacks",
                    name=name,
                    actual=take.summary(number),
                )
        return cls(**saved)


OWN = Special(*map(SPECIAL.index, ("<pad>", "<unk>", "<bos>", "<eos>", "<sep>", "<mask>")))


def beginning_special(tokens: list[str]) -> list[str]:
    """The tokens in the order of their numbers, if those come first that every tokenizer has."""
    if tokens[: len(SPECIAL)] != SPECIAL:
        raise take.Unfit("the tokens do not begin with {names}", names=Listed(SPECIAL))
    return tokens
