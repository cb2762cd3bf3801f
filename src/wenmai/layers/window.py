"""Every place with its neighbours side by side: what filters and windows read."""

import torch
from torch import Tensor
from torch.nn import functional


def padded(x: Tensor, before: int, after: int, past: Tensor | None = None) -> Tensor:
    """x (B, T, E) with so many places before and after it: zeros, or before it the `past` (B, before·E) that it goes on from."""
    if past is None:
        return functional.pad(x, (0, 0, before, after))
    x = torch.cat([past.view(x.shape[0], before, x.shape[2]).to(x.dtype), x], 1)
    return functional.pad(x, (0, 0, 0, after)) if after else x


def neighbours(
    x: Tensor, window: int, after: int, past: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """(each place among its `window` neighbours, `after` of them behind it (B, T, window·E); where none are, what the next text
    reaches back to (B, (window − 1)·E))"""
    steps, x = x.shape[1], padded(x, window - 1 - after, after, past)
    around = torch.cat([x[:, at : at + steps] for at in range(window)], 2)
    return around, None if after else x[:, steps:].reshape(x.shape[0], -1)
