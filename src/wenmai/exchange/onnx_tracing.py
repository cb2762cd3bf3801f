"""Graphs become files: traced by torch's older exporter, which keeps any batch and length of recurrent layers (the newer one
froze them, or was silently wrong), in one folder; and their weights in 8 bits.

What torch has no ONNX operation for, and the networks here use, is said below in others that there are."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.errors import Mistake
from wenmai.exchange.onnx_graphs import (
    Beginning,
    Continuing,
    Reading,
    axes_of,
    drawn,
    fields_of,
    named,
    traceable,
)
from wenmai.locale import Message
from wenmai.models.encoder_decoder import EncoderDecoder

OPSET = 17
QUANTIZED = [
    "MatMul",
    "Gather",
    "LSTM",
]  # of what onnxruntime computes in 8 bits, what is as right on every processor


def write(
    module: nn.Module, feeds: dict[str, Tensor], path: Path, outputs: dict[str, str], what: Message
) -> None:
    """The graph of the module on these tensors, by their names. `outputs`: which of their dimensions are of any size; `what` it
    is, for messages."""
    axes = {
        name: axes_of(name, "BT" if tensor.dim() > 1 and name == "form" else "B")
        for name, tensor in feeds.items()
    }
    axes |= {name: axes_of(name, shape) for name, shape in outputs.items()}
    # With gradients, layers run as they are written, and no kernel of ours does instead.
    try:
        with quiet(), symbols(), torch.enable_grad():
            torch.onnx.export(
                module,
                tuple(feeds.values()),
                path,
                input_names=list(feeds),
                output_names=list(outputs),
                dynamic_axes=axes,
                opset_version=OPSET,
                dynamo=False,
            )
        name_shapes(path, module, feeds, axes)
    except (torch.onnx.OnnxExporterError, RuntimeError, TypeError) as error:
        raise Mistake(
            "{what} cannot be written as ONNX: torch does not trace it ({error}).",
            what=what,
            error=str(error).strip().splitlines()[0][:200],
        ) from None


def name_shapes(
    path: Path, module: nn.Module, feeds: dict[str, Tensor], axes: dict[str, dict[int, str]]
) -> None:
    """Of outputs, the sizes that are the same for all batches, where the exporter has made up names for them."""
    import onnx

    model = onnx.load(path)
    with torch.enable_grad():
        made = module(*feeds.values())
    for value, tensor in zip(model.graph.output, (made,) if isinstance(made, Tensor) else made):
        for place, size in enumerate(tensor.shape):
            dim = value.type.tensor_type.shape.dim[place]
            if place not in axes[value.name] and dim.dim_param:
                if "copies" in feeds and value.name == "log_probs":  # V and the words of the source
                    dim.dim_param = "tokens"
                else:
                    dim.dim_value = size
    onnx.save(model, path)


@contextmanager
def quiet() -> Iterator[None]:
    """Inside, the exporter says nothing: whether a graph is right is found by comparing."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


@contextmanager
def symbols() -> Iterator[None]:
    known = {
        "aten::mT": matrix_transpose,
        "aten::take_along_dim": take_along_dim,
        "aten::logaddexp": log_add_exp,
        "aten::index_add": index_add,
        "aten::unflatten": unflatten,
    }
    for name, symbol in known.items():
        torch.onnx.register_custom_op_symbolic(name, symbol, OPSET)
    try:
        yield
    finally:
        for name in known:
            torch.onnx.unregister_custom_op_symbolic(name, OPSET)


def matrix_transpose(graph, x):
    """xᵀ of the last two dimensions"""
    order = list(range(x.type().dim()))
    return graph.op("Transpose", x, perm_i=[*order[:-2], order[-1], order[-2]])


def take_along_dim(graph, x, index, dim):
    """x (B, T, H) at index (B, W, 1) → (B, W, H)"""
    at = [graph.op("Constant", value_t=torch.tensor([place])) for place in (0, -1, 1 << 30)]
    rows = graph.op("Slice", graph.op("Shape", index), at[0], at[1])
    width = graph.op("Slice", graph.op("Shape", x), at[1], at[2])
    shape = graph.op("Concat", rows, width, axis_i=0)
    return graph.op(
        "GatherElements", x, graph.op("Expand", index, shape), axis_i=int(dim.node().t("value"))
    )


