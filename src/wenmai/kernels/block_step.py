"""One token more, on a CPU: what a stack of Transformer blocks does with it, as machine code.

A text that is written is read a token at a time. Started from Python one by one, the thirty small operations of a block take
longer than their arithmetic; here a block is one call. Many rows at a time are multiplied by the library, which is made for
matrices, and only look back, and across, by code of our own.
"""

from __future__ import annotations

from math import erf, sqrt

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels.products import FEW, Packed, plain, times


def one_token(x: Tensor, trace) -> bool:
    """Whether x (B, T, E) is one token a row that nobody wants a trace of, or a gradient."""
    return trace is None and x.shape[1] == 1 and plain(x)


class Fused:
    """The weights of the blocks as arrays: views, which stay true as long as no weight moves to another place. What is packed is
    not, and is for one text, or one batch of them: a `Fused` is made when it begins."""

    def __init__(self, blocks: nn.ModuleList):
        self.blocks, self.arrays = blocks, [arrays_of(block) for block in blocks]
        self.packed: list[Products] | None = None  # the same for many rows, made when there are

    def step(self, x: Tensor, cache, seen=None) -> Tensor:
        """x (B, 1, E), the last token that the cache has room for → (B, 1, E); its keys and values are added there. `seen`: what
        to look across at, its `memory` (M, L, 2, A, S, D), `real` (M, 1, 1, S) where there is something, and the `source` (B,)
        of every row."""
        rows, _, width = x.shape
        past, whose, start = cache.kept.numpy(), cache.whose.numpy(), cache.length - 1
        whose[:, start] = np.arange(rows)
        across = NOTHING if seen is None else (seen.memory.numpy(), seen.real[:, 0, 0].numpy(), seen.source.numpy())
        if rows > FEW:
            return self.step_of_many(x[:, 0], past, start, whose, across).unsqueeze(1)
        found = x.reshape(rows, width).clone()
        y = found.numpy()
        for level, (block, arrays) in enumerate(zip(self.blocks, self.arrays)):
            attention = block.attention
            read_on(y, past, start, whose, *across, level, attention.heads, np.float32(attention.factor), attention.rotary,
                    block.prenorm, block.bend is functional.gelu, *arrays)  # fmt: skip
        return found.unsqueeze(1)

    def step_of_many(self, x: Tensor, past: np.ndarray, start: int, whose: np.ndarray, across: tuple) -> Tensor:
        if self.packed is None:
            self.packed = [Products(block) for block in self.blocks]
        for level, (block, by) in enumerate(zip(self.blocks, self.packed)):
            attention, other = block.attention, block.across
            h = block.before_attention(x) if block.prenorm else x
            qkv, c = by.query_key_value(h).float(), torch.empty_like(h)
            look_back(qkv.numpy(), past, start, whose, level, attention.heads, np.float32(attention.factor), attention.rotary,
                      c.numpy())  # fmt: skip
            x = by.output.added(c, x)
            x = x if block.prenorm else block.before_attention(x)
            if other is not None:
                q = by.query(block.before_across(x) if block.prenorm else x).float()
                look_across(q.numpy(), *across, level, other.heads, np.float32(other.factor), c.numpy())
                x = by.across.added(c, x)
                x = x if block.prenorm else block.before_across(x)
            h = block.before_mlp(x) if block.prenorm else x
            x = by.narrow.added(by.widen(h, "gelu" if block.bend is functional.gelu else "relu"), x)
            x = x if block.prenorm else block.before_mlp(x)
        return x


class Products:
    """Those of a block with many vectors."""

    def __init__(self, block: nn.Module):
        self.query_key_value, self.output = packed(block.attention.query_key_value), packed(block.attention.output)
        if block.across is not None:
            self.query, self.across = packed(block.across.query), packed(block.across.output)
        self.widen, self.narrow = packed(block.widen), packed(block.narrow)


def packed(layer: nn.Linear) -> Packed:
    return Packed(layer.weight, layer.bias)


