"""Torch's fused attention, which keeps no table of weights, and which of its kernels is used on a GPU; and attention over a cache
as a recording of a GPU reads it.

cuDNN's kernel is the fastest, and makes a plan for every shape it sees, which takes longer than many updates: it is for texts
that are read in windows of one shape, and used inside `one_shape()` alone. Torch holds the choice in switches of the whole
process: they are thrown for a single call at a time, one thread after another, and put back."""

import threading
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

ANY_SHAPE = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
SWITCHES = threading.Lock()
has_one_shape: ContextVar[bool] = ContextVar("has_one_shape", default=False)  # of this thread


@contextmanager
def one_shape(holds: bool = True):
    """Inside, all attention of this thread is over batches of one shape, if that `holds`."""
    before = has_one_shape.set(holds)
    try:
        yield
    finally:
        has_one_shape.reset(before)


def attend(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, factor: float, causal: bool = False) -> Tensor:
    """q (B, A, T, D), k and v (B, A, S, D) → (B, A, T, D)"""
    if not q.is_cuda or has_one_shape.get():
        return scaled_dot_product_attention(q, k, v, allowed, is_causal=causal, scale=factor)
    with nullcontext() if torch.compiler.is_compiling() else SWITCHES, sdpa_kernel(ANY_SHAPE):
        return scaled_dot_product_attention(q, k, v, allowed, is_causal=causal, scale=factor)


def fits(q: Tensor) -> bool:
    """Not in bf16 on a CPU, where the fused kernel's backward pass was 2 to 8 times slower than the formula."""
    return q.is_cuda or q.dtype == torch.float32


def attend_placed(q: Tensor, key_value: Tensor, past: Tensor, place: Tensor, bias: Tensor, factor: float) -> Tensor:
    """One query a row (B, A, 1, D), whose key and value (2, B, A, 1, D) go to `place` of the past (2, B, A, S, D); `bias` (S,) is
    −∞ where nothing stands yet → (B, 1, A·D)"""
    past.index_copy_(3, place.view(1), key_value)
    k, v = past.flatten(1, 2)  # (B·A, S, D)
    weights = torch.baddbmm(bias, q.flatten(0, 1), k.mT, alpha=factor).softmax(-1)  # (B·A, 1, S)
    return (weights @ v).view(len(q), 1, -1)
