"""Starting from a run: the input layer and the body of a trained network go into one with another head, which begins anew.

    train RUNG DATA --from RUN          Classifier("lstm").fit(texts, labels, start="runs/texts-lstm")

The tokenizer is the run's, and so are the options of input layer and body: a network is built as that one was, with the head that
the task asks for. Options of the head and of training are free."""

from dataclasses import dataclass, replace

import torch

from wenmai.catalog import Build, rung_named
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.models.gpt import PrefixDecoder
from wenmai.models.network import Network
from wenmai.options import accepted
from wenmai.training import fine_tuning
from wenmai.training.options import TrainingOptions

HEAD_OPTIONS = ("pooling",)


@dataclass
class Start:
    """`run`: its name, for messages; `build`: how its network was made."""

    run: str
    task_name: str
    inputs: object
    model: Network
    build: Build

    def check(self, rung: str) -> None:
        if rung != self.build.rung:
            raise Mistake(
                "{run} holds the rung {known}, and {rung} cannot start from it: its body is another; train {known}, or "
                "choose another run.",
                run=self.run,
                known=self.build.rung,
                rung=rung,
            )
        if not isinstance(self.model, Network):
            raise Mistake(
                "{run} holds {rung} for {task}, which has no single body that another task could start from; choose a "
                "run of a network that classifies, tags, regresses or generates.",
                run=self.run,
                rung=self.build.rung,
                task=self.task_name,
            )

    def prepared(self, task, values, targets, assigned: dict) -> tuple:
        """(how this task reads, and writes, by the run's tokenizer; how its network is built with the run's body)"""
        if not getattr(task, "writes_from_a_start", False):
            inputs = self.read_as(values, task.texts, assigned)
            inputs = (
                task.continued(inputs, targets)
                if hasattr(task, "continued")
                else getattr(inputs, "listened", inputs)
            )
            return inputs, self.build_with(assigned["rung"])
        if not self.model.says_next:
            raise Mistake(
                "{run} does not go on with a text, and here one is to be written; start from a run that generates.",
                run=self.run,
            )
        self.refuse_reading(assigned, set())
        build, known = (
            self.build_with(assigned["rung"]),
            accepted(rung_named(self.build.rung, task.name).builder(task.name)),
        )
        inputs = kinds_of_input.continued_writing(
            self.inputs, values, targets, task.texts, self.model.context
        )
        return inputs, Build(
            build.rung,
            task.name,
            {name: value for name, value in build.options.items() if name in known},
        )

    def refuse_reading(self, assigned: dict, free: set[str]) -> None:
        """Options that say how inputs are read; those that are `free` may."""
        for name, value in (assigned["inputs"] | assigned["tokens"]).items():
            if name not in free:
                raise Mistake(
                    "{name}={value} says how inputs are read, which {run} has settled; leave {name} out, or train "
                    "without --from.",
                    name=name,
                    value=value,
                    run=self.run,
                )

    def read_as(self, values, texts: str, assigned: dict):
        """The run's inputs, as a task reads these values: with the same tokenizer."""
        kind = kinds_of_input.kind_of(values, texts)
        free = (
            kinds_of_input.FREE.get(kind, ())
            if kind != "given" or getattr(self.inputs, "wrapping", None)
            else ()
        )
        self.refuse_reading(assigned, set(free))
        longest = None if self.model.carried else self.model.context  # a window reaches no further
        return kinds_of_input.continued(
            self.inputs, kind, values, self.run, longest, assigned["inputs"]
        )

    def build_with(self, options: dict) -> Build:
        """As the run's network was made, with what is given for the head; what contradicts the body is refused."""
        head = {
            name: value
            for name, value in options.items()
            if name in HEAD_OPTIONS and value != "auto"
        }
        known = self.build.options
        for name, value in options.items():
            if name in HEAD_OPTIONS or (name in known and known[name] == value):
                continue
            if name in known:
                raise Mistake(
                    "{name}={value}: {run} was built with {name}={known}, and its body is kept; leave {name} out, or "
                    "train without --from.",
                    name=name,
                    value=value,
                    run=self.run,
                    known=known[name],
                )
            raise Mistake(
                "{name}={value} is no option of the body of {run}, which is kept as it is; leave {name} out, or train "
                "without --from.",
                name=name,
                value=value,
                run=self.run,
            )
        return replace(self.build, head=head)

    def parts_in(self, network) -> list[tuple]:
        """(name, of the run, of the network): input layer and body; of one that composes, table and body of its decoder."""
        if isinstance(network, Network):
            return [
                (part, getattr(self.model, part), getattr(network, part))
                for part in ("input", "body")
            ]
        if not isinstance(network.decoder, PrefixDecoder):
            raise Mistake(
                "{rung} writes by a body of another form than goes on with a text, and cannot start from {run}; gpt "
                "can from a run of its own.",
                rung=self.build.rung,
                run=self.run,
            )
        return [
            ("input", self.model.input, network.decoder.words),
            ("body", self.model.body, network.decoder.body),
        ]

    @torch.no_grad()
    def load_into(self, network: Network, inputs, training: TrainingOptions) -> dict:
        """The run's input layer and body, but for the layers that are to begin anew; returns what was loaded, and what begins
        anew."""
        fine_tuning.check(network, training)
        network.training_defaults = network.training_defaults | network.fine_tuning_defaults
        network.fine_tuned = bool(network.fine_tuning_defaults)
        if isinstance(network, Network) and network.says_next and not network.body.causal:
            raise Mistake(
                "{run} looks at what comes after a token too, and would be told what it is to say; start from a run "
                "that looks back only.",
                run=self.run,
            )
        loaded = 0
        parts = self.parts_in(network)
        if not training.reinitialise:
            for name in sorted(
                set(lasting(self.model)) & set(lasting(network))
            ):  # of the head, what both have
                parts.append(
                    (f"head.{name}", getattr(self.model.head, name), getattr(network.head, name))
                )
        spelling = [getattr(one, "spelling", None) for one in (self.model, network)]
        if all(spelling) and self.inputs is inputs:
            parts.append(("spelling", *spelling))
        for part, theirs, ours in parts:
            known, own = theirs.state_dict(), ours.state_dict()
            for key in sorted(known.keys() | own.keys()):
                there, wanted = (
                    None if key not in state else tuple(state[key].shape) for state in (known, own)
                )
                if there != wanted:
                    raise Mistake(
                        "{run} does not fit: {name} has the shape {actual}, expected {expected}; start from another "
                        "run, or train without --from.",
                        run=self.run,
                        name=f"{part}.{key}",
                        actual=there,
                        expected=wanted,
                    )
                if part == "body" and fine_tuning.begins_anew(
                    f"body.{key}", network, training.reinitialise
                ):
                    continue
                own[key].copy_(known[key])
                loaded += own[key].numel()
        shared = {id(weight) for _, _, ours in parts for weight in ours.parameters()}
        anew = sum(
            weight.numel() for weight in network.head.parameters() if id(weight) not in shared
        )
        note = Message(
            "started from {run} ({task}): {loaded:,} weights of the input layer and the body are loaded, {anew:,} of "
            "the head begin anew",
            run=self.run,
            task=self.task_name,
            loaded=loaded,
            anew=anew,
        )
        if training.reinitialise:
            note = Message(
                "{note}, and {layers} layers of the body", note=note, layers=training.reinitialise
            )
        return {
            "run": self.run,
            "task": self.task_name,
            "loaded": loaded,
            "anew": anew,
            "note": note,
        }


def lasting(network: Network) -> list[str]:
    """Parts of its head that have weights and that another network takes over."""
    parts = (
        (name, getattr(network.head, name, None)) for name in getattr(network.head, "lasting", ())
    )
    return [
        name for name, part in parts if part is not None and any(True for _ in part.parameters())
    ]
