"""One token more, on a CPU: what a stack of Transformer blocks does with it, as machine code.

A text that is written is read a token at a time. Started from Python one by one, the thirty small operations of a block take
longer than their arithmetic; here all blocks are one call, which runs the steps of the block's own order
(layers/transformer.py)."""

from math import sqrt
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.storage.caches import njit
from wenmai.kernels.functions import softmax
from wenmai.kernels.panels import ACTIVATIONS, NONE, WIDE, Panels
from wenmai.kernels.products import FEW, Packed16, in_16_bits, plain
from wenmai.kernels.sharing import ENOUGH, address, helped, panels_at, shared_product, vector

# The steps of a block: h ← norm(x), h ← x, h ← a part's own work on h, x ← x + h, x ← norm(x); and its parts.
NORM_BEFORE, KEEP, RUN, ADD, NORM_AFTER = range(5)
ATTENTION, CROSS, MLP = range(3)
SHARED = 8_000_000  # weights, from which it pays to call for help with every token


def one_token(x: Tensor, trace) -> bool:
    """Whether x (B, T, E) is one token a row that nobody wants a trace of, or a gradient."""
    return trace is None and x.shape[1] == 1 and plain(x)


class Stack(NamedTuple):
    """What machine code has to know of a stack of blocks."""

    order: np.ndarray  # (steps, 2), of a block
    weights: np.ndarray  # (L, parts · 6): where they lie; of each part W and b of its first product, of its last, and of its norm
    memory: np.ndarray  # (L, 2): likewise, of the keys and values of what is looked across at
    heads: int
    wide: int
    activation: int
    rotary: bool
    factor: np.float32
    epsilon: np.float32