def log_add_exp(graph, a, b):
    """log(eᵃ + eᵇ) = m + log(1 + e^(n − m)), m the larger of the two, n the smaller"""
    more, less = graph.op("Max", a, b), graph.op("Min", a, b)
    share = graph.op("Exp", graph.op("Sub", less, more))
    one = graph.op("Constant", value_t=torch.tensor(1.0))
    return graph.op("Add", more, graph.op("Log", graph.op("Add", one, share)))


def index_add(graph, x, dim, index, more, alpha=None):
    """Σ of the rows `more` that have the same index, added to the rows of x; torch's own forgets all of them but one"""
    last = graph.op("Constant", value_t=torch.tensor([-1]))
    return graph.op("ScatterND", x, graph.op("Unsqueeze", index, last), more, reduction_s="add")


def unflatten(graph, x, dim, sizes):
    """(…, A·D) → (…, A, D); torch's own takes the length that was traced for the length of all"""
    sizes = [
        int(size)
        for size in (
            sizes.node().t("value") if sizes.node().kind() == "onnx::Constant" else constants(sizes)
        )
    ]
    shape = torch.tensor([0] * (x.type().dim() - 1) + sizes)  # 0: as it is
    return graph.op("Reshape", x, graph.op("Constant", value_t=shape))


def constants(values) -> list[int]:
    return [int(value.node().t("value")) for value in values.node().inputs()]


def quantize(path: Path) -> None:
    """Its weights in 8 bits, in place; what is multiplied with them is brought to 8 bits as it comes (dynamic quantization)."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_name(f"{path.stem}.float32.onnx")
    path.rename(whole)
    with quiet():
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, op_types_to_quantize=QUANTIZED)
    whole.unlink()


def check_installed() -> None:
    try:
        import onnx
        import onnxruntime  # noqa: F401
    except ImportError:
        raise Mistake(
            "--format onnx needs the packages onnx and onnxruntime: pip install 'wenmai[onnx]'."
        ) from None
    del onnx


def write_graphs(network, inputs, folder: Path, what: Message) -> None:
    """All graphs of the network into this folder: model.onnx; step.onnx; or encoder.onnx and step.onnx."""
    model, generator = traceable(network), np.random.default_rng(0)
    if inputs.kind == "lines":
        module = Continuing(model)
        state = module.first(2)
        tokens = torch.from_numpy(generator.integers(0, inputs.vocabulary, (2, 3)))
        if module.state_names == ["past", "real"]:  # some tokens before these
            state = [part.detach() for part in module(tokens, *state)[1:]]
        feeds = {"tokens": tokens} | dict(zip(module.state_names, state))
        write(
            module,
            feeds,
            folder / "step.onnx",
            {"log_probs": "BT"} | dict.fromkeys(module.output_names[1:], "B"),
            what,
        )
        return
    fields = fields_of(network, inputs)
    longest = getattr(getattr(inputs, "source", inputs), "most", None) or max(1, inputs.longest)
    batch = drawn(network, inputs, fields, 2, min(5, longest), generator)
    feeds = dict(zip(named(fields, inputs.kind), batch.values()))
    if not isinstance(network, EncoderDecoder):
        module = Reading(model, fields)
        shape = "B" if not network.per_step else "BW" if "answers" in feeds else "BT"
        write(
            module,
            feeds,
            folder / "model.onnx",
            dict.fromkeys(module.output_names, "B") | {"outputs": shape},
            what,
        )
        return
    module = Beginning(model, fields)
    write(module, feeds, folder / "encoder.onnx", dict.fromkeys(module.output_names, "B"), what)
    step, known = module.decoder, dict(zip(module.output_names, module(*batch.values()))) | feeds
    token = torch.from_numpy(generator.integers(0, inputs.target.vocabulary, 2))
    feeds = {"token": token} | {
        name: known[name].detach() for name in (*step.state_names, *step.fixed_names)
    }
    write(step, feeds, folder / "step.onnx", dict.fromkeys(step.output_names, "B"), what)
