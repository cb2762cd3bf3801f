"""Examples → batches of tensors, rows of like length together, so that little time goes into padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences

LETTERS = 24  # of a token that are read: its beginning
NOTHING = -100  # stands where a text that is written is over; the loss passes it by


@dataclass
class Batch:
    inputs: Tensor  # (B, T) tokens, (B, T, F) frames, (B, F) numbers, (B, rows, columns) images, (B,) labels
    mask: Tensor  # (B, T), True at real positions
    target: Tensor | None = None  # (B,) or (B, T), as the task says
    target_mask: Tensor | None = None  # (B, T), where the target is a text of a length of its own
    segment: Tensor | None = None  # (B, T) which text of a pair
    copies: Tensor | None = None  # (B, T) the number of each token that is read in the vocabulary of what is written
    form: Tensor | None = None  # (B, T) which row of `letters` spells the token
    letters: Tensor | None = None  # (U, K) the distinct tokens of the batch, letter by letter
    state: Tensor | None = None  # (B, S) what a network came to in the batch before, where a stream goes on; or a Cache
    rows: np.ndarray | None = None  # which examples these are

    def to(self, device: str) -> Batch:
        tensors = {f.name: getattr(self, f.name) for f in fields(self)}
        moved = {name: t.to(device, non_blocking=True) for name, t in tensors.items() if isinstance(t, Tensor)}
        return replace(self, **moved)


def is_stream(examples: Examples) -> bool:
    """Running text, whose rows are windows (streams.py)."""
    return hasattr(examples.inputs, "steps")


def make_batch(examples: Examples, rows: np.ndarray, longest: int = 512) -> Batch:
    if is_stream(examples):
        return examples.inputs.batch(rows)
    if not isinstance(examples.inputs, Sequences):
        values, mask, beside = examples.inputs[rows], np.ones((len(rows), 1), bool), {}
    else:
        values, mask, beside = examples.inputs.padded(rows, longest)
        values = values.astype(np.int64) if values.dtype == np.int32 else values
    if "form" in beside:  # a word that stands in the batch ten times is spelled once
        forms, at = np.unique(beside["form"], return_inverse=True)
        beside = beside | {"form": at.reshape(mask.shape), "letters": examples.inputs.letters.padded(forms, LETTERS)[0]}
    if examples.targets is not None:
        targets = examples.targets
        beside["target"] = targets.padded(rows, longest)[0] if isinstance(targets, Sequences) else targets[rows]
    if examples.written is not None:
        beside["target"], beside["target_mask"], _ = examples.written.padded(rows, longest, NOTHING)
    beside = {name: array.astype(np.int64) if array.dtype.kind == "i" else array for name, array in beside.items()}
    tensors = {name: torch.from_numpy(array) for name, array in beside.items()}
    return Batch(torch.from_numpy(values), torch.from_numpy(mask), rows=rows, **tensors)


def lengths_of(examples: Examples, longest: int = 512) -> np.ndarray:
    """The cost of every row in tokens, read and written; a row of fixed size counts as a typical sentence, or, where a text is
    written, as nothing beside it."""
    if is_stream(examples):
        return np.full(len(examples.inputs), examples.inputs.steps)
    read = np.clip(examples.inputs.lengths, 1, longest) if isinstance(examples.inputs, Sequences) else None
    if examples.written is not None:
        return np.clip(examples.written.lengths, 1, longest) + (0 if read is None else read)
    return np.full(len(examples), 16) if read is None else read


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
            size = max(1, min(size - 1, int(tokens // lengths[rows[min(start + size, len(rows)) - 1]])))
        batches.append(rows[start : start + size])
        start += size
    return batches


def epochs(examples: Examples, tokens: int, seed: int, longest: int = 512, done: int = 0) -> Iterator[tuple[int, np.ndarray]]:
    """(epoch, rows of a batch) without end, from the batch number `done` on; epoch n is a function of seed and n alone."""
    if is_stream(examples):
        yield from examples.inputs.epochs(tokens, seed, done)
    lengths, epoch = lengths_of(examples, longest), 0
    while True:
        batches = shuffled(lengths, tokens, np.random.default_rng((seed, epoch)))
        for rows in batches[done:]:
            yield epoch, rows
        done, epoch = max(0, done - len(batches)), epoch + 1
