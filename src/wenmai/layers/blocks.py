"""The Transformer block: attention, then a small MLP at every place, each added to what came in.

pre-norm    x ← x + attention(norm(x)),  x ← x + W₂ bend(W₁ norm(x))       Xiong et al. 2020
post-norm   x ← norm(x + attention(x)),  x ← norm(x + W₂ bend(W₁ x))       Vaswani et al. 2017

In a decoder a second attention, `across` to a memory, stands between the two.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.attention import MultiHeadAttention
from wenmai.layers.dropout import Dropout
from wenmai.layers.trace import Trace

BENDS = {"relu": functional.relu, "gelu": functional.gelu}


class Block(nn.Module):
    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float, bend: str = "gelu", prenorm: bool = True,
                 rotary: bool = False, causal: bool = False, across: nn.Module | None = None):  # fmt: skip
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, rotary, causal=causal)
        self.widen, self.narrow = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout, self.bend, self.prenorm = Dropout(dropout), BENDS[bend], prenorm
        self.across, self.before_across = across, None if across is None else nn.LayerNorm(width)

    def mlp(self, x: Tensor) -> Tensor:
        return self.narrow(self.bend(self.widen(x)))

    def forward(self, x: Tensor, allowed: Tensor | None, trace: Trace | None = None, name: str = "",
                past: Tensor | None = None, start: int = 0, memory: Tensor | None = None,
                real: Tensor | None = None) -> Tensor:  # fmt: skip
        """`memory`: what to look across at, `real` where there is some; the rest as attention takes it."""
        if self.prenorm:
            x = x + self.dropout(self.attention(self.before_attention(x), allowed, trace, name, past, start))
            if self.across is not None:
                x = x + self.dropout(self.across(self.before_across(x), memory, real, trace, name))
            return x + self.dropout(self.mlp(self.before_mlp(x)))
        x = self.before_attention(x + self.dropout(self.attention(x, allowed, trace, name, past, start)))
        if self.across is not None:
            x = self.before_across(x + self.dropout(self.across(x, memory, real, trace, name)))
        return self.before_mlp(x + self.dropout(self.mlp(x)))
