"""Multi-layer perceptron: layers of weights with a bend between them (Rumelhart, Hinton & Williams 1986).

    h = relu(W₁ x + b₁),  then W₂ h + b₂, …

Of a text, x is the mean of its word vectors (a bag: Iyyer et al. 2015), or, at every place, the vectors of `window`
neighbours side by side (Bengio et al. 2003); of numbers or an image, x is all of them in a row.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.embedding import ones
from wenmai.models.network import Network


def mlp(
    inputs,
    head,
    *,
    embed: int = 64,
    hidden: int = 256,
    layers: int = 1,
    window: int | None = None,
    dropout: float = 0.2,
):
    if inputs.kind != "tokens":
        first: nn.Module = Flat(inputs)
        body = MLP(first.width, hidden, layers, 0, dropout)
    else:
        first = input_layer(inputs, embed, dropout)
        # A bag of words keeps most of the meaning; a bag of letters loses the word.
        window = window if window is not None else {"words": 0, "chinese": 2, "characters": 4}[inputs.unit]
        body = MLP(first.width, hidden, layers, window, dropout)
    return Network(first, body, head(hidden, "max" if body.window else "mean", dropout))


class Flat(nn.Module):
    """Numbers or an image as one long frame."""

    def __init__(self, inputs):
        super().__init__()
        size = inputs.width if inputs.kind == "numbers" else inputs.height * inputs.width
        self.width, self.brightest = size, getattr(inputs, "brightest", 1.0)

    def forward(self, batch) -> tuple[Tensor, Tensor]:
        x = batch.inputs.flatten(1).float().unsqueeze(1) / self.brightest  # (B, 1, F)
        return x, ones(x)


class MLP(nn.Module):
    def __init__(self, width: int, hidden: int, layers: int, window: int, dropout: float):
        super().__init__()
        self.window = window
        sizes = [width * max(1, window)] + [hidden] * layers
        self.layers = nn.ModuleList(nn.Linear(size, hidden) for size in sizes[:-1])
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor, state=None, trace=None):
        if self.window:  # (B, T, window·E): each place with the window − 1 before it
            padded = functional.pad(x * mask.unsqueeze(-1), (0, 0, self.window - 1, 0))
            x = torch.cat([padded[:, n : n + x.shape[1]] for n in range(self.window)], -1)
        else:
            x = (x * mask.unsqueeze(-1)).sum(1, keepdim=True) / mask.sum(1).clamp(min=1)[:, None, None]  # (B, 1, E)
            mask = ones(x)
        for level, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if level else x).relu()  # (B, T or 1, H)
            if trace is not None:
                trace.note(f"mlp.{level}", x)
        return x, mask, None
