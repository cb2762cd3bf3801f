"""Batches of tensors, the protocol of what gives them, and how rows become batches: those of like length together, so that
little time goes into padding."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol, Self

import numpy as np
from torch import Tensor

NOTHING = -100  # stands where a text that is written is over; the loss passes it by


@dataclass
class Batch:
    inputs: Tensor  # (B, T) tokens, (B, T, F) frames, (B, F) numbers, (B, rows, columns) images, (B,) labels
    mask: Tensor  # (B, T), True at real positions
    target: Tensor | None = None  # (B,) or (B, T), as the task says
    target_mask: Tensor | None = None  # (B, T), where the target is a text of a length of its own
    segment: Tensor | None = None  # (B, T) which text of a pair
    example: Tensor | None = (
        None  # (B,) which example each row is a window of, where examples are read in windows
    )
    answers: Tensor | None = (
        None  # (B, W) the places that answer, where not all do; −1 where a row has fewer
    )
    copies: Tensor | None = (
        None  # (B, T) the number of each token that is read in the vocabulary of what is written
    )
    form: Tensor | None = (
        None  # (B, T), or (B, W): which row of `letters` spells the token, or the word
    )
    letters: Tensor | None = None  # (U, K) the distinct tokens of the batch, letter by letter
    state: Tensor | None = (
        None  # (B, S) what a network came to in the batch before, where a stream goes on; or a Cache
    )
    places: Tensor | None = (
        None  # (M,) which of the B·T places are hidden; the target (M,) is what stood there
    )
    follows: Tensor | None = None  # (B,) True where the second text of a pair follows the first
    real: Tensor | None = (
        None  # (ΣT,) which of the B·T places are real, where a body reads rows end to end (layers/packing.py)
    )
    bounds: Tensor | None = None  # (B + 1,) where rows begin and end among those
    rows: np.ndarray | None = None  # which examples these are

    def to(self, device: str) -> Self:
        tensors = {f.name: getattr(self, f.name) for f in fields(self)}
        tensors = {name: t for name, t in tensors.items() if isinstance(t, Tensor)}
        if device.startswith(
            "cuda"
        ):  # from memory that stays where it is, so that the processor goes on meanwhile
            tensors = {name: t if t.is_cuda else t.pin_memory() for name, t in tensors.items()}
        return replace(
            self, **{name: t.to(device, non_blocking=True) for name, t in tensors.items()}
        )


class ExampleSource(Protocol):
    """What training reads: rows of inputs and targets (rows.py), a stream of running text (streams.py), windows of either.

    What is random in a batch comes from its generator, which follows from seed and step, so that a resumed run draws the same.
    All pieces of a batch are given one in the same state: what is drawn for a row should follow from that and from its number.
    """

    carries: bool  # the state a network came to in one batch is where the next begins
    one_shape: bool  # that all batches have

    @property
    def lengths(self) -> np.ndarray:
        """The cost of every row in tokens."""

    def suited_batch(self) -> int:
        """How many tokens a batch has, where nobody says."""

    def epochs(self, tokens: int, seed: int, done: int = 0) -> Iterator[tuple[int, np.ndarray]]:
        """(epoch, rows of a batch) without end, from the batch number `done` on; epoch n is a function of seed and n alone."""

    def opens(self, rows: np.ndarray) -> bool:
        """Whether nothing was read before these rows that a state could be carried on from."""

    def batch(self, rows: np.ndarray, generator: np.random.Generator | None = None) -> Batch: ...


def endless(
    epoch: Callable[[np.random.Generator], Sequence[np.ndarray]], seed: int, done: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """(number of the epoch, rows of a batch): epoch after epoch, each drawn from seed and number, from batch `done` on."""
    number = 0
    while True:
        batches = epoch(np.random.default_rng((seed, number)))
        for rows in batches[done:]:
            yield number, rows
        done, number = max(0, done - len(batches)), number + 1


def shuffled(lengths: np.ndarray, tokens: int, generator: np.random.Generator) -> list[np.ndarray]:
    """One epoch: rows in random order, sorted by length within pools of some 50 batches, the batches shuffled again.

    A batch holds about `tokens` tokens, padding counted.
    """
    order = generator.permutation(len(lengths))
    pool = max(64, int(50 * tokens / max(1.0, lengths.mean())))
    batches = []
    for start in range(0, len(order), pool):
        part = order[start : start + pool]
        batches += cut(part[np.argsort(lengths[part], kind="stable")], lengths, tokens)
    return [batches[at] for at in generator.permutation(len(batches))]


def by_length(lengths: np.ndarray, tokens: int) -> list[np.ndarray]:
    """All rows once, the shortest first: for prediction, where order is put back afterwards."""
    return cut(np.argsort(lengths, kind="stable"), lengths, tokens)


def cut(rows: np.ndarray, lengths: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Rows that are sorted by length, cut where rows × longest would pass `tokens`."""
    batches, start = [], 0
    while start < len(rows):
        size = max(1, tokens // lengths[rows[start]])
        while size > 1 and size * lengths[rows[min(start + size, len(rows)) - 1]] > tokens:
            size = max(
                1, min(size - 1, int(tokens // lengths[rows[min(start + size, len(rows)) - 1]]))
            )
        batches.append(rows[start : start + size])
        start += size
    return batches
