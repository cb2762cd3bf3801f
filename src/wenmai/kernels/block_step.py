"""One token more, on a CPU: what a stack of Transformer blocks does with it, as machine code.

A text that is written is read a token at a time. Started from Python one by one, the thirty small operations of a block take
longer than their arithmetic; here a block is one call. Many rows at a time are multiplied by the library, which is made for
matrices, and only look back, and across, by code of our own. Both run the steps of the block's own order
(layers/transformer.py)."""

from math import erf, sqrt

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.storage.caches import njit
from wenmai.kernels.products import FEW, Packed, matmul_rows, plain

# The steps of a block: h ← norm(x), h ← x, h ← a part's own work on h, x ← x + h, x ← norm(x); and its parts.
NORM_BEFORE, KEEP, RUN, ADD, NORM_AFTER = range(5)
ATTENTION, CROSS, MLP = range(3)
CODES = {"relu": 0, "gelu": 1, "gelu-tanh": 2}  # of activations


def one_token(x: Tensor, trace) -> bool:
    """Whether x (B, T, E) is one token a row that nobody wants a trace of, or a gradient."""
    return trace is None and x.shape[1] == 1 and plain(x)


class BlockSteps:
    """The weights of the blocks as arrays: views, which stay true as long as no weight moves to another place. What is packed is
    not, and is for one text, or one batch of them: it is made when that begins."""

    def __init__(self, blocks: nn.ModuleList):
        self.blocks, self.arrays = blocks, [arrays_of(block) for block in blocks]
        self.packed: list[Products] | None = None  # the same for many rows, made when there are

    def step(self, x: Tensor, cache, decoder=None) -> Tensor:
        """x (B, 1, E), the last token that the cache has room for → (B, 1, E); its keys and values are added there. `decoder`:
        what to look across at, its `memory` (M, L, 2, A, S, D), `real` (M, 1, 1, S) where there is something, and the `source`
        (B,) of every row."""
        rows, _, width = x.shape
        past, row_of, places = cache.kept.numpy(), cache.row_of.numpy(), cache.lengths - 1
        row_of[np.arange(rows), places] = np.arange(rows)
        across = NOTHING if decoder is None else (decoder.memory.numpy(), decoder.real[:, 0, 0].numpy(), decoder.source.numpy())
        if rows > FEW:
            return self.step_of_many(x[:, 0], past, places, row_of, across).unsqueeze(1)
        y = x.reshape(rows, width).clone()
        for level, (block, arrays) in enumerate(zip(self.blocks, self.arrays)):
            attention = block.attention
            block_step(y.numpy(), block.order, past, places, row_of, *across, level, attention.heads,
                       np.float32(attention.factor), attention.rotary, CODES[block.activation], *arrays)  # fmt: skip
        return y.unsqueeze(1)

    def step_of_many(self, x: Tensor, past: np.ndarray, places: np.ndarray, row_of: np.ndarray, across: tuple) -> Tensor:
        if self.packed is None:
            self.packed = [Products(block) for block in self.blocks]
        for level, (block, by) in enumerate(zip(self.blocks, self.packed)):
            attention, h = block.attention, x
            for step, part in block.steps:
                if step == NORM_BEFORE:
                    h = block.norm(part)(x)
                elif step == KEEP:
                    h = x
                elif step == NORM_AFTER:
                    x = block.norm(part)(x)
                elif step == ADD:  # with the last product of the part
                    x = by.last[part].added(h, x)
                elif part == ATTENTION:
                    qkv, h = by.first[part](h).float(), torch.empty_like(x)
                    self_attention_step(qkv.numpy(), past, places, row_of, level, attention.heads, np.float32(attention.factor),
                                        attention.rotary, h.numpy())  # fmt: skip
                elif part == CROSS:
                    q, h = by.first[part](h).float(), torch.empty_like(x)
                    cross_attention_step(q.numpy(), *across, level, block.cross.heads, np.float32(block.cross.factor), h.numpy())
                else:
                    h = by.first[part](h, block.activation)
        return x


class Products:
    """Those of a block with many vectors: what the work of each part begins and ends with."""

    def __init__(self, block: nn.Module):
        self.first = {ATTENTION: packed(block.attention.query_key_value), MLP: packed(block.up)}
        self.last = {ATTENTION: packed(block.attention.output), MLP: packed(block.down)}
        if block.cross is not None:
            self.first[CROSS], self.last[CROSS] = packed(block.cross.query), packed(block.cross.output)


def packed(layer: nn.Linear) -> Packed:
    return Packed(layer.weight, layer.bias)


NOTHING = np.zeros((0,) * 6, np.float32), np.zeros((0, 0), np.bool_), np.zeros(0, np.int64)
NO_MATRIX, NO_VECTOR = np.zeros((0, 0), np.float32), np.zeros(0, np.float32)


def arrays_of(block: nn.Module) -> list[np.ndarray]:
    cross = [NO_MATRIX, NO_VECTOR, NO_MATRIX, NO_VECTOR, NO_VECTOR, NO_VECTOR]
    if block.cross is not None:
        cross = weights_of(block.cross.query, block.cross.output, block.cross_norm)
    return [*weights_of(block.attention.query_key_value, block.attention.output, block.attention_norm), *cross,
            *weights_of(block.up, block.down, block.mlp_norm)]  # fmt: skip


