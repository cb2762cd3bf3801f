"""Labels that are read: one of a few names for every row, by which a text is asked for."""

from __future__ import annotations

import numpy as np

from wenmai.data.files.columns import listed, short
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake, nearest
from wenmai.locale import Message


class Labels:
    kind, unit, longest = "labels", "words", 1

    def __init__(self, names: list[str]):
        self.names, self.count = names, len(names)
        self.numbers = {name: number for number, name in enumerate(names)}

    @classmethod
    def learn(cls, values) -> Labels:
        return cls(sorted(set(map(named, values, range(len(values))))))

    def encode(self, values) -> np.ndarray:
        """(N,)"""
        return np.fromiter(
            (self.number(value, row) for row, value in enumerate(values)), np.int64, len(values)
        )

    def number(self, value, row: int) -> int:
        label = named(value, row)
        if label not in self.numbers:
            where, known, label = (
                Message("row {row}", row=row + 1),
                listed(nearest(label[:60], self.names), 8),
                short(label),
            )
            raise Mistake(
                "{where}: the label {label!r} is not among the trained ones: {names}.",
                where=where,
                label=label,
                names=known,
            )
        return self.numbers[label]

    def notes(self, values) -> list[str]:
        return [Message("labels are read: {known} known", known=self.count)]

    def to_json(self) -> dict:
        return {"kind": self.kind, "names": self.names}

    @classmethod
    def from_json(cls, saved) -> Labels:
        names = take.texts(saved, "names")
        if not names or sorted(set(names)) != names:
            raise take.Unfit('"names" are not in order, or none')
        return cls(names)


def named(value, row: int) -> str:
    """A label as it is written; whole numbers are names too."""
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
        return str(value)
    raise Mistake(
        "input {row}: expected a label, found {type} {value!r}.",
        row=row + 1,
        type=type(value).__name__,
        value=str(value)[:40],
    )
