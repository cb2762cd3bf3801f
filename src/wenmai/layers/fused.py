"""One token more, on a CPU: what a stack of Transformer blocks does with it, as machine code.

A text that is written is read a token at a time. Started from Python one by one, the thirty small operations of a block take
longer than their arithmetic; here a block is one call. Many rows at a time are multiplied by the library, which is made for
matrices, and only look back, and across, by code of our own.
"""

from __future__ import annotations

import itertools
from math import erf, sqrt

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.threads import side_by_side, threads
from wenmai.layers.products import FEW, dot, plain, times

ALONE = 4  # rows, up to which a step is not shared among threads
LONG = 1000  # places that all rows look at, from which it pays to do so in several threads


def one_token(x: Tensor, trace) -> bool:
    """Whether x (B, T, E) is one token a row that nobody wants a trace of, or a gradient."""
    return trace is None and x.shape[1] == 1 and plain(x)


class Fused:
    """The weights of the blocks as arrays: views, which stay true as long as no weight moves to another place."""

    def __init__(self, blocks: nn.ModuleList):
        self.blocks, self.arrays = blocks, [arrays_of(block) for block in blocks]

    def step(self, x: Tensor, kept: Tensor, start: int, memory: Tensor | None = None, real: Tensor | None = None) -> Tensor:
        """x (B, 1, E) behind `start` tokens, whose keys and values are `kept` (L, 2, B, A, C, D) → (B, 1, E); those of x are
        added there. `memory` (B, L, 2, A, S, D): what to look across at, `real` (B, 1, 1, S) where there is something."""
        rows, _, width = x.shape
        past = kept.numpy()
        across = NOTHING if memory is None else memory.numpy()
        seen = NOWHERE if real is None else real[:, 0, 0].numpy()
        if rows > FEW:
            return self.step_of_many(x[:, 0], past, start, across, seen).unsqueeze(1)
        found = x.reshape(rows, width).clone()
        y = found.numpy()
        cuts = [0, rows] if rows <= ALONE else np.linspace(0, rows, min(threads(), rows) + 1).astype(np.int64).tolist()
        side_by_side(self.through, [(y, past, start, across, seen, *part) for part in itertools.pairwise(cuts)])
        return found.unsqueeze(1)

    def through(self, y: np.ndarray, past: np.ndarray, start: int, across: np.ndarray, seen: np.ndarray, first: int, last: int):
        for level, (block, arrays) in enumerate(zip(self.blocks, self.arrays)):
            attention = block.attention
            read_on(y, past, start, across, seen, level, first, last, attention.heads, np.float32(attention.factor),
                    attention.rotary, block.prenorm, block.bend is functional.gelu, *arrays)  # fmt: skip

    def step_of_many(self, x: Tensor, past: np.ndarray, start: int, across: np.ndarray, seen: np.ndarray) -> Tensor:
        rows = len(x)
        for level, block in enumerate(self.blocks):
            attention, other = block.attention, block.across
            h = block.before_attention(x) if block.prenorm else x
            qkv, c = attention.query_key_value(h), torch.empty_like(h)
            given = (qkv.numpy(), past, start, level, attention.heads, np.float32(attention.factor), attention.rotary, c.numpy())
            in_parts(look_back, rows, start + 1, given)
            x = joined(block.before_attention, x, attention.output(c), block.prenorm)
            if other is not None:
                q, c = other.query(block.before_across(x) if block.prenorm else x), torch.empty_like(h)
                given = (q.numpy(), across, seen, level, other.heads, np.float32(other.factor), c.numpy())
                in_parts(look_across, rows, seen.shape[1], given)
                x = joined(block.before_across, x, other.output(c), block.prenorm)
            h = block.before_mlp(x) if block.prenorm else x
            x = joined(block.before_mlp, x, block.narrow(block.bend(block.widen(h))), block.prenorm)
        return x


def joined(norm: nn.LayerNorm, x: Tensor, more: Tensor, prenorm: bool) -> Tensor:
    return more.add_(x) if prenorm else norm(more.add_(x))


def in_parts(work, rows: int, places: int, given: tuple) -> None:
    many = threads() if rows * places > LONG else 1
    cuts = np.linspace(0, rows, min(many, rows) + 1).astype(np.int64).tolist()
    side_by_side(work, [(*given, *part) for part in itertools.pairwise(cuts)])


NOTHING, NOWHERE = np.zeros((0,) * 6, np.float32), np.zeros((0, 0), np.bool_)
NO_MATRIX, NO_VECTOR = np.zeros((0, 0), np.float32), np.zeros(0, np.float32)


def arrays_of(block: nn.Module) -> list[np.ndarray]:
    across = [NO_MATRIX, NO_VECTOR, NO_MATRIX, NO_VECTOR, NO_VECTOR, NO_VECTOR]
    if block.across is not None:
        across = weights_of(block.across.query, block.across.output, block.before_across)
    return [*weights_of(block.attention.query_key_value, block.attention.output, block.before_attention), *across,
            *weights_of(block.widen, block.narrow, block.before_mlp)]  # fmt: skip


def weights_of(*layers: nn.Module) -> list[np.ndarray]:
    return [part.detach().numpy() for layer in layers for part in (layer.weight, layer.bias)]