NOTHING = np.zeros((0,) * 6, np.float32), np.zeros((0, 0), np.bool_), np.zeros(0, np.int64)
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
def read_on(x, past, start, whose, across, real, source, level, heads, factor, rotary, prenorm, gelu, w_qkv, b_qkv, w_o, b_o,
            w_n1, b_n1, w_q, b_q, w_c, b_c, w_n2, b_n2, w_1, b_1, w_2, b_2, w_n3, b_n3):  # fmt: skip
    """One block of x (B, E), in place."""
    rows, width = x.shape
    h, c = np.empty((rows, width), np.float32), np.empty((rows, width), np.float32)
    qkv, wide = np.empty((rows, 3 * width), np.float32), np.empty((rows, len(b_1)), np.float32)
    q = np.empty((rows, width), np.float32)
    if prenorm:
        brought(x, w_n1, b_n1, h)
    times(w_qkv, b_qkv, h if prenorm else x, qkv)
    look_back(qkv, past, start, whose, level, heads, factor, rotary, c)
    times(w_o, b_o, c, h)
    add(x, h)
    if not prenorm:
        brought(x, w_n1, b_n1, x)
    if len(b_c):
        if prenorm:
            brought(x, w_n2, b_n2, h)
        times(w_q, b_q, h if prenorm else x, q)
        look_across(q, across, real, source, level, heads, factor, c)
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
def look_back(qkv, past, start, whose, level, heads, factor, rotary, c):
    """The keys and values of this token are added to those before it, and it looks at all of them."""
    rows, width = c.shape
    size = width // heads
    weights = np.empty(start + 1, np.float32)
    if rotary:
        turn(qkv, start, 2 * heads, size)
    for row in range(rows):
        for head in range(heads):
            q, k, v = head * size, width + head * size, 2 * width + head * size
            for d in range(size):
                past[level, 0, row, head, start, d] = qkv[row, k + d]
                past[level, 1, row, head, start, d] = qkv[row, v + d]
            highest = np.float32(-3e38)
            for s in range(start + 1):
                at, score = whose[row, s], np.float32(0)
                for d in range(size):
                    score += qkv[row, q + d] * past[level, 0, at, head, s, d]
                weights[s] = score * factor
                highest = max(highest, weights[s])
            softmax(weights, highest)
            for d in range(size):
                c[row, q + d] = 0
            s = 0
            while s + 4 <= start + 1:  # so that c is fetched and stored once for four
                one, two, three, four = whose[row, s], whose[row, s + 1], whose[row, s + 2], whose[row, s + 3]
                for d in range(size):
                    c[row, q + d] += (weights[s] * past[level, 1, one, head, s, d]
                                      + weights[s + 1] * past[level, 1, two, head, s + 1, d]
                                      + weights[s + 2] * past[level, 1, three, head, s + 2, d]
                                      + weights[s + 3] * past[level, 1, four, head, s + 3, d])  # fmt: skip
                s += 4
            while s < start + 1:
                at = whose[row, s]
                for d in range(size):
                    c[row, q + d] += weights[s] * past[level, 1, at, head, s, d]
                s += 1


@njit(cache=True, nogil=True, fastmath=True)
def look_across(q, across, real, source, level, heads, factor, c):
    rows, width = c.shape
    size, places = width // heads, real.shape[1]
    weights = np.empty(places, np.float32)
    for row in range(rows):
        at = source[row]
        for head in range(heads):
            first, highest = head * size, np.float32(-3e38)
            for s in range(places):
                score = np.float32(0)
                for d in range(size):
                    score += q[row, first + d] * across[at, level, 0, head, s, d]
                weights[s] = score * factor if real[at, s] else np.float32(-3e38)
                highest = max(highest, weights[s])
            softmax(weights, highest)
            for d in range(size):
                c[row, first + d] = 0
            s = 0
            while s + 4 <= places:
                for d in range(size):
                    c[row, first + d] += (weights[s] * across[at, level, 1, head, s, d]
                                          + weights[s + 1] * across[at, level, 1, head, s + 1, d]
                                          + weights[s + 2] * across[at, level, 1, head, s + 2, d]
                                          + weights[s + 3] * across[at, level, 1, head, s + 3, d])  # fmt: skip
                s += 4
            while s < places:
                for d in range(size):
                    c[row, first + d] += weights[s] * across[at, level, 1, head, s, d]
                s += 1


@njit(cache=True, nogil=True, fastmath=True)
def softmax(weights, highest):
    total = np.float32(0)
    for s in range(len(weights)):
        weights[s] = np.exp(weights[s] - highest)
        total += weights[s]
    for s in range(len(weights)):
        weights[s] /= total


@njit(cache=True, nogil=True, fastmath=True)
def turn(x, place, heads, size):
    """Rotary positions (positions.py), in place."""
    half = size // 2
    for i in range(half):
        angle = np.float32(place) * np.float32(10_000.0) ** np.float32(-i / half)
        sin, cos = np.sin(angle), np.cos(angle)
        for row in range(len(x)):
            for head in range(heads):
                a, b = x[row, head * size + i], x[row, head * size + half + i]
                x[row, head * size + i], x[row, head * size + half + i] = a * cos - b * sin, a * sin + b * cos


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
