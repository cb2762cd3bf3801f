"""The exercises of memory, as frames of numbers: what is drawn, what is learned, and when a length counts as remembered.

copy         T symbols out of 8, a delimiter and T blanks, each as 10 numbers of which one is 1; tags are the answer
running-sum  T whole numbers below 100; the sum so far at each
adding       T values with a mark beside, 1 at two of them; the sum of those two

copy is judged by the share of rows that are right at every step, the sums by the squared error of the last (for adding the only)
answer over the variance of what was wanted."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from wenmai.data.builtin import memory
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences, joined, offsets_of
from wenmai.data.inputs.kinds import Frames
from wenmai.models.network import Network
from wenmai.tasks.regress import Regress
from wenmai.tasks.tag import Tag

EXACT, ERROR = (
    0.99,
    0.01,
)  # the share of rows that copy has to write exactly; the share of the variance that sums may miss
MARKS = [*memory.SYMBOLS, memory.DELIMITER, memory.BLANK]
PIECE = 1 << 13  # steps that are judged at once
AT_ONCE = 4096  # rows that are drawn at once


@dataclass(frozen=True)
class Exercise:
    name: str
    task: Callable  # () → a fresh task
    draw: Callable  # (generator, rows, T) → inputs (Sequences of frames), targets
    higher_is_better: bool
    bar: float
    last: Callable  # (outputs of the network, batch) → Σ loss of the last answers

    def passes(self, score: float) -> bool:
        return score >= self.bar if self.higher_is_better else score <= self.bar

    def surely(self, score: float) -> bool:
        """Clearly enough to stop training; on other rows it will pass too."""
        return score >= (2 + self.bar) / 3 if self.higher_is_better else score <= 0.7 * self.bar

    def examples(self, kind: Frames, task, generator, rows: int, steps: int) -> Examples:
        """Drawn some at a time: as numbers of 64 bits and lists of tags they are many times as large."""
        inputs, targets = [], []
        for start in range(0, rows, AT_ONCE):
            some, answers = self.draw(generator, min(AT_ONCE, rows - start), steps)
            inputs.append(kind.encode(some))
            targets.append(task.encode(answers))
        return Examples(joined(inputs), joined(targets), longest=1 << 20)

    def score(self, network: Network, examples: Examples, device: str) -> float:
        """Of rows that are all equally long."""
        size = max(1, PIECE // int(examples.inputs.lengths.max()))
        right, errors, expected = [], [], []
        with torch.no_grad():
            for start in range(0, len(examples), size):
                batch = examples.batch(np.arange(start, min(start + size, len(examples)))).to(
                    device
                )
                answered = network(batch)
                if self.higher_is_better:
                    right.append((answered.argmax(-1) == batch.target).all(1).cpu())
                    continue
                target = batch.target.view(answered.shape).double()
                answered, target = (
                    value[:, -1] if value.dim() == 3 else value
                    for value in (answered.double(), target)
                )
                errors.append((answered - target).square().cpu())
                expected.append(target.cpu())
        if self.higher_is_better:
            return float(torch.cat(right).double().mean())
        return float(torch.cat(errors).mean() / torch.cat(expected).var(correction=0))


def copies(generator, rows: int, steps: int):
    symbols = generator.integers(0, len(memory.SYMBOLS), (rows, steps))  # (N, T)
    inputs = np.full((rows, 2 * steps + 1), MARKS.index(memory.BLANK))  # (N, 2T + 1)
    inputs[:, :steps], inputs[:, steps] = symbols, MARKS.index(memory.DELIMITER)
    return frames(np.eye(len(MARKS))[inputs]), memory.copied(symbols)[1]


def sums(generator, rows: int, steps: int):
    inputs = generator.integers(0, memory.BELOW, (rows, steps))  # (N, T)
    return frames(inputs[..., None]), frames(inputs.cumsum(1)[..., None])


def pairs(generator, rows: int, steps: int):
    inputs, target = memory.marked_pairs(generator, rows, steps)
    return frames(inputs), target


def frames(table: np.ndarray) -> Sequences:
    """(N, T, F) → N rows of T frames"""
    rows, steps, features = table.shape
    return Sequences(
        table.reshape(rows * steps, features).astype(np.float64), offsets_of(np.full(rows, steps))
    )


def last_number(outputs, batch):
    answered, expected = outputs.double(), batch.target.view(outputs.shape).double()
    return (
        ((answered[:, -1] - expected[:, -1]) if outputs.dim() == 3 else (answered - expected))
        .square()
        .sum()
    )


EXERCISES = {
    exercise.name: exercise
    for exercise in (
        Exercise(
            "copy",
            lambda: Tag(scheme="plain"),
            copies,
            True,
            EXACT,
            lambda outputs, batch: -outputs[:, -1].gather(1, batch.target[:, -1:]).sum(),
        ),
        Exercise("running-sum", Regress, sums, False, ERROR, last_number),
        Exercise("adding", Regress, pairs, False, ERROR, last_number),
    )
}
