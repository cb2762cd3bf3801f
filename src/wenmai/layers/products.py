"""Products with a few vectors, for a text that is written token by token on a CPU.

    y = W x + b

Every weight is read once and used for a few numbers, so that memory is what it takes: machine code that reads W row by row was
2.4 times as fast for one vector as the library's product, which is made for matrices.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor
from torch.nn import functional

from wenmai.data.threads import side_by_side, threads

FEW = 8  # rows, up to which this is the faster way
SOME = 64  # rows, up to which the library is the faster the other way round
EVEN = 16
SHARED = 1_000_000  # weights, from which it pays to share the rows of W among threads


def product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x Wᵀ + b, x (B, T, E); of a few vectors that no gradient is asked for, by a product of its own."""
    if x.numel() // x.shape[-1] > FEW or not plain(x) or weight.dtype != torch.float32:
        return functional.linear(x, weight, bias)
    w, given = weight.detach().numpy(), x.detach().reshape(-1, x.shape[-1]).contiguous().numpy()
    found = np.empty((len(given), len(w)), np.float32)
    b = np.zeros(len(w), np.float32) if bias is None else bias.detach().numpy()
    shares = parts(len(w), threads() if w.size >= SHARED else 1)
    side_by_side(part_of, [(w, b, given, found, *share) for share in shares])
    return torch.from_numpy(found).view(*x.shape[:-1], len(w))


def said(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """log softmax(x Wᵀ + b). The library multiplies W by some vectors up to twice as fast as these by Wᵀ, and half as fast again
    where every row of the result begins at an even place."""
    rows = x.numel() // x.shape[-1]
    if not plain(x) or weight.dtype != x.dtype or rows <= FEW:
        return product(x, weight, bias).float().log_softmax(-1)
    found, given = x.new_empty(rows, -(-len(weight) // EVEN) * EVEN), x.reshape(rows, -1)
    found[:, len(weight) :] = float("-inf")
    if rows <= SOME:
        turned(torch.mm(weight, given.mT).numpy(), bias.detach().numpy(), found.numpy())
    else:
        torch.addmm(bias, given, weight.mT, out=found[:, : len(weight)])
    return found.log_softmax(-1).view(*x.shape[:-1], -1)[..., : len(weight)]


@njit(cache=True, nogil=True)
def turned(y, b, found):
    """found = yᵀ + b, in squares that stay in the cache"""
    for first in range(0, len(y), EVEN):
        last = min(first + EVEN, len(y))
        for row in range(y.shape[1]):
            for i in range(first, last):
                found[row, i] = y[i, row] + b[i]


def parts(size: int, many: int) -> list[tuple[int, int]]:
    """0 to `size` in so many parts: (where each begins, where it ends)"""
    return [(size * part // many, size * (part + 1) // many) for part in range(many)]


def plain(x: Tensor) -> bool:
    """Float32 on a CPU, and no gradient is asked for."""
    return (x.device.type == "cpu" and x.dtype == torch.float32 and not torch.is_grad_enabled()
            and not torch.is_autocast_enabled("cpu") and not torch.compiler.is_compiling())  # fmt: skip


@njit(cache=True, nogil=True, fastmath=True)
def part_of(w, b, x, found, start, end):
    times(w[start:end], b[start:end], x, found[:, start:end])


@njit(cache=True, nogil=True, fastmath=True)
def times(w, b, x, found):
    """found = x Wᵀ + b: a row of W meets four rows of x at a time, then what is left of them."""
    rows, size = x.shape
    for i in range(len(b)):
        row = 0
        while row + 4 <= rows:
            s0 = s1 = s2 = s3 = np.float32(0)
            for j in range(size):
                s0 += w[i, j] * x[row, j]
                s1 += w[i, j] * x[row + 1, j]
                s2 += w[i, j] * x[row + 2, j]
                s3 += w[i, j] * x[row + 3, j]
            found[row, i], found[row + 1, i] = s0 + b[i], s1 + b[i]
            found[row + 2, i], found[row + 3, i] = s2 + b[i], s3 + b[i]
            row += 4
        if row + 2 <= rows:
            s0 = s1 = np.float32(0)
            for j in range(size):
                s0 += w[i, j] * x[row, j]
                s1 += w[i, j] * x[row + 1, j]
            found[row, i], found[row + 1, i] = s0 + b[i], s1 + b[i]
            row += 2
        if row < rows:
            s0 = np.float32(0)
            for j in range(size):
                s0 += w[i, j] * x[row, j]
            found[row, i] = s0 + b[i]
