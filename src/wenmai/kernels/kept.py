"""What is made of weights, kept as long as they stay as they are."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn


class Kept:
    def __init__(self):
        self.both = None  # what it was made of, and what was made, where there is anything

    def __deepcopy__(self, memo) -> "Kept":
        return Kept()

    def __getstate__(self) -> dict:
        return {"both": None}

    def of(self, weights: Sequence[Tensor], make: Callable, how=None):
        """make(), or what it made of the same weights in the same way. Whoever has been given it goes on with it, whatever other
        threads ask for. Where gradients are asked for, weights will change, and a fused optimizer does not say so (it leaves
        their version as it was): then nothing may stay (`forgotten`)."""
        known = how, [(weight.data_ptr(), weight._version) for weight in weights]
        seen, made = self.both or (None, None)
        if known != seen:
            made = make()
            self.both = known, made
        return made


def weights_of(blocks: nn.ModuleList) -> list[Tensor]:
    """As blocks.parameters(), which takes as long as a small text does."""
    weights, parts = [], [blocks]
    while parts:
        part = parts.pop()
        weights += [weight for weight in part._parameters.values() if weight is not None]
        parts += [child for child in part._modules.values() if child is not None]
    return weights


def forgotten(*kept: Kept) -> bool:
    """Whether gradients are asked for; then all of these forget what they have."""
    if torch.is_grad_enabled():
        for one in kept:
            one.both = None
        return True
    return False
