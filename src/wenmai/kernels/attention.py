"""Which of torch's fused kernels of attention a GPU uses; and attention over a cache as a recording of a GPU reads it.

cuDNN's kernel is the fastest, and makes a plan for every shape it sees, which takes longer than many updates: it is for texts
that are read in windows of one shape. Torch holds the choice in a switch of the whole process: it is thrown for a single call at
a time, one thread after another, and put back. In float32 cuDNN has no kernel, and nothing is thrown."""

import threading
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.backends.cuda import cudnn_sdp_enabled, enable_cudnn_sdp
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

ANY_SHAPE = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
SWITCH = threading.Lock()


def attention_on_gpu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    allowed: Tensor | None,
    is_causal: bool,
    scale: float,
    one_shape: bool = False,
) -> Tensor:
    """q (B, A, T, D), k and v (B, A, S, D) → (B, A, T, D)"""
    if one_shape or q.dtype == torch.float32:
        return scaled_dot_product_attention(q, k, v, allowed, is_causal=is_causal, scale=scale)
    with sdpa_kernel(ANY_SHAPE) if torch.compiler.is_compiling() else without_cudnn():
        return scaled_dot_product_attention(q, k, v, allowed, is_causal=is_causal, scale=scale)


@contextmanager
def without_cudnn():
    with SWITCH:
        before = cudnn_sdp_enabled()
        enable_cudnn_sdp(False)
        try:
            yield
        finally:
            enable_cudnn_sdp(before)


def attend_placed(
    q: Tensor, key_value: Tensor, past: Tensor, place: Tensor, bias: Tensor, factor: float
) -> Tensor:
    """One query a row (B, A, 1, D), whose key and value (2, B, A, 1, D) go to `place` of the past (2, B, A, S, D); `bias` (S,) is
    −∞ where nothing stands yet → (B, 1, A·D)"""
    past.index_copy_(3, place.view(1), key_value)
    k, v = past.flatten(1, 2)  # (B·A, S, D)
    weights = torch.baddbmm(bias, q.flatten(0, 1), k.mT, alpha=factor).softmax(-1)  # (B·A, 1, S)
    return (weights @ v).view(len(q), 1, -1)
