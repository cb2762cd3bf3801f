"""Dropout (Srivastava et al. 2014): in training, a share p of the numbers is set to 0 and the rest grown to make up.

On a CPU the random numbers are what it costs: torch draws 64 random bits a number, one after another, which took a third
of a small Transformer's training. Here one draw serves eight numbers, a byte each, so p is rounded to 1/256."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Dropout(nn.Module):
    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.is_cuda:
            return functional.dropout(x, self.p)
        dropped = min(255, max(1, round(self.p * 256)))  # of 256
        bits = (
            torch.empty(x.numel() // 8 + 1, dtype=torch.int64)
            .random_(-(2**63), None)
            .view(torch.uint8)
        )
        kept = (bits[: x.numel()] >= dropped).view(x.shape)
        return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


class Locked(nn.Module):
    """The same numbers are dropped at every step of a row (variational: Gal & Ghahramani 2016)."""

    def __init__(self, p: float):
        super().__init__()
        self.dropout = Dropout(p)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, E)"""
        return x * self.dropout(x.new_ones(len(x), 1, x.shape[2])) if self.training else x
