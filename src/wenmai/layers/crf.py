"""The conditional random field over a chain of tags (Lafferty, McCallum & Pereira 2001; on top of a network: Huang et al. 2015).

    score of a path     s(y) = begin[y₁] + Σ_t e_t[y_t] + Σ_t A[y_{t−1}, y_t] + end[y_T]       e_t = W h_t + b
    all paths together  log Z = log Σ_y e^{s(y)},  step by step:  α_t[j] = e_t[j] + log Σ_i e^{α_{t−1}[i] + A[i,j]}
    loss                log Z − s(right path)
    best path           the same recursion with max for log Σ (Viterbi 1967)
    chance of a tag     ∂ log Z / ∂ e_t[j]

A transition that the scheme forbids (I-PER after B-LOC) has the weight −10,000 and no gradient.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

from wenmai.data.batches import Batch
from wenmai.data.sequences import Sequences
from wenmai.layers.dropout import Dropout

NEVER = -1e4


class CRF(nn.Module):
    per_step = True
    has_probabilities = True

    def __init__(self, width: int, classes: int, dropout: float, allowed: tuple[np.ndarray, ...] | None):
        """`allowed`: which tag may begin a row (C,), follow another (C, C), end a row (C,)."""
        super().__init__()
        self.dropout, self.emission, self.width = Dropout(dropout), nn.Linear(width, classes), classes
        sizes = (classes,), (classes, classes), (classes,)
        self.begin, self.between, self.end = (nn.Parameter(torch.zeros(size)) for size in sizes)
        allowed = allowed or tuple(np.ones(size, bool) for size in sizes)
        for name, may in zip(("may_begin", "may_follow", "may_end"), allowed):
            self.register_buffer(name, torch.from_numpy(may), persistent=False)

    def weights(self) -> tuple[Tensor, Tensor, Tensor]:
        pairs = (self.begin, self.may_begin), (self.between, self.may_follow), (self.end, self.may_end)
        return tuple(torch.where(may, weight.float(), NEVER) for weight, may in pairs)

    def transitions(self) -> tuple[np.ndarray, ...]:
        return tuple(weight.numpy(force=True) for weight in self.weights())

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.emission(self.dropout(y)).float()  # (B, T, C)

    def loss(self, y: Tensor, mask: Tensor, batch: Batch) -> tuple[Tensor, Tensor | int]:
        emissions = self.outputs(y, mask)
        with torch.autocast(emissions.device.type, enabled=False):
            weights = self.weights()
            total = log_partition(emissions, mask, *weights) - path_score(emissions, mask, batch.target, *weights)
        return total[mask.any(1)].sum(), mask.sum()

    def probabilities(self, emissions: Sequences) -> np.ndarray:
        """Of every tag at every place (ΣT, C), all paths considered."""
        found = np.empty_like(emissions.flat)
        weights = [torch.from_numpy(weight) for weight in self.transitions()]
        for row in range(len(emissions)):
            e = torch.from_numpy(emissions[row].copy()).unsqueeze(0).requires_grad_()
            if e.shape[1]:
                everywhere = torch.ones(e.shape[:2], dtype=torch.bool)
                (chance,) = torch.autograd.grad(log_partition(e, everywhere, *weights).sum(), e)
                found[emissions.offsets[row] : emissions.offsets[row + 1]] = chance[0].numpy()
        return found


def log_partition(emissions: Tensor, mask: Tensor, begin: Tensor, between: Tensor, end: Tensor) -> Tensor:
    """log Z of every row (B,). The sum over i is a product with the matrix e^A, the largest α taken out of it."""
    grown = between.exp()  # (C, C), 0 where forbidden
    alpha = begin + emissions[:, 0]  # (B, C)
    for t in range(1, emissions.shape[1]):
        top = alpha.amax(1, keepdim=True).detach()
        reached = ((alpha - top).exp() @ grown).clamp(min=1e-37).log() + top + emissions[:, t]
        alpha = torch.where(mask[:, t, None], reached, alpha)
    return (alpha + end).logsumexp(1)


def path_score(emissions: Tensor, mask: Tensor, tags: Tensor, begin: Tensor, between: Tensor, end: Tensor) -> Tensor:
    """s(y) of every row (B,)."""
    chosen = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)  # (B, T)
    steps = between[tags[:, :-1], tags[:, 1:]]  # (B, T − 1)
    last = tags.gather(1, (mask.sum(1, keepdim=True) - 1).clamp(min=0)).squeeze(1)
    return (chosen * mask).sum(1) + (steps * mask[:, 1:]).sum(1) + begin[tags[:, 0]] + end[last]


def best_paths(emissions: Sequences, begin: np.ndarray, between: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The best tag of every place (ΣT,), row by row."""
    flat = np.ascontiguousarray(emissions.flat, np.float32)
    path = np.zeros(len(flat), np.int64)
    viterbi(flat, emissions.offsets, begin, np.ascontiguousarray(between), end, path)
    return path


@njit(cache=True)
def viterbi(emissions, offsets, begin, between, end, path):
    classes = emissions.shape[1]
    best, further = np.empty(classes, np.float64), np.empty(classes, np.float64)
    longest = 1
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    came_from = np.empty((longest, classes), np.int32)
    for row in range(len(offsets) - 1):
        first, after = offsets[row], offsets[row + 1]
        if first == after:
            continue
        for j in range(classes):
            best[j] = begin[j] + emissions[first, j]
        for t in range(first + 1, after):
            for j in range(classes):
                top, where = best[0] + between[0, j], 0
                for i in range(1, classes):
                    score = best[i] + between[i, j]
                    if score > top:
                        top, where = score, i
                further[j], came_from[t - first, j] = top + emissions[t, j], where
            best, further = further, best
        at = 0
        for j in range(classes):
            if best[j] + end[j] > best[at] + end[at]:
                at = j
        for t in range(after - 1, first, -1):
            path[t] = at
            at = came_from[t - first, at]
        path[first] = at
