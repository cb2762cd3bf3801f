"""Whole texts through a stack of Transformer blocks, on a CPU, where nobody wants a trace or a gradient.

The real places of all rows lie end to end, so that nothing is multiplied on padding. All blocks are one call of machine code,
which runs the steps of the block's own order (layers/transformer.py).

In 16 bits, where these are asked for (autocast), the library multiplies, with weights that lie in the order in which it reads
them (products.Packed16), and looks; what is added up and the norms are in 32."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from wenmai.data.storage.caches import njit
from wenmai.kernels.block_step import (
    ADD,
    ATTENTION,
    KEEP,
    NORM_AFTER,
    NORM_BEFORE,
    BlockSteps,
    Products,
    add,
    keep,
    layer_norm,
    linear,
    padded_width,
    rotate,
)
from wenmai.kernels.kept import Kept, forgotten, weights_of
from wenmai.kernels.panels import NONE
from wenmai.kernels.products import has_onednn, in_16_bits, plain
from wenmai.kernels.sharing import ENOUGH, helped, shared_attention, vector


class Encoder:
    """Texts through blocks that look at whole texts, as long as these stay as they are."""

    def __init__(self):
        self.kept = Kept()

    def ready(
        self, blocks: nn.ModuleList, x: Tensor, by_formulas: bool = False
    ) -> BlockSteps | list[Products] | None:
        """The weights of these blocks, as x can be read with them; none where it cannot."""
        if forgotten(self.kept) or by_formulas or not plain(x) or blocks[0].cross is not None:
            return None
        if not in_16_bits():
            return self.kept.of(weights_of(blocks), lambda: BlockSteps(blocks))
        if not has_onednn(torch.bfloat16) or blocks[0].attention.rotary:
            return None
        return self.kept.of(
            weights_of(blocks), lambda: [Products(block) for block in blocks], "bf16"
        )

    def __call__(
        self,
        weights: BlockSteps | list[Products],
        blocks: nn.ModuleList,
        x: Tensor,
        mask: Tensor | None,
        first: bool = False,
    ) -> Tensor:
        """x (B, T, E) → (B, T, E), 0 where there is padding; of the `first` place alone (B, 1, E)"""
        whole = mask is None or bool(mask.all())
        if not whole:  # in a row without any real place, the first is looked at
            mask = torch.cat([mask[:, :1] | ~mask.any(1, keepdim=True), mask[:, 1:]], 1)
        y = x.flatten(0, 1) if whole else x[mask]  # (N, E)
        lengths = [x.shape[1]] * len(x) if whole else mask.sum(1).tolist()
        if isinstance(weights, BlockSteps):
            y = in_machine_code(weights, y, lengths, first)
        else:
            y = in_16_bit_products(weights, blocks, y, lengths, first)
        return y.unsqueeze(1) if first else laid_out(y, x.shape, None if whole else mask)


def in_machine_code(weights: BlockSteps, y: Tensor, lengths: list[int], first: bool) -> Tensor:
    """All blocks of y (N, E), texts that lie end to end; of the `first` places alone (B, E)"""
    y, offsets = np.array(y.numpy(), order="C"), np.concatenate([[0], np.cumsum(lengths)])
    with helped(len(y) * weights.size >= ENOUGH) as board:
        rows = stack_of_texts(y, weights.stack, offsets, first, board)
    return torch.from_numpy(y[:rows])


@njit(cache=True, nogil=True, fastmath=True)
def stack_of_texts(x, stack, offsets, first, board):
    """All blocks of x (N, E), texts that lie end to end from and to `offsets` (B + 1,), in place; where the `first` places are
    wanted alone, they come to lie in the first B rows. How many rows are left is returned."""
    rows, width = x.shape
    h, c = np.empty((rows, padded_width(width)), np.float32), np.empty((rows, width), np.float32)
    qkv, wide = (
        np.empty((rows, padded_width(3 * width)), np.float32),
        np.empty((rows, padded_width(stack.wide)), np.float32),
    )
    places = np.empty(rows, np.int64)
    for text in range(len(offsets) - 1):
        for row in range(offsets[text], offsets[text + 1]):
            places[row] = row - offsets[text]
    for level in range(len(stack.weights)):
        alone = first and level + 1 == len(stack.weights)
        for at in range(len(stack.order)):
            step, part = stack.order[at]
            weights, y = stack.weights[level, 6 * part : 6 * part + 6], x[:rows]
            if step == NORM_BEFORE:
                layer_norm(
                    y, vector(weights[4], width), vector(weights[5], width), stack.epsilon, h
                )
            elif step == NORM_AFTER:
                layer_norm(
                    y, vector(weights[4], width), vector(weights[5], width), stack.epsilon, y
                )
            elif step == KEEP:
                keep(y, h)
            elif step == ADD:
                add(y, h)
            elif part == ATTENTION:
                linear(weights[:2], width, h[:rows], qkv, board, NONE)
                if stack.rotary:
                    rotate(qkv, places, 2 * stack.heads, width // stack.heads)
                if alone:
                    rows = len(offsets) - 1
                    for row in range(rows):
                        for i in range(width):
                            x[row, i] = x[offsets[row], i]
                shared_attention(qkv, c[:rows], offsets, stack.heads, stack.factor, alone, board)
                linear(weights[2:4], width, c[:rows], h[:rows], board, NONE)
            else:
                linear(weights[:2], width, h[:rows], wide[:rows], board, stack.activation)
                linear(weights[2:4], stack.wide, wide[:rows], h[:rows], board, NONE)
    return rows


def in_16_bit_products(
    weights: list[Products], blocks: nn.ModuleList, y: Tensor, lengths: list[int], first: bool
) -> Tensor:
    """The same"""
    for level, (block, by) in enumerate(zip(blocks, weights)):
        h, alone = y, first and level + 1 == len(blocks)
        for step, part in block.steps:
            if step == NORM_BEFORE:
                h = block.norm(part)(y)
            elif step == KEEP:
                h = y
            elif step == NORM_AFTER:
                y = block.norm(part)(y)
            elif step == ADD:  # with the last product of the part
                y = by.last[part].added(h, y)
            elif part == ATTENTION:
                h = attention(by.first[part](h), lengths, block.attention, alone)
                y = y[np.cumsum([0, *lengths[:-1]])] if alone else y
            else:
                h = by.first[part](h, block.activation)
    return y


def laid_out(y: Tensor, shape: tuple[int, ...], mask: Tensor | None) -> Tensor:
    """The real places of (B, T), end to end (N, E) → (B, T, E), 0 where there is padding"""
    if mask is None:
        return y.view(*shape[:2], -1)
    return y.new_zeros(*shape[:2], y.shape[1]).masked_scatter_(mask.unsqueeze(-1), y)


def attention(qkv: Tensor, lengths: list[int], layer: nn.Module, first: bool) -> Tensor:
    """(N, 3·E), rows of these lengths end to end → (N, E); or (B, E), where the `first` looks alone. Rows of different lengths
    look one after another, each as long as it is: to lay them out side by side, with padding that is masked, takes half as
    long again."""
    qkv = qkv.view(len(qkv), 3, layer.heads, -1)  # (N, 3, A, D)
    if min(lengths) == max(lengths):
        return attend(qkv.view(len(lengths), -1, *qkv.shape[1:]), layer.factor, first).flatten(0, 1)
    return torch.cat(
        [attend(row.unsqueeze(0), layer.factor, first)[0] for row in qkv.split(lengths)]
    )


def attend(qkv: Tensor, factor: float, first: bool) -> Tensor:
    """(B, T, 3, A, D) → (B, T, E), or (B, 1, E), where the `first` looks alone"""
    q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (B, A, T, D)
    return (
        scaled_dot_product_attention(q[:, :, :1] if first else q, k, v, scale=factor)
        .transpose(1, 2)
        .flatten(2)
    )
