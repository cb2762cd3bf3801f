"""The loss of the next token, without its table: the scores of some rows at a time become their own gradient at once.

    s = W y + b,   loss = Σ_n (log Σ_v exp s_nv − Σ_v q_nv s_nv),   d loss / d s = softmax(s) − q

q is 1 at the target and 0 elsewhere; smoothed by ε (Szegedy et al. 2016), 1 − ε there, and ε is shared out among all that can be
said.

With V words a row has V scores, of which the usual way writes seven tables on its way there and back; here they stay in the
processor's cache, and one table is left, of the gradient."""

import torch
from torch import Tensor
from torch.nn import functional

ROWS = 256
EVEN = 64  # a GPU multiplies up to three times as fast where V is a multiple of this


def next_loss(y: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """y (N, E), weight (V, E), bias (V,), −∞ for what is never said, target (N,), below 0 where there is none → the sum of the
    losses"""
    if y.is_cuda:
        scores = scores_of(y, weight, bias, EVEN).float()
        total = functional.cross_entropy(scores, target, reduction="sum")
        return (
            (1 - smoothing) * total + smoothing * smoothing_loss(scores, bias, target)
            if smoothing
            else total
        )
    if not bool((real := target >= 0).all()):
        target, y = target[real], y[real]
    return NextLoss.apply(y, weight, bias, target, smoothing)


def scores_of(y: Tensor, weight: Tensor, bias: Tensor, even: int) -> Tensor:
    """(…, V), with tokens that nothing leads to for V to be a multiple of `even`."""
    if more := -len(weight) % even:
        weight, bias = (
            functional.pad(weight, (0, 0, 0, more)),
            functional.pad(bias, (0, more), value=float("-inf")),
        )
    return functional.linear(y, weight, bias)


def smoothing_loss(scores: Tensor, bias: Tensor, target: Tensor) -> Tensor:
    """Σ over places of −log p, the mean of all tokens that can stand there."""
    can = bias.isfinite()
    whole, some = scores.logsumexp(1), scores[:, : len(bias)].masked_fill(~can, 0.0).sum(1)
    return ((whole - some / can.sum()) * (target >= 0)).sum()


class NextLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, y: Tensor, weight: Tensor, bias: Tensor, target: Tensor, smoothing: float = 0.0
    ) -> Tensor:
        """y (N, E), weight (V, E), bias (V,), −∞ for what is never said, target (N,) → the sum of the losses"""
        kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else y.dtype
        low, table, shift = y.to(kind), weight.to(kind), bias.to(kind)
        ds, dy = low.new_empty(len(y), len(weight)), torch.empty_like(low)  # (N, V), (N, E)
        total, db = (
            y.new_zeros((), dtype=torch.float32),
            bias.new_zeros(len(bias), dtype=torch.float32),
        )
        can = bias.isfinite()
        even = can * (smoothing / can.sum())  # (V,)
        for start in range(0, len(y), ROWS):
            rows = slice(start, start + ROWS)
            scores, at = (
                functional.linear(low[rows], table, shift).float(),
                target[rows, None],
            )  # (ROWS, V)
            whole = scores.logsumexp(1, keepdim=True)
            total += (whole - (1 - smoothing) * scores.gather(1, at)).sum()
            if smoothing:
                total -= torch.mv(scores.masked_fill(~can, 0.0), even).sum()
            scores.sub_(whole).exp_()
            scores = scores.sub_(even) if smoothing else scores
            ds[rows] = scores.scatter_add_(1, at, scores.new_full(at.shape, smoothing - 1.0))
            db += scores.sum(0)
            torch.mm(ds[rows], table, out=dy[rows])
        ctx.save_for_backward(dy, ds.mT @ low, db if ctx.needs_input_grad[2] else None)
        return total

    @staticmethod
    def backward(ctx, grad: Tensor):
        return (
            *(None if part is None else part.float().mul_(grad) for part in ctx.saved_tensors),
            None,
            None,
        )
