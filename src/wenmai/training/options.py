"""The options of training by the loop, and of `fit` itself: their signatures are the schema."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

from torch import nn

from wenmai.options import (
    HELD_OUT,
    PROCESSES,
    STARTED,
    Count,
    NonNegative,
    Portion,
    Seed,
    Share,
    Size,
    Threads,
)


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """The length of training is `steps`, or as many as fit into the minutes (at most 60 epochs), or `epochs` (15); `plans`, as a
    run.json has them, make one whose minutes were turned into steps again, to the last bit. The held-out
    part is scored `evaluations` times, evenly, or as often as a quarter of the minutes allows; after `patience` scores without a
    new best, training stops. `parallel` is how processes that torchrun started share the work; `micro_batches`, into how many
    pieces a batch is cut, memory says where it is not given. What is `learning_rate`, `weight_decay` and `clip` where they are
    not given, the network says. With `average`, the rate stays, and from when the score stops getting better, at the latest
    half-way, what counts is the mean of the weights after every step since. `compile` has torch make kernels of its own for the
    network, which takes a minute first and pays where training takes many. `threads` of a CPU are as many as torch has, or one
    where minutes are given and one is faster: small networks and busy machines gain nothing by more. The last four are of a
    network that starts from another (fine_tuning.py)."""

    epochs: Size | None = None
    steps: Size | None = None
    plans: str | None = None
    learning_rate: NonNegative | None = None
    batch_tokens: Size | None = None
    optimizer: Literal["lazy-adamw", "adamw", "sgd", "asgd"] = "lazy-adamw"
    weight_decay: NonNegative | None = None
    average: bool = False
    warmup: Share = 0.1
    clip: NonNegative | None = None
    evaluations: Size = 20
    patience: Annotated[Size, HELD_OUT] = 6
    precision: Literal["auto", "float32", "bf16"] = "auto"
    parallel: Annotated[Literal["ddp", "fsdp"], PROCESSES] = "ddp"
    micro_batches: Size | None = None
    compile: bool = False
    threads: Threads | None = None
    layer_decay: Annotated[Portion, STARTED] = 1.0
    freeze: Annotated[Count | Literal["all"], STARTED] = 0
    reinitialise: Annotated[Count, STARTED] = 0
    head_rate: Annotated[NonNegative | None, STARTED] = None

    def completed(self, network: nn.Module) -> "TrainingOptions":
        """With what the network asks for, where it is not given."""
        usual = training_defaults(network, self.optimizer)
        return replace(
            self, **{name: value for name, value in usual.items() if getattr(self, name) is None}
        )

    @property
    def averages(self) -> bool:
        return self.average or self.optimizer == "asgd"


def training_defaults(network: nn.Module, optimizer: str) -> dict[str, float]:
    """What these options are, where they are not given: as the network asks for, or as suits most."""
    if optimizer == "asgd":  # of AWD-LSTM
        return {"learning_rate": 30.0, "weight_decay": 1.2e-6, "clip": 0.25, "head_rate": 1.0}
    return {
        "learning_rate": 4e-3,
        "weight_decay": 0.01,
        "clip": 1.0,
        "head_rate": 1.0,
    } | network.training_defaults


def fit_options(
    *,
    seed: Seed = 0,
    device: str = "auto",
    minutes: NonNegative | None = None,
    validation: Share = 0.1,
    search: Annotated[bool, HELD_OUT] = False,
    deterministic: bool = False,
    progress: bool = False,
) -> dict:
    """The options of `fit` itself. `minutes` is the budget, where it is not counted in epochs; `validation` the share of the rows
    held out where no valid part is given; `search` tries a third of the learning rate, the rate and its triple on short runs, and
    trains with the best; `deterministic` makes a GPU give the same weights for the same seed, as a CPU does anyway; `progress`
    shows in `fit` how it goes."""
    return {
        "seed": seed,
        "device": device,
        "minutes": minutes,
        "validation": validation,
        "search": search,
        "deterministic": deterministic,
        "progress": progress,
    }
