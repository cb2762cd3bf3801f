"""Heads: they own the last weights, the losses, and how outputs become answers. The task gives them, the builder sizes them.

What a task gives a builder is a request: OneOf (N→1), EachOf (N→N), Number (either), Next (the next token), MaskedWords (hidden
words; pretraining.py), Span (from where to where) or Score (how well a text fits among others). Called with the body's width, it
makes the head; before that, a rung can read from it what is wanted (`per_step`, `classes`, `has_probabilities`). Every request
takes what any builder has to say of its network, so that a builder joins a body with whatever head is asked for.

What a head answers is `chosen(outputs, mask)`, and the number that speaks for it, log p or the number itself,
`support(outputs, mask, chosen)` (B,), which inspection/ takes the gradient of. The mask says which places are asked for.

A head gives `losses(y, mask, batch)`, a list. One that gives several also has `counts(batch)`, what each of them is divided by:
it is asked before the network has read a batch, as the counts of all its pieces are added first."""

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.kernels.kept import forgotten
from wenmai.kernels.next_loss import next_loss
from wenmai.kernels.products import Repeated, plain
from wenmai.layers.crf import CRF
from wenmai.layers.dropout import Dropout, Locked
from wenmai.layers.losses import Loss

POOLING = ("last", "first", "mean", "max", "sum", "ends")


def pool(y: Tensor, mask: Tensor, how: str) -> Tensor:
    """(B, T, H) → (B, H) over the real positions: last, first, mean, max or sum; or `ends`, where each way has read all:
    the first half of H at the last position, the second at the first."""
    if how == "ends":
        half = y.shape[-1] // 2
        return torch.cat([pool(y[..., :half], mask, "last"), y[:, 0, half:]], -1)
    if how == "last":
        return y[torch.arange(y.shape[0], device=y.device), (mask.sum(1) - 1).clamp(min=0)]
    if how == "first":
        return y[:, 0]
    kept = mask.unsqueeze(-1)
    if how == "max":
        return torch.where(
            mask.any(1, keepdim=True), y.masked_fill(~kept, float("-inf")).amax(1), 0.0
        )
    total = (y * kept).sum(1)
    return total if how == "sum" else total / mask.sum(1, keepdim=True).clamp(min=1)


@dataclass
class Request:
    """What a task asks for. `pooling` is how N go to 1, where the user says it, whatever the builder suggests."""

    pooling: str | None = field(default=None, kw_only=True)
    per_step = False
    has_probabilities = True
    next_token = tied = False

    @property
    def kind(self) -> type[nn.Module]:
        """The head that it makes, whose `chosen` and `support` also serve a rung that learns in its own way."""
        return NextHead if self.next_token else TagHead if self.per_step else ClassHead

    @property
    def columns(self) -> int:
        """Of the outputs: one a class, unless it is said otherwise."""
        return self.classes

    def __call__(
        self,
        width: int,
        pooling: str = "mean",
        dropout: float = 0.0,
        *,
        table: nn.Parameter | None = None,
        bias: bool = True,
        activation_penalty: float = 0.0,
        temporal_penalty: float = 0.0,
        dense: str | None = None,
        activation: str = "gelu",
        epsilon: float = 1e-5,
    ) -> nn.Module:
        """`width` of the body's outputs; `pooling` over real positions; `table` that tokens are looked up in, where it may say
        them too (tied), with a `bias` or without; `activation_penalty` and `temporal_penalty` of the next token's head; `dense`:
        the activation of a layer of its own after pooling; `activation` and `epsilon` of the body's layers and norms."""
        raise NotImplementedError


@dataclass
class OneOf(Request):
    """One of `classes` for a row."""

    classes: int
    weights: list[float] | None = None  # of every class in the loss, where they are balanced

    def __call__(
        self,
        width: int,
        pooling: str = "mean",
        dropout: float = 0.0,
        *,
        dense: str | None = None,
        **_,
    ) -> "ClassHead":
        return ClassHead(width, self.classes, self.pooling or pooling, dropout, self.weights, dense)


@dataclass
class EachOf(Request):
    """One of `classes` at every step, with a CRF over them or without."""

    classes: int
    crf: bool = False
    allowed: tuple[np.ndarray, ...] | None = field(
        default=None, repr=False
    )  # what a scheme lets follow what
    weights = None
    per_step = True

    def __call__(self, width: int, pooling: str = "mean", dropout: float = 0.0, **_) -> nn.Module:
        return (
            CRF(width, self.classes, dropout, self.allowed)
            if self.crf
            else TagHead(width, self.classes, dropout)
        )


