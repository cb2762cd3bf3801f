"""Attention to a memory (Bahdanau et al. 2015; as here Vaswani et al. 2017): the decoder asks, what the encoder read answers.

    q = W_q x,  k, v = W_k m, W_v m,  c = softmax(q kᵀ / √D) v       over the real places of the memory

Keys and values are those of the memory alone: `keys_values` makes them once for a text, however many tokens are written."""

from math import sqrt

from torch import Tensor, nn

from wenmai.layers.attention import attended
from wenmai.layers.trace import Trace


class CrossAttention(nn.Module):
    def __init__(self, width: int, memory: int, heads: int):
        super().__init__()
        self.heads, self.factor = heads, 1 / sqrt(width // heads)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(memory, 2 * width)
        self.output = nn.Linear(width, width)

    def keys_values(self, memory: Tensor) -> Tensor:
        """(B, S, M) → (B, 2, A, S, D)"""
        return self.key_value(memory).unflatten(-1, (2, self.heads, -1)).permute(0, 2, 3, 1, 4)

    def forward(
        self, x: Tensor, memory: Tensor, allowed: Tensor, trace: Trace | None = None
    ) -> Tensor:
        """x (B, T, E); memory (B, S, M), or its `keys_values`; allowed (B, 1, 1, S), True where there is something to look at."""
        q = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, A, T, D)
        k, v = (self.keys_values(memory) if memory.dim() == 3 else memory).unbind(1)  # (B, A, S, D)
        return self.output(attended(q, k, v, allowed, self.factor, trace, "memory"))  # (B, T, E)
