"""Attention: every query looks at all keys and takes the values where it looks (Vaswani et al. 2017).

    score   s = q kᵀ / √D          how well query t matches key s (plain: without the √D)
    weights a = softmax(s)         over the source, forbidden places excluded
    context c = a v                the values, mixed

Multi-head attention does this A times side by side on slices of the width, and mixes the results."""

from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from wenmai.kernels import attention as kernel
from wenmai.layers.positions import rotate
from wenmai.layers.trace import Trace


class MultiHeadAttention(nn.Module):
    def __init__(
        self,
        width: int,
        heads: int,
        rotary: bool = False,
        scaled: bool = True,
        causal: bool = False,
    ):
        """`causal`: no query looks at what comes after it. `one_shape`: all that it
        learns from has one shape."""
        super().__init__()
        self.heads, self.rotary, self.causal, self.one_shape = heads, rotary, causal, False
        self.factor = 1 / sqrt(width // heads) if scaled else 1.0
        self.query_key_value, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(
        self,
        x: Tensor,
        allowed: Tensor | None,
        trace: Trace | None = None,
        past=None,
        first: bool = False,
        packed=None,
    ) -> Tensor:
        """x (B, T, E), or (ΣT, E) where rows are `packed` (layers/packing.py); allowed (B or 1, 1, T or 1, S), True where a query
        may look, None for everywhere. `past`: one layer of a cache (layers/cache.py), to which the keys and values of x are
        added; only where attention is causal. `first`: only the first place asks, and all others are looked at → (B, 1, E)"""
        start = 0 if past is None else past.start
        if packed is not None:
            return self.output(self.in_rows(self.query_key_value(x), packed))
        if first:
            return self.output(
                attended(*self.of_first(x), allowed, self.factor, trace, "attention")
            )
        q, k, v = projected = (
            self.query_key_value(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        )  # (B, A, T, D)
        if self.rotary:
            q, k = rotate(q, start), rotate(k, start)
        causal = self.causal
        if past is not None:
            if past.recorded:
                key_value = torch.stack([k, v]) if self.rotary else projected[1:]
                return self.output(
                    kernel.attend_placed(q, key_value, past.room, start, past.allowed, self.factor)
                )
            k, v = past.added(k, v)  # (B, A, S, D)
            if past.behind:  # one query, the last, looks at all; several each at its own past
                causal, allowed = False, past.seen_by(x.shape[1])
        return self.output(
            attended(
                q,
                k,
                v,
                allowed,
                self.factor,
                trace,
                "attention",
                causal,
                self.training and self.one_shape,
            )
        )

    def in_rows(self, projected: Tensor, packed) -> Tensor:
        """(ΣT, 3·E) → (ΣT, E): every place looks at those of its own row"""
        if packed.bounds is not None and not self.rotary:
            return packed.attended(*projected.unflatten(-1, (3, self.heads, -1)).unbind(1))
        q, k, v = (
            packed.unpack(projected).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        )  # (B, A, T, D)
        q, k = (rotate(q), rotate(k)) if self.rotary else (q, k)
        return packed.pack(attended(q, k, v, packed.allowed, self.factor, None, "attention"))

    def of_first(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q (B, A, 1, D) of the first place, k and v (B, A, T, D) of all"""
        width, weight, bias = x.shape[-1], self.query_key_value.weight, self.query_key_value.bias
        q = (
            linear(x[:, :1], weight[:width], bias[:width])
            .unflatten(-1, (self.heads, -1))
            .transpose(1, 2)
        )
        k, v = (
            linear(x, weight[width:], bias[width:])
            .unflatten(-1, (2, self.heads, -1))
            .permute(2, 0, 3, 1, 4)
        )
        return (rotate(q, 0), rotate(k, 0), v) if self.rotary else (q, k, v)


def attended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    allowed: Tensor | None,
    factor: float,
    trace: Trace | None,
    name: str,
    causal: bool = False,
    one_shape: bool = False,
) -> Tensor:
    """q (B, A, T, D), k and v (B, A, S, D) → the contexts of all heads side by side (B, T, A·D)"""
    if trace is None and has_fused(q):
        return fused(q, k, v, allowed, factor, causal, one_shape).transpose(1, 2).flatten(2)
    if trace is not None:
        q, k, v = (
            trace.passing(f"{name}.{part}", value)
            for part, value in (("query", q), ("key", k), ("value", v))
        )
    scores = (q * factor) @ k.mT  # (B, A, T, S)
    allowed = see_past(q.shape[2], q.device) if causal else allowed
    scores = scores if allowed is None else scores.masked_fill_(~allowed, float("-inf"))
    with torch.autocast(q.device.type, enabled=False):  # 16 bits in, 16 out; summed in 32
        weights = scores.softmax(-1)
    context = weights @ v  # (B, A, T, D)
    if trace is not None:
        trace.note(name, weights)
        context = trace.passing(f"{name}.heads", context)
    return context.transpose(1, 2).flatten(2)  # (B, T, A·D)


def has_fused(q: Tensor) -> bool:
    """Not in bf16 on a CPU, where the fused kernel's backward pass was 2 to 8 times slower than the formula."""
    return q.is_cuda or q.dtype == torch.float32


def fused(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    allowed: Tensor | None,
    factor: float,
    causal: bool = False,
    one_shape: bool = False,
) -> Tensor:
    """The same by torch, which keeps no table of weights: q (B, A, T, D), k and v (B, A, S, D) → (B, A, T, D)"""
    if q.is_cuda:
        return kernel.attention_on_gpu(q, k, v, allowed, causal, factor, one_shape)
    return scaled_dot_product_attention(q, k, v, allowed, is_causal=causal, scale=factor)


def see_real(mask: Tensor) -> Tensor:
    """(B, T) → (B, 1, 1, S): a query may look at every real position; in a row without any, at the first."""
    first = torch.arange(mask.shape[1], device=mask.device) == 0
    return (mask | (first & ~mask.any(1, keepdim=True)))[:, None, None, :]


def see_past(steps: int, device=None, before: int = 0) -> Tensor:
    """(1, 1, T, S): position t may look at s ≤ t, and at all that stand before the first."""
    return torch.ones(steps, before + steps, dtype=torch.bool, device=device).tril(before)[
        None, None
    ]
