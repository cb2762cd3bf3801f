"""The Transformer block: attention, then a small MLP at every place, each added to what came in.

pre-norm    x ← x + attention(norm(x)),  x ← x + W₂ φ(W₁ norm(x))       Xiong et al. 2020
post-norm   x ← norm(x + attention(x)),  x ← norm(x + W₂ φ(W₁ x))       Vaswani et al. 2017

In a decoder a second attention, `cross` to a memory, stands between the two. The order is written once, as a row of steps: a
block runs them, and so do the faster ways to read one token more (kernels/block_step.py)."""

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels.block_step import ADD, ATTENTION, CROSS, KEEP, MLP, NORM_AFTER, NORM_BEFORE, RUN
from wenmai.layers.attention import MultiHeadAttention
from wenmai.layers.dropout import Dropout
from wenmai.layers.trace import Trace

ACTIVATIONS = {"relu": functional.relu, "gelu": functional.gelu}


def order(prenorm: bool, cross: bool) -> np.ndarray:
    """(steps, 2): what is done with x and with h, and which part of the block does it"""
    parts = (ATTENTION, CROSS, MLP) if cross else (ATTENTION, MLP)
    one = (NORM_BEFORE, RUN, ADD) if prenorm else (KEEP, RUN, ADD, NORM_AFTER)
    return np.array([(step, part) for part in parts for step in one], np.int64)


class Block(nn.Module):
    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float, activation: str = "gelu", prenorm: bool = True,
                 rotary: bool = False, causal: bool = False, cross: nn.Module | None = None):  # fmt: skip
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, rotary, causal=causal)
        self.up, self.down = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout, self.activation = Dropout(dropout), activation
        self.cross, self.cross_norm = cross, None if cross is None else nn.LayerNorm(width)
        self.order = order(prenorm, cross is not None)
        self.steps = [tuple(step) for step in self.order.tolist()]

    def norm(self, part: int) -> nn.LayerNorm:
        return (self.attention_norm, self.cross_norm, self.mlp_norm)[part]

    def mlp(self, x: Tensor) -> Tensor:
        return self.down(ACTIVATIONS[self.activation](self.up(x)))

    def forward(self, x: Tensor, allowed: Tensor | None, trace: Trace | None = None, past=None, memory: Tensor | None = None,
                real: Tensor | None = None) -> Tensor:  # fmt: skip
        """`memory`: what to look across at, `real` where there is some; the rest as attention takes it."""
        h = x
        for step, part in self.steps:
            if step == NORM_BEFORE:
                h = self.norm(part)(x)
            elif step == KEEP:
                h = x
            elif step == ADD:
                x = x + self.dropout(h)
            elif step == NORM_AFTER:
                x = self.norm(part)(x)
            elif part == ATTENTION:
                h = self.attention(h, allowed, trace, past)
            elif part == CROSS:
                h = self.cross(h, memory, real, trace)
            else:
                h = self.mlp(h)
        return x
