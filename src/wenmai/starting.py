"""Starting from a run: the input layer and the body of a trained network go into one with another head, which begins anew.

    train RUNG DATA --from RUN          Classifier("lstm").fit(texts, labels, start="runs/texts-lstm")

The tokenizer is the run's, and so are the options of input layer and body: a network is built as that one was, with the head that
the task asks for. Options of the head and of training are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from wenmai.catalog import rung_named
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.errors import Mistake
from wenmai.models.network import Network
from wenmai.tasks.contract import Build

HEAD_OPTIONS = ("pooling",)


@dataclass
class Start:
    """`run`: its name, for messages; `build`: how its network was made."""

    run: str
    rung: str
    task_name: str
    inputs: object
    model: Network
    build: Build

    def check(self, rung: str) -> None:
        if rung != self.rung:
            raise Mistake(f"{self.run} holds the rung {self.rung}, and {rung} cannot start from it: its body is another; train "
                          f"{self.rung}, or choose another run.")  # fmt: skip
        if not isinstance(self.model, Network):
            raise Mistake(f"{self.run} holds {self.rung} for {self.task_name}, which has no single body that another task could "
                          "start from; choose a run that classifies, tags, regresses or generates.")  # fmt: skip

    def read_as(self, values, texts: str):
        """The run's inputs, as a task reads these values: with the same tokenizer."""
        return kinds_of_input.continued(self.inputs, kinds_of_input.kind_of(values, texts), values, self.run)

    def options(self, given: dict) -> tuple[dict, dict]:
        """(those of the run's builder, those of the head) where these were given: what contradicts the run is refused."""
        head = {name: value for name, value in given.items() if name in HEAD_OPTIONS}
        for name, value in given.items():
            if name not in head and self.build.options.get(name, value) != value:
                raise Mistake(f"{name}={value}: {self.run} was built with {name}={self.build.options[name]}, and its body is kept; "
                              f"leave {name} out, or train without --from.")  # fmt: skip
            if name not in head and name not in self.build.options:
                raise Mistake(f"{name}={value} is no option of the body of {self.run}, which is kept as it is; leave {name} out, "
                              "or train without --from.")  # fmt: skip
        return self.build.options, head

    def built(self, task, inputs, head: dict) -> Network:
        """A network as the run's, with the head of this task."""
        asked = replace(task.head(inputs), **{name: value for name, value in head.items() if value != "auto"})
        return rung_named(self.rung, self.build.task).builder(self.build.task)(inputs, asked, **self.build.options)

    @torch.no_grad()
    def load_into(self, network: Network) -> str:
        """The run's input layer and body; returns what was loaded, and what begins anew."""
        loaded = 0
        for name in ("input", "body"):
            known, own = getattr(self.model, name).state_dict(), getattr(network, name).state_dict()
            for key in sorted(known.keys() | own.keys()):
                there, wanted = (None if key not in state else tuple(state[key].shape) for state in (known, own))
                if there != wanted:
                    raise Mistake(f"{self.run} does not fit: {name}.{key} is {in_words(there)}, expected {in_words(wanted)}; start "
                                  "from another run, or train without --from.")  # fmt: skip
                own[key].copy_(known[key])
                loaded += own[key].numel()
        anew = sum(weight.numel() for weight in own_weights(network.head, network))
        return (f"started from {self.run} ({self.task_name}): {loaded:,} weights of the input layer and the body are loaded, "
                f"{anew:,} of the head begin anew")  # fmt: skip


def own_weights(head: nn.Module, network: Network) -> list[nn.Parameter]:
    """Those of the head that are not the input layer's too."""
    shared = {id(weight) for weight in network.input.parameters()}
    return [weight for weight in head.parameters() if id(weight) not in shared]


def in_words(shape: tuple | None) -> str:
    return "missing" if shape is None else " × ".join(map(str, shape)) or "a number"
