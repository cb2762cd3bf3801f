"""Copying: a word is said, or taken from the text that is read (pointer-generator: See, Liu & Manning 2017).

    p(w) = g P(w) + (1 − g) Σ_{s: w_s = w} α_ts,     g = σ(w · [C_t ; d_t ; u_t] + b)

P is the vocabulary's; α_ts, where step t looks; g, how much of it is said; u_t = E[w_{t−1}]. The vocabulary V goes on with the
X words of the source that it lacks: these can only be copied. The loss is −log p of the target. Label smoothing by ε weighs that
by 1 − ε, and asks an even share of P alone: the source's own words have none of it."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import NOTHING, Batch
from wenmai.kernels.kept import forgotten
from wenmai.kernels.next_loss import EVEN, scores_of, smoothing_loss
from wenmai.layers.heads import NextHead
from wenmai.layers.losses import Loss

NEVER = -1e4  # as log p: nothing beside any other, and its gradient is a number


class Pointed(NamedTuple):
    """What a decoder that copies gives: y (B, T, H), where it looks, α (B, T, S), and g (B, T, 1) before its σ."""

    y: Tensor
    weights: Tensor
    gate: Tensor


class Copies(NamedTuple):
    """The number of every token of a source (B, S), and how many of them stand beyond the vocabulary, X: it is asked once for a
    text, as a GPU has to be waited for."""

    numbers: Tensor
    extra: int

    @classmethod
    def of(cls, numbers: Tensor | None, vocabulary: int) -> "Copies | None":
        return (
            None if numbers is None else cls(numbers, max(0, int(numbers.max()) + 1 - vocabulary))
        )

    def take(self, rows: Tensor) -> "Copies":
        return Copies(self.numbers.index_select(0, rows.to(self.numbers.device)), self.extra)


class CopyHead(nn.Module):
    per_step = has_probabilities = True

    def __init__(self, head: NextHead):
        """`head` says P."""
        super().__init__()
        self.head, self.width = head, head.width

    def outputs(self, pointed: Pointed, copies: Copies) -> Tensor:
        """log p (B, T, V + X)"""
        gate = pointed.gate.float()
        generated = self.head.outputs(pointed.y) + functional.logsigmoid(gate)
        generated = functional.pad(
            generated, (0, copies.extra), value=float("-inf")
        )  # (B, T, V + X)
        places = copies.numbers.unsqueeze(1).expand(pointed.weights.shape)  # (B, T, S)
        shares = pointed.weights.float() * gate.neg().sigmoid()
        copied = torch.zeros_like(generated).scatter_add(2, places, shares)  # (B, T, V + X)
        there = copied > 0
        return torch.where(
            there, torch.logaddexp(generated, copied.where(there, 1.0).log()), generated
        )

    def losses(self, pointed: Pointed, mask: Tensor, batch: Batch) -> list[Loss]:
        """No table is as wide as V + X: a target is one of V, and α is summed where it stands in the source."""
        if self.head.repeated.kept.both:
            forgotten(self.head.repeated.kept)
        target, gate = batch.target, pointed.gate.squeeze(-1).float()  # (B, T)
        even, bias = EVEN if pointed.y.is_cuda else 1, self.head.bias()
        y = self.head.project(self.head.dropout(pointed.y))
        scores = scores_of(y, self.head.output.weight, bias, even).float()  # (B, T, V)
        generated = functional.cross_entropy(
            scores.flatten(0, 1),
            target.where(target < self.width, NOTHING).flatten(),
            ignore_index=NOTHING,
            reduction="none",
        ).view_as(target)
        generated = (functional.logsigmoid(gate) - generated).masked_fill(
            target >= self.width, NEVER
        )
        same = batch.copies.unsqueeze(1) == target.unsqueeze(-1)  # (B, T, S)
        copied = (pointed.weights.float() * same).sum(-1)  # (B, T)
        there = copied > 0
        copied = (functional.logsigmoid(-gate) + copied.where(there, 1.0).log()).masked_fill(
            ~there, NEVER
        )
        smoothing = self.head.smoothing if self.training else 0.0
        total = -(torch.logaddexp(generated, copied) * (target >= 0)).sum() * (1 - smoothing)
        if smoothing:
            total = total + smoothing * smoothing_loss(scores.flatten(0, 1), bias, target.flatten())
        return [Loss("next token", 1.0, total, batch.target_mask.sum())]
