"""The Transformer block: attention, then a small MLP at every place, each added to what came in.

pre-norm    x ← x + attention(norm(x)),  x ← x + W₂ bend(W₁ norm(x))       Xiong et al. 2020
post-norm   x ← norm(x + attention(x)),  x ← norm(x + W₂ bend(W₁ x))       Vaswani et al. 2017
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.attention import MultiHeadAttention
from wenmai.layers.dropout import Dropout
from wenmai.layers.products import linear
from wenmai.layers.trace import Trace

BENDS = {"relu": functional.relu, "gelu": functional.gelu}


class Block(nn.Module):
    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float, bend: str = "gelu", prenorm: bool = True,
                 rotary: bool = False, causal: bool = False):  # fmt: skip
        super().__init__()
        self.attention = MultiHeadAttention(width, heads, rotary, causal=causal)
        self.widen, self.narrow = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout, self.bend, self.prenorm = Dropout(dropout), BENDS[bend], prenorm

    def mlp(self, x: Tensor) -> Tensor:
        return linear(self.narrow, self.bend(linear(self.widen, x)))

    def forward(self, x: Tensor, allowed: Tensor | None, trace: Trace | None = None, name: str = "",
                past: Tensor | None = None, start: int = 0) -> Tensor:  # fmt: skip
        if self.prenorm:
            x = x + self.dropout(self.attention(self.before_attention(x), allowed, trace, name, past, start))
            return x + self.dropout(self.mlp(self.before_mlp(x)))
        x = self.before_attention(x + self.dropout(self.attention(x, allowed, trace, name, past, start)))
        return self.before_mlp(x + self.dropout(self.mlp(x)))
