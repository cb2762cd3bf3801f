"""Multi-layer perceptron: layers of weights with an activation between them (Rumelhart, Hinton & Williams 1986).

    h = relu(W₁ x + b₁),  then W₂ h + b₂, …

Of a text, x is the mean of its word vectors (a bag: Iyyer et al. 2015), or, at every place, the vectors of `window` neighbours
side by side (Bengio et al. 2003; for a tag a place, as many after it as before: Collobert et al. 2011); of numbers or an image, x
is all of them in a row. As a language model it looks back on the window and no further, as n-gram models do:

    x = [x_{t−n+1}; …; x_t],  h = relu(H x + d),  log p = log softmax(b + U h (+ W x: direct))       Bengio et al. 2003
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from wenmai.layers.body import Body
from wenmai.layers.dropout import Dropout, Locked
from wenmai.layers.embedding import TokenEmbedding, ones
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.first_weights import uniform
from wenmai.layers.window import neighbours
from wenmai.models.network import Network
from wenmai.models.sizes import by_heart
from wenmai.options import SEQUENCES, Count, Layers, Share


def mlp(
    inputs,
    head,
    *,
    embed: Annotated[int, SEQUENCES] = 64,
    hidden: int = 256,
    layers: Layers = 1,
    window: Annotated[Count | None, SEQUENCES] = None,
    dropout: Share = 0.2,
):
    one_frame = inputs.kind in ("numbers", "image") or (
        inputs.kind == "frames" and inputs.length and not head.per_step
    )
    first = Flat(inputs) if one_frame else input_layer(inputs, embed, dropout)
    if one_frame:
        window = 0
    elif head.per_step:
        window = 5 if window is None else max(1, window)
    elif (
        window is None
    ):  # a bag of words keeps most of the meaning; a bag of letters loses the word
        window = {"words": 0, "chinese": 2, "characters": 4}[inputs.unit]
    body = MLP(
        first.width, hidden, layers, window, window // 2 if head.per_step else 0, dropout=dropout
    )
    return Network(first, body, head(hidden, "max" if body.window else "mean", dropout))


def mlp_language_model(
    inputs,
    head,
    *,
    embed: int = 200,
    hidden: int = 500,
    layers: Layers = 1,
    window: Count = 5,
    direct: bool = False,
    tie: bool = True,
    dropout: Share | None = None,
    context: int = 35,
):
    """`window`: words it looks back on; `direct`: they also reach the output past the hidden layers; `context`: tokens that
    training reads at once. What is dropped depends on the text's size unless said."""
    dropout = 0.05 + 0.2 * by_heart(inputs.corpus_tokens) if dropout is None else dropout
    first = TokenEmbedding(
        inputs, embed, Locked(dropout), start=uniform(0.1, inputs.vocabulary, embed), dense=True
    )
    body = MLP(embed, hidden, layers, window, direct=direct, dropout=dropout)
    last = head(body.width, "max", dropout, table=first.table.weight if tie else None)
    return Network(
        first,
        body,
        last,
        context=context,
        built={"dropout": dropout},
        training_defaults={"learning_rate": 2e-3},
    )


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
            at = (
                batch.mask.sum(1, keepdim=True)
                - self.frames
                + torch.arange(self.frames, device=x.device)
            )  # (B, frames)
            x = x.gather(1, at.clamp(min=0).unsqueeze(-1).expand(-1, -1, x.shape[2])) * (
                at >= 0
            ).unsqueeze(-1)
        x = x.flatten(1).float().unsqueeze(1) / self.brightest  # (B, 1, F)
        return x, ones(x)


class MLP(Body):
    """Of a `window` of neighbours, `after` of them behind each place; of none, of the mean of all. The state is what the next
    window reaches back to, the last window − 1 inputs."""

    def __init__(
        self,
        width: int,
        hidden: int,
        layers: int,
        window: int,
        after: int = 0,
        direct: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.window, self.after, self.direct, self.dropout = window, after, direct, Dropout(dropout)
        sizes = [width * max(1, window)] + [hidden] * layers
        self.layers = nn.ModuleList(nn.Linear(size, hidden) for size in sizes[:-1])
        self.width = sizes[-1] + (sizes[0] if direct else 0)
        self.causal = self.carried = window > 0 and after == 0

    def forward(self, x: Tensor, mask: Tensor | None, state: Tensor | None = None, trace=None):
        x = x if mask is None else x * mask.unsqueeze(-1)
        if self.window:
            x, state = neighbours(x, self.window, self.after, state)  # (B, T, window·E)
        else:
            count = x.new_full((len(x),), x.shape[1]) if mask is None else mask.sum(1).clamp(min=1)
            x = x.sum(1, keepdim=True) / count[:, None, None]  # (B, 1, E)
            mask = ones(x)
        y = x
        for level, layer in enumerate(self.layers):
            z = layer(self.dropout(y) if level else y)
            y = z.relu()  # (B, T or 1, H)
            if trace is not None:
                trace.passing(f"mlp.{level}.before", z)
                y = trace.passing(f"mlp.{level}.units", y)
                trace.note(f"mlp.{level}", y)
        return torch.cat([y, x], 2) if self.direct else y, mask, state
