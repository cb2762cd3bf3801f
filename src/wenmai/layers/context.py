"""A context a step: what a query finds among the states of a sequence.

    weights  α_ts = softmax over s of score(q_t, k_s)
    context  C_t  = Σ_s α_ts v_s                          Bahdanau et al. 2015

The score is one of

    dot       qᵀ k                                        Luong et al. 2015
    scaled    qᵀ k / √D                                   Vaswani et al. 2017
    general   qᵀ W k                                      Luong et al. 2015
    additive  wᵀ tanh(W q + U k + b)                      Bahdanau et al. 2015
"""

from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from wenmai.layers.attention import fused, has_fused
from wenmai.layers.first_weights import normal
from wenmai.layers.trace import Trace

Score = Literal["general", "dot", "scaled", "additive"]
TABLE = 1 << 22  # numbers of the table (B, T, S, H) of additive scores that are held at once


class Context(nn.Module):
    """`query` and `key` are their widths, which dot and scaled want equal; `hidden` is the width of the additive score."""

    def __init__(self, query: int, key: int, score: Score, hidden: int | None = None):
        super().__init__()
        self.factor = 1 / sqrt(key) if score == "scaled" else 1.0
        self.project = self.project_key = self.project_query = self.weigh = None
        if score == "general":
            self.project = nn.Linear(
                query, key, bias=False
            )  # then qᵀW is as wide as k, and the rest is dot
            # every place alike at first: a wrong place is hard to leave
            self.project.weight = nn.Parameter(normal(0.25 / key, key, query))
        elif score == "additive":
            hidden = hidden or key
            self.project_query, self.project_key = (
                nn.Linear(query, hidden),
                nn.Linear(key, hidden, bias=False),
            )
            self.weigh = nn.Linear(hidden, 1, bias=False)

    def keys(self, k: Tensor) -> Tensor:
        """What a query is compared with, (B, S, K) → (B, S, K or H): made once, however many queries there are."""
        return k if self.project_key is None else self.project_key(k)

    def scores(self, q: Tensor, keys: Tensor) -> Tensor:
        """(B, T, D), what `keys` made → (B, T, S)"""
        if self.weigh is None:
            q = q if self.project is None else self.project(q)
            return q @ keys.mT * self.factor
        queries = self.project_query(q)  # (B, T, H)
        steps = max(1, TABLE // max(1, keys.numel()))
        if steps >= queries.shape[1]:
            return self.added(queries, keys)
        # A piece at a time, computed once more on the way back: memory grows with T and S, not with T·S·H.
        return torch.cat(
            [
                checkpoint(self.added, part, keys, use_reentrant=False)
                for part in queries.split(steps, 1)
            ],
            1,
        )

    def added(self, queries: Tensor, keys: Tensor) -> Tensor:
        table = (queries.unsqueeze(2) + keys.unsqueeze(1)).tanh()  # (B, T, S, H)
        return self.weigh(table).squeeze(-1)  # (B, T, S)

    def forward(
        self, q: Tensor, keys: Tensor, v: Tensor, allowed: Tensor, trace: Trace | None = None
    ) -> Tensor:
        """q (B, T, D), what `keys` made, v (B, S, H); allowed (B, T or 1, S), True where a query may look → (B, T, H)"""
        if trace is None and self.weigh is None and has_fused(q):
            return fused(
                q if self.project is None else self.project(q), keys, v, allowed, self.factor
            )
        return self.with_weights(q, keys, v, allowed, trace)[0]

    def with_weights(
        self, q: Tensor, keys: Tensor, v: Tensor, allowed: Tensor, trace: Trace | None
    ) -> tuple[Tensor, Tensor]:
        """The same by the formula, and the weights (B, T, S)."""
        weights = self.scores(q, keys).masked_fill(~allowed, float("-inf")).softmax(-1)
        context = weights.to(v.dtype) @ v
        if trace is not None:
            trace.note("attention", weights.to(v.dtype).unsqueeze(1))  # (B, 1, T, S): one head
            for part, value in (("query", q), ("key", keys), ("value", v)):
                trace.passing(f"attention.{part}", value.unsqueeze(1))
            context = trace.passing("attention.heads", context.unsqueeze(1)).squeeze(1)
        return context, weights
