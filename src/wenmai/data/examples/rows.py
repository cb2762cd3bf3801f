"""Examples: encoded inputs and their targets, row for row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wenmai.data.examples.sequences import Sequences


@dataclass
class Examples:
    inputs: Sequences | np.ndarray  # tokens or frames of any length; or numbers (N, F) and images (N, height, width)
    targets: Sequences | np.ndarray | None = None  # (N,) class numbers, or what the task at hand wants; one a step: Sequences
    written: Sequences | None = None  # texts that are to be written, as tokens, each as long as it is

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, rows: np.ndarray) -> Examples:
        parts = (self.inputs, self.targets, self.written)
        return Examples(*(None if values is None else taken(values, rows) for values in parts))

    def windows(self, longest: int) -> Examples:
        """Where there is a target a step, a long row may be read in pieces: none of its steps goes unread."""
        targets = self.targets.windows(longest) if isinstance(self.targets, Sequences) else self.targets
        return Examples(self.inputs.windows(longest), targets)


def numbered(targets) -> tuple[np.ndarray, np.ndarray]:
    """The distinct targets in order, and which of them every row has. Of a list of texts no array is made: each would take
    the room of the longest."""
    if not isinstance(targets, list) or set(map(type, targets)) != {str}:
        targets = np.asarray(targets)
        distinct, which = np.unique(targets, return_inverse=True)
        return distinct, which.reshape(targets.shape)
    number = {target: at for at, target in enumerate(dict.fromkeys(targets))}
    distinct, place = np.unique(np.array(list(number)), return_inverse=True)
    return distinct, place[np.fromiter(map(number.__getitem__, targets), np.int32, len(targets))]


def taken(values: Sequences | np.ndarray, rows: np.ndarray):
    return values.take(rows) if isinstance(values, Sequences) else values[rows]
