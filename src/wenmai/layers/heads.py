"""Heads: they own the last weights, the loss, and how outputs become answers. The task gives them, the builder sizes them.

What a task gives a builder is a request: OneOf (N→1), EachOf (N→N) or Number (either). Called with the body's width, it makes
the head; before that, a rung can read from it what is wanted (`per_step`, `classes`, `pooling`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.data.text.vocabulary import BEGIN
from wenmai.kernels.next_loss import NextLoss
from wenmai.kernels.products import plain, product
from wenmai.layers.crf import CRF
from wenmai.layers.dropout import Dropout, Locked


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
class Next:
    """The next token of a running text, of a vocabulary of `tokens`. `smoothing` of what is expected is shared out among all of
    them (Szegedy et al. 2016)."""

    tokens: int = 0
    smoothing: float = 0.0
    per_step = has_probabilities = True

    def __call__(self, width: int, dropout: float = 0.0, table: nn.Parameter | None = None, quiet: float = 0.0,
                 slow: float = 0.0, bias: bool = True) -> NextHead:  # fmt: skip
        return NextHead(width, self.tokens, dropout, table, quiet, slow, bias, self.smoothing)


@dataclass
class OneOf:
    """One of `classes` for a row."""

    classes: int
    weights: list[float] | None = None  # of every class in the loss, where they are balanced
    per_step = False
    has_probabilities = True

    @property
    def columns(self) -> int:
        return self.classes

    def __call__(self, width: int, pooling: str, dropout: float = 0.0) -> ClassHead:
        return ClassHead(width, self.classes, pooling, dropout, self.weights)


@dataclass
class EachOf:
    """One of `classes` at every step, with a CRF over them or without."""

    classes: int
    crf: bool = False
    allowed: tuple[np.ndarray, ...] | None = field(default=None, repr=False)  # what a scheme lets follow what
    weights = None
    per_step = True
    has_probabilities = True

    @property
    def columns(self) -> int:
        return self.classes

    def __call__(self, width: int, pooling: str, dropout: float = 0.0) -> nn.Module:
        return CRF(width, self.classes, dropout, self.allowed) if self.crf else TagHead(width, self.classes, dropout)


@dataclass
class Number:
    """`columns` numbers for a row, or at every step; `mean` and `deviation` (columns,) are those of the training targets, and
    `ends` their least and most, each with the place where it stands."""

    mean: np.ndarray
    deviation: np.ndarray
    per_step: bool = False
    ends: tuple = ()
    has_probabilities = False

    @property
    def columns(self) -> int:
        return len(self.mean)

    def __call__(self, width: int, pooling: str, dropout: float = 0.0) -> NumberHead:
        return NumberHead(width, self.mean, self.deviation, None if self.per_step else pooling)


class ClassHead(nn.Module):
    """log p = log softmax(W pool(y) + b); the loss is −log p of the right class."""

    per_step = False
    has_probabilities = True

    def __init__(self, width: int, classes: int, pooling: str, dropout: float, weights: list[float] | None):
        super().__init__()
        self.pooling, self.dropout, self.output = pooling, Dropout(dropout), nn.Linear(width, classes)
        self.width = classes
        self.register_buffer("weights", None if weights is None else torch.tensor(weights))

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.dropout(pool(y, mask, self.pooling))).float().log_softmax(-1)  # (B, C)

    def loss(self, y: Tensor, mask: Tensor, batch: Batch) -> tuple[Tensor, Tensor | int]:
        total = functional.nll_loss(self.outputs(y, mask), batch.target, weight=self.weights, reduction="sum")
        return total, len(batch.target) if self.weights is None else self.weights[batch.target].sum()


class NextHead(nn.Module):
    """log p_t = log softmax(W y_t + b) of the token after t. W may be the table that tokens are looked up in (tied: Press & Wolf
    2017), from y brought to its width.

    `quiet` and `slow` weigh what training adds to the loss: the square of y as it was dropped, and of its change from step to
    step (Merity, McCann & Socher 2017)."""

    per_step = has_probabilities = True

    def __init__(self, width: int, tokens: int, dropout: float, table: nn.Parameter | None, quiet: float, slow: float,
                 bias: bool, smoothing: float):  # fmt: skip
        super().__init__()
        self.dropout, self.quiet, self.slow, self.width, self.smoothing = Locked(dropout), quiet, slow, tokens, smoothing
        narrow = table is not None and table.shape[1] != width
        self.bring = nn.Linear(width, table.shape[1], bias=False) if narrow else nn.Identity()
        self.output = nn.Linear(width if table is None else table.shape[1], tokens, bias)
        if table is not None:
            self.output.weight = table
        if bias:
            nn.init.zeros_(self.output.bias)
        never = torch.zeros(tokens)
        never[BEGIN] = float("-inf")
        self.register_buffer("never", never, persistent=False)

    def bias(self) -> Tensor:
        return self.never if self.output.bias is None else self.output.bias + self.never

    def scores(self, y: Tensor, even: int = 1, by: Callable = product) -> Tensor:
        """(B, T, V); the opening of a line never follows anything. Nor do tokens that bring V to a multiple of `even`."""
        weight, bias = self.output.weight, self.bias()
        if more := -len(weight) % even:
            weight, bias = functional.pad(weight, (0, 0, 0, more)), functional.pad(bias, (0, more), value=float("-inf"))
        return by(self.bring(y), weight, bias).float()

    def outputs(self, y: Tensor, mask: Tensor | None = None, by: Callable = product) -> Tensor:
        """`by`: how a text that is written step by step multiplies (products.Repeated)"""
        scores = self.scores(y, by=by)
        return torch.log_softmax(scores, -1, out=scores if plain(scores) else None)  # (B, T, V), in their place

    def loss(self, y: Tensor, mask: Tensor, batch: Batch) -> tuple[Tensor, Tensor | int]:
        dropped, smoothing = self.dropout(y), self.smoothing if self.training else 0.0
        if y.is_cuda:
            scores = self.scores(dropped, 64).flatten(0, 1)  # up to three times as fast there
            total = functional.cross_entropy(scores, batch.target.flatten(), reduction="sum")
            if smoothing:
                total = (1 - smoothing) * total + smoothing * self.even(scores, batch.target.flatten())
        else:
            target, rows = batch.target.flatten(), self.bring(dropped).flatten(0, 1)
            if not bool((real := target >= 0).all()):
                target, rows = target[real], rows[real]
            total = NextLoss.apply(rows, self.output.weight, self.bias(), target, smoothing)
        if self.training and self.quiet:
            total = total + self.quiet * dropped.float().square().mean() * batch.target.numel()
        if self.training and self.slow and y.shape[1] > 1:
            total = total + self.slow * (y[:, 1:] - y[:, :-1]).float().square().mean() * batch.target.numel()
        return total, batch.target.numel() if batch.target_mask is None else batch.target_mask.sum()

    def even(self, scores: Tensor, target: Tensor) -> Tensor:
        """Σ over places of −log p, the mean of all tokens that can stand there."""
        whole, some = scores.logsumexp(1), scores[:, : self.width].masked_fill(self.never.isinf(), 0.0).sum(1)
        return ((whole - some / (self.width - 1)) * (target >= 0)).sum()


class TagHead(nn.Module):
    """log p_t = log softmax(W y_t + b): every step for itself."""

    per_step = True
    has_probabilities = True

    def __init__(self, width: int, classes: int, dropout: float):
        super().__init__()
        self.dropout, self.output = Dropout(dropout), nn.Linear(width, classes)
        self.width = classes

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.dropout(y)).float().log_softmax(-1)  # (B, T, C)

    def loss(self, y: Tensor, mask: Tensor, batch: Batch) -> tuple[Tensor, Tensor | int]:
        return functional.nll_loss(self.outputs(y, mask)[mask], batch.target[mask], reduction="sum"), mask.sum()


class NumberHead(nn.Module):
    """ŷ = mean + deviation · (W pool(y) + b), or the same at every step; the loss is ((ŷ − target) / deviation)².

    Nothing is dropped here: what is missing from y would be missing from the sum, and no class is there to round it away."""

    has_probabilities = False

    def __init__(self, width: int, mean: np.ndarray, deviation: np.ndarray, pooling: str | None):
        super().__init__()
        self.pooling, self.per_step = pooling, pooling is None
        self.output, self.width = nn.Linear(width, len(mean)), len(mean)
        self.register_buffer("mean", torch.from_numpy(np.asarray(mean, np.float64)))
        self.register_buffer("deviation", torch.from_numpy(np.asarray(deviation, np.float64)))

    def standard(self, y: Tensor, mask: Tensor) -> Tensor:
        y = y if self.pooling is None else pool(y, mask, self.pooling)
        return self.output(y).float()  # (B, K), or (B, T, K) one a step

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.standard(y, mask).double() * self.deviation + self.mean

    def loss(self, y: Tensor, mask: Tensor, batch: Batch) -> tuple[Tensor, Tensor | int]:
        found = self.standard(y, mask)
        wanted = ((batch.target.view(found.shape) - self.mean) / self.deviation).float()
        error = (found - wanted).square().mean(-1)  # (B,) or (B, T)
        return (error[mask].sum(), mask.sum()) if self.per_step else (error.sum(), len(error))
