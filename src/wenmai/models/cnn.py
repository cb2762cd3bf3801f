"""Convolution: the same small filter laid on every place.

over a text    c_t = relu(F · [x_{t−k}, …, x_{t+k}] + b), filters of several widths side by side      Kim 2014
over an image  two filters of 3 × 3, halve the picture, and again, with twice as many filters         LeCun et al. 1989
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.errors import Mistake
from wenmai.layers.dropout import Dropout
from wenmai.layers.embedding import embed as input_layer
from wenmai.layers.embedding import ones, pixels
from wenmai.models.network import Network


def cnn(inputs, head, *, embed: int = 64, filters: int = 64, widths: str = "2,3,4,5", layers: int = 1, stages: int = 3,
        dropout: float = 0.2):  # fmt: skip
    if inputs.kind == "image":
        body = ImageFilters(inputs, stages)
        return Network(Picture(inputs), body, head(body.width, "mean", dropout))
    first = input_layer(inputs, embed, dropout)
    body = TextFilters(first.width, filters, sizes(widths), layers, dropout)
    return Network(first, body, head(body.width, "max", dropout))


def sizes(widths: str) -> list[int]:
    parts = [part.strip() for part in widths.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise Mistake("widths={widths!r}: expected whole numbers from 1 on with commas between them, as in 2,3,4.", widths=widths)
    return [int(part) for part in parts]


class TextFilters(nn.Module):
    def __init__(self, width: int, filters: int, widths: list[int], layers: int, dropout: float):
        super().__init__()
        self.width, self.dropout = filters * len(widths), Dropout(dropout)
        sizes = [width] + [self.width] * (layers - 1)
        self.layers = nn.ModuleList(nn.ModuleList(nn.Conv1d(size, filters, n) for n in widths) for size in sizes)

    def forward(self, x: Tensor, mask: Tensor, state=None, trace=None):
        for level, filters in enumerate(self.layers):
            x = self.dropout(x) if level else x
            x = (x * mask.unsqueeze(-1)).mT  # (B, E, T), zero where there is no word
            x = torch.cat([conv(around(x, conv.kernel_size[0])) for conv in filters], 1).mT.relu()  # (B, T, widths·filters)
            if trace is not None:
                trace.note(f"cnn.{level}", x)
        return x, mask, None


def around(x: Tensor, width: int) -> Tensor:
    """Zeros before and after, so that a filter of this width gives T places (torch's "same" warns of even widths)."""
    return functional.pad(x, ((width - 1) // 2, width // 2))  # (B, E, T + width − 1)


class Picture(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.brightest = inputs.brightest

    def forward(self, batch) -> tuple[Tensor, Tensor]:
        return pixels(batch.inputs, self.brightest), batch.mask  # (B, channels, rows, columns)


class ImageFilters(nn.Module):
    def __init__(self, inputs, stages: int):
        super().__init__()
        channels = inputs.shape[2] if len(inputs.shape) == 3 else 1
        stages = max(1, min(stages, min(inputs.shape[:2]).bit_length() - 2))  # no picture is halved to nothing
        blocks = []
        for stage in range(stages):
            wide = 32 * 2**stage
            for size in (channels, wide):
                blocks += [nn.Conv2d(size, wide, 3, padding=1, bias=False), nn.GroupNorm(8, wide), nn.ReLU()]
            blocks += [nn.MaxPool2d(2, ceil_mode=True)]
            channels = wide
        self.blocks, self.width = nn.Sequential(*blocks), channels

    def forward(self, x: Tensor, mask: Tensor, state=None, trace=None):
        y = self.blocks(x)  # (B, C, rows, columns)
        if trace is not None:
            trace.note("cnn.map", y)
        y = y.flatten(2).mT  # (B, T = places left, C)
        return y, ones(y), None
