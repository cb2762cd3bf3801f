"""Attention: every query looks at all keys and takes the values where it looks (Vaswani et al. 2017).

    score   s = q kᵀ / √D          how well query t matches key s (plain: without the √D)
    weights a = softmax(s)         over the source, forbidden places excluded
    context c = a v                the values, mixed

Multi-head attention does this A times side by side on slices of the width, and mixes the results.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn

from wenmai.kernels.sdpa import attention
from wenmai.layers.positions import rotate
from wenmai.layers.trace import Trace


class MultiHeadAttention(nn.Module):
    def __init__(self, width: int, heads: int, rotary: bool = False, scaled: bool = True, causal: bool = False):
        """`causal`: no query looks at what comes after it."""
        super().__init__()
        self.heads, self.rotary, self.causal = heads, rotary, causal
        self.factor = 1 / sqrt(width // heads) if scaled else 1.0
        self.query_key_value, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, allowed: Tensor | None, trace: Trace | None = None, name: str = "",
                past: Tensor | None = None, start: int | Tensor = 0) -> Tensor:  # fmt: skip
        """x (B, T, E); allowed (B or 1, 1, T or 1, S), True where a query may look, None for everywhere. `past` (2, B, A, C, D):
        keys and values of `start` tokens before x, to which those of x are added; only where attention is causal. Where `start`
        is a tensor, x is one token and `allowed` (S,) is added to the scores of all its heads."""
        q, k, v = found = self.query_key_value(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # (B, A, T, D)
        if self.rotary:
            q, k = rotate(q, start), rotate(k, start)
        steps, causal = x.shape[1], self.causal
        if isinstance(start, Tensor):
            past.index_copy_(3, start.view(1), torch.stack([k, v]) if self.rotary else found[1:])
            k, v = past.flatten(1, 2)  # (B·A, S, D)
            weights = torch.baddbmm(allowed, q.flatten(0, 1), k.mT, alpha=self.factor).softmax(-1)  # (B·A, 1, S)
            return self.output((weights @ v).view(len(x), 1, -1))  # (B, 1, E)
        if past is not None:
            end = start + steps
            past[0, :, :, start:end], past[1, :, :, start:end] = k, v
            k, v = past[:, :, :, :end]  # (B, A, S, D)
            if start:  # one query, the last, looks at all; several each at its own past
                causal, allowed = False, None if steps == 1 else see_past(steps, x.device, start)
        # The fused kernel, except in bf16 on a CPU, where its backward pass was 2 to 8 times slower than the formula.
        if trace is None and (q.is_cuda or q.dtype == torch.float32):
            context = attention(q, k, v, allowed, self.factor, causal)
        else:
            scores = (q * self.factor) @ k.mT  # (B, A, T, S)
            allowed = see_past(steps, x.device) if causal else allowed
            scores = scores if allowed is None else scores.masked_fill_(~allowed, float("-inf"))
            with torch.autocast(x.device.type, enabled=False):  # 16 bits in, 16 out; summed in 32
                weights = scores.softmax(-1)
            if trace is not None:
                trace.note(f"{name}.attention", weights)
            context = weights @ v  # (B, A, T, D)
        return self.output(context.transpose(1, 2).flatten(2))  # (B, T, E)


def see_real(mask: Tensor) -> Tensor:
    """(B, T) → (B, 1, 1, S): a query may look at every real position; in a row without any, at the first."""
    first = torch.arange(mask.shape[1], device=mask.device) == 0
    return (mask | (first & ~mask.any(1, keepdim=True)))[:, None, None, :]


def see_past(steps: int, device=None, before: int = 0) -> Tensor:
    """(1, 1, T, S): position t may look at s ≤ t, and at all that stand before the first."""
    return torch.ones(steps, before + steps, dtype=torch.bool, device=device).tril(before)[None, None]
