"""Attention by the library's fused kernels, which keep no table of weights; and over a cache, as a recording of a GPU
reads it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def fits(q: Tensor) -> bool:
    """Not in bf16 on a CPU, where the fused kernel's backward pass was 2 to 8 times slower than the formula."""
    return q.is_cuda or q.dtype == torch.float32


def attend(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, factor: float, causal: bool = False) -> Tensor:
    """q (B, A, T, D), k and v (B, A, S, D) → (B, A, T, D)"""
    return functional.scaled_dot_product_attention(q, k, v, allowed, is_causal=causal, scale=factor)


def attend_placed(q: Tensor, key_value: Tensor, past: Tensor, place: Tensor, bias: Tensor, factor: float) -> Tensor:
    """One query a row (B, A, 1, D), whose key and value (2, B, A, 1, D) go to `place` of the past (2, B, A, S, D); `bias` (S,) is
    −∞ where nothing stands yet → (B, 1, A·D)"""
    past.index_copy_(3, place.view(1), key_value)
    k, v = past.flatten(1, 2)  # (B·A, S, D)
    weights = torch.baddbmm(bias, q.flatten(0, 1), k.mT, alpha=factor).softmax(-1)  # (B·A, 1, S)
    return (weights @ v).view(len(q), 1, -1)
