"""Language models that look back on a window of n words and no further, as n-gram models do.

    mlp   x = [x_{t−n+1}; …; x_t],  h = relu(H x + d),  log p = log softmax(b + U h (+ W x: direct))       Bengio et al. 2003
    cnn   h = (X ∗ W + b) ⊗ σ(X ∗ V + c), added to X, layer upon layer: L of them see L (n − 1) + 1 words  Dauphin et al. 2017

A filter that looks back only is the same product: of W, and the words it covers side by side. The state is what the next window
reaches back to, the last n − 1 inputs of every layer; before a text there are zeros.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.dropout import Dropout
from wenmai.models.recurrent_writer import Words, by_heart
from wenmai.models.writer import Writer


def mlp_writer(inputs, head, *, embed: int = 200, hidden: int = 500, layers: int = 1, window: int = 5, direct: bool = False,
               tie: bool = True, dropout: float | None = None, context: int = 35):  # fmt: skip
    """`window`: words it looks back on; `direct`: they also reach the output past the hidden layers; `context`: tokens that
    training reads at once. What is dropped depends on the text's size unless said."""
    dropout = 0.05 + 0.2 * by_heart(inputs.read) if dropout is None else dropout
    first = Words(inputs.vocabulary, embed, 0.0, dropout)
    body = Window(embed, hidden, layers, window, direct, dropout)
    return written(inputs, first, body, head, tie, dropout, context, {"learning_rate": 2e-3})


def cnn_writer(inputs, head, *, embed: int = 256, filters: int = 256, layers: int = 5, window: int = 4, tie: bool = True,
               dropout: float | None = None, context: int = 64):  # fmt: skip
    """`window`: words that a filter covers; `context`: tokens that training reads at once. What is dropped depends on the text's
    size unless said."""
    dropout = 0.05 + 0.25 * by_heart(inputs.read) if dropout is None else dropout
    first = Words(inputs.vocabulary, embed, 0.0, dropout)
    body = Filters(embed, filters, layers, window, dropout)
    return written(inputs, first, body, head, tie, dropout, context, {"learning_rate": 2e-3})


def written(inputs, first: Words, body: nn.Module, head, tie: bool, dropout: float, context: int, suits: dict) -> Writer:
    last = replace(head, tokens=inputs.vocabulary)(body.width, dropout, first.table if tie else None)
    return Writer(inputs, first, body, last, context, suits, {"dropout": dropout})


def side_by_side(x: Tensor, past: Tensor | None, window: int) -> tuple[Tensor, Tensor]:
    """(each place after the window − 1 before it (B, T, window·E), what the next text reaches back to (B, (window − 1)·E))"""
    rows, steps, width = x.shape
    if past is None:
        x = functional.pad(x, (0, 0, window - 1, 0))
    else:
        x = torch.cat([past.view(rows, window - 1, width).to(x.dtype), x], 1)  # (B, window − 1 + T, E)
    return torch.cat([x[:, at : at + steps] for at in range(window)], 2), x[:, steps:].reshape(rows, (window - 1) * width)


class Window(nn.Module):
    carried = True

    def __init__(self, width: int, hidden: int, layers: int, window: int, direct: bool, dropout: float):
        super().__init__()
        sizes = [window * width] + [hidden] * layers
        self.layers = nn.ModuleList(nn.Linear(size, hidden) for size in sizes[:-1])
        self.window, self.direct, self.dropout = window, direct, Dropout(dropout)
        self.width = sizes[-1] + (sizes[0] if direct else 0)

    def forward(self, x: Tensor, mask: Tensor, state: Tensor | None = None, trace=None):
        x, state = side_by_side(x, state, self.window)  # (B, T, window·E)
        y = x
        for level, layer in enumerate(self.layers):
            y = layer(self.dropout(y) if level else y).relu()  # (B, T, H)
            if trace is not None:
                trace.note(f"mlp.{level}", y)
        return torch.cat([y, x], 2) if self.direct else y, mask, state


class Filters(nn.Module):
    """Every layer reads what was brought to one scale (Ba et al. 2016), where the paper divides its weights by their length."""

    carried = True

    def __init__(self, width: int, filters: int, layers: int, window: int, dropout: float):
        super().__init__()
        self.width, self.window, self.dropout = filters, window, Dropout(dropout)
        self.bring = nn.Linear(width, filters) if width != filters else nn.Identity()
        self.norms = nn.ModuleList(nn.LayerNorm(filters) for _ in range(layers))
        self.layers = nn.ModuleList(nn.Linear(window * filters, 2 * filters) for _ in range(layers))  # W and V, b and c
        self.norm = nn.LayerNorm(filters)

    def forward(self, x: Tensor, mask: Tensor, state: Tensor | None = None, trace=None):
        parts = [None] * len(self.layers) if state is None else state.chunk(len(self.layers), 1)
        x, found = self.bring(x), []
        for level, (layer, norm, past) in enumerate(zip(self.layers, self.norms, parts)):
            covered, past = side_by_side(norm(x), past, self.window)  # (B, T, window·filters)
            h = functional.glu(layer(covered), 2)  # (B, T, filters)
            x = x + self.dropout(h)
            found.append(past)
            if trace is not None:
                trace.note(f"cnn.{level}", h)
        return self.norm(x), mask, torch.cat(found, 1)
