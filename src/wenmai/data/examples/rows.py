"""Examples: encoded inputs and their targets, row for row."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch

from wenmai.data.examples.batches import NOTHING, Batch, endless, shuffled
from wenmai.data.examples.sequences import Sequences
from wenmai.data.values import pick

LETTERS = 24  # of a token that are read: its beginning
FIXED = 16  # tokens that a row of fixed size counts as: a typical sentence


@dataclass
class Examples:
    """What training reads of rows (ExampleSource); no more than `longest` steps of each."""

    inputs: (
        Sequences | np.ndarray
    )  # tokens or frames of any length; or numbers (N, F) and images (N, height, width)
    targets: Sequences | np.ndarray | None = (
        None  # (N,) class numbers, or what the task at hand wants; one a step: Sequences
    )
    written: Sequences | None = (
        None  # texts that are to be written, as tokens, each as long as it is
    )
    longest: int = 512
    carries = one_shape = False

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def lengths(self) -> np.ndarray:
        """The cost of every row in tokens, read and written; a row of fixed size counts as a typical sentence, or, where a text
        is written, as nothing beside it."""
        inputs = (
            np.clip(self.inputs.costs, 1, self.longest)
            if isinstance(self.inputs, Sequences)
            else None
        )
        if self.written is not None:
            return np.clip(self.written.lengths, 1, self.longest) + (
                0 if inputs is None else inputs
            )
        return np.full(len(self), FIXED) if inputs is None else inputs

    def suited_batch(self) -> int:
        """About 100 updates an epoch, with 512 to 8192 tokens each, or 20 where there is too little for that, but no fewer than
        eight rows: small data needs many steps, large data large ones."""
        total = int(self.lengths.sum())
        return max(8 * total // len(self), min(512, total // 20), min(8192, total // 100))

    def epochs(self, tokens: int, seed: int, done: int = 0) -> Iterator[tuple[int, np.ndarray]]:
        lengths = self.lengths
        return endless(lambda generator: shuffled(lengths, tokens, generator), seed, done)

    def opens(self, rows: np.ndarray) -> bool:
        return True

    def batch(self, rows: np.ndarray, generator: np.random.Generator | None = None) -> Batch:
        if not isinstance(self.inputs, Sequences):
            values, mask, beside = self.inputs[rows], np.ones((len(rows), 1), bool), {}
        else:
            values, mask, beside = self.inputs.padded(rows, self.longest)
            values = values.astype(np.int64) if values.dtype == np.int32 else values
            if self.inputs.example is not None:
                beside["example"] = self.inputs.example[rows]
        if "form" in beside:  # a word that stands in the batch ten times is spelled once
            forms, at = np.unique(beside["form"], return_inverse=True)
            beside = beside | {
                "form": at.reshape(beside["form"].shape),
                "letters": self.inputs.letters.padded(forms, LETTERS)[0],
            }
        if self.targets is not None:
            targets = self.targets
            beside["target"] = (
                targets.padded(rows, self.longest)[0]
                if isinstance(targets, Sequences)
                else targets[rows]
            )
        if self.written is not None:
            beside["target"], beside["target_mask"], _ = self.written.padded(
                rows, self.longest, NOTHING
            )
        beside = {
            name: array.astype(np.int64) if array.dtype.kind == "i" else array
            for name, array in beside.items()
        }
        tensors = {name: torch.from_numpy(array) for name, array in beside.items()}
        return Batch(torch.from_numpy(values), torch.from_numpy(mask), rows=rows, **tensors)

    def take(self, rows: np.ndarray) -> Self:
        parts = {name: getattr(self, name) for name in ("inputs", "targets", "written")}
        return replace(
            self,
            **{name: pick(values, rows) for name, values in parts.items() if values is not None},
        )

    def windows(self, longest: int, stride: int | None = None) -> Self:
        """The same in rows of at most `longest` steps: a longer one becomes several, and none of its steps goes unread. With a
        `stride` they overlap: one begins every so many steps. A target a step is cut alike, one a row goes with every window."""
        inputs, targets, written = self.inputs.windows(longest, stride), self.targets, self.written
        if inputs.example is not None:
            per_step = isinstance(targets, Sequences)
            targets = (
                targets.cut_as(inputs)
                if per_step
                else None
                if targets is None
                else targets[inputs.example]
            )
            written = None if written is None else written.take(inputs.example)
        return replace(self, inputs=inputs, targets=targets, written=written, longest=longest)

    def example_of(self, row: int) -> int:
        """The number of the example that a row is, or is a window of."""
        return (
            row
            if not isinstance(self.inputs, Sequences) or self.inputs.example is None
            else int(self.inputs.example[row])
        )
