"""Recurrent decoders: one vector in, a text out, by a cell that goes on by itself (1→N). Formulas of the cells: layers/cells.py.

    m = tanh(W x + b)                                          the vector, of a label, of numbers or of a picture
    u_t = [t = 1, or every] V m + [feedback] E[w_{t−1}]        w_0 = <s>;  what is not given is 0
    h_t = cell(u_t, h_{t−1}),  h_0 = 0                         y_t = norm(h_t) of the last layer: twice as quickly learned

The vector enters at the first step, and the state has to keep it (Vinyals et al. 2015 show a picture so); or at every step (Cho
et al. 2014). Without feedback the cell never learns which token was chosen: each is drawn as if the others did not exist.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.dropout import Dropout, Locked
from wenmai.layers.embedding import embed_whole
from wenmai.layers.first_weights import normal
from wenmai.models.encoder_decoder import EncoderDecoder, Single
from wenmai.models.recurrent_writer import Layers

RATES = {"rnn": 4e-3, "rnn-residual": 4e-3}  # of the others 8e-3


def recurrent_composer(cell: str):
    """The builder for this cell."""

    def build(inputs, head, *, enters: Literal["first", "every"] = "first", feedback: bool = True, embed: int = 64,
              hidden: int = 256, layers: int = 1, dropout: float = 0.2):  # fmt: skip
        """`enters`: the vector is an input of the first step, or of every one; `feedback`: the last token is an input of the
        next step."""
        first = embed_whole(inputs.source, hidden)
        decoder = RecurrentDecoder(cell, inputs.target.vocabulary, hidden, embed, hidden, layers, enters, feedback, dropout)
        last = replace(head, tokens=inputs.target.vocabulary)(hidden, dropout)
        suits = {"learning_rate": RATES.get(cell, 8e-3)}
        return EncoderDecoder(first, Single(True, Dropout(dropout)), decoder, last, suits)

    return build


class RecurrentDecoder(nn.Module):
    def __init__(self, cell: str, tokens: int, memory: int, embed: int, hidden: int, layers: int, enters: str, feedback: bool,
                 dropout: float):  # fmt: skip
        super().__init__()
        self.every, self.dropout = enters == "every", Locked(dropout)
        self.enter = nn.Linear(memory, embed)
        self.table = nn.Parameter(normal(0.5, tokens, embed)) if feedback else None
        self.cells, self.norm = Layers(embed, [hidden] * layers, cell, dropout, 0.0), nn.LayerNorm(hidden)

    def opened(self, memory: Tensor, mask: Tensor, steps: int) -> None:
        return None

    def forward(self, tokens: Tensor, memory: Tensor, mask: Tensor, state: Tensor | None = None, trace=None):
        """tokens (B, T), memory (B, 1, M) → y (B, T, H), the state (B, S)"""
        vector = self.enter(memory)  # (B, 1, E)
        if self.every:
            u = vector.expand(-1, tokens.shape[1], -1)
        else:
            u = functional.pad(vector if state is None else torch.zeros_like(vector), (0, 0, 0, tokens.shape[1] - 1))
        if self.table is not None:
            u = u + self.dropout(functional.embedding(tokens, self.table))  # (B, T, E)
        y, _, state = self.cells(u, mask, state, trace)
        return self.norm(y), state
