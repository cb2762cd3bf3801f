"""Progress: what training yields, whoever trains. The command line draws it, the report plots it, a test takes three."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from wenmai.data.storage import saved as take
from wenmai.errors import Mistake


class Diverged(Mistake):
    """The loss is no number any more, and going back did not help: there is nothing to go on with."""


@dataclass
class Snapshot:
    """All that training knows at a step: named arrays, and facts for JSON. From it, training goes on as if never stopped."""

    arrays: dict[str, np.ndarray]
    facts: dict
    inputs: dict | None = None  # what was learned of the inputs before, where it is at hand

    def part(self, name: str) -> dict[str, np.ndarray]:
        """The arrays whose names begin with `name.`, without it."""
        return {
            key[len(name) + 1 :]: array
            for key, array in self.arrays.items()
            if key.startswith(f"{name}.")
        }

    def like(self, **known) -> list[np.ndarray]:
        """The arrays of these names, each of the type and shape of the one (NumPy's or torch's) that training knows by that name;
        Unfit otherwise. What is compiled trusts them. A file has no single numbers, only rows of one."""
        kinds = {
            name: np.dtype(str(one.dtype).removeprefix("torch.")) for name, one in known.items()
        }
        shapes = {
            name: tuple(one.shape) or (np.shape(self.arrays.get(name)) and (1,))
            for name, one in known.items()
        }
        return [take.array(self.arrays, name, kinds[name], *shapes[name]) for name in known]


def score_in(saved: object, key: str = "score") -> float | None:
    return None if take.value(saved, key) is None else take.number(saved, key, finite=False)


@dataclass
class Progress:
    step: int  # updates made so far
    steps: int  # updates planned
    epoch: float  # passes over the data so far
    loss: float  # mean training loss since the last Progress
    rate: float  # learning rate now
    seconds: float  # since training began
    score: float | None = (
        None  # the task's metric on the held-out part, where it was measured at this step
    )
    note: str = ""  # what happened, in a sentence, where something did
    plan: dict = field(
        default_factory=dict
    )  # where one is made: the options that fix how long training is
    warning: str = ""  # what went wrong and was put right, in a sentence, where something did
    passing: bool = False  # a sign of life between two that count; it is not kept
    snapshot: Callable[[], Snapshot] | None = field(
        default=None, repr=False, compare=False
    )  # to be called before the next

    @property
    def seconds_left(self) -> float | None:
        """Until its last update, at the speed so far; nothing is known of it before the first."""
        return (
            self.seconds / self.step * (self.steps - self.step)
            if 0 < self.step < self.steps and not self.note
            else None
        )

    @classmethod
    def from_json(cls, saved: dict) -> "Progress":
        """What `to_json` gave; Unfit if it did not. A loss may be infinite, or nobody knows it (NaN)."""
        values = {
            name: take.number(saved, name, finite=False)
            for name in ("epoch", "loss", "rate", "seconds")
        }
        values["score"] = score_in(saved)
        return cls(
            step=take.integer(saved, "step"),
            steps=take.integer(saved, "steps"),
            note=take.text(saved, "note"),
            **values,
        )

    def to_json(self) -> dict:
        kept = ("step", "steps", "epoch", "loss", "rate", "seconds", "score", "note")
        return {name: getattr(self, name) for name in kept}
