"""Examples: encoded inputs and their targets, row for row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wenmai.data.sequences import Sequences


@dataclass
class Examples:
    inputs: Sequences | np.ndarray  # tokens or frames of any length; or numbers (N, F) and images (N, height, width)
    targets: np.ndarray | None = None  # (N,) class numbers, or what the task at hand wants

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, rows: np.ndarray) -> Examples:
        inputs = self.inputs.take(rows) if isinstance(self.inputs, Sequences) else self.inputs[rows]
        return Examples(inputs, None if self.targets is None else self.targets[rows])
