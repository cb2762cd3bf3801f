"""What a network says of a running text, token by token, as it reads on.

A body that carries a state reads the text once, from end to end. Another looks back on `steps` tokens and no further: it reads
windows of them that lie over one another, and from each only the last `stride` tokens are taken, which have seen the most:

    ├─────────── steps ───────────┤
                 ├─────────── steps ───────────┤     every token is said from at least steps − stride before it;
                                ├───stride─────┤     a stride of 1 gives every token all that the network can see

Windows do not wait for one another, so that many are read at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from wenmai.data.examples.batches import Batch, by_length
from wenmai.data.text.vocabulary import END
from wenmai.errors import Mistake

READ = 1 << 14  # tokens that are read at once
TABLE = 1 << 22  # numbers of a table (tokens, V) that are held at once


class Said(NamedTuple):
    """Of N tokens that follow one another."""

    tokens: np.ndarray  # (N,)
    log_probs: np.ndarray  # (N,) float64, each after all that stands before it
    y: Tensor  # (N, H) what the head read before it said each


class Reader:
    """Reads on from text to text; the first opens as a line does, after the end of the line before it."""

    def __init__(self, writer, stride: int | None = None):
        self.writer, self.state, self.past = writer, None, np.array([END], np.int64)
        self.stride = stride_of(writer, stride)

    @torch.no_grad()
    def read(self, tokens: np.ndarray) -> Iterator[Said]:
        known = np.concatenate([self.past, tokens])
        if self.writer.carried:
            for start in range(0, len(known) - 1, READ):
                piece = known[start : start + READ + 1]
                y, self.state = body(self.writer, piece[None, :-1], self.state)
                yield said(self.writer, y[0], piece[1:])
            self.past = known[-1:]
            return
        for starts, size, first in windows(len(known) - 1, len(self.past) - 1, self.writer.steps, self.stride):
            pieces = known[starts[:, None] + np.arange(size + 1)]  # (B, size + 1)
            y, _ = body(self.writer, pieces[:, :-1], None)
            yield said(self.writer, y[:, first:].flatten(0, 1), pieces[:, first + 1 :].ravel())
        self.past = known[-(self.writer.steps - self.stride + 1) :]

    def log_probs(self, tokens: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(found.log_probs for found in self.read(tokens))])


def stride_of(writer, stride: int | None) -> int | None:
    """None where there are no windows."""
    if writer.carried:
        return None
    if stride is not None and not 1 <= stride <= writer.steps:
        raise Mistake("stride={stride}: expected 1 to {most}, how many tokens this model looks back on.", stride=stride,
                      most=writer.steps)  # fmt: skip
    return stride or max(1, writer.steps - writer.steps // 2)


def windows(count: int, done: int, steps: int, stride: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """(where some windows start, their size, the first step of each that counts), so that of `count` steps all but those done
    count once, in their order."""
    first = min(steps, count)
    if done < first:
        yield np.zeros(1, np.int64), first, done
        done = first
    whole = done + stride * np.arange(1, (count - done) // stride + 1)  # where windows end
    for ends in np.array_split(whole, -(-len(whole) * steps // READ)) if len(whole) else ():
        yield ends - steps, steps, steps - stride
    done = int(whole[-1]) if len(whole) else done
    if done < count:
        yield np.array([count - steps]), steps, steps - (count - done)


def body(writer, tokens: np.ndarray | Tensor, state: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """y (B, T, H) after each of these tokens (B, T), and the state after the last."""
    x, mask = writer.input(batch := batch_of(tokens, writer.device, state))
    y, _, state = writer.body(x, mask, batch.state)
    return y, state


def said(writer, y: Tensor, wanted: np.ndarray) -> Said:
    """The whole vocabulary is written out for some of the tokens at a time."""
    rows, columns = max(1, TABLE // writer.head.width), torch.from_numpy(wanted.astype(np.int64)).to(y.device)
    pieces = zip(y.split(rows), columns.split(rows))
    found = torch.cat([writer.head.outputs(part).gather(1, column[:, None])[:, 0] for part, column in pieces])
    return Said(wanted, found.double().cpu().numpy(), y)


@torch.no_grad()
def alone(writer, tokens: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Σ log p of every line, each as if nothing stood before it."""
    found, lengths = np.empty(len(starts) - 1), np.diff(starts)
    for rows in by_length(np.minimum(lengths, READ), READ):
        longest = int(lengths[rows].max())
        if longest > (READ if writer.carried else writer.steps):
            for at in rows:
                found[at] = Reader(writer).log_probs(tokens[starts[at] : starts[at + 1]]).sum()
            continue
        places = np.minimum(starts[rows][:, None] + np.arange(longest), len(tokens) - 1)
        wanted, real = tokens[places], np.arange(longest) < lengths[rows][:, None]  # (B, T)
        y, _ = body(writer, np.concatenate([np.full((len(rows), 1), END), wanted[:, :-1]], 1), None)
        each = said(writer, y.flatten(0, 1), wanted.ravel()).log_probs.reshape(wanted.shape)
        found[rows] = (each * real).sum(1)
    return found


def batch_of(tokens: np.ndarray | Tensor, device: torch.device, state: Tensor | None) -> Batch:
    inputs = torch.as_tensor(tokens, dtype=torch.int64).to(device)
    return Batch(inputs, torch.ones(inputs.shape, dtype=torch.bool, device=device), state=state)