class BlockSteps:
    """Blocks as machine code reads them: their weights in panels, a copy that stays as it was. In 16 bits many rows are
    multiplied by the library, with weights that are packed for it when first there are many."""

    def __init__(self, blocks: nn.ModuleList):
        self.blocks, first = blocks, blocks[0]
        self.arrays = [
            [array for layer in layers_of(block) for array in arrays_of(layer)] for block in blocks
        ]
        across = [
            arrays_of(None if block.cross is None else block.cross.key_value) for block in blocks
        ]
        weights, memory = (
            np.array([list(map(address, some)) for some in every], np.int64)
            for every in (self.arrays, across)
        )
        self.across = across  # which are to stay where they are
        attention, epsilon = first.attention, np.float32(first.attention_norm.eps)
        self.stack = Stack(
            first.order,
            weights,
            memory,
            attention.heads,
            first.up.out_features,
            ACTIVATIONS[first.activation],
            attention.rotary,
            np.float32(attention.factor),
            epsilon,
        )
        self.size, self.packed = sum(array.size for arrays in self.arrays for array in arrays), None

    def step(self, x: Tensor, cache, decoder=None) -> Tensor:
        """x (B, 1, E), the last token that the cache has room for → (B, 1, E); its keys and values are added there. `decoder`:
        what to look across at, its `memory` (M, L, 2, A, S, D), `real` (M, 1, 1, S) where there is something, and the `source`
        (B,) of every row."""
        rows, _, width = x.shape
        past, row_of, places = cache.kept.numpy(), cache.row_of.numpy(), cache.lengths - 1
        row_of[np.arange(rows), places] = np.arange(rows)
        across = (
            NOTHING
            if decoder is None
            else (decoder.memory.numpy(), decoder.real[:, 0, 0].numpy(), decoder.source.numpy())
        )
        if rows > FEW and in_16_bits():
            return self.step_of_many(x[:, 0], past, places, row_of, across).unsqueeze(1)
        y = x.reshape(rows, width).clone()
        with helped(self.size >= SHARED) as board:
            stack_step(y.numpy(), self.stack, past, places, row_of, *across, board)
        return y.unsqueeze(1)

    def keys_values(self, memory: Tensor) -> Tensor:
        """What a decoder looks across at: (B, S, E) → (B, L, 2, A, S, D)"""
        batch, places, width = memory.shape
        rows, heads = (
            np.ascontiguousarray(memory.detach().numpy()).reshape(-1, width),
            self.stack.heads,
        )
        across = np.empty((batch, len(self.blocks), 2, heads, places, width // heads), np.float32)
        with helped(2 * len(rows) * len(self.blocks) * width * width >= ENOUGH) as board:
            project_memory(rows, self.stack.memory, across, board)
        return torch.from_numpy(across)

    def step_of_many(
        self, x: Tensor, past: np.ndarray, places: np.ndarray, row_of: np.ndarray, across: tuple
    ) -> Tensor:
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
                    self_attention_step(
                        qkv.numpy(),
                        past,
                        places,
                        row_of,
                        level,
                        attention.heads,
                        np.float32(attention.factor),
                        attention.rotary,
                        h.numpy(),
                    )
                elif part == CROSS:
                    q, h = by.first[part](h).float(), torch.empty_like(x)
                    cross_attention_step(
                        q.numpy(),
                        *across,
                        level,
                        block.cross.heads,
                        np.float32(block.cross.factor),
                        h.numpy(),
                    )
                else:
                    h = by.first[part](h, block.activation)
        return x


class Products:
    """Those of a block with many vectors: what the work of each part begins and ends with."""

    def __init__(self, block: nn.Module):
        self.first = {ATTENTION: packed(block.attention.query_key_value), MLP: packed(block.up)}
        self.last = {ATTENTION: packed(block.attention.output), MLP: packed(block.down)}
        if block.cross is not None:
            self.first[CROSS], self.last[CROSS] = (
                packed(block.cross.query),
                packed(block.cross.output),
            )


def packed(layer: nn.Linear) -> Packed16:
    return Packed16(layer.weight, layer.bias)


NO_NUMBERS = np.zeros(0, np.float32)
NOTHING = np.zeros((0,) * 6, np.float32), np.zeros((0, 0), np.bool_), np.zeros(0, np.int64)


def layers_of(block: nn.Module) -> list[nn.Module | None]:
    """Of each part its first product, its last, and its norm."""
    cross = (
        [None] * 3
        if block.cross is None
        else [block.cross.query, block.cross.output, block.cross_norm]
    )
    attention = block.attention
    return [
        attention.query_key_value,
        attention.output,
        block.attention_norm,
        *cross,
        block.up,
        block.down,
        block.mlp_norm,
    ]


def arrays_of(layer: nn.Module | None) -> tuple[np.ndarray, np.ndarray]:
    """W in panels and b; of a norm its two vectors."""
    if layer is None:
        return NO_NUMBERS, NO_NUMBERS
    if isinstance(layer, nn.Linear):
        return Panels.of(layer.weight, layer.bias)
    return tuple(np.ascontiguousarray(part.detach().numpy()) for part in (layer.weight, layer.bias))


@njit(cache=True, nogil=True, fastmath=True)
def stack_step(x, stack, past, places, row_of, across, real, source, board):
    """All blocks of x (B, E), in place; products are shared with whoever looks at the board (sharing.py)."""
    rows, width = x.shape
    h, c = np.empty((rows, padded_width(width)), np.float32), np.empty((rows, width), np.float32)
    qkv, q = (
        np.empty((rows, padded_width(3 * width)), np.float32),
        np.empty((rows, padded_width(width)), np.float32),
    )
    wide = np.empty((rows, padded_width(stack.wide)), np.float32)
    for level in range(len(stack.weights)):
        for at in range(len(stack.order)):
            step, part = stack.order[at]
            weights = stack.weights[level, 6 * part : 6 * part + 6]
            if step == NORM_BEFORE:
                layer_norm(
                    x, vector(weights[4], width), vector(weights[5], width), stack.epsilon, h
                )
            elif step == NORM_AFTER:
                layer_norm(
                    x, vector(weights[4], width), vector(weights[5], width), stack.epsilon, x
                )
            elif step == KEEP:
                keep(x, h)
            elif step == ADD:
                add(x, h)
            elif part == ATTENTION:
                linear(weights[:2], width, h, qkv, board, NONE)
                self_attention_step(
                    qkv, past, places, row_of, level, stack.heads, stack.factor, stack.rotary, c
                )
                linear(weights[2:4], width, c, h, board, NONE)
            elif part == CROSS:
                linear(weights[:2], width, h, q, board, NONE)
                cross_attention_step(q, across, real, source, level, stack.heads, stack.factor, c)
                linear(weights[2:4], width, c, h, board, NONE)
            else:
                linear(weights[:2], width, h, wide, board, stack.activation)
                linear(weights[2:4], stack.wide, wide, h, board, NONE)


@njit(cache=True, nogil=True)
def project_memory(rows, weights, across, board):
    """rows (B · S, E) → across (B, L, 2, A, S, D)"""
    batch, layers, _, heads, places, size = across.shape
    width = heads * size
    y = np.empty((len(rows), padded_width(2 * width)), np.float32)
    for level in range(layers):
        linear(weights[level], width, rows, y, board, NONE)
        for b in range(batch):
            for part in range(2):
                for head in range(heads):
                    for s in range(places):
                        for d in range(size):
                            across[b, level, part, head, s, d] = y[
                                b * places + s, part * width + head * size + d
                            ]


@njit(cache=True, nogil=True)
def linear(places, size, x, y, board, activation):
    """y = φ(x Wᵀ + b), of W in panels and b that lie at these places; of x the first `size` columns."""
    panels = y.shape[1] // WIDE
    shared_product(
        panels_at(places[0], panels, size), vector(places[1], y.shape[1]), x, y, board, activation
    )


@njit(cache=True, nogil=True)
def keep(x, h):
    for row in range(len(x)):
        for i in range(x.shape[1]):
            h[row, i] = x[row, i]


@njit(cache=True, nogil=True)
def add(x, h):
    for row in range(len(x)):
        for i in range(x.shape[1]):
            x[row, i] += h[row, i]


@njit(cache=True, nogil=True)
def padded_width(size):
    return (size + WIDE - 1) // WIDE * WIDE


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
        shares = weights[: place + 1]
        for head in range(heads):
            q, k, v = head * size, width + head * size, 2 * width + head * size
            for d in range(size):
                past[level, 0, row, head, place, d] = qkv[row, k + d]
                past[level, 1, row, head, place, d] = qkv[row, v + d]
            for s in range(place + 1):
                at, score = row_of[row, s], np.float32(0)
                for d in range(size):
                    score += qkv[row, q + d] * past[level, 0, at, head, s, d]
                shares[s] = score * factor
            softmax(shares)
            for d in range(size):
                c[row, q + d] = 0
            s = 0
            while s + 4 <= place + 1:  # so that c is fetched and stored once for four
                one, two, three, four = (
                    row_of[row, s],
                    row_of[row, s + 1],
                    row_of[row, s + 2],
                    row_of[row, s + 3],
                )
                for d in range(size):
                    c[row, q + d] += (
                        shares[s] * past[level, 1, one, head, s, d]
                        + shares[s + 1] * past[level, 1, two, head, s + 1, d]
                        + shares[s + 2] * past[level, 1, three, head, s + 2, d]
                        + shares[s + 3] * past[level, 1, four, head, s + 3, d]
                    )
                s += 4
            while s < place + 1:
                at = row_of[row, s]
                for d in range(size):
                    c[row, q + d] += shares[s] * past[level, 1, at, head, s, d]
                s += 1


@njit(cache=True, nogil=True, fastmath=True)
def cross_attention_step(q, across, real, source, level, heads, factor, c):
    rows, width = c.shape
    size, places = width // heads, real.shape[1]
    weights = np.empty(places, np.float32)
    for row in range(rows):
        at = source[row]
        for head in range(heads):
            first = head * size
            for s in range(places):
                score = np.float32(0)
                for d in range(size):
                    score += q[row, first + d] * across[at, level, 0, head, s, d]
                weights[s] = score * factor if real[at, s] else np.float32(-3e38)
            softmax(weights)
            for d in range(size):
                c[row, first + d] = 0
            s = 0
            while s + 4 <= places:
                for d in range(size):
                    c[row, first + d] += (
                        weights[s] * across[at, level, 1, head, s, d]
                        + weights[s + 1] * across[at, level, 1, head, s + 1, d]
                        + weights[s + 2] * across[at, level, 1, head, s + 2, d]
                        + weights[s + 3] * across[at, level, 1, head, s + 3, d]
                    )
                s += 4
            while s < places:
                for d in range(size):
                    c[row, first + d] += weights[s] * across[at, level, 1, head, s, d]
                s += 1


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
                x[row, head * size + i], x[row, head * size + half + i] = (
                    a * cos - b * sin,
                    a * sin + b * cos,
                )


@njit(cache=True, nogil=True, fastmath=True)
def layer_norm(x, weight, bias, epsilon, y):
    width = x.shape[1]
    for row in range(len(x)):
        mean, square = np.float32(0), np.float32(0)
        for i in range(width):
            mean += x[row, i]
        mean /= np.float32(width)
        for i in range(width):
            square += (x[row, i] - mean) ** 2
        scale = np.float32(1) / np.float32(sqrt(square / np.float32(width) + epsilon))
        for i in range(width):
            y[row, i] = (x[row, i] - mean) * scale * weight[i] + bias[i]
