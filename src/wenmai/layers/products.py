"""Products with a few vectors, for a text that is written token by token on a CPU.

    y = W x + b

Every weight is read once and used for a few numbers, so that memory is what it takes: machine code that reads W row by row was
2.4 times as fast for one vector as the library's product, which is made for matrices.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from numba import njit
from torch import Tensor
from torch.nn import functional

from wenmai.data.threads import side_by_side, threads

FEW = 8  # rows, up to which this is the faster way
SHARED = 1_000_000  # weights, from which it pays to share the rows of W among threads


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x Wᵀ + b, x (B, T, E); of a few vectors that no gradient is asked for, by a product of its own."""
    if x.numel() // x.shape[-1] > FEW or not plain(x) or weight.dtype != torch.float32:
        return functional.linear(x, weight, bias)
    w, given = weight.detach().numpy(), x.detach().reshape(-1, x.shape[-1]).contiguous().numpy()
    found = np.empty((len(given), len(w)), np.float32)
    b = np.zeros(len(w), np.float32) if bias is None else bias.detach().numpy()
    cuts = [0, len(w)] if w.size < SHARED else np.linspace(0, len(w), threads() + 1).astype(np.int64).tolist()
    side_by_side(part_of, [(w, b, given, found, *part) for part in itertools.pairwise(cuts)])
    return torch.from_numpy(found).view(*x.shape[:-1], len(w))


def plain(x: Tensor) -> bool:
    """Float32 on a CPU, and no gradient is asked for."""
    return (x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_grad_enabled()
            and not torch.is_autocast_enabled("cpu") and not torch.compiler.is_compiling())  # fmt: skip


@njit(cache=True, nogil=True, fastmath=True)
def part_of(w, b, x, found, start, end):
    times(w[start:end], b[start:end], x, found[:, start:end])


@njit(cache=True, nogil=True, fastmath=True)
def times(w, b, x, found):
    """found = x Wᵀ + b: four rows of x at a time, then what is left of them."""
    row = 0
    while row + 4 <= len(x):
        x0, x1, x2, x3 = x[row], x[row + 1], x[row + 2], x[row + 3]
        for i in range(len(b)):
            s0 = s1 = s2 = s3 = np.float32(0)
            for j in range(w.shape[1]):
                weight = w[i, j]
                s0 += weight * x0[j]
                s1 += weight * x1[j]
                s2 += weight * x2[j]
                s3 += weight * x3[j]
            found[row, i], found[row + 1, i] = s0 + b[i], s1 + b[i]
            found[row + 2, i], found[row + 3, i] = s2 + b[i], s3 + b[i]
        row += 4
    if row + 2 <= len(x):
        x0, x1 = x[row], x[row + 1]
        for i in range(len(b)):
            s0 = s1 = np.float32(0)
            for j in range(w.shape[1]):
                s0 += w[i, j] * x0[j]
                s1 += w[i, j] * x1[j]
            found[row, i], found[row + 1, i] = s0 + b[i], s1 + b[i]
        row += 2
    if row < len(x):
        for i in range(len(b)):
            found[row, i] = dot(w[i], x[row]) + b[i]


@njit(cache=True, nogil=True, fastmath=True)
def dot(a, b):
    total = np.float32(0)
    for d in range(len(b)):
        total += a[d] * b[d]
    return total
