"""Products with a few vectors, for a text that is written token by token on a CPU.

    y = W x + b

Every weight is read once and used once, so that memory is what it takes: machine code that reads W row by row was 2.4 times as
fast as the library's product, which is made for matrices. Attention of one query is two such products with a softmax between.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.threads import side_by_side, threads

FEW = 4  # rows, up to which this is the faster way
SHARED = 1_000_000  # weights, from which it pays to share the rows of W among threads


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """What the layer makes of x (B, T, E); of a few vectors that no gradient is asked for, by a product of its own."""
    return product(x, layer.weight, layer.bias)


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if not few(x, x.numel() // x.shape[-1]) or weight.dtype != torch.float32:
        return functional.linear(x, weight, bias)
    w, given = weight.detach().numpy(), x.detach().reshape(-1, x.shape[-1]).contiguous().numpy()
    found = np.empty((len(given), len(w)), np.float32)
    b = np.zeros(len(w), np.float32) if bias is None else bias.detach().numpy()
    if w.size < SHARED or threads() == 1:
        rows_of(w, given, b, found, 0, len(w))
    else:
        cuts = np.linspace(0, len(w), threads() + 1).astype(np.int64)
        side_by_side(rows_of, [(w, given, b, found, start, end) for start, end in itertools.pairwise(cuts)])
    return torch.from_numpy(found).view(*x.shape[:-1], len(w))


def few(x: Tensor, rows: int) -> bool:
    return (rows <= FEW and not x.is_cuda and x.dtype == torch.float32 and not torch.is_grad_enabled()
            and not torch.is_autocast_enabled("cpu") and not torch.compiler.is_compiling())  # fmt: skip


def look(q: Tensor, k: Tensor, v: Tensor, factor: float) -> Tensor:
    """Of one query a head (B, A, 1, D), what it takes from (B, A, S, D): softmax(q kᵀ · factor) v"""
    found = np.empty(q.shape, np.float32)
    mixed(q.numpy(), k.numpy(), v.numpy(), np.float32(factor), found)
    return torch.from_numpy(found)


@njit(cache=True, nogil=True, fastmath=True)
def rows_of(w, x, b, found, start, end):
    for i in range(start, end):
        for row in range(len(x)):
            total = np.float32(0)
            for j in range(w.shape[1]):
                total += w[i, j] * x[row, j]
            found[row, i] = total + b[i]


@njit(cache=True, nogil=True, fastmath=True)
def mixed(q, k, v, factor, found):
    rows, heads, _, size = q.shape
    weights = np.empty(k.shape[2], np.float32)
    for row in range(rows):
        for head in range(heads):
            highest, total = np.float32(-3e38), np.float32(0)
            for s in range(k.shape[2]):
                score = np.float32(0)
                for d in range(size):
                    score += q[row, head, 0, d] * k[row, head, s, d]
                weights[s] = score * factor
                highest = max(highest, weights[s])
            for s in range(k.shape[2]):
                weights[s] = np.exp(weights[s] - highest)
                total += weights[s]
            for d in range(size):
                found[row, head, 0, d] = 0
            for s in range(k.shape[2]):
                share = weights[s] / total
                for d in range(size):
                    found[row, head, 0, d] += share * v[row, head, s, d]
