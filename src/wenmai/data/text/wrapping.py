"""What stands around texts that are read together: [CLS] a [SEP] b [SEP] (Devlin et al. 2019), or only [SEP] between two."""

from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.storage import saved as take
from wenmai.data.text.special import Special


@dataclass(frozen=True)
class Wrapping:
    """Numbers of tokens: `before` the first text, `between` it and the second, `after` the last. `second`: the segment of the
    second text and of what stands after it; the first has 0."""

    before: tuple[int, ...] = ()
    between: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    second: int = 1

    @classmethod
    def of(cls, special: Special) -> Self:
        """[CLS] a [SEP] b [SEP], in the tokens of a vocabulary that was learned here."""
        return cls((special.begin,), (special.separator,), (special.separator,))

    def wrapped(
        self, first: Sequences, second: Sequences | None = None, longest: int | None = None
    ) -> Sequences:
        """No row has more than `longest` tokens: of two texts the longer one is cut first. `uncut` says how long rows were."""
        parts, marks, end = [first], [self.before, self.after], [0, 0]
        if second is not None:
            parts, marks, end = (
                [first, second],
                [self.before, self.between, self.after],
                [0, 0, self.second],
            )
        room = None if longest is None else max(0, longest - sum(map(len, marks)))
        lengths = shortened([part.lengths for part in parts], room)
        offsets = offsets_of(sum(lengths) + sum(map(len, marks)))
        flat, segment, at = (
            np.empty(offsets[-1], np.int32),
            np.zeros(offsets[-1], np.int8),
            offsets[:-1].copy(),
        )
        for number, mark in enumerate(marks):
            for token in mark:
                flat[at], segment[at] = token, end[number]
                at = at + 1
            if number < len(parts):
                size, part = lengths[number], parts[number]
                steps = np.arange(size.sum()) - np.repeat(offsets_of(size)[:-1], size)
                places = np.repeat(at, size) + steps
                flat[places] = part.flat[np.repeat(part.starts, size) + steps]
                segment[places] = self.second if number else 0
                at = at + size
        rows = Sequences(flat, offsets, {"segment": segment})
        rows.uncut = sum(part.lengths for part in parts) + sum(map(len, marks))
        return rows

    def to_json(self) -> dict:
        return asdict(self)

    @classmethod
    def from_json(cls, saved: dict, vocabulary: int) -> Self:
        """Unfit where a number is none of the vocabulary's."""
        parts = [
            tuple(take.integers(saved, name, 0, vocabulary - 1))
            for name in ("before", "between", "after")
        ]
        return cls(*parts, take.integer(saved, "second", 0, 1))


def shortened(lengths: list[np.ndarray], room: int | None) -> list[np.ndarray]:
    """The same where they fit; else the longer one gives way until it is as long as the other, then both."""
    if room is None:
        return lengths
    if len(lengths) == 1:
        return [np.minimum(lengths[0], room)]
    less, more = np.minimum(*lengths), np.maximum(*lengths)
    more = np.where(less + more > room, np.maximum(less, room - less), more)
    over = less + more > room
    less, more = np.where(over, room // 2, less), np.where(over, room // 2 + room % 2, more)
    first_less = lengths[0] <= lengths[1]
    return [np.where(first_less, less, more), np.where(first_less, more, less)]
