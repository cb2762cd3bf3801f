"""Whole texts through a stack of Transformer blocks, on a CPU, where nobody wants a trace or a gradient.

The real places of all rows lie end to end, so that nothing is multiplied on padding. The library multiplies, with weights that
lie in the order in which it reads them (products.Packed), and looks; gelu, which takes it as long as half of a product, is
machine code of our own (functions.py).

In 16 bits, where these are asked for (autocast), products and attention are, what is added up and the norms are not.
Weights are packed when they are first met, and again when one of them has changed, or may have."""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from wenmai.data.storage.caches import njit
from wenmai.data.storage.threads import side_by_side, threads
from wenmai.kernels.block_step import ADD, ATTENTION, KEEP, NORM_AFTER, NORM_BEFORE, Products
from wenmai.kernels.functions import gelu
from wenmai.kernels.products import has_onednn, in_16_bits, parts, plain

SHARED = 1 << 16  # numbers, from which it pays to share them among threads


class Encoder:
    """The packed weights of a stack of blocks; of the blocks that they were, as long as these stay as they are."""

    def __init__(self):
        self.seen, self.packed = None, None

    def __deepcopy__(self, memo) -> "Encoder":
        return Encoder()

    def __getstate__(self) -> dict:  # what is packed is not kept
        return {"seen": None, "packed": None}

    def ready(self, blocks: nn.ModuleList, x: Tensor, by_formulas: bool = False) -> list[Products] | None:
        """What is packed of these blocks, if x can be read with it; packs what is not, or was another. Where a gradient is asked
        for, weights will change, and a fused optimizer does not say so (it leaves their version as it was): then nothing stays
        packed. Whoever has been given it goes on with it, whatever other threads ask for."""
        if torch.is_grad_enabled():
            self.seen = self.packed = None
            return None
        short = in_16_bits()
        if by_formulas or not has_onednn(torch.bfloat16 if short else torch.float32) or not plain(x):
            return None
        if blocks[0].cross is not None or blocks[0].attention.rotary:
            return None
        weights = [(weight.data_ptr(), weight._version) for weight in blocks.parameters()]
        known, (seen, packed) = (short, weights), (self.seen, self.packed)
        if known != seen or packed is None or len(packed) != len(blocks):
            packed = [Products(block) for block in blocks]
            self.seen, self.packed = known, packed
        return packed

    def __call__(self, packed: list[Products], blocks: nn.ModuleList, x: Tensor, mask: Tensor | None,
                 first: bool = False) -> Tensor:  # fmt: skip
        """x (B, T, E) → (B, T, E), 0 where there is padding; of the `first` place alone (B, 1, E)"""
        whole = mask is None or bool(mask.all())
        if not whole:  # in a row without any real place, the first is looked at
            mask = torch.cat([mask[:, :1] | ~mask.any(1, keepdim=True), mask[:, 1:]], 1)
        y = x.flatten(0, 1) if whole else x[mask]  # (N, E)
        lengths = None if whole else mask.sum(1).tolist()
        for level, (block, by) in enumerate(zip(blocks, packed)):
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
                    h = attention(by.first[part](h), x.shape, lengths, block.attention, alone)
                    y = laid_out(y, x.shape, None if whole else mask)[:, 0] if alone else y
                elif block.activation == "gelu" and by.first[part].bias.dtype == torch.float32:
                    h = gelu_(by.first[part](h))
                else:
                    h = by.first[part](h, block.activation)
        return y.unsqueeze(1) if first else laid_out(y, x.shape, None if whole else mask)


def laid_out(y: Tensor, shape: tuple[int, ...], mask: Tensor | None) -> Tensor:
    """The real places of (B, T), end to end (N, E) → (B, T, E), 0 where there is padding"""
    if mask is None:
        return y.view(*shape[:2], -1)
    return y.new_zeros(*shape[:2], y.shape[1]).masked_scatter_(mask.unsqueeze(-1), y)


def attention(qkv: Tensor, shape: tuple[int, ...], lengths: list[int] | None, layer: nn.Module, first: bool) -> Tensor:
    """(N, 3·E), rows of these lengths end to end, or all as long as T → (N, E); or (B, E), where the `first` looks alone. Rows of
    different lengths look one after another, each as long as it is: to lay them out side by side, with padding that is masked,
    takes half as long again."""
    qkv = qkv.view(len(qkv), 3, layer.heads, -1)  # (N, 3, A, D)
    if lengths is None:
        return attend(qkv.view(*shape[:2], *qkv.shape[1:]), layer.factor, first).flatten(0, 1)
    return torch.cat([attend(row.unsqueeze(0), layer.factor, first)[0] for row in qkv.split(lengths)])


def attend(qkv: Tensor, factor: float, first: bool) -> Tensor:
    """(B, T, 3, A, D) → (B, T, E), or (B, 1, E), where the `first` looks alone"""
    q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (B, A, T, D)
    return scaled_dot_product_attention(q[:, :, :1] if first else q, k, v, scale=factor).transpose(1, 2).flatten(2)


def gelu_(x: Tensor) -> Tensor:
    flat = x.view(-1).numpy()
    many = threads() if len(flat) >= SHARED and torch.get_num_threads() > 1 else 1
    side_by_side(gelu_part, [(flat[start:end],) for start, end in parts(len(flat), many)])
    return x


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def gelu_part(x):
    """In place."""
    for i in range(len(x)):
        x[i] = gelu(x[i])