@dataclass
class Number(Request):
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

    @property
    def kind(self) -> type[nn.Module]:
        return NumberHead

    def __call__(
        self,
        width: int,
        pooling: str = "mean",
        dropout: float = 0.0,
        *,
        dense: str | None = None,
        **_,
    ) -> "NumberHead":
        return NumberHead(
            width,
            self.mean,
            self.deviation,
            None if self.per_step else self.pooling or pooling,
            dense,
        )


@dataclass
class Next(Request):
    """The next token of a text, of a vocabulary of `tokens`, of which those `unwritten` never follow. `smoothing` of what is
    expected is shared out among all others (Szegedy et al. 2016)."""

    tokens: int
    unwritten: tuple[int, ...] = ()
    smoothing: float = 0.0
    per_step = next_token = True

    @classmethod
    def of(cls, texts) -> "Next":
        """For texts that are numbered as these are."""
        return cls(texts.vocabulary, texts.special.unwritten)

    def __call__(
        self,
        width: int,
        pooling: str = "last",
        dropout: float = 0.0,
        *,
        table: nn.Parameter | None = None,
        bias: bool = True,
        activation_penalty: float = 0.0,
        temporal_penalty: float = 0.0,
    ) -> "NextHead":
        return NextHead(width, self, dropout, table, bias, activation_penalty, temporal_penalty)


class Dense(nn.Module):
    """φ(W x + b), between what was pooled and the answer, where a body has such a layer (BERT's pooler)."""

    def __init__(self, width: int, activation: str | None):
        super().__init__()
        self.activation = activation
        self.layer = nn.Linear(width, width) if activation else None

    def forward(self, x: Tensor) -> Tensor:
        return x if self.layer is None else DENSE[self.activation](self.layer(x))


DENSE = {"tanh": torch.tanh, "relu": functional.relu, "gelu": functional.gelu}


class ClassHead(nn.Module):
    """log p = log softmax(W pool(y) + b); the loss is −log p of the right class."""

    per_step = says_next = False
    has_probabilities = True
    lasting = (
        "dense",
    )  # parts that a network takes over which starts from this one, where its head has them too

    def __init__(
        self,
        width: int,
        classes: int,
        pooling: str,
        dropout: float,
        weights: list[float] | None,
        dense: str | None = None,
    ):
        super().__init__()
        self.pooling, self.dropout, self.output = (
            pooling,
            Dropout(dropout),
            nn.Linear(width, classes),
        )
        self.dense = Dense(width, dense)
        self.width = classes
        self.register_buffer("weights", None if weights is None else torch.tensor(weights))

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return (
            self.output(self.dropout(self.dense(pool(y, mask, self.pooling))))
            .float()
            .log_softmax(-1)
        )  # (B, C)

    @staticmethod
    def chosen(outputs: Tensor, mask: Tensor | None) -> Tensor:
        return outputs.argmax(-1)

    @staticmethod
    def support(outputs: Tensor, mask: Tensor | None, chosen: Tensor) -> Tensor:
        return outputs.take_along_dim(chosen.unsqueeze(-1), -1).squeeze(-1)

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        total = functional.nll_loss(
            self.outputs(y, mask), batch.target, weight=self.weights, reduction="sum"
        )
        return [
            Loss(
                "class",
                1.0,
                total,
                len(batch.target) if self.weights is None else self.weights[batch.target].sum(),
            )
        ]


