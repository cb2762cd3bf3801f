"""A stream: running text as one row of tokens, read in windows of T steps, each token the target of the one before it.

    carried     the text lies in B columns side by side; a batch is the next T steps of all of them, and the state a network
                came to in one is where the next begins (truncated backpropagation, Williams & Peng 1990)
    by itself   a batch is B windows from anywhere, every window once an epoch

In every epoch windows begin somewhere else: a function of seed and epoch.
"""

from collections.abc import Iterator

import numpy as np
import torch

from wenmai.data.examples.batches import Batch, endless
from wenmai.errors import Mistake


class Stream:
    """What training reads of running text (ExampleSource): rows are windows, named by where they begin."""

    one_shape = True

    def __init__(self, tokens: np.ndarray, steps: int, carries: bool):
        if len(tokens) < 2:
            raise Mistake(
                "found {tokens} tokens, expected at least 2: one to read and one to come after it.",
                tokens=len(tokens),
            )
        self.tokens, self.steps, self.carries = tokens, min(steps, len(tokens) - 1), carries

    def __len__(self) -> int:
        """Windows."""
        return -(-(len(self.tokens) - 1) // self.steps)

    @property
    def lengths(self) -> np.ndarray:
        return np.full(len(self), self.steps)

    def suited_batch(self) -> int:
        """About 300 updates an epoch, of up to 16,384 tokens, or 20 of 512 where there is little: every step has a target."""
        total = len(self) * self.steps
        return max(1, min(512, total // 20), min(16_384, total // 300))

    def columns(self, tokens: int) -> int:
        """How many windows a batch of about so many tokens has: of each column there are two at least."""
        return max(1, min(tokens // self.steps, (len(self.tokens) - 1) // (2 * self.steps)))

    def epochs(self, tokens: int, seed: int, done: int = 0) -> Iterator[tuple[int, np.ndarray]]:
        """(epoch, where the windows of a batch begin) without end, from the batch number `done` on."""
        return endless(lambda generator: self.batches(tokens, generator), seed, done)

    def batches(self, tokens: int, generator: np.random.Generator) -> np.ndarray:
        """(batches, B)"""
        columns, steps = self.columns(tokens), self.steps
        shift = int(generator.integers(0, steps))
        if self.carries:
            length = (len(self.tokens) - 1 - shift) // columns
            return (
                shift
                + np.arange(0, length - steps + 1, steps)[:, None]
                + length * np.arange(columns)
            )
        starts = np.arange(shift, len(self.tokens) - steps, steps)
        starts = generator.permutation(starts if len(starts) else np.zeros(1, np.int64))
        return starts[: len(starts) // columns * columns].reshape(-1, columns)

    def opens(self, starts: np.ndarray) -> bool:
        """Whether these windows are the first of their columns: nothing was read before them."""
        return not self.carries or int(starts[0]) < self.steps

    def batch(self, starts: np.ndarray, generator: np.random.Generator | None = None) -> Batch:
        tokens = self.tokens[starts[:, None] + np.arange(self.steps + 1)].astype(
            np.int64
        )  # (B, T + 1)
        inputs, target = torch.from_numpy(tokens[:, :-1]), torch.from_numpy(tokens[:, 1:])
        return Batch(
            inputs.contiguous(),
            torch.ones(inputs.shape, dtype=torch.bool),
            target.contiguous(),
            rows=starts,
        )
