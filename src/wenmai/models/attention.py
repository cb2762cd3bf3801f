"""A recurrent network that may look back at all its states, and does not have to carry everything in the last one.

    h_t = cell(x_t, h_{t−1})                     or e = tanh(W x_t + b), without recurrence
    C_t = Σ_s softmax_s(score(h_t, h_s)) h_s     score: dot, scaled, general (Luong et al. 2015), additive (Bahdanau et al. 2015)
    y_t = [h_t ; C_t]                            the head reads both

Scores compare states, and a state may not know where it stands: `positions` adds that to what is compared, and only there. States
are compared at a quarter of their size then, or what was read drowns where it stands: copy with T = 40 was not learned without.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from wenmai.errors import Mistake
from wenmai.layers.attention import see_real
from wenmai.layers.body import Body
from wenmai.layers.context import Context, Score
from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.positions import Learned, Sinusoidal
from wenmai.layers.recurrent import Recurrent
from wenmai.models.network import Network
from wenmai.options import Layers, Share


def attention(
    inputs,
    head,
    *,
    cell: Literal["gru", "lstm", "rnn", "none"] = "gru",
    score: Score = "general",
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal",
    embed: int = 64,
    hidden: int = 128,
    layers: Layers = 1,
    bidirectional: bool = False,
    pooling: Literal["auto", "last", "first", "mean", "max", "sum"] = "auto",
    dropout: Share = 0.2,
):
    """`cell` none is a layer without recurrence; `positions` are added to what is compared, not to what is read."""
    if cell == "none" and bidirectional:
        raise Mistake(
            "bidirectional=True goes with a cell that reads step by step; cell=none reads no way at all."
        )
    first = input_layer(inputs, embed, dropout)
    encoder = (
        TokenwiseLayer(first.width, hidden, layers, dropout)
        if cell == "none"
        else (Recurrent(first.width, hidden, cell, layers, bidirectional, dropout))
    )
    body = Attending(
        encoder, score, positions, inputs.longest if inputs.kind in ("tokens", "frames") else 4096
    )
    if (
        pooling == "auto"
    ):  # as of the recurrent rungs: the strongest says most of a class, a number is what it has come to
        pooling = "max" if head.has_probabilities else "last"
    return Network(first, body, head(body.width, pooling, dropout))


class Attending(Body):
    def __init__(self, encoder: Body, score: Score, positions: str, longest: int):
        super().__init__()
        size = encoder.width
        self.encoder, self.width = encoder, 2 * size
        self.position = {
            "sinusoidal": lambda: Sinusoidal(size),
            "learned": lambda: Learned(size, longest),
            "none": nn.Identity,
        }[positions]()
        self.share = 1.0 if positions == "none" else 0.25  # of the states, beside positions
        self.context = Context(size, size, score)

    def forward(self, x: Tensor, mask: Tensor, state: Tensor | None = None, trace=None):
        h, mask, state = self.encoder(x, mask, state, trace)  # (B, T, H)
        compared = self.position(h * self.share)
        allowed = see_real(mask)[:, 0]  # (B, 1, S)
        context = self.context(
            compared, self.context.keys(compared), h, allowed, trace and trace.under("context")
        )  # (B, T, H)
        return torch.cat([h, context], -1) * mask.unsqueeze(-1), mask, state  # (B, T, 2H)


class TokenwiseLayer(Body):
    """e = tanh(W x + b), `layers` times: no step knows of another."""

    def __init__(self, width: int, hidden: int, layers: int, dropout: float):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(size, hidden) for size in [width] + [hidden] * (layers - 1)
        )
        self.width, self.dropout = hidden, Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor, state=None, trace=None):
        for level, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if level else x).tanh()
            if trace is not None:
                x = trace.passing(f"tokenwise.{level}.units", x)
                trace.note(f"tokenwise.{level}", x)
        return x * mask.unsqueeze(-1), mask, None