def weights_of(*layers: nn.Module) -> list[np.ndarray]:
    return [part.detach().numpy() for layer in layers for part in (layer.weight, layer.bias)]


@njit(cache=True, nogil=True, fastmath=True)
def block_step(x, order, past, places, row_of, across, real, source, level, heads, factor, rotary, activation, w_qkv, b_qkv, w_o,
               b_o, w_n1, b_n1, w_q, b_q, w_c, b_c, w_n2, b_n2, w_1, b_1, w_2, b_2, w_n3, b_n3):  # fmt: skip
    """One block of x (B, E), in place."""
    rows, width = x.shape
    h, c, q = np.empty((rows, width), np.float32), np.empty((rows, width), np.float32), np.empty((rows, width), np.float32)
    qkv, wide = np.empty((rows, 3 * width), np.float32), np.empty((rows, len(b_1)), np.float32)
    for at in range(len(order)):
        step, part = order[at]
        if step in (NORM_BEFORE, NORM_AFTER):
            weight, bias = (w_n1, b_n1) if part == ATTENTION else (w_n2, b_n2) if part == CROSS else (w_n3, b_n3)
            layer_norm(x, weight, bias, h if step == NORM_BEFORE else x)
        elif step == KEEP:
            h[:] = x
        elif step == ADD:
            x += h
        elif part == ATTENTION:
            matmul_rows(w_qkv, b_qkv, h, qkv)
            self_attention_step(qkv, past, places, row_of, level, heads, factor, rotary, c)
            matmul_rows(w_o, b_o, c, h)
        elif part == CROSS:
            matmul_rows(w_q, b_q, h, q)
            cross_attention_step(q, across, real, source, level, heads, factor, c)
            matmul_rows(w_c, b_c, c, h)
        else:
            matmul_rows(w_1, b_1, h, wide)
            for row in range(rows):
                for i in range(len(b_1)):
                    value = wide[row, i]
                    if activation == 1:
                        wide[row, i] = np.float32(0.5) * value * np.float32(1 + erf(value * 0.7071067811865476))
                    elif activation == 2:
                        inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
                        wide[row, i] = np.float32(0.5) * value * np.float32(1 + np.tanh(inner))
                    else:
                        wide[row, i] = max(value, np.float32(0))
            matmul_rows(w_2, b_2, wide, h)


@njit(cache=True, nogil=True, fastmath=True)
def self_attention_step(qkv, past, places, row_of, level, heads, factor, rotary, c):
    """The key and value of every row's token are written behind those before it, and it looks at all of them."""
    rows, width = c.shape
    size = width // heads
    weights = np.empty(places.max() + 1, np.float32)
    if rotary:
        rotate(qkv, places, 2 * heads, size)
    for row in range(rows):
        place = places[row]
        seen = weights[: place + 1]
        for head in range(heads):
            q, k, v = head * size, width + head * size, 2 * width + head * size
            for d in range(size):
                past[level, 0, row, head, place, d] = qkv[row, k + d]
                past[level, 1, row, head, place, d] = qkv[row, v + d]
            highest = np.float32(-3e38)
            for s in range(place + 1):
                at, score = row_of[row, s], np.float32(0)
                for d in range(size):
                    score += qkv[row, q + d] * past[level, 0, at, head, s, d]
                seen[s] = score * factor
                highest = max(highest, seen[s])
            softmax(seen, highest)
            for d in range(size):
                c[row, q + d] = 0
            s = 0
            while s + 4 <= place + 1:  # so that c is fetched and stored once for four
                one, two, three, four = row_of[row, s], row_of[row, s + 1], row_of[row, s + 2], row_of[row, s + 3]
                for d in range(size):
                    c[row, q + d] += (seen[s] * past[level, 1, one, head, s, d]
                                      + seen[s + 1] * past[level, 1, two, head, s + 1, d]
                                      + seen[s + 2] * past[level, 1, three, head, s + 2, d]
                                      + seen[s + 3] * past[level, 1, four, head, s + 3, d])  # fmt: skip
                s += 4
            while s < place + 1:
                at = row_of[row, s]
                for d in range(size):
                    c[row, q + d] += seen[s] * past[level, 1, at, head, s, d]
                s += 1


@njit(cache=True, nogil=True, fastmath=True)
def cross_attention_step(q, across, real, source, level, heads, factor, c):
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
def rotate(x, places, heads, size):
    """Rotary positions (layers/positions.py), in place."""
    half = size // 2
    for i in range(half):
        rate = np.float32(10_000.0) ** np.float32(-i / half)
        for row in range(len(x)):
            angle = np.float32(places[row]) * rate
            sin, cos = np.sin(angle), np.cos(angle)
            for head in range(heads):
                a, b = x[row, head * size + i], x[row, head * size + half + i]
                x[row, head * size + i], x[row, head * size + half + i] = a * cos - b * sin, a * sin + b * cos


@njit(cache=True, nogil=True, fastmath=True)
def layer_norm(x, weight, bias, y):
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
            y[row, i] = (x[row, i] - mean) * scale * weight[i] + bias[i]
