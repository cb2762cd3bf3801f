"""What a head says of a batch: one loss or several, each a sum with its own count.

    an update follows from  Σ weight · total / count,  totals and counts summed over pieces and processes first
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Loss(NamedTuple):
    name: str
    weight: float
    total: Tensor  # a number, with its gradient
    count: Tensor | int  # of what it is a sum
