"""Multi-layer perceptron: layers of weights with a bend between them (Rumelhart, Hinton & Williams 1986).

    h = relu(W₁ x + b₁),  then W₂ h + b₂, …

Of a text, x is the mean of its word vectors (a bag: Iyyer et al. 2015), or, at every place, the vectors of `window`
neighbours side by side (Bengio et al. 2003; for a tag a place, as many after it as before: Collobert et al. 2011); of
numbers or an image, x is all of them in a row.
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
    whole = inputs.kind in ("numbers", "image") or (inputs.kind == "frames" and inputs.length and not head.per_step)
    first = Flat(inputs) if whole else input_layer(inputs, embed, dropout)
    if whole:
        window = 0
    elif head.per_step:
        window = 5 if window is None else max(1, window)
    elif window is None:  # a bag of words keeps most of the meaning; a bag of letters loses the word
        window = {"words": 0, "chinese": 2, "characters": 4}[inputs.unit]
    body = MLP(first.width, hidden, layers, window, window // 2 if head.per_step else 0, dropout)
    return Network(first, body, head(hidden, "max" if body.window else "mean", dropout))


class Flat(nn.Module):
    """Numbers, an image, or frames of one length as one long frame."""

    def __init__(self, inputs):
        super().__init__()
        self.frames = getattr(inputs, "length", None)
        self.width = inputs.width * (self.frames or getattr(inputs, "height", 1))
        self.brightest = getattr(inputs, "brightest", 1.0)

    def forward(self, batch) -> tuple[Tensor, Tensor]:
        x = batch.inputs
        if self.frames:  # the last ones; a shorter row has zeros ahead of it
            at = batch.mask.sum(1, keepdim=True) - self.frames + torch.arange(self.frames, device=x.device)  # (B, frames)
            x = x.gather(1, at.clamp(min=0).unsqueeze(-1).expand(-1, -1, x.shape[2])) * (at >= 0).unsqueeze(-1)
        x = x.flatten(1).float().unsqueeze(1) / self.brightest  # (B, 1, F)
        return x, ones(x)


class MLP(nn.Module):
    def __init__(self, width: int, hidden: int, layers: int, window: int, after: int, dropout: float):
        super().__init__()
        self.window, self.after = window, after
        sizes = [width * max(1, window)] + [hidden] * layers
        self.layers = nn.ModuleList(nn.Linear(size, hidden) for size in sizes[:-1])
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor, state=None, trace=None):
        if self.window:  # (B, T, window·E): each place with its neighbours, `after` of them behind it
            padded = functional.pad(x * mask.unsqueeze(-1), (0, 0, self.window - 1 - self.after, self.after))
            x = torch.cat([padded[:, n : n + x.shape[1]] for n in range(self.window)], -1)
        else:
            x = (x * mask.unsqueeze(-1)).sum(1, keepdim=True) / mask.sum(1).clamp(min=1)[:, None, None]  # (B, 1, E)
            mask = ones(x)
        for level, layer in enumerate(self.layers):
            x = layer(self.dropout(x) if level else x).relu()  # (B, T or 1, H)
            if trace is not None:
                trace.note(f"mlp.{level}", x)
        return x, mask, None
