"""The conditional random field over a chain of tags (Lafferty, McCallum & Pereira 2001; on top of a network: Huang et al. 2015).

    score of a path     s(y) = begin[y₁] + Σ_t e_t[y_t] + Σ_t A[y_{t−1}, y_t] + end[y_T]       e_t = W h_t + b
    all paths together  log Z = log Σ_y e^{s(y)},  step by step:  α_t[j] = e_t[j] + log Σ_i e^{α_{t−1}[i] + A[i,j]}
    loss                log Z − s(right path)
    best path           the same recursion with max for log Σ (Viterbi 1967)
    chance of a tag     ∂ log Z / ∂ e_t[j]

A transition that the scheme forbids (I-PER after B-LOC) has the weight −10,000 and no gradient.

log Z and its gradients come from one compiled pass forward and one back (`Partition`), which a step of time in torch would take
a dozen calls for; `log_partition` is the formula written out, and a test holds both equal.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.data.examples.sequences import Sequences
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
            right = path_score(emissions, mask, batch.target, *weights)
            total = Partition.apply(emissions, mask, *weights) - right[mask.any(1)].sum()
        return total, mask.sum()

    def probabilities(self, emissions: Sequences) -> np.ndarray:
        """Of every tag at every place (ΣT, C), all paths considered."""
        flat = np.ascontiguousarray(emissions.flat, np.float32)
        return forward_backward(flat, emissions.offsets, *self.transitions())[1].astype(np.float32)


class Partition(torch.autograd.Function):
    """Σ log Z over the rows of a batch (a number); the gradients are found on the way."""

    @staticmethod
    def forward(ctx, emissions: Tensor, mask: Tensor, begin: Tensor, between: Tensor, end: Tensor) -> Tensor:
        flat = emissions[mask]  # (ΣT, C)
        offsets = np.zeros(len(mask) + 1, np.int64)
        np.cumsum(mask.sum(1).numpy(force=True), out=offsets[1:])
        arrays = (array.detach().numpy(force=True) for array in (begin, between, end))
        total, *gradients = forward_backward(flat.detach().numpy(force=True), offsets, *arrays)
        chances, *others = (torch.from_numpy(g).to(emissions.device, emissions.dtype) for g in gradients)
        spread = torch.zeros_like(emissions)
        spread[mask] = chances
        ctx.save_for_backward(spread, *others)
        return emissions.new_tensor(total)

    @staticmethod
    def backward(ctx, grad: Tensor):
        spread, begin, between, end = ctx.saved_tensors
        return spread * grad, None, begin * grad, between * grad, end * grad


@njit(cache=True, fastmath={"reassoc", "contract"})
def forward_backward(emissions, offsets, begin, between, end):
    """Rows laid end to end (ΣT, C) → Σ log Z, and its gradients: the chance of every tag at every place (ΣT, C), of every tag
    to begin a row, of every pair, of every tag to end one. Each step is divided by its sum, so that nothing under- or overflows.
    """
    classes = emissions.shape[1]
    total, top = 0.0, between.max()
    grown, most = np.exp((between - top).astype(np.float64)), end.max()
    into = grown.T.copy()  # (to, from): what is summed over stands side by side
    ending = np.exp((end - most).astype(np.float64))
    chance = np.zeros((len(emissions), classes))
    first_chance, pair_chance, last_chance = np.zeros(classes), np.zeros((classes, classes)), np.zeros(classes)
    longest = 1
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    alpha, local, beta, further = np.empty((longest, classes)), np.empty((longest, classes)), np.empty(classes), np.empty(classes)
    for row in range(len(offsets) - 1):
        start, size = offsets[row], offsets[row + 1] - offsets[row]
        if size == 0:
            continue
        for t in range(size):
            highest, sum_ = -np.inf, 0.0
            for j in range(classes):
                local[t, j] = emissions[start + t, j] + (begin[j] if t == 0 else 0.0)
                highest = max(highest, local[t, j])
            for j in range(classes):
                local[t, j] = np.exp(local[t, j] - highest)
                reached = 1.0
                if t:
                    reached = 0.0
                    for i in range(classes):
                        reached += alpha[t - 1, i] * into[j, i]
                alpha[t, j] = reached * local[t, j]
                sum_ += alpha[t, j]
            sum_ = max(sum_, 1e-300)
            for j in range(classes):
                alpha[t, j] /= sum_
                local[t, j] /= sum_
            total += highest + np.log(sum_) + (top if t else 0.0)
        sum_ = 0.0
        for j in range(classes):
            sum_ += alpha[size - 1, j] * ending[j]
        sum_ = max(sum_, 1e-300)
        total += most + np.log(sum_)
        for j in range(classes):
            beta[j] = ending[j] / sum_
            chance[start + size - 1, j] = alpha[size - 1, j] * beta[j]
            last_chance[j] += chance[start + size - 1, j]
        for t in range(size - 2, -1, -1):
            for j in range(classes):  # weights in the hundreds leave the range of numbers; a chance does not
                beta[j] = min(beta[j] * local[t + 1, j], 1e300)
            for i in range(classes):
                after = 0.0
                for j in range(classes):
                    step = grown[i, j] * beta[j]
                    after += step
                    pair_chance[i, j] += alpha[t, i] * step
                further[i] = after
                chance[start + t, i] = min(1.0, alpha[t, i] * after)
            beta, further = further, beta
        for j in range(classes):
            first_chance[j] += chance[start, j]
    return total, chance, first_chance, pair_chance, last_chance


def log_partition(emissions: Tensor, mask: Tensor, begin: Tensor, between: Tensor, end: Tensor) -> Tensor:
    """log Z of every row (B,), as the formula has it."""
    alpha = begin + emissions[:, 0]  # (B, C)
    for t in range(1, emissions.shape[1]):
        reached = emissions[:, t] + (alpha.unsqueeze(2) + between).logsumexp(1)  # over i of (B, i, j)
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
