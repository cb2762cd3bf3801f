"""Runs as folders that onnxruntime computes: graphs, tokenizer.json, about.json, README.md and an example.py that needs neither
torch nor Wenmai. A folder stands there whole or not at all, and only where its graphs, loaded again, agree with the network."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from wenmai.data.parts import Part
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.exchange.onnx_about import about, write_beside
from wenmai.exchange.onnx_network import SHAPES, OnnxNetwork, check, drawn_batch
from wenmai.exchange.onnx_readme import readme
from wenmai.exchange.onnx_tracing import check_installed, quantize, write_graphs
from wenmai.locale import Message
from wenmai.models.encoder_decoder import EncoderDecoder
from wenmai.training import folders

MADE_UP = 64  # inputs on which 8 bits are compared with 32 where there are no data


@dataclass
class Exported:
    """What was written, and what is worth saying of it."""

    files: dict[str, int]  # name → bytes
    difference: float  # the largest between onnxruntime and torch, in 32 bits
    scores: dict[str, dict[str, float]]  # with 8 bits and data: float32 and int8, each metric
    agreement: float | None  # with 8 bits and no data: the share of answers that are the same
    notes: list[Message]


def exported(
    estimator: Estimator, out: Path, int8: bool = False, data: Part | None = None
) -> Exported:
    """`data`: on which what 8 bits cost is measured."""
    check_installed()
    if not isinstance(estimator.model_, nn.Module):
        raise Mistake(
            "{rung} is no network, and is not written as ONNX; the networks are, from mlp to bert, and an ngram as "
            "ARPA (--format arpa).",
            rung=estimator.rung,
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Mistake("{folder} is there already; choose another place with --out.", folder=out)
    export = Exported({}, 0.0, {}, None, [])
    folders.write(out, lambda folder: fill(folder, estimator, int8, data, export))
    (out / folders.MANIFEST).unlink()  # no run of ours
    export.files = {file.name: file.stat().st_size for file in sorted(out.iterdir())}
    return export


def fill(
    folder: Path, estimator: Estimator, int8: bool, data: Part | None, export: Exported
) -> None:
    network, inputs = estimator.model_, estimator.inputs_
    what = Message("the rung {rung} for {task}", rung=estimator.rung, task=estimator.task_name)
    write_graphs(network, inputs, folder, what)
    export.difference = check(network, inputs, folder, what)
    if int8:
        before = OnnxNetwork(network, inputs, folder)
        for graph in folder.glob("*.onnx"):
            quantize(graph)
        measure(estimator, before, OnnxNetwork(network, inputs, folder), data, export)
    write_beside(estimator, folder)
    (folder / "README.md").write_text(
        readme(folder, about(estimator), int8, export), encoding="utf-8"
    )


# What 8 bits cost


def measure(
    estimator: Estimator,
    whole: OnnxNetwork,
    small: OnnxNetwork,
    data: Part | None,
    export: Exported,
) -> None:
    if data is None:
        export.agreement = agreement(estimator, whole, small)
        export.notes.append(
            Message(
                "int8 answers as float32 does for {share:.1%} of {count} inputs that were made up; measure "
                "it on your own with --data FILE",
                share=export.agreement,
                count=MADE_UP,
            )
        )
        return
    for name, network in (("float32", whole), ("int8", small)):
        export.scores[name] = dict(scored_by(estimator, network, data))
    first, second = export.scores["float32"], export.scores["int8"]
    export.notes += [
        Message(
            "{metric}: float32 {before:.4g}, int8 {after:.4g} ({change:+.4g})",
            metric=metric,
            before=first[metric],
            after=second[metric],
            change=second[metric] - first[metric],
        )
        for metric in first
    ]


def scored_by(estimator: Estimator, network: OnnxNetwork, data: Part) -> dict[str, float]:
    """What `evaluate` gives, computed by these files."""
    kept = estimator.model_
    estimator.model_ = network
    try:
        return estimator.evaluate(*data.pair, data.where)
    finally:
        estimator.model_ = kept


def agreement(estimator: Estimator, whole: OnnxNetwork, small: OnnxNetwork) -> float:
    """The share of the most probable classes, tokens or places that are the same; of numbers, of those that are within a
    hundredth of what they spread over."""
    network, inputs, generator = estimator.model_, estimator.inputs_, np.random.default_rng(0)
    same = []
    with torch.inference_mode():
        while len(same) < MADE_UP:
            for rows, steps in SHAPES[1:]:
                same += compared(network, inputs, whole, small, rows, steps, generator)
    return float(np.mean(same))


def compared(
    network, inputs, whole: OnnxNetwork, small: OnnxNetwork, rows: int, steps: int, generator
) -> list[float]:
    if inputs.kind == "lines":
        tokens = torch.from_numpy(generator.integers(0, inputs.vocabulary, (rows, steps)))
        first, second = (one.hidden(tokens, None)[0] for one in (whole, small))
        return (first.argmax(-1) == second.argmax(-1)).double().mean(1).tolist()
    batch = drawn_batch(network, inputs, whole, rows, steps, generator)
    if isinstance(network, EncoderDecoder):
        first, second = (one.begin(batch)[0] for one in (whole, small))
        return (first.argmax(-1) == second.argmax(-1)).double().tolist()
    (first, mask), (second, _) = whole.masked(batch), small.masked(batch)
    if not network.has_probabilities:
        scale = getattr(network.head, "deviation", first.std())
        return ((first - second).abs() <= 0.01 * scale).double().flatten(1).mean(1).tolist()
    same = (
        network.head.chosen(first, mask) == network.head.chosen(second, mask)
    ).double()  # (B,), (B, T), or of all
    return same[mask].tolist() if same.shape == mask.shape else same.flatten().tolist()
