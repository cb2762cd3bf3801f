"""Torch's fused attention, and which of its kernels is used on a GPU.

cuDNN's kernel is the fastest, and makes a plan for every shape it sees, which takes longer than many updates: it is for texts
that are read in windows of one shape, and used inside `one_shape()` alone. Torch holds the choice in switches of the whole
process: they are thrown for a single call at a time, one thread after another, and put back.
"""

from __future__ import annotations

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


def attention(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, scale: float, causal: bool = False) -> Tensor:
    """q (B, A, T, D), k and v (B, A, S, D) → (B, A, T, D)"""
    if not q.is_cuda or has_one_shape.get():
        return scaled_dot_product_attention(q, k, v, allowed, is_causal=causal, scale=scale)
    with nullcontext() if torch.compiler.is_compiling() else SWITCHES, sdpa_kernel(ANY_SHAPE):
        return scaled_dot_product_attention(q, k, v, allowed, is_causal=causal, scale=scale)
