"""GPT (Radford et al. 2018, 2019): Transformer blocks that look back only, and say at every place what comes next.

x = E[w] + position,  then `layers` blocks of causal attention and MLP,  then log softmax(W norm(x))
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels.block_step import one_token
from wenmai.layers.blocks import Block
from wenmai.layers.cache import Cache
from wenmai.layers.dropout import Dropout
from wenmai.layers.first_weights import normal
from wenmai.layers.positions import Learned, Sinusoidal
from wenmai.models.recurrent_writer import by_heart
from wenmai.models.transformer import check_heads
from wenmai.models.writer import Writer


def gpt(inputs, head, *, width: int | None = None, heads: int | None = None, layers: int | None = None,
        feed_forward: int | None = None, positions: Literal["learned", "sinusoidal", "rotary"] = "learned", tie: bool = True,
        dropout: float | None = None, context: int = 256):  # fmt: skip
    """`context`: how many tokens it looks back on. How wide and deep it is and how much is dropped depends on the text's size
    unless said: 64 numbers a head, as many layers as heads, six of them for a million tokens."""
    size = min(12, max(2, round(sqrt(inputs.read) / 160)))
    width = width or 64 * (heads or size)
    heads, layers = heads or max(1, width // 64), layers or size
    check_heads(width, heads)
    dropout = 0.05 + 0.25 * by_heart(inputs.read) if dropout is None else dropout
    first = Places(inputs.vocabulary, width, positions, context, dropout)
    body = Past(width, heads, layers, feed_forward or 4 * width, positions == "rotary", dropout)
    table = first.table if tie else None
    suits = {"learning_rate": 1e-3 * min(2.0, 384 / width), "weight_decay": 0.1}
    built = {"width": width, "heads": heads, "layers": layers, "dropout": dropout}
    last = replace(head, tokens=inputs.vocabulary)(width, 0.0, table, bias=False)
    return Writer(inputs, first, body, last, context, suits, built)


class Places(nn.Module):
    """Tokens, and where they stand."""

    def __init__(self, tokens: int, width: int, positions: str, longest: int, dropout: float):
        super().__init__()
        self.table = nn.Parameter(normal(0.02, tokens, width))
        self.position = {"sinusoidal": lambda: Sinusoidal(width), "learned": lambda: Learned(width, longest),
                         "rotary": lambda: None}[positions]()  # fmt: skip
        self.dropout, self.scale = Dropout(dropout), sqrt(width) if positions == "sinusoidal" else 1.0

    def forward(self, batch) -> tuple[Tensor, Tensor]:
        x = functional.embedding(batch.inputs, self.table)  # (B, T, E)
        x = x if self.scale == 1.0 else x * self.scale
        return self.placed(x, 0 if batch.state is None else batch.state.length), batch.mask

    def placed(self, x: Tensor, start: int) -> Tensor:
        x = x if self.position is None else self.position(x, start)
        if x.is_cuda and torch.is_autocast_enabled("cuda"):  # what every block adds to takes half the room
            x = x.to(torch.get_autocast_dtype("cuda"))
        return self.dropout(x)


class Past(nn.Module):
    """The state is the cache of what was read before x; without one, x opens the text."""

    carried, cached = False, True

    def __init__(self, width: int, heads: int, layers: int, feed_forward: int, rotary: bool, dropout: float):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads, feed_forward, dropout, rotary=rotary, causal=True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for name, layer in self.named_modules():  # small, and what is added to x smaller with every block (GPT-2)
            if isinstance(layer, nn.Linear):
                spread = 0.02 / (sqrt(2 * layers) if name.endswith(("output", "narrow")) else 1.0)
                layer.weight = nn.Parameter(normal(spread, *layer.weight.shape))

    def cache(self, batch: int, longest: int) -> Cache:
        return Cache.empty(batch, self.blocks, longest, self.norm.weight)

    def forward(self, x: Tensor, mask: Tensor, state: Cache | None = None, trace=None):
        if isinstance(state, Cache) and state.fused is not None and one_token(x, trace):
            after = state.grown(1)
            return self.norm(after.fused.step(x, after)), mask, after
        start, after = (0, None) if state is None else (state.length, state.in_order().grown(x.shape[1]))
        allowed = None if after is None else after.allowed
        for level, block in enumerate(self.blocks):
            x = block(x, allowed, trace, f"block.{level}", None if after is None else after.layers[level], start)
        return self.norm(x), mask, after
