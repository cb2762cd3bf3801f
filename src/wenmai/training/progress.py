"""Progress: what training yields, whoever trains. The command line draws it, the report plots it, a test takes three."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase


class Diverged(Mistake):
    """The loss is no number any more, and going back did not help: there is nothing to go on with."""


def shown_rows(rows: np.ndarray, where: Callable[[int], str]) -> str:
    """'films.csv, line 7, and 3 other rows of its batch'"""
    first = where(int(rows[0]))
    if len(rows) == 1:
        return first
    return Message("{where}, and {count} other rows of its batch", where=first, count=len(rows) - 1)


@dataclass
class Snapshot:
    """All that training knows at a step: named arrays, and facts for JSON. From it, training goes on as if never stopped."""

    arrays: dict[str, np.ndarray]
    facts: dict
    inputs: dict | None = None  # what was learned of the inputs before, where it is at hand

    def part(self, name: str) -> dict[str, np.ndarray]:
        """The arrays whose names begin with `name.`, without it."""
        return {key[len(name) + 1 :]: array for key, array in self.arrays.items() if key.startswith(f"{name}.")}


@dataclass
class Progress:
    step: int  # updates made so far
    steps: int  # updates planned
    epoch: float  # passes over the data so far
    loss: float  # mean training loss since the last Progress
    rate: float  # learning rate now
    seconds: float  # since training began
    score: float | None = None  # the task's metric on the held-out part, where it was measured at this step
    note: str = ""  # what happened, in a sentence, where something did
    plan: dict = field(default_factory=dict)  # at step 0: the options that fix how long training is
    warning: str = ""  # what went wrong and was put right, in a sentence, where something did
    passing: bool = False  # a sign of life between two that count; it is not kept
    snapshot: Callable[[], Snapshot] | None = field(default=None, repr=False, compare=False)  # to be called before the next

    @classmethod
    def from_json(cls, saved: dict) -> "Progress":
        """What `to_json` gave; Unfit if it did not. A loss may be infinite, or nobody knows it (NaN)."""
        values = {name: take.value(saved, name) for name in ("epoch", "loss", "rate", "seconds", "score")}
        for name, value in values.items():
            if not (take.is_whole(value) or isinstance(value, float) or (value is None and name == "score")):
                raise take.unfit(name, value, phrase("saved", "a number"))
        return cls(step=take.whole(saved, "step"), steps=take.whole(saved, "steps"), note=take.text(saved, "note"), **values)

    def to_json(self) -> dict:
        kept = ("step", "steps", "epoch", "loss", "rate", "seconds", "score", "note")
        return {name: getattr(self, name) for name in kept}