@njit(cache=True, nogil=True, fastmath=True)
def read_on(x, past, start, across, seen, level, first, last, heads, factor, rotary, prenorm, gelu, w_qkv, b_qkv, w_o, b_o, w_n1,
            b_n1, w_q, b_q, w_c, b_c, w_n2, b_n2, w_1, b_1, w_2, b_2, w_n3, b_n3):  # fmt: skip
    """One block, for rows `first` to `last` of x (B, E), in place."""
    rows, width = last - first, x.shape[1]
    h, c, x = np.empty((rows, width), np.float32), np.empty((rows, width), np.float32), x[first:last]
    qkv, wide = np.empty((rows, 3 * width), np.float32), np.empty((rows, len(b_1)), np.float32)
    if prenorm:
        brought(x, w_n1, b_n1, h)
    times(w_qkv, b_qkv, h if prenorm else x, qkv)
    for row in range(rows):
        looked_back(qkv[row], past, start, level, first + row, heads, factor, rotary, c[row])
    times(w_o, b_o, c, h)
    add(x, h)
    if not prenorm:
        brought(x, w_n1, b_n1, x)
    if len(b_c):
        if prenorm:
            brought(x, w_n2, b_n2, h)
        times(w_q, b_q, h if prenorm else x, qkv[:, :width])
        for row in range(rows):
            looked_across(qkv[row], across, seen, level, first + row, heads, factor, c[row])
        times(w_c, b_c, c, h)
        add(x, h)
        if not prenorm:
            brought(x, w_n2, b_n2, x)
    if prenorm:
        brought(x, w_n3, b_n3, h)
    times(w_1, b_1, h if prenorm else x, wide)
    for row in range(rows):
        for i in range(len(b_1)):
            value = wide[row, i]
            if gelu:
                wide[row, i] = np.float32(0.5) * value * np.float32(1 + erf(value * 0.7071067811865476))
            else:
                wide[row, i] = max(value, np.float32(0))
    times(w_2, b_2, wide, h)
    add(x, h)
    if not prenorm:
        brought(x, w_n3, b_n3, x)


@njit(cache=True, nogil=True, fastmath=True)
def look_back(qkv, past, start, level, heads, factor, rotary, c, first, last):
    for row in range(first, last):
        looked_back(qkv[row], past, start, level, row, heads, factor, rotary, c[row])


@njit(cache=True, nogil=True, fastmath=True)
def look_across(q, across, seen, level, heads, factor, c, first, last):
    for row in range(first, last):
        looked_across(q[row], across, seen, level, row, heads, factor, c[row])


@njit(cache=True, nogil=True, fastmath=True)
def looked_back(qkv, past, start, level, row, heads, factor, rotary, c):
    """The keys and values of this token are added to those before it, and it looks at all of them."""
    width = len(c)
    size = width // heads
    if rotary:
        turned(qkv, start, heads, size)
        turned(qkv[width:], start, heads, size)
    weights = np.empty(start + 1, np.float32)
    for head in range(heads):
        keys, values = past[level, 0, row, head], past[level, 1, row, head]
        for d in range(size):
            keys[start, d] = qkv[width + head * size + d]
            values[start, d] = qkv[2 * width + head * size + d]
        highest = np.float32(-3e38)
        for s in range(start + 1):
            weights[s] = factor * dot(qkv[head * size : (head + 1) * size], keys[s])
            highest = max(highest, weights[s])
        mix(weights, highest, values, c[head * size : (head + 1) * size])


@njit(cache=True, nogil=True, fastmath=True)
def looked_across(q, across, seen, level, row, heads, factor, c):
    size, places = len(c) // heads, seen.shape[1]
    weights = np.empty(places, np.float32)
    for head in range(heads):
        keys, values = across[row, level, 0, head], across[row, level, 1, head]
        highest = np.float32(-3e38)
        for s in range(places):
            weights[s] = factor * dot(q[head * size : (head + 1) * size], keys[s]) if seen[row, s] else np.float32(-3e38)
            highest = max(highest, weights[s])
        mix(weights, highest, values, c[head * size : (head + 1) * size])


@njit(cache=True, nogil=True, fastmath=True)
def mix(weights, highest, values, c):
    """c = softmax(weights) · values"""
    total = np.float32(0)
    for s in range(len(weights)):
        weights[s] = np.exp(weights[s] - highest)
        total += weights[s]
    c[:] = 0
    for s in range(len(weights)):
        share = weights[s] / total
        for d in range(len(c)):
            c[d] += share * values[s, d]


@njit(cache=True, nogil=True, fastmath=True)
def turned(x, place, heads, size):
    """Rotary positions (positions.py), in place."""
    half = size // 2
    for i in range(half):
        angle = np.float32(place) * np.float32(10_000.0) ** np.float32(-i / half)
        sin, cos = np.sin(angle), np.cos(angle)
        for head in range(heads):
            a, b = x[head * size + i], x[head * size + half + i]
            x[head * size + i], x[head * size + half + i] = a * cos - b * sin, a * sin + b * cos


@njit(cache=True, nogil=True, fastmath=True)
def brought(x, weight, bias, found):
    """LayerNorm"""
    width = x.shape[1]
    for row in range(len(x)):
        mean, square = np.float32(0), np.float32(0)
        for i in range(width):
            mean += x[row, i]
        mean /= np.float32(width)
        for i in range(width):
            square += (x[row, i] - mean) ** 2
        scale = np.float32(1) / np.float32(sqrt(square / width + 1e-5))
        for i in range(width):
            found[row, i] = (x[row, i] - mean) * scale * weight[i] + bias[i]


@njit(cache=True, nogil=True, fastmath=True)
def add(x, more):
    for row in range(len(x)):
        for i in range(x.shape[1]):
            x[row, i] += more[row, i]
