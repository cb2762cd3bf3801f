"""Sequence to sequence (Sutskever et al. 2014, Cho et al. 2014): a cell reads a text to its end, another writes from what it has.

    h_s = cell(x_s, h_{s−1}),  both ways if asked            the encoder
    c = h_n,  tanh(W h_n + b)  or  tanh(W Σ_s h_s + b)       all that is kept of the text: `context` last, bent, sum
    d_t = cell(u_t, d_{t−1}),  y_t = d_t                     the decoder

    enters = state    d_0 = c in every layer,  u_t = E[w_{t−1}]
    enters = every    d_0 = 0,  u_t = [E[w_{t−1}] ; c]

However long the text, c has H numbers: what a long one says does not fit, which is why attention was invented.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.errors import Mistake
from wenmai.layers.dropout import Locked
from wenmai.layers.first_weights import normal
from wenmai.layers.heads import pool
from wenmai.layers.recurrent import Recurrent
from wenmai.models.encoder_decoder import EncoderDecoder, Looked
from wenmai.models.recurrent_writer import Layers

Cell = Literal["lstm", "gru", "rnn"]
FEW = 1000  # tokens: those who know fewer read letters, of which a small network learns as much, and sooner


def seq2seq(inputs, head, *, cell: Cell = "lstm", context: Literal["bent", "last", "sum"] = "bent",
            enters: Literal["state", "every"] = "state", embed: int | None = None, hidden: int | None = None,
            layers: int = 1, bidirectional: bool = True, tie: bool = True, smoothing: float = 0.1, sampling: float = 0.0,
            dropout: float | None = None):  # fmt: skip
    """`context`: what is kept of the text, its last state, that state bent once more, or the bent sum of all; `enters`: it is the
    decoder's first state, or an input of every step. `hidden` (none: 512, of letters 128) is the decoder's, and the encoder's,
    both ways together; `embed` (none) is half of it; `dropout` (none) 0.3, of letters 0; `smoothing` of what is
    expected is shared out among all tokens; `sampling`: a share of the words that the decoder reads in training are its own."""
    embed, hidden, dropout, suits = sizes(inputs, embed, hidden, dropout)
    tables = Tables(inputs, embed, tie)
    encoder = recurrent_encoder(embed, hidden, cell, layers, bidirectional, dropout)
    decoder = ContextDecoder(cell, tables.target, hidden, layers, bidirectional, context, enters, dropout)
    last = replace(head, tokens=inputs.target.vocabulary, smoothing=smoothing)(hidden, dropout, tables.output)
    return EncoderDecoder(Looked(tables.source, 1.0, dropout), encoder, decoder, last, suits, sampling)


def sizes(inputs, embed: int | None, hidden: int | None, dropout: float | None) -> tuple[int, int, float, dict]:
    """What suits these texts, where it is not given, and the options of training that suit it."""
    letters = max(inputs.source.vocabulary, inputs.target.vocabulary) < FEW
    hidden = hidden or (128 if letters else 512)
    embed = embed or max(1, hidden // 2)
    dropout = (0.0 if letters else 0.3) if dropout is None else dropout
    return embed, hidden, dropout, {"learning_rate": 6e-3 if letters else 2e-3, "clip": 1.0}


class Tables:
    """The vectors of the tokens that are read and of those that are written: one table where the two sides have one vocabulary.
    `tie`: it says what is written too."""

    def __init__(self, inputs, width: int, tie: bool, spread: float = 0.1):
        self.target = nn.Parameter(normal(spread, inputs.target.vocabulary, width))
        self.source = self.target if inputs.joint else nn.Parameter(normal(spread, inputs.source.vocabulary, width))
        self.output = self.target if tie else None


def recurrent_encoder(embed: int, hidden: int, cell: str, layers: int, bidirectional: bool, dropout: float) -> Recurrent:
    """Its output is `hidden` wide, whether it reads one way or both."""
    if bidirectional and hidden % 2:
        raise Mistake("hidden={hidden} cannot be shared by two ways of reading: expected an even number, such as {even}.",
                      hidden=hidden, even=hidden + 1)  # fmt: skip
    return Recurrent(embed, hidden // 2 if bidirectional else hidden, cell, layers, bidirectional, dropout)


class ContextDecoder(nn.Module):
    """The state is c and the states of all layers, side by side (B, H + S)."""

    def __init__(self, cell: str, table: nn.Parameter, hidden: int, layers: int, ways: bool, context: str, enters: str,
                 dropout: float):  # fmt: skip
        super().__init__()
        self.table, self.hidden, self.dropout = table, hidden, Locked(dropout)
        self.pooling, self.every = "sum" if context == "sum" else "ends" if ways else "last", enters == "every"
        self.cells = Layers(table.shape[1] + (hidden if self.every else 0), [hidden] * layers, cell, dropout, 0.0)
        self.states = sum(layer.states for layer in self.cells.layers)
        copies = 1 if self.every else self.states
        self.bend = None if context == "last" else nn.Linear(hidden, hidden * copies)

    def opened(self, memory: Tensor, mask: Tensor, steps: int) -> Tensor:
        c = pool(memory, mask, self.pooling)  # (B, H)
        if self.bend is not None:
            c = self.bend(c).tanh()  # (B, H), or a part of its own for every state
        if self.every:
            return functional.pad(c, (0, self.states * self.hidden))
        first = c if self.bend is not None else c.repeat(1, self.states)
        return functional.pad(first, (self.hidden, 0))

    def forward(self, tokens: Tensor, memory: Tensor, mask: Tensor, state: Tensor | None = None, trace=None):
        """tokens (B, T), memory (B, S, H) → y (B, T, H)"""
        state = self.opened(memory, mask, 0) if state is None else state
        c, inner = state[:, : self.hidden], state[:, self.hidden :]
        u = self.dropout(functional.embedding(tokens, self.table))  # (B, T, E)
        if self.every:
            u = torch.cat([u, c.unsqueeze(1).expand(-1, u.shape[1], -1).to(u.dtype)], -1)
        y, _, inner = self.cells(u, mask, inner, trace)
        return y, torch.cat([c.to(inner.dtype), inner], 1)
