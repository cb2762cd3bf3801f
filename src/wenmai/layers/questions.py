"""Heads of questions about a text: where in it the answer stands, and which of several texts is right."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.layers.dropout import Dropout
from wenmai.layers.heads import Dense, Request, pool
from wenmai.layers.losses import Loss


@dataclass
class Span(Request):
    """Where something begins and where it ends, among the places of a row that may answer."""

    columns = 2
    per_step = True

    def __call__(self, width: int, pooling: str = "mean", dropout: float = 0.0, **_) -> "SpanHead":
        return SpanHead(width, dropout)


@dataclass
class Score(Request):
    """How well each of several texts fits, which belong to one question."""

    columns = 1

    def __call__(
        self,
        width: int,
        pooling: str = "mean",
        dropout: float = 0.0,
        *,
        dense: str | None = None,
        **_,
    ) -> "ScoreHead":
        return ScoreHead(width, self.pooling or pooling, dropout, dense)


class SpanHead(nn.Module):
    """s_t = w_s y_t + b_s and e_t = w_e y_t + b_e; log p of a begin is log softmax_t(s), of an end log softmax_t(e) (Devlin et
    al. 2019). The outputs are the scores themselves, so that those of several windows can stand side by side. Where K spans are
    right, the target is (B, K, 2), −1 where a row has fewer, and the loss −log Σ_k p(begin_k) p(end_k) (Clark & Gardner 2018)."""

    per_step = has_probabilities = True
    says_next = False
    width = 2

    def __init__(self, width: int, dropout: float):
        super().__init__()
        self.dropout, self.output = Dropout(dropout), nn.Linear(width, 2)

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.dropout(y)).float()  # (B, W, 2)

    @staticmethod
    def chosen(outputs: Tensor, mask: Tensor) -> Tensor:
        """(B, 2): the begin and the end whose sum is the highest, the end not before the begin"""
        scores = outputs.masked_fill(~mask.unsqueeze(-1), float("-inf"))
        pairs = scores[:, :, None, 0] + scores[:, None, :, 1]  # (B, W, W)
        ordered = torch.ones_like(pairs[0], dtype=torch.bool).triu()
        best = pairs.masked_fill(~ordered, float("-inf")).flatten(1).argmax(1)
        return torch.stack([best // outputs.shape[1], best % outputs.shape[1]], 1)

    @staticmethod
    def support(outputs: Tensor, mask: Tensor, chosen: Tensor) -> Tensor:
        scores = outputs.masked_fill(~mask.unsqueeze(-1), float("-inf")).log_softmax(
            1
        )  # log p of begins, of ends
        return scores.gather(1, chosen.unsqueeze(1)).sum((1, 2))

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        scores = self.outputs(y, mask).masked_fill(~mask.unsqueeze(-1), float("-inf"))
        each = scores.log_softmax(1).gather(1, batch.target.clamp(min=0)).sum(-1)  # (B, K)
        chosen = each.masked_fill(batch.target[..., 0] < 0, float("-inf")).logsumexp(1)  # (B,)
        return [Loss("span", 0.5, -chosen.sum(), len(batch.target))]


class ScoreHead(nn.Module):
    """z = w pool(y) of every text; log p = log softmax(z) over the texts of one question, which `batch.example` numbers. A bias,
    added to all of them alike, would say nothing."""

    per_step = says_next = False
    has_probabilities = True
    width = 1

    def __init__(self, width: int, pooling: str, dropout: float, dense: str | None = None):
        super().__init__()
        self.pooling, self.dropout, self.output = (
            pooling,
            Dropout(dropout),
            nn.Linear(width, 1, bias=False),
        )
        self.dense = Dense(width, dense)

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.dropout(self.dense(pool(y, mask, self.pooling)))).float()  # (ΣK, 1)

    @staticmethod
    def chosen(outputs: Tensor, mask: Tensor | None) -> Tensor:
        """Which text, of one question."""
        return outputs[:, 0].argmax(0)

    @staticmethod
    def support(outputs: Tensor, mask: Tensor | None, chosen: Tensor) -> Tensor:
        return outputs[:, 0].log_softmax(0)[chosen].unsqueeze(0)  # (1,)

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        scores, questions, example = self.outputs(y, mask)[:, 0], len(batch.target), batch.example
        first = torch.searchsorted(
            example, torch.arange(questions, device=example.device)
        )  # (B,) its first text
        most = scores.new_full((questions,), float("-inf")).scatter_reduce(
            0, example, scores.detach(), "amax"
        )
        total = (
            torch.zeros_like(most).index_add(0, example, (scores - most[example]).exp()).log()
            + most
        )  # log Σ exp z
        return [Loss("choice", 1.0, (total - scores[first + batch.target]).sum(), questions)]
