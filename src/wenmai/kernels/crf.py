"""The passes of a conditional random field as machine code (formulas: layers/crf.py): forward and back for log Z and its
gradients, and the best path.

A step of time in torch would take a dozen calls; here a batch is one."""

import numpy as np
import torch
from torch import Tensor

from wenmai.data.storage.caches import njit


class Partition(torch.autograd.Function):
    """Σ log Z over the rows of a batch (a number); the gradients are found on the way."""

    @staticmethod
    def forward(
        ctx, emissions: Tensor, mask: Tensor, begin: Tensor, transitions: Tensor, end: Tensor
    ) -> Tensor:
        flat = emissions[mask]  # (ΣT, C)
        offsets = np.zeros(len(mask) + 1, np.int64)
        np.cumsum(mask.sum(1).numpy(force=True), out=offsets[1:])
        arrays = (array.detach().numpy(force=True) for array in (begin, transitions, end))
        total, *gradients = forward_backward(flat.detach().numpy(force=True), offsets, *arrays)
        chances, *others = (
            torch.from_numpy(g).to(emissions.device, emissions.dtype) for g in gradients
        )
        spread = torch.zeros_like(emissions)
        spread[mask] = chances
        ctx.save_for_backward(spread, *others)
        return emissions.new_tensor(total)

    @staticmethod
    def backward(ctx, grad: Tensor):
        spread, begin, transitions, end = ctx.saved_tensors
        return spread * grad, None, begin * grad, transitions * grad, end * grad


@njit(cache=True, fastmath={"reassoc", "contract"})
def forward_backward(emissions, offsets, begin, transitions, end):
    """Rows laid end to end (ΣT, C) → Σ log Z, and its gradients: the chance of every tag at every place (ΣT, C), of every tag
    to begin a row, of every pair, of every tag to end one. Each step is divided by its sum, so that nothing under- or overflows.
    """
    classes = emissions.shape[1]
    total, top = 0.0, transitions.max()
    grown, most = np.exp((transitions - top).astype(np.float64)), end.max()
    into = grown.T.copy()  # (to, from): what is summed over stands side by side
    ending = np.exp((end - most).astype(np.float64))
    chance = np.zeros((len(emissions), classes))
    first_chance, pair_chance, last_chance = (
        np.zeros(classes),
        np.zeros((classes, classes)),
        np.zeros(classes),
    )
    longest = 1
    for row in range(len(offsets) - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    alpha, local, beta, further = (
        np.empty((longest, classes)),
        np.empty((longest, classes)),
        np.empty(classes),
        np.empty(classes),
    )
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
            for j in range(
                classes
            ):  # weights in the hundreds leave the range of numbers; a chance does not
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


@njit(cache=True)
def viterbi(emissions, offsets, begin, transitions, end, path):
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
                top, where = best[0] + transitions[0, j], 0
                for i in range(1, classes):
                    score = best[i] + transitions[i, j]
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
