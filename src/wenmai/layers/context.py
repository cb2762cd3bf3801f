"""A context a step: what a query finds among the states of a sequence.

    weights  α_ts = softmax over s of score(q_t, k_s)
    context  C_t  = Σ_s α_ts v_s                          Bahdanau et al. 2015

The score is one of

    dot       qᵀ k                                        Luong et al. 2015
    scaled    qᵀ k / √D                                   Vaswani et al. 2017
    general   qᵀ W k                                      Luong et al. 2015
    additive  wᵀ tanh(W q + U k + b)                      Bahdanau et al. 2015
"""

from __future__ import annotations

from math import sqrt
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from wenmai.kernels.sdpa import attention
from wenmai.layers.first_weights import normal
from wenmai.layers.trace import Trace

Score = Literal["general", "dot", "scaled", "additive"]
TABLE = 1 << 22  # numbers of the table (B, T, S, H) of additive scores that are held at once


class Context(nn.Module):
    """`query` and `key` are their widths, which dot and scaled want equal; `hidden` is the width of the additive score."""

    def __init__(self, query: int, key: int, score: Score, hidden: int | None = None):
        super().__init__()
        self.factor = 1 / sqrt(key) if score == "scaled" else 1.0
        self.bring = self.see = self.read = self.weigh = None
        if score == "general":
            self.bring = nn.Linear(query, key, bias=False)  # then qᵀW is as wide as k, and the rest is dot
            # every place alike at first: a wrong place is hard to leave
            self.bring.weight = nn.Parameter(normal(0.25 / key, key, query))
        elif score == "additive":
            hidden = hidden or key
            self.read, self.see = nn.Linear(query, hidden), nn.Linear(key, hidden, bias=False)
            self.weigh = nn.Linear(hidden, 1, bias=False)

    def look(self, k: Tensor) -> Tensor:
        """What a query is compared with, (B, S, K) → (B, S, K or H): made once, however many queries there are."""
        return k if self.see is None else self.see(k)

    def scores(self, q: Tensor, seen: Tensor) -> Tensor:
        """(B, T, D), what `look` made → (B, T, S)"""
        if self.weigh is None:
            q = q if self.bring is None else self.bring(q)
            return q @ seen.mT * self.factor
        read = self.read(q)  # (B, T, H)
        steps = max(1, TABLE // max(1, seen.numel()))
        if steps >= read.shape[1]:
            return self.added(read, seen)
        # A piece at a time, computed once more on the way back: memory grows with T and S, not with T·S·H.
        return torch.cat([checkpoint(self.added, part, seen, use_reentrant=False) for part in read.split(steps, 1)], 1)

    def added(self, read: Tensor, seen: Tensor) -> Tensor:
        table = (read.unsqueeze(2) + seen.unsqueeze(1)).tanh()  # (B, T, S, H)
        return self.weigh(table).squeeze(-1)  # (B, T, S)

    def forward(self, q: Tensor, seen: Tensor, v: Tensor, allowed: Tensor, trace: Trace | None = None, name: str = "") -> Tensor:
        """q (B, T, D), what `look` made of the keys, v (B, S, H); allowed (B, T or 1, S), True where a query may look →
        (B, T, H)"""
        if trace is None and self.weigh is None and (q.is_cuda or q.dtype == torch.float32):
            q = q if self.bring is None else self.bring(q)
            return attention(q, seen, v, allowed, self.factor)
        return self.looked(q, seen, v, allowed, trace, name)[0]

    def looked(self, q: Tensor, seen: Tensor, v: Tensor, allowed: Tensor, trace: Trace | None, name: str
               ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """The same by the formula, and the weights (B, T, S)."""
        weights = self.scores(q, seen).masked_fill(~allowed, float("-inf")).softmax(-1)
        if trace is not None:
            trace.note(f"{name}.attention", weights.to(v.dtype).unsqueeze(1))  # (B, 1, T, S): one head
        return weights.to(v.dtype) @ v, weights
