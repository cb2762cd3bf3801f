"""Recurrent language models: a cell carried along a running text (Mikolov et al. 2010; Zaremba et al. 2014), regularised as in
AWD-LSTM (Merity, Keskar & Socher 2018):

    a word is dropped from the table wherever it stands in the batch     word_dropout
    the same numbers are dropped at every step of a row                  dropout (of inputs, between layers, of outputs)
    weights of the state, U, are dropped for a whole batch               weight_dropout
    the table that words are looked up in is the one that says them      tie

Formulas of the cells: layers/cells.py.
"""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.dropout import Locked
from wenmai.layers.recurrent import Direction
from wenmai.models.writer import Writer

SMALL, LARGE = 3_000_000, 100_000_000  # tokens of a text that is learned by heart, and of one that is not
RATES = {"rnn": 1e-3, "rnn-residual": 1e-3}  # of the others 3e-3


def recurrent_writer(cell: str):
    """The builder for this cell."""

    def build(inputs, head, *, embed: int | None = None, hidden: int | None = None, layers: int = 2, tie: bool = True,
              dropout: float | None = None, between: float | None = None, word_dropout: float | None = None,
              weight_dropout: float | None = None, quiet: float | None = None, slow: float | None = None,
              context: int = 35):  # fmt: skip
        """`embed`: width of the words' vectors, as `hidden` unless said; `context`: steps that are learned through at once;
        `between`: what is dropped between layers, as `dropout` unless said; `quiet` and `slow` weigh how large the output is and
        how it changes. How wide it is and how much is dropped depends on the text's size unless said."""
        much, head = by_heart(inputs.read), replace(head, tokens=inputs.vocabulary)
        dropout, word_dropout, weight_dropout, quiet, slow = (
            share * much + least if given is None else given
            for given, share, least in ((dropout, 0.3, 0.1), (word_dropout, 0.1, 0.0), (weight_dropout, 0.3, 0.0),
                                        (quiet, 1.0, 0.0), (slow, 1.0, 0.0)))  # fmt: skip
        hidden = hidden or suited_width(inputs.read)
        first = Words(inputs.vocabulary, embed or hidden, word_dropout, dropout)
        sizes = [hidden] * (layers - 1) + [first.width if tie else hidden]
        body = Layers(first.width, sizes, cell, dropout if between is None else between, weight_dropout)
        table = first.table if tie else None
        suits = {"learning_rate": RATES.get(cell, 3e-3), "weight_decay": 0.01, "clip": 0.25}
        built = {"hidden": hidden, "dropout": dropout, "word_dropout": word_dropout, "weight_dropout": weight_dropout,
                 "quiet": quiet, "slow": slow}  # fmt: skip
        return Writer(inputs, first, body, head(body.width, dropout, table, quiet, slow), context, suits, built)

    return build


def by_heart(tokens: int) -> float:
    """How much of a text so long can be learned by heart, and has to be kept from it: from 1 to 0."""
    return 1 - min(1.0, max(0.0, log(max(1, tokens) / SMALL) / log(LARGE / SMALL)))


def suited_width(tokens: int) -> int:
    """A state that grows with the root of the text: 128 for 40,000 words, 624 for a million, at most 1024."""
    return min(1024, max(64, 8 * round(0.65 * sqrt(tokens) / 8)))


class Words(nn.Module):
    def __init__(self, tokens: int, width: int, word_dropout: float, dropout: float):
        super().__init__()
        self.width, self.word_dropout, self.dropout = width, word_dropout, Locked(dropout)
        self.table = nn.Parameter(torch.empty(tokens, width).uniform_(-0.1, 0.1))

    def forward(self, batch) -> tuple[Tensor, Tensor]:
        table = self.table
        if self.training and self.word_dropout:
            kept = torch.rand(len(table), 1, device=table.device) >= self.word_dropout
            table = table * kept.to(table.dtype).div_(1 - self.word_dropout)
        return self.dropout(functional.embedding(batch.inputs, table)), batch.mask


class Layers(nn.Module):
    """Layers of one cell, each of its own size; the state is all of theirs side by side (B, S). A state that
    may grow without bounds (rnn-residual, rnn-gated) is brought to one scale, and begins anew with every window."""

    cached = False

    def __init__(self, width: int, sizes: list[int], cell: str, dropout: float, weight_dropout: float):
        super().__init__()
        self.layers = nn.ModuleList(Direction(size, hidden, cell, f"{cell}.{level}") for level, (size, hidden) in
                                    enumerate(zip([width, *sizes[:-1]], sizes)))  # fmt: skip
        self.width, self.weight_dropout, self.dropout = sizes[-1], weight_dropout, Locked(dropout)
        grows = cell in ("rnn-residual", "rnn-gated")
        self.carried = not grows
        self.norms = nn.ModuleList(nn.LayerNorm(size) if grows else nn.Identity() for size in sizes)

    def forward(self, x: Tensor, mask: Tensor, state: Tensor | None = None, trace=None):
        parts = [None] * len(self.layers)
        if state is not None:
            pieces = state.split([layer.hidden for layer in self.layers for _ in range(layer.states)], 1)
            at = 0
            for number, layer in enumerate(self.layers):
                parts[number], at = pieces[at : at + layer.states], at + layer.states
        found = []
        for level, (layer, norm, first) in enumerate(zip(self.layers, self.norms, parts)):
            x = self.dropout(x) if level else x
            x, last = layer(x, first, trace, self.weight_dropout if self.training else 0.0)
            x = norm(x)
            found += last
        return x, mask, torch.cat(found, 1)