class NextHead(nn.Module):
    """log p_t = log softmax(W y_t + b) of the token after t. W may be the table that tokens are looked up in (tied: Press & Wolf
    2017), from y brought to its width.

    `activation_penalty` and `temporal_penalty` weigh what training adds to the loss: the square of y as it was dropped, and of
    its change from step to step (Merity, McCann & Socher 2017)."""

    per_step = has_probabilities = says_next = True

    def __init__(
        self,
        width: int,
        asked: Next,
        dropout: float,
        table: nn.Parameter | None,
        bias: bool,
        activation_penalty: float,
        temporal_penalty: float,
    ):
        super().__init__()
        self.dropout, self.width, self.smoothing = Locked(dropout), asked.tokens, asked.smoothing
        self.activation_penalty, self.temporal_penalty = activation_penalty, temporal_penalty
        narrow = table is not None and table.shape[1] != width
        self.project = nn.Linear(width, table.shape[1], bias=False) if narrow else nn.Identity()
        self.output = nn.Linear(width if table is None else table.shape[1], asked.tokens, bias)
        if table is not None:
            self.output.weight = table
        if bias:
            nn.init.zeros_(self.output.bias)
        forbidden = torch.zeros(asked.tokens)
        forbidden[list(asked.unwritten)] = float("-inf")
        self.register_buffer("forbidden", forbidden, persistent=False)
        self.repeated = Repeated()

    def bias(self) -> Tensor:
        """(V,), −∞ for what never follows anything"""
        return self.forbidden if self.output.bias is None else self.output.bias + self.forbidden

    def outputs(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = self.repeated(self.project(y), self.output, self.bias).float()
        in_place = plain(scores) and scores.is_contiguous()
        return torch.log_softmax(scores, -1, out=scores if in_place else None)  # (B, T, V)

    @staticmethod
    def chosen(outputs: Tensor, mask: Tensor | None) -> Tensor:
        """What follows the last token."""
        return outputs[:, -1].argmax(-1)

    @staticmethod
    def support(outputs: Tensor, mask: Tensor | None, chosen: Tensor) -> Tensor:
        return ClassHead.support(outputs[:, -1], None, chosen)

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        if self.repeated.kept.both:
            forgotten(self.repeated.kept)
        dropped = self.dropout(y)
        rows, target = self.project(dropped).flatten(0, 1), batch.target.flatten()
        total = next_loss(
            rows, self.output.weight, self.bias(), target, self.smoothing if self.training else 0.0
        )
        if self.training and self.activation_penalty:
            total = (
                total
                + self.activation_penalty * dropped.float().square().mean() * batch.target.numel()
            )
        if self.training and self.temporal_penalty and y.shape[1] > 1:
            total = (
                total
                + self.temporal_penalty
                * (y[:, 1:] - y[:, :-1]).float().square().mean()
                * batch.target.numel()
            )
        count = batch.target.numel() if batch.target_mask is None else batch.target_mask.sum()
        return [Loss("next token", 1.0, total, count)]


class TagHead(nn.Module):
    """log p_t = log softmax(W y_t + b): every step for itself."""

    per_step = has_probabilities = True
    says_next = False

    def __init__(self, width: int, classes: int, dropout: float):
        super().__init__()
        self.dropout, self.output = Dropout(dropout), nn.Linear(width, classes)
        self.width = classes

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.dropout(y)).float().log_softmax(-1)  # (B, T, C)

    chosen = staticmethod(ClassHead.chosen)

    @staticmethod
    def support(outputs: Tensor, mask: Tensor, chosen: Tensor) -> Tensor:
        """Σ log p over the places that are asked for."""
        return ClassHead.support(outputs, mask, chosen).masked_fill(~mask, 0.0).sum(1)

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        total = functional.nll_loss(
            self.outputs(y, mask)[mask], batch.target[mask], reduction="sum"
        )
        return [Loss("tags", 1.0, total, mask.sum())]


class NumberHead(nn.Module):
    """ŷ = mean + deviation · (W pool(y) + b), or the same at every step; the loss is ((ŷ − target) / deviation)².

    Nothing is dropped here: what is missing from y would be missing from the sum, and no class is there to round it away."""

    has_probabilities = says_next = False
    lasting = ("dense",)

    def __init__(
        self,
        width: int,
        mean: np.ndarray,
        deviation: np.ndarray,
        pooling: str | None,
        dense: str | None = None,
    ):
        super().__init__()
        self.dense = Dense(width, dense)
        self.pooling, self.per_step = pooling, pooling is None
        self.output, self.width = nn.Linear(width, len(mean)), len(mean)
        self.register_buffer("mean", torch.from_numpy(np.asarray(mean, np.float64)))
        self.register_buffer("deviation", torch.from_numpy(np.asarray(deviation, np.float64)))

    def standard(self, y: Tensor, mask: Tensor) -> Tensor:
        y = y if self.pooling is None else pool(y, mask, self.pooling)
        return self.output(self.dense(y)).float()  # (B, K), or (B, T, K) one a step

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.standard(y, mask).double() * self.deviation + self.mean

    @staticmethod
    def chosen(outputs: Tensor, mask: Tensor | None) -> Tensor:
        return outputs

    @staticmethod
    def support(outputs: Tensor, mask: Tensor | None, chosen: Tensor) -> Tensor:
        """The number; of several their sum."""
        return outputs.sum(-1) if outputs.dim() == 2 else (outputs.sum(-1) * mask).sum(1)

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        answer = self.standard(y, mask)
        target = ((batch.target.view(answer.shape) - self.mean) / self.deviation).float()
        error = (answer - target).square().mean(-1)  # (B,) or (B, T)
        total, count = (
            (error[mask].sum(), mask.sum()) if self.per_step else (error.sum(), len(error))
        )
        return [Loss("square", 1.0, total, count)]
