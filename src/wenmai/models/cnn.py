"""Convolution: the same small filter laid on every place.

over a text    c_t = relu(F · [x_{t−k}, …, x_{t+k}] + b), filters of several widths side by side               Kim 2014
gated          h = (X ∗ W + b) ⊗ σ(X ∗ V + c), added to X, looking back only: L layers of width n see
               L (n − 1) + 1 words                                                                     Dauphin et al. 2017
over an image  two filters of 3 × 3, halve the picture, and again, with twice as many filters          LeCun et al. 1989
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.files.columns import short
from wenmai.errors import Mistake
from wenmai.layers.body import Body
from wenmai.layers.dropout import Dropout, Locked
from wenmai.layers.embedding import TokenEmbedding, ones, pixels
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.first_weights import uniform
from wenmai.layers.window import padded
from wenmai.models.network import Network
from wenmai.models.sizes import by_heart
from wenmai.options import IMAGES, NOT_IMAGES, Count, Layers, Share


def cnn(
    inputs,
    head,
    *,
    embed: Annotated[int, NOT_IMAGES] = 64,
    filters: Annotated[int, NOT_IMAGES] = 64,
    widths: Annotated[str, NOT_IMAGES] = "2,3,4,5",
    layers: Annotated[Layers, NOT_IMAGES] = 1,
    stages: Annotated[Layers, IMAGES] = 3,
    dropout: Share = 0.2,
):
    if inputs.kind == "image":
        body = ImageFilters(inputs, stages)
        return Network(Picture(inputs), body, head(body.width, "mean", dropout))
    first = input_layer(inputs, embed, dropout)
    body = TextFilters(first.width, filters, sizes(widths), layers, dropout)
    return Network(first, body, head(body.width, "max", dropout))


def cnn_language_model(
    inputs,
    head,
    *,
    embed: int = 256,
    filters: int = 256,
    layers: Layers = 5,
    window: Count = 4,
    tie: bool = True,
    dropout: Share | None = None,
    context: int = 64,
):
    """`window`: words that a filter covers; `context`: tokens that training reads at once. What is dropped depends on the text's
    size unless said."""
    dropout = 0.05 + 0.25 * by_heart(inputs.corpus_tokens) if dropout is None else dropout
    first = TokenEmbedding(
        inputs, embed, Locked(dropout), start=uniform(0.1, inputs.vocabulary, embed), dense=True
    )
    body = TextFilters(embed, filters, [window], layers, dropout, gated=True)
    last = head(body.width, "max", dropout, table=first.table.weight if tie else None)
    return Network(
        first,
        body,
        last,
        context=context,
        built={"dropout": dropout},
        training_defaults={"learning_rate": 2e-3},
    )


def sizes(widths: str) -> list[int]:
    parts = [part.strip() for part in widths.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise Mistake(
            "widths={widths!r}: expected whole numbers from 1 on with commas between them, as in 2,3,4.",
            widths=short(widths),
        )
    return [int(part) for part in parts]


class TextFilters(Body):
    """`gated` filters look back only, and what they say is added to what they read, brought to one scale (Ba et al. 2016) where
    the paper divides its weights by their length. The state is what the next text reaches back to: the last inputs of every
    layer."""

    def __init__(
        self,
        width: int,
        filters: int,
        widths: list[int],
        layers: int,
        dropout: float,
        gated: bool = False,
    ):
        super().__init__()
        self.width, self.widths, self.gated, self.dropout = (
            filters * len(widths),
            widths,
            gated,
            Dropout(dropout),
        )
        self.causal = self.carried = gated
        self.project = (
            nn.Linear(width, self.width) if gated and width != self.width else nn.Identity()
        )
        sizes_in, size_out = (
            [self.width if gated else width] + [self.width] * (layers - 1),
            filters * (2 if gated else 1),
        )
        self.layers = nn.ModuleList(
            nn.ModuleList(nn.Conv1d(size, size_out, n) for n in widths) for size in sizes_in
        )
        self.norms = (
            nn.ModuleList(nn.LayerNorm(self.width) for _ in range(layers + 1)) if gated else None
        )

    def forward(self, x: Tensor, mask: Tensor | None, state: Tensor | None = None, trace=None):
        past, after = (
            [None] * len(self.layers) if state is None else state.chunk(len(self.layers), 1),
            [],
        )
        x = self.project(x)
        for level, filters in enumerate(self.layers):
            h = self.norms[level](x) if self.gated else self.dropout(x) if level else x
            h = h if mask is None else h * mask.unsqueeze(-1)  # zero where there is no word
            h, reached = self.convolved(h, filters, past[level])  # (B, T, widths·filters)
            after.append(reached)
            if trace is not None:
                h = trace.passing(f"cnn.{level}.units", h)
                trace.note(f"cnn.{level}", h)
            x = x + self.dropout(h) if self.gated else h
        return (self.norms[-1](x), mask, torch.cat(after, 1)) if self.gated else (x, mask, None)

    def convolved(
        self, x: Tensor, filters: nn.ModuleList, past: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """(what the filters say, T places of it; and of those that look back only what the next text reaches back to)"""
        if not self.gated:  # as many places after as before; torch's "same" warns of even widths
            x = x.mT  # (B, E, T)
            around = (functional.pad(x, ((n - 1) // 2, n // 2)) for n in self.widths)
            return torch.cat([conv(part) for conv, part in zip(filters, around)], 1).mT.relu(), None
        before, steps = max(self.widths) - 1, x.shape[1]
        x = padded(x, before, 0, past)  # (B, before + T, E)
        seen = (x[:, before - n + 1 :].mT for n in self.widths)
        h = torch.cat([functional.glu(conv(part), 1) for conv, part in zip(filters, seen)], 1).mT
        return h, x[:, steps:].reshape(x.shape[0], -1)

    def explain(self, h: Tensor) -> list[tuple[int, int, int, float]]:
        """Of what the filters of the first layer said of one text (T, widths·filters): for each filter, (the first place it
        covers, the place behind its last, its width, how strongly it fired) where it fired most."""
        strength, at = h.max(0)
        filters = h.shape[1] // len(self.widths)
        strongest = []
        for number, (place, value) in enumerate(zip(at.tolist(), strength.tolist())):
            width = self.widths[number // filters]
            first = place - (width - 1 if self.gated else (width - 1) // 2)
            strongest.append((max(0, first), min(len(h), first + width), width, value))
        return strongest


class Picture(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.brightest = inputs.brightest

    def forward(self, batch) -> tuple[Tensor, Tensor]:
        return pixels(batch.inputs, self.brightest), batch.mask  # (B, channels, rows, columns)


class ImageFilters(Body):
    def __init__(self, inputs, stages: int):
        super().__init__()
        channels = inputs.shape[2] if len(inputs.shape) == 3 else 1
        stages = max(
            1, min(stages, min(inputs.shape[:2]).bit_length() - 2)
        )  # no picture is halved to nothing
        blocks = []
        for stage in range(stages):
            wide = 32 * 2**stage
            for size in (channels, wide):
                blocks += [
                    nn.Conv2d(size, wide, 3, padding=1, bias=False),
                    nn.GroupNorm(8, wide),
                    nn.ReLU(),
                ]
            blocks += [nn.MaxPool2d(2, ceil_mode=True)]
            channels = wide
        self.blocks, self.width = nn.Sequential(*blocks), channels

    def forward(self, x: Tensor, mask: Tensor, state=None, trace=None):
        y = self.blocks(x)  # (B, C, rows, columns)
        if trace is not None:
            y = trace.passing("cnn.map.units", y.movedim(1, -1)).movedim(-1, 1)
            trace.note("cnn.map", y)
        y = y.flatten(2).mT  # (B, T = places left, C)
        return y, ones(y), None
