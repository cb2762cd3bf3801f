"""Attention to a memory (Bahdanau et al. 2015; as here Vaswani et al. 2017): the decoder asks, what the encoder read answers.

    q = W_q x,  k, v = W_k m, W_v m,  c = softmax(q kᵀ / √D) v       over the real places of the memory

Keys and values are those of the memory alone: `look` makes them once for a text, however many tokens are written.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn

from wenmai.kernels.sdpa import attention
from wenmai.layers.trace import Trace


class CrossAttention(nn.Module):
    def __init__(self, width: int, memory: int, heads: int):
        super().__init__()
        self.heads, self.factor = heads, 1 / sqrt(width // heads)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(memory, 2 * width)
        self.output = nn.Linear(width, width)

    def look(self, memory: Tensor) -> Tensor:
        """(B, S, M) → keys and values (B, 2, A, S, D)"""
        return self.key_value(memory).unflatten(-1, (2, self.heads, -1)).permute(0, 2, 3, 1, 4)

    def forward(self, x: Tensor, memory: Tensor, allowed: Tensor, trace: Trace | None = None, name: str = "") -> Tensor:
        """x (B, T, E); memory (B, S, M), or what `look` made of it; allowed (B, 1, 1, S), True where there is something to look
        at."""
        q = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, A, T, D)
        k, v = (self.look(memory) if memory.dim() == 3 else memory).unbind(1)  # (B, A, S, D)
        if trace is None and (q.is_cuda or q.dtype == torch.float32):  # as in self-attention
            context = attention(q, k, v, allowed, self.factor)
        else:
            scores = (q @ k.mT * self.factor).masked_fill(~allowed, float("-inf"))  # (B, A, T, S)
            weights = scores.softmax(-1).to(v.dtype)
            if trace is not None:
                trace.note(f"{name}.memory", weights)
            context = weights @ v
        return self.output(context.transpose(1, 2).flatten(2))  # (B, T, E)
