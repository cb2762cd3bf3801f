"""The recurrent rungs: one cell carried along the text. Formulas of the cells: layers/cells.py.

    h_t = cell(x_t, h_{t−1})        N→N: every h_t speaks;  N→1: the head pools them (last: h_N alone)

`bidirectional` reads the text a second time from its end and joins both (Schuster & Paliwal 1997); `layers` stacks them.
"""

from __future__ import annotations

from typing import Literal

from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.recurrent import Recurrent
from wenmai.models.network import Network

Pooling = Literal["auto", "last", "first", "mean", "max", "sum"]


def rnn(inputs, head, *, activation: Literal["tanh", "relu"] = "tanh", embed: int = 64, hidden: int = 128, layers: int = 1,
        bidirectional: bool = False, pooling: Pooling = "auto", dropout: float = 0.2):  # fmt: skip
    return recurrent(
        inputs, head, "relu" if activation == "relu" else "rnn", embed, hidden, layers, bidirectional, pooling, dropout
    )


def rnn_residual(inputs, head, *, embed: int = 64, hidden: int = 128, layers: int = 1, bidirectional: bool = False,
                 pooling: Pooling = "auto", dropout: float = 0.2):  # fmt: skip
    return recurrent(inputs, head, "rnn-residual", embed, hidden, layers, bidirectional, pooling, dropout)


def rnn_coupled(inputs, head, *, embed: int = 64, hidden: int = 128, layers: int = 1, bidirectional: bool = False,
                pooling: Pooling = "auto", dropout: float = 0.2):  # fmt: skip
    return recurrent(inputs, head, "rnn-coupled", embed, hidden, layers, bidirectional, pooling, dropout)


def rnn_gated(inputs, head, *, embed: int = 64, hidden: int = 128, layers: int = 1, bidirectional: bool = False,
              pooling: Pooling = "auto", dropout: float = 0.2):  # fmt: skip
    return recurrent(inputs, head, "rnn-gated", embed, hidden, layers, bidirectional, pooling, dropout)


def lstm(inputs, head, *, embed: int = 64, hidden: int = 128, layers: int = 1, bidirectional: bool = False,
         pooling: Pooling = "auto", dropout: float = 0.2):  # fmt: skip
    return recurrent(inputs, head, "lstm", embed, hidden, layers, bidirectional, pooling, dropout)


def gru(inputs, head, *, embed: int = 64, hidden: int = 128, layers: int = 1, bidirectional: bool = False,
        pooling: Pooling = "auto", dropout: float = 0.2):  # fmt: skip
    return recurrent(inputs, head, "gru", embed, hidden, layers, bidirectional, pooling, dropout)


def recurrent(inputs, head, cell, embed, hidden, layers, bidirectional, pooling, dropout) -> Network:
    first = input_layer(inputs, embed, dropout)
    body = Recurrent(first.width, hidden, cell, layers, bidirectional, dropout)
    if pooling == "auto":  # of words the strongest says most; a number is what the state has come to, as is a growing state
        pooling = "max" if head.has_probabilities and cell != "rnn-residual" else "last"
    pooling = "ends" if bidirectional and pooling == "last" else pooling
    return Network(first, body, head(body.width, pooling, dropout))
