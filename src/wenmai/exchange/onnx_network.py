"""A network whose graphs onnxruntime computes, with the verbs of the network that it was made of: so tasks answer, write and
score with it as they do with that, and a file is compared with what it should be."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wenmai.data.examples.batches import Batch
from wenmai.errors import Mistake
from wenmai.exchange.onnx_graphs import drawn, fields_of, named
from wenmai.models.encoder_decoder import EncoderDecoder

# From 1.29 on it tells its makers of every session, the names of files and graphs among it, unless it finds this when loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
SHAPES = (1, 1), (2, 7), (3, 4), (5, 13)  # rows × steps on which a file is compared
CLOSE = 1e-4
STEPS = 4  # of a text that is written to compare


class Graph:
    """One file."""

    def __init__(self, path: Path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 3, torch.get_num_threads()
        self.session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {one.name: one.type for one in self.session.get_inputs()}
        self.outputs = [one.name for one in self.session.get_outputs()]

    def __call__(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        feeds = {name: tensors[name].numpy(force=True) for name in self.inputs}
        return dict(zip(self.outputs, map(torch.from_numpy, self.session.run(None, feeds))))


@dataclass
class State:
    """Tensors by their names, all with the batch in dimension 0; `fixed`: those that stay as they are; `window`: the tokens that
    are looked back on, where keys and values are kept, or nothing is."""

    carried: dict[str, Tensor]
    fixed: dict[str, Tensor]
    window: Tensor | None = None

    def take(self, rows: Tensor) -> "State":
        parts = (
            {name: part.index_select(0, rows) for name, part in some.items()}
            for some in (self.carried, self.fixed)
        )
        return State(*parts, None if self.window is None else self.window.index_select(0, rows))

    def within(self, rows: Tensor) -> "State":
        return replace(self.take(rows), fixed=self.fixed)


class OnnxHead:
    """The head of outputs that are computed already."""

    def __init__(self, head):
        self.head = head

    def __getattr__(self, name: str):
        return getattr(self.head, name)

    def outputs(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        return y

    def words(self, y: Tensor) -> Tensor:
        return y[..., : self.head.width]

    def following(self, y: Tensor) -> Tensor:
        return y[:, 0, self.head.width :]


class OnnxNetwork:
    """`folder`: where the files of this network lie; all that it does not compute, the network is asked for."""

    def __init__(self, network, inputs, folder: Path):
        self.network = network
        self.head = network.head if isinstance(network, EncoderDecoder) else OnnxHead(network.head)
        self.fields = () if inputs.kind == "lines" else fields_of(network, inputs)
        self.names = named(self.fields, inputs.kind)
        self.graphs = {path.stem: Graph(path) for path in sorted(folder.glob("*.onnx"))}

    def __getattr__(self, name: str):
        return getattr(self.network, name)

    def fed(self, batch: Batch) -> dict[str, Tensor]:
        fed = {name: getattr(batch, field) for name, field in zip(self.names, self.fields)}
        if fed.get("segment", batch.inputs) is None:
            fed["segment"] = torch.zeros_like(batch.inputs)
        if "image" in fed or "numbers" in fed:
            fed = {name: tensor.float() for name, tensor in fed.items()}
        return fed

    # For what was read

    def masked(self, batch: Batch) -> tuple[Tensor, Tensor]:
        outputs = self.graphs["model"](self.fed(batch))["outputs"]
        return outputs, batch.mask if batch.answers is None else batch.answers >= 0

    def __call__(self, batch: Batch) -> Tensor:
        """Of what writes, log p of every token of the target (B, T, V)."""
        if "model" in self.graphs:
            return self.masked(batch)[0]
        log_probs, state = self.begin(batch, 0)
        every = [log_probs]
        for tokens in batch.target[:, :-1].clamp(min=0).unbind(1):
            log_probs, state = self.step(state, tokens)
            every.append(log_probs)
        return torch.stack(every, 1)

    def aligned(self, batch: Batch) -> tuple[Tensor, Tensor] | None:
        return (
            (self.graphs["encoder"](self.fed(batch))["aligned"], batch.mask)
            if hasattr(self.network.head, "ctc")
            else None
        )

    # Hidden words: what the head would make of y is beside one another

    def input(self, batch: Batch) -> tuple[Batch]:
        return (batch,)

    def body(self, batch: Batch) -> tuple[Tensor]:
        made = self.graphs["model"](self.fed(batch))
        if "follows" not in made:
            return (made["outputs"],)
        follows = made["follows"].unsqueeze(1).expand(-1, made["outputs"].shape[1], -1)
        return (torch.cat([made["outputs"], follows], -1),)

    # Going on with a text

    def begin(self, inputs: Batch | Tensor, most: int = 0) -> tuple[Tensor, State | Tensor]:
        if "encoder" not in self.graphs:
            return self.after(inputs, None)
        fed, step = self.fed(inputs), self.graphs["step"]
        made = fed | self.graphs["encoder"](fed)
        fixed = {
            name: part
            for name, part in made.items()
            if name in step.inputs and f"{name}_after" not in step.outputs
        }
        carried = {name: part for name, part in made.items() if f"{name}_after" in step.outputs}
        return self.narrowed(made["log_probs"], fixed), State(carried, fixed)

    def narrowed(self, log_probs: Tensor, fixed: dict[str, Tensor]) -> Tensor:
        """Without columns that no word of these sources has: a graph has one for every place of a source."""
        return (
            log_probs
            if "copies" not in fixed
            else log_probs[:, : max(self.head.width, int(fixed["copies"].max()) + 1)]
        )

    def step(self, state: State | Tensor, tokens: Tensor) -> tuple[Tensor, State | Tensor]:
        if "encoder" not in self.graphs:
            return self.after(tokens[:, None], state)
        made = self.graphs["step"](state.carried | state.fixed | {"token": tokens})
        carried = {name: made[f"{name}_after"] for name in state.carried}
        return self.narrowed(made["log_probs"], state.fixed), replace(state, carried=carried)

    def hidden(self, tokens: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """log p after each of these tokens (B, T, V), and the state after the last, where one is carried."""
        made = self.graphs["step"](
            self.zero_state(len(tokens))
            | {"tokens": tokens}
            | ({} if state is None else {"state": state})
        )
        return made["log_probs"], made.get("state_after")

    def zero_state(self, rows: int) -> dict[str, Tensor]:
        """The state before a text."""
        shapes = {
            one.name: one.shape
            for one in self.graphs["step"].session.get_inputs()
            if one.name != "tokens"
        }
        kinds = {"tensor(float)": torch.float32, "tensor(bool)": torch.bool}
        return {
            name: torch.zeros(
                [
                    size if isinstance(size, int) else rows if at == 0 else 0
                    for at, size in enumerate(shape)
                ],
                dtype=kinds[self.graphs["step"].inputs[name]],
            )
            for name, shape in shapes.items()
        }

    def after(self, tokens: Tensor, state: State | Tensor | None) -> tuple[Tensor, State | Tensor]:
        """As Network.after: a carried state goes on for ever; keys and values as long as all tokens fit; then the last `context`
        of them are read again."""
        if self.network.carried:
            log_probs, state = self.hidden(tokens, state)
            return log_probs[:, -1], state
        window = tokens if state is None else torch.cat([state.window, tokens], 1)
        carried = {} if state is None else state.carried
        if (
            not self.network.body.cached
            or window.shape[1] > self.network.context
            or (state is not None and not carried)
        ):
            window = window[:, -self.network.context :]
            return self.hidden(window, None)[0][:, -1], State({}, {}, window)
        made = self.graphs["step"](self.zero_state(len(tokens)) | carried | {"tokens": tokens})
        return made["log_probs"][:, -1], State(
            {name: made[f"{name}_after"] for name in ("past", "real")}, {}, window
        )


# Comparing


def largest_difference(network, inputs, made: OnnxNetwork, seed: int = 0) -> float:
    """Between the two, over rows and steps of several shapes, rows of different lengths among them; as a share of what the
    network says, where that is more than 1. Where one has no probability, the other must have none."""
    generator, network = np.random.default_rng(seed), network.eval()
    compare = (
        compare_written
        if isinstance(network, EncoderDecoder)
        else (compare_continued if inputs.kind == "lines" else compare_read)
    )
    with torch.inference_mode():
        return max(compare(network, inputs, made, rows, steps, generator) for rows, steps in SHAPES)


def difference(first: Tensor, second: Tensor) -> float:
    first, second = first[..., : second.shape[-1]].double(), second.double()
    if first.shape != second.shape or not torch.equal(first.isneginf(), second.isneginf()):
        return float("inf")
    first, second = (part.masked_fill(second.isneginf(), 0.0) for part in (first, second))
    scale = second.abs().amax().clamp(min=1.0) if second.numel() else 1.0
    apart = ((first - second).abs() / scale).amax() if second.numel() else torch.zeros(())
    return float("inf") if apart.isnan() else float(apart)


def drawn_batch(network, inputs, made: OnnxNetwork, rows: int, steps: int, generator) -> Batch:
    longest = getattr(getattr(inputs, "source", inputs), "most", None) or max(1, inputs.longest)
    known = dict(drawn(network, inputs, made.fields, rows, min(steps, longest), generator))
    known.setdefault("mask", torch.ones(rows, 1, dtype=torch.bool))
    return Batch(**known)


def compare_read(network, inputs, made: OnnxNetwork, rows: int, steps: int, generator) -> float:
    batch = drawn_batch(network, inputs, made, rows, steps, generator)
    expected, mask = network.masked(batch)
    outputs, _ = made.masked(batch)
    return (
        difference(outputs[mask], expected[mask])
        if network.per_step
        else difference(outputs, expected)
    )


def compare_written(network, inputs, made: OnnxNetwork, rows: int, steps: int, generator) -> float:
    batch, worst = drawn_batch(network, inputs, made, rows, steps, generator), []
    (expected, state), (log_probs, own) = network.begin(batch, STEPS + 1), made.begin(batch)
    for _ in range(min(STEPS, inputs.target.most - 1)):
        worst.append(difference(log_probs, expected))
        tokens = torch.from_numpy(generator.integers(0, inputs.target.vocabulary, rows))
        (expected, state), (log_probs, own) = network.step(state, tokens), made.step(own, tokens)
    return max([*worst, difference(log_probs, expected)])


def compare_continued(
    network, inputs, made: OnnxNetwork, rows: int, steps: int, generator
) -> float:
    """Some tokens at once, then one by one, beyond what is looked back on where that is little."""
    tokens = torch.from_numpy(generator.integers(0, inputs.vocabulary, (rows, steps + STEPS)))
    (expected, state), (log_probs, own) = (
        network.begin(tokens[:, :steps]),
        made.begin(tokens[:, :steps]),
    )
    worst = [difference(log_probs, expected)]
    for token in tokens[:, steps:].unbind(1):
        (expected, state), (log_probs, own) = network.step(state, token), made.step(own, token)
        worst.append(difference(log_probs, expected))
    return max(worst)


def check(network, inputs, folder: Path, what: str) -> float:
    """Loads the files again; what is not as the network is refused."""
    try:
        apart = largest_difference(network, inputs, OnnxNetwork(network, inputs, folder))
    except Mistake:
        raise
    except Exception as error:  # whatever onnxruntime says of a file
        raise Mistake(
            "{what} cannot be written as ONNX: onnxruntime does not compute it ({error}).",
            what=what,
            error=str(error).strip().splitlines()[0][:200],
        ) from None
    if not apart <= CLOSE:
        raise Mistake(
            "{what} cannot be written as ONNX: computed by onnxruntime it is off by {apart:.1g}, and {close:.0e} is "
            "allowed.",
            what=what,
            apart=apart,
            close=CLOSE,
        )
    return apart
