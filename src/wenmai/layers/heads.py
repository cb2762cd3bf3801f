"""Heads: they own the last weights, the loss, and how outputs become answers. The task gives them, the builder sizes them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.batches import Batch
from wenmai.layers.dropout import Dropout


def pool(y: Tensor, mask: Tensor, how: str) -> Tensor:
    """(B, T, H) → (B, H) over the real positions: last, first, mean, max or sum; or `ends`, where each way has read all:
    the first half of H at the last position, the second at the first."""
    if how == "ends":
        half = y.shape[-1] // 2
        return torch.cat([pool(y[..., :half], mask, "last"), y[:, 0, half:]], -1)
    if how == "last":
        return y[torch.arange(len(y), device=y.device), (mask.sum(1) - 1).clamp(min=0)]
    if how == "first":
        return y[:, 0]
    kept = mask.unsqueeze(-1)
    if how == "max":
        return torch.where(mask.any(1, keepdim=True), y.masked_fill(~kept, float("-inf")).amax(1), 0.0)
    total = (y * kept).sum(1)
    return total if how == "sum" else total / mask.sum(1, keepdim=True).clamp(min=1)


@dataclass
class OneOf:
    """Asks a rung for one of `classes`: the head of N→1. A builder calls it with its width."""

    classes: int
    weights: list[float] | None = None  # of every class in the loss, where they are balanced

    def __call__(self, width: int, pooling: str, dropout: float = 0.0) -> ClassHead:
        return ClassHead(width, self.classes, pooling, dropout, self.weights)


class ClassHead(nn.Module):
    """log p = log softmax(W pool(y) + b); the loss is −log p of the right class."""

    def __init__(self, width: int, classes: int, pooling: str, dropout: float, weights: list[float] | None):
        super().__init__()
        self.pooling, self.dropout, self.output = pooling, Dropout(dropout), nn.Linear(width, classes)
        self.register_buffer("weights", None if weights is None else torch.tensor(weights))

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.dropout(pool(y, mask, self.pooling))).float().log_softmax(-1)  # (B, C)

    def loss(self, y: Tensor, mask: Tensor, batch: Batch) -> tuple[Tensor, Tensor | int]:
        total = functional.nll_loss(self.outputs(y, mask), batch.target, weight=self.weights, reduction="sum")
        return total, len(batch.target) if self.weights is None else self.weights[batch.target].sum()
