"""Where a token stands, for layers that would not know.

sinusoidal  P[t, 2i] = sin(t / 10000^(2i/E)),  P[t, 2i + 1] = cos(…)      added to x;  Vaswani et al. 2017
learned     P[t] a weight of its own                                      added to x;  Gehring et al. 2017
rotary      pairs of q and k are turned by an angle of t · 10000^(−2i/D)  inside attention;  Su et al. 2021

x may stand after `start` tokens that were read before: a number, a number for every row (B,), or a tensor without rows where a
recording is replayed (language/replay.py)."""

from functools import lru_cache

import torch
from torch import Tensor, nn

from wenmai.layers.first_weights import normal


class Sinusoidal(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.width = width

    def forward(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        if isinstance(start, int) and x.device.type == "cpu" and not torch.jit.is_tracing():
            end = start + x.shape[1]
            return x + first_places(max(64, 1 << (end - 1).bit_length()), self.width)[start:end].to(
                x.dtype
            )
        return x + sinusoid(start, x.shape[1], self.width, x.device).to(x.dtype)


@lru_cache(8)
@torch.inference_mode(False)
def first_places(many: int, width: int) -> Tensor:
    return sinusoid(0, many, width)


def places(start: int | Tensor, steps: int, device=None) -> Tensor:
    """(T,), or (B, T) where every row has a start of its own"""
    start = start.unsqueeze(-1) if isinstance(start, Tensor) and start.dim() else start
    return start + torch.arange(steps, device=device)


def sinusoid(start: int | Tensor, steps: int, width: int, device=None) -> Tensor:
    angle = places(start, steps, device).unsqueeze(-1) * 10_000 ** (
        -torch.arange(0, width, 2, device=device) / width
    )
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)[
        ..., :width
    ]  # (T, E) or (B, T, E)


class Learned(nn.Module):
    def __init__(self, width: int, longest: int):
        super().__init__()
        self.table = nn.Parameter(normal(0.02, longest, width))

    def forward(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        if isinstance(start, Tensor):
            return x + self.table[places(start, x.shape[1], x.device)]
        return x + self.table[start : start + x.shape[1]]


def rotate(x: Tensor, start: int | Tensor = 0) -> Tensor:
    """Rotary: (B, A, T, D) with every pair (x_i, x_{i + D/2}) turned by its angle."""
    half = int(x.shape[-1]) // 2
    t = places(start, x.shape[-2], x.device).unsqueeze(-1)
    t = t.unsqueeze(1) if t.dim() == 3 else t  # (B, 1, T, 1): the same for every head
    angle = t * 10_000 ** (
        -torch.arange(half, device=x.device) / half
    )  # (T, D / 2) or (B, 1, T, D / 2)
    sin, cos = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
    a, b = x[..., :half], x[..., half : 2 * half]
    return torch.cat([a * cos - b * sin, a * sin + b * cos, x[..., 2 * half :]], -1)
