"""The mean of the weights after every step since averaging began (Polyak & Juditsky 1992)."""

from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    def __init__(self, network: nn.Module):
        self.network = network
        self.mean: dict[str, Tensor] | None = None  # until it begins
        self.steps = 0

    def begin(self) -> None:
        weights = self.network.state_dict()
        self.mean = {
            name: value.detach().clone()
            for name, value in weights.items()
            if value.is_floating_point()
        }
        self.steps = 1

    @torch.no_grad()
    def add(self) -> None:
        """The weights as they are now, once it has begun."""
        if self.mean is not None:
            self.steps += 1
            now = self.network.state_dict()
            torch._foreach_lerp_(
                list(self.mean.values()), [now[name] for name in self.mean], 1 / self.steps
            )

    @contextmanager
    def swapped_in(self):
        """Inside, the weights are their mean, where there is one."""
        if self.mean is None:
            yield
            return
        now = self.network.state_dict()
        before = {name: now[name].clone() for name in self.mean}
        copy_into(now, self.mean)
        try:
            yield
        finally:
            copy_into(now, before)

    def state(self) -> dict[str, Tensor]:
        if self.mean is None:
            return {}
        return {f"mean.{name}": value for name, value in self.mean.items()} | {
            "averaged": torch.tensor(self.steps)
        }

    def load(self, state: dict[str, Tensor]) -> None:
        mean = {
            name.removeprefix("mean."): value.clone()
            for name, value in state.items()
            if name.startswith("mean.")
        }
        self.mean, self.steps = mean or None, int(state.get("averaged", 0))


@torch.no_grad()
def copy_into(weights: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    for name, value in values.items():
        weights[name].copy_(value)


def network_of(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Of the state of an updater the weights, or their mean where one is kept."""
    weights = {
        name.removeprefix("network."): value
        for name, value in state.items()
        if name.startswith("network.")
    }
    return weights | {
        name.removeprefix("mean."): value
        for name, value in state.items()
        if name.startswith("mean.")
    }
