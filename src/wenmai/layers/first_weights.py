"""First weights, drawn by chance."""

import torch
from torch import Tensor


def normal(spread: float, *shape: int) -> Tensor:
    """Of mean 0 and this standard deviation. On the device "meta", where a model is counted before it is made, none are drawn,
    and the parts of torch that would trace it are not loaded."""
    table = torch.empty(shape)
    return table if table.is_meta else table.normal_(0.0, spread)


def uniform(reach: float, *shape: int) -> Tensor:
    """From −reach to reach, all alike."""
    table = torch.empty(shape)
    return table if table.is_meta else table.uniform_(-reach, reach)
