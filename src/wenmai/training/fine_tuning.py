"""Fine-tuning: weights that were learned before, and are changed with care. What lies low knows what all texts share.

layer_decay   the rate of a layer is rate · decay^(layers above it); of the input layer, all of them are    Howard & Ruder 2018
freeze        the input layer and so many of the lowest layers stay as they are, or all of them
reinitialise  so many of the top layers begin anew, as the head does                                       Zhang et al. 2021
head_rate     what begins anew has a way to go, and may go faster: rate · head_rate
"""

import numpy as np
from torch import nn

from wenmai.errors import Mistake
from wenmai.training.options import TrainingOptions

ROWS = 32  # of a batch, where nobody says


def suited_batch(suited: int, lengths: np.ndarray) -> int:
    """Tokens of a batch: no more than some rows have, so that few epochs have many updates."""
    return min(suited, max(1, int(ROWS * lengths.mean())))


def layers_of(network: nn.Module) -> int:
    """How many stand on one another; 0 where a body is no stack of layers."""
    return len(getattr(network.body, stack_of(network))) if stack_of(network) else 0


def stack_of(network: nn.Module) -> str | None:
    return getattr(getattr(network, "body", None), "stack", None)


def level_of(name: str, network: nn.Module) -> int:
    """Where a weight lies: 0 is the input layer, then layer by layer, then what is above them."""
    part, *inside = name.split(".")
    if part == "input" or (part == "body" and inside[0] == "position"):
        return 0
    if part == "body" and inside[0] == stack_of(network):
        return int(inside[1]) + 1
    return layers_of(network) + 1


def check(network: nn.Module, options: TrainingOptions) -> None:
    """That the layers are there which are asked for."""
    asked = {
        "layer_decay": options.layer_decay != 1.0,
        "freeze": options.freeze not in (0, "all"),
        "reinitialise": options.reinitialise != 0,
    }
    layers = layers_of(network)
    for name in (name for name, value in asked.items() if value):
        if not layers:
            raise Mistake(
                "{name}={value}: this body is no stack of layers; leave {name} out.",
                name=name,
                value=getattr(options, name),
            )
        if name != "layer_decay" and getattr(options, name) > layers:
            raise Mistake(
                "{name}={value}: the body has {layers} layers, expected no more.",
                name=name,
                value=getattr(options, name),
                layers=layers,
            )


def freeze(network: nn.Module, lowest: int | str) -> None:
    """The input layer and so many of the lowest layers are not learned any more, nor is anything of the body if it is all."""
    if lowest == 0:
        return
    for name, weight in network.named_parameters():
        below = (
            name.split(".")[0] in ("input", "body")
            if lowest == "all"
            else level_of(name, network) <= lowest
        )
        if below:
            weight.requires_grad_(False)


def begins_anew(name: str, network: nn.Module, top: int) -> bool:
    """Whether a weight of a body belongs to so many of its top layers."""
    layers = layers_of(network)
    return layers - top < level_of(name, network) <= layers


def rate_factors(network: nn.Module, options: TrainingOptions) -> dict[int, float]:
    """How many times the learning rate a weight learns with, by its id."""
    layers, fast = layers_of(network), 1.0 if options.head_rate is None else options.head_rate

    def factor(name: str) -> float:
        if not name.startswith(("input.", "body.")) or begins_anew(
            name, network, options.reinitialise
        ):
            return fast
        return options.layer_decay ** max(0, layers - level_of(name, network))

    return {id(weight): factor(name) for name, weight in network.named_parameters()}
