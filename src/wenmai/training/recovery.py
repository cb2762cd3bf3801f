"""Recovery: what training goes back to, once, when a loss is no longer a number, and then with a lower learning rate."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from wenmai.data.storage import saved as take
from wenmai.locale import Message
from wenmai.training.progress import score_in

LOWERED = 0.1  # of the learning rate is left after a loss that was no number


@dataclass(frozen=True)
class TrainState:
    """Where training stands, beside weights and moments."""

    step: int = 0
    best: float | None = None  # score so far
    worse: int = 0  # scores since then
    lowered: bool = False  # the learning rate, after a loss that was no number
    micro_batches: int = 1  # that a batch is read in

    @classmethod
    def from_json(cls, saved: object, steps: int) -> "TrainState":
        return cls(
            take.integer(saved, "step", 0, steps),
            score_in(saved, "best"),
            take.integer(saved, "worse"),
            take.flag(saved, "lowered"),
            take.integer(saved, "micro_batches", 1, 1 << 20),
        )


class Failure(NamedTuple):
    step: int
    rows: str  # of its batch, as messages name them

    @classmethod
    def of(cls, step: int, rows: np.ndarray, where: Callable[[int], str]) -> "Failure":
        first, others = where(int(rows[0])), len(rows) - 1
        return cls(
            step,
            Message("{where}, and {count} other rows of its batch", where=first, count=others)
            if others
            else first,
        )


class Recovery:
    """The last good state, and the batches since whose losses were not looked at yet."""

    def __init__(self, state: TrainState, weights: dict[str, Tensor]):
        self.good: tuple[TrainState, dict[str, Tensor]] | None = (state, weights)
        self.unseen: list[np.ndarray] = []  # rows of each batch

    def failure(
        self, losses: list[Tensor], step: int, where: Callable[[int], str]
    ) -> Failure | None:
        """The first of the losses not looked at yet that is no number; `step` is how many updates were made."""
        unseen, self.unseen = self.unseen, []
        finite = torch.stack(losses[-len(unseen) :]).isfinite().tolist()
        if all(finite):
            return None
        first = finite.index(False)
        return Failure.of(step - len(unseen) + 1 + first, unseen[first], where)

    def lower(self, micro_batches: int) -> tuple[TrainState, dict[str, Tensor]]:
        """The last good state, to go on from with a lower learning rate."""
        state, weights = self.good
        self.good = replace(state, lowered=True, micro_batches=micro_batches), weights
        return self.good
