"""The Transformer encoder (Vaswani et al. 2017): every place looks at every other, layer upon layer.

    x = embedding + position,  then `layers` blocks of attention and MLP,  then the head

An image is read as its patches (Dosovitskiy et al. 2021).
"""

from __future__ import annotations

from math import sqrt
from typing import Literal

from torch import Tensor, nn

from wenmai.errors import Mistake
from wenmai.layers.attention import see_real
from wenmai.layers.blocks import Block
from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.positions import Learned, Sinusoidal
from wenmai.models.network import Network


def transformer(inputs, head, *, width: int = 128, heads: int = 4, layers: int = 2, feed_forward: int | None = None,
                positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal", bend: Literal["gelu", "relu"] = "gelu",
                norm: Literal["pre", "post"] = "pre", patch: int = 4,
                pooling: Literal["mean", "max", "first"] = "mean", dropout: float = 0.1):  # fmt: skip
    check_heads(width, heads)
    longest = inputs.longest if inputs.kind in ("tokens", "frames") else 4096
    body = Encoder(width, heads, layers, feed_forward or 2 * width, positions, bend, norm == "pre", longest, dropout)
    return Network(input_layer(inputs, width, exact=True, patch=patch, scale=sqrt(width)), body, head(width, pooling, dropout))


def check_heads(width: int, heads: int) -> None:
    if width % heads:
        fitting = max(1, width // heads) * heads
        raise Mistake("width={width} cannot be shared by heads={heads}: expected a multiple; try width={fitting}.", width=width,
                      heads=heads, fitting=fitting)  # fmt: skip


class Encoder(nn.Module):
    def __init__(self, width, heads, layers, feed_forward, positions, bend, prenorm, longest, dropout):
        super().__init__()
        self.width = width
        self.position = {"sinusoidal": lambda: Sinusoidal(width), "learned": lambda: Learned(width, longest),
                         "rotary": nn.Identity}[positions]()  # fmt: skip
        self.dropout = Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(width, heads, feed_forward, dropout, bend, prenorm, positions == "rotary") for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width) if prenorm else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor, state=None, trace=None):
        x = self.dropout(self.position(x))  # (B, T, E)
        allowed = see_real(mask)
        for level, block in enumerate(self.blocks):
            x = block(x, allowed, trace, f"block.{level}")
        return self.norm(x), mask, None
