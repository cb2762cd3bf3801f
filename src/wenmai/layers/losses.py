"""A loss as a head gives it: a sum and the count that it is divided by, apart, so that pieces of a batch and processes add up.

update = Σ_losses weight · (Σ total) / (Σ count),   both sums over all pieces and processes
"""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor


class Loss(NamedTuple):
    name: str
    weight: float
    total: Tensor  # Σ over what is counted
    count: Tensor | int


def weighted(losses: Sequence[Loss], counts: Sequence[Tensor | int]) -> Tensor:
    """Σ weight · total / count, with the counts of the whole batch that these losses may be a piece of."""
    return sum(loss.weight * loss.total / count for loss, count in zip(losses, counts))
