"""Sequence to sequence (Sutskever et al. 2014, Cho et al. 2014): a cell reads a text to its end, another writes from what it has.

    h_s = cell(x_s, h_{s−1}),  both ways if asked            the encoder
    c = h_n,  tanh(W h_n + b)  or  tanh(W Σ_s h_s + b)       all that is kept of the text: `context` last, projected, sum
    d_t = cell(u_t, d_{t−1}),  y_t = d_t                     the decoder

    context_input = state    d_0 = c in every layer,  u_t = E[w_{t−1}]
    context_input = every    d_0 = 0,  u_t = [E[w_{t−1}] ; c]

However long the text, c has H numbers: what a long one says does not fit, which is why attention was invented."""

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.errors import Mistake
from wenmai.layers.dropout import Dropout, Locked
from wenmai.layers.embedding import TokenEmbedding
from wenmai.layers.first_weights import normal
from wenmai.layers.heads import pool
from wenmai.layers.recurrent import Recurrent
from wenmai.models.encoder_decoder import EncoderDecoder, few_tokens
from wenmai.options import Layers, Share

Cell = Literal["lstm", "gru", "rnn"]


def seq2seq(
    inputs,
    head,
    *,
    cell: Cell = "lstm",
    context: Literal["projected", "last", "sum"] = "projected",
    context_input: Literal["state", "every"] = "state",
    embed: int | None = None,
    hidden: int | None = None,
    layers: Layers = 1,
    bidirectional: bool = True,
    tie: bool = True,
    smoothing: Share = 0.1,
    sampling: Share = 0.0,
    dropout: Share | None = None,
):
    """`context`: what is kept of the text, its last state, that state projected, or the projected sum of all; `context_input`: it
    is the decoder's first state, or an input of every step. `hidden` (none: 512, of letters 128) is the decoder's, and the
    encoder's, both ways together; `embed` (none) is half of it; `dropout` (none) 0.3, of letters 0; `smoothing` of what is
    expected is shared out among all tokens; `sampling`: a share of the words that the decoder reads in training are its own."""
    embed, hidden, dropout, defaults, built = sizes(inputs, embed, hidden, dropout)
    source, target = embeddings(inputs, embed, dropout)
    encoder = recurrent_encoder(embed, hidden, cell, layers, bidirectional, dropout)
    decoder = ContextDecoder(
        cell, target, hidden, layers, bidirectional, context, context_input, dropout
    )
    last = replace(head, smoothing=smoothing)(
        hidden, dropout=dropout, table=target.table.weight if tie else None
    )
    return EncoderDecoder(source, encoder, decoder, last, defaults, sampling, built)


def sizes(
    inputs, embed: int | None, hidden: int | None, dropout: float | None
) -> tuple[int, int, float, dict, dict]:
    """What suits these texts, where it is not given, the options of training that suit it, and what was built."""
    letters = few_tokens(inputs)
    hidden = hidden or (128 if letters else 512)
    embed = embed or max(1, hidden // 2)
    dropout = (0.0 if letters else 0.3) if dropout is None else dropout
    defaults = {"learning_rate": 6e-3 if letters else 2e-3, "clip": 1.0}
    return embed, hidden, dropout, defaults, {"embed": embed, "hidden": hidden, "dropout": dropout}


def embeddings(inputs, width: int, dropout: float) -> tuple[TokenEmbedding, TokenEmbedding]:
    """Of the tokens that are read and of those that are written: one table where the two sides have one vocabulary."""
    target = TokenEmbedding(
        inputs.target,
        width,
        Locked(dropout),
        start=normal(0.1, inputs.target.vocabulary, width),
        dense=True,
    )
    own = None if inputs.joint else normal(0.1, inputs.source.vocabulary, width)
    source = TokenEmbedding(
        inputs.source,
        width,
        Dropout(dropout),
        start=own,
        dense=True,
        table=target.table if inputs.joint else None,
    )
    return source, target


def recurrent_encoder(
    embed: int, hidden: int, cell: str, layers: int, bidirectional: bool, dropout: float
) -> Recurrent:
    """Its output is `hidden` wide, whether it reads one way or both."""
    if bidirectional and hidden % 2:
        raise Mistake(
            "hidden={hidden} cannot be shared by two ways of reading: expected an even number, such as {even}.",
            hidden=hidden,
            even=hidden + 1,
        )
    return Recurrent(
        embed, hidden // 2 if bidirectional else hidden, cell, layers, bidirectional, dropout
    )


class ContextDecoder(nn.Module):
    """The state is c and the states of all layers, side by side (B, H + S)."""

    def __init__(
        self,
        cell: str,
        words: TokenEmbedding,
        hidden: int,
        layers: int,
        ways: bool,
        context: str,
        context_input: str,
        dropout: float,
    ):
        super().__init__()
        self.words, self.hidden, self.special = words, hidden, words.special
        self.pooling, self.every = (
            "sum" if context == "sum" else "ends" if ways else "last",
            context_input == "every",
        )
        self.cells = Recurrent(
            words.width + (hidden if self.every else 0),
            hidden,
            cell,
            layers,
            dropout=Locked(dropout),
        )
        self.states = len(self.cells.sizes)
        copies = 1 if self.every else self.states
        self.context_projection = None if context == "last" else nn.Linear(hidden, hidden * copies)

    def begin(self, memory: Tensor, mask: Tensor, steps: int) -> Tensor:
        c = pool(memory, mask, self.pooling)  # (B, H)
        if self.context_projection is not None:
            c = self.context_projection(c).tanh()  # (B, H), or a part of its own for every state
        if self.every:
            return functional.pad(c, (0, self.states * self.hidden))
        first = c if self.context_projection is not None else c.repeat(1, self.states)
        return functional.pad(first, (self.hidden, 0))

    def forward(
        self, tokens: Tensor, memory: Tensor, mask: Tensor, state: Tensor | None = None, trace=None
    ):
        """tokens (B, T), memory (B, S, H) → y (B, T, H)"""
        state = self.begin(memory, mask, 0) if state is None else state
        c, inner = state[:, : self.hidden], state[:, self.hidden :]
        u = self.words.dropout(self.words.look_up(tokens))  # (B, T, E)
        if self.every:
            u = torch.cat([u, c.unsqueeze(1).expand(-1, u.shape[1], -1).to(u.dtype)], -1)
        y, _, inner = self.cells(u, None, inner, trace)
        return y, torch.cat([c.to(inner.dtype), inner], 1)
