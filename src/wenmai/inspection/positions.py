"""Positions: how a network knows where a token stands (formulas: layers/positions.py).

the matrix       P (positions, numbers): a row a position; of rotary ones cos(t·θ_i) and sin(t·θ_i), which turn q and k
dot products     P_t · P_s / (|P_t||P_s|): near positions are alike; of rotary ones Σ_i cos((t − s) θ_i) / (D/2), what turning
                 leaves of a product of equal vectors
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from wenmai.embeddings import unit
from wenmai.inspection.reading import Reading
from wenmai.layers.attention import MultiHeadAttention
from wenmai.layers.positions import Learned, Sinusoidal, rotate, sinusoid
from wenmai.locale import Message, phrase, phrases
from wenmai.page.panels import Curves, Matrix, Panel

LONGEST, WIDEST = 2048, 512  # of the picture
COMPARED = 64
KINDS = phrases("positions", "sinusoidal", "learned", "rotary")


def matrix(model: nn.Module) -> tuple[Message, np.ndarray] | None:
    """(which kind, (positions, numbers)); None where a network knows no positions"""
    for part in model.modules():
        if isinstance(part, Learned):
            return KINDS["learned"], part.table.detach().float().cpu().numpy()[:LONGEST, :WIDEST]
        if isinstance(part, Sinusoidal):
            return KINDS["sinusoidal"], sinusoid(0, LONGEST, WIDEST).numpy()
    for part in model.modules():
        if isinstance(part, MultiHeadAttention) and part.rotary:
            width = part.output.in_features // part.heads
            return KINDS["rotary"], rotary(LONGEST, width)
    return None


def rotary(steps: int, width: int) -> np.ndarray:
    """(positions, D): what a vector of (1, 0) in every pair is turned to"""
    half = width // 2
    first = torch.cat([torch.ones(half), torch.zeros(width - half)])
    return rotate(first.expand(1, 1, steps, width))[0, 0].numpy()


def panels(reading: Reading) -> list[Panel]:
    encoding = matrix(reading.model) if reading.network else None
    if encoding is None:
        return []
    kind, values = encoding
    names = [str(at) for at in range(len(values))]
    some = unit(values[:COMPARED].astype(np.float64))
    products = some @ some.T
    caption = Message(
        "A row is a position, a column one of its numbers: slow waves and quick ones together say where it is. "
        "What was learned has no such order, but near positions come out alike."
    )
    distances = np.array(
        [np.diagonal(products, distance).mean() for distance in range(len(products))]
    )
    return [
        Matrix(
            "positions",
            Message("Positions: {kind}", kind=kind),
            caption,
            values,
            names,
            [str(at) for at in range(values.shape[1])],
            scale="signed",
        ),
        Matrix(
            "positions-products",
            Message("How alike positions are"),
            Message(
                "Cosine of every pair of the first {count}: bright along the diagonal, where positions are near.",
                count=len(products),
            ),
            products,
            names[: len(products)],
            names[: len(products)],
            scale="signed",
        ),
        Curves(
            "positions-distance",
            Message("How alike positions are, by their distance"),
            Message("The mean over all pairs that stand so far apart."),
            list(range(len(products))),
            distances[None],
            [kind],
            phrase("axis", "distance"),
            phrase("axis", "cosine"),
        ),
    ]
