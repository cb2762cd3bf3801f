"""Activation functions, and the values that the model really saw on them.

step       1 if z > 0 else 0                     Rosenblatt 1958
sigmoid    L / (1 + e^(−k(z − z₀)))              slope k·p·(L − p)/L; L = k = 1 and z₀ = 0 in gates
tanh       (e^z − e^−z) / (e^z + e^−z)           slope 1 − tanh²
relu       max(0, z)                             slope 0 or 1
gelu       z · Φ(z)                              Hendrycks & Gimpel 2016
softmax    e^(z_i) / Σ_j e^(z_j)                 shown as the curve of one z among others that stay where they are
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

from wenmai.inspection.gates import layers_of
from wenmai.inspection.reading import Reading
from wenmai.layers.cells import CELLS
from wenmai.layers.transformer import Block
from wenmai.locale import Message, phrase, phrases
from wenmai.page.panels import Curves, Panel

EDGE, POINTS = 6.0, 61
SERIES = list(phrases("series", "the function", "its slope", "share of the values seen").values())


def sigmoid(z: np.ndarray, L: float = 1.0, k: float = 1.0, z0: float = 0.0) -> np.ndarray:
    return L / (1 + np.exp(-k * (z - z0)))


def gelu(z: np.ndarray) -> np.ndarray:
    return functional.gelu(torch.from_numpy(z)).numpy()


def softmax_among(z: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.exp(z) / (np.exp(z) + np.exp(others).sum())


def slope(function, z: np.ndarray) -> np.ndarray:
    small = 1e-4
    return (function(z + small) - function(z - small)) / (2 * small)


def seen(reading: Reading) -> dict[str, np.ndarray]:
    """By function: what went into it, all of it flat."""
    collected: dict[str, list[np.ndarray]] = {}

    def add(name: str, values) -> None:
        collected.setdefault(name, []).append(np.asarray(values, np.float64).ravel())

    if not reading.network:
        if hasattr(reading.model, "z") and reading.examples is not None:
            z = reading.model.z(reading.examples.inputs)
            logistic, probable = (
                hasattr(reading.model, "L") and reading.model.output == 0,
                reading.model.has_probabilities,
            )
            add("sigmoid" if logistic else "softmax" if probable else "step", z)
        return {name: np.concatenate(values) for name, values in collected.items()}
    for layer in layers_of(reading):
        for value in layer.gates.values():
            inside = np.clip(value, 1e-7, 1 - 1e-7)
            add("sigmoid", np.log(inside / (1 - inside)))
        new = layer.parts.get(CELLS[layer.cell].new)
        if new is not None and layer.cell != "relu":
            add("tanh", np.arctanh(np.clip(new, -1 + 1e-7, 1 - 1e-7)))
        elif new is not None:
            add("relu", new)
    kinds = {
        block.activation.split("-")[0]
        for block in reading.model.modules()
        if isinstance(block, Block)
    }
    for name, values in reading.passed(".before").items():
        for value in values:
            add(
                next(iter(kinds), "relu") if ".mlp." in f".{name}" and "block." in name else "relu",
                value.cpu(),
            )
    if reading.outputs.dim() and reading.probable:
        outputs = reading.outputs[reading.mask] if reading.outputs.dim() == 3 else reading.outputs
        add("softmax", outputs.cpu().clamp(min=-30))
    return {name: np.concatenate(values) for name, values in collected.items()}


def panels(reading: Reading) -> list[Panel]:
    z, values = np.linspace(-EDGE, EDGE, POINTS), seen(reading)
    L, k, z0 = (
        float(getattr(reading.model, name, usual))
        for name, usual in (("L", 1.0), ("k", 1.0), ("z0", 0.0))
    )
    others = np.array([0.0])
    functions = {
        "step": lambda z: (z > 0).astype(float),
        "sigmoid": lambda z: sigmoid(z, L, k, z0),
        "tanh": np.tanh,
        "relu": lambda z: np.maximum(z, 0),
        "gelu": gelu,
        "softmax": lambda z: softmax_among(z, others),
    }
    captions = {
        "step": Message(
            "1 above 0, else 0: its slope is 0 everywhere, so that no gradient can teach through it."
        ),
        "sigmoid": Message(
            "L / (1 + e^(−k(z − z₀))) with L = {L:g}, k = {k:g}, z₀ = {z0:g}: steepest at z₀, and flat where it "
            "is sure.",
            L=L,
            k=k,
            z0=z0,
        ),
        "tanh": Message("From −1 to 1, steepest at 0: values far from 0 learn little more."),
        "relu": Message(
            "What is below 0 is 0, and passes no gradient; above, the slope is 1 however large it is."
        ),
        "gelu": Message("As relu, but smooth: a little below 0 still passes."),
        "softmax": Message(
            "One z beside another that stays at 0: e^z / (e^z + 1). All of them share one probability."
        ),
    }
    made: list[Panel] = []
    for name, function in functions.items():
        shares = np.full(POINTS, np.nan)
        notes = [Message("this model has none")]
        if name in values:
            counts, _ = np.histogram(np.clip(values[name], -EDGE, EDGE), POINTS, (-EDGE, EDGE))
            shares = counts / max(1, counts.sum())
            notes = [
                Message(
                    "{count:,} values of this input; those beyond ±{edge:g} are counted at the edge",
                    edge=EDGE,
                    count=values[name].size,
                )
            ]
        title = Message("Activation: {name}", name=name)
        made.append(
            Curves(
                f"activation-{name}",
                title,
                captions[name],
                z.round(3).tolist(),
                np.stack(
                    [
                        function(z),
                        slope(function, z) if name != "step" else np.zeros(POINTS),
                        shares,
                    ]
                ),
                SERIES,
                phrase("axis", "z"),
                notes=notes,
            )
        )
    made.sort(key=lambda panel: panel.name.removeprefix("activation-") not in values)
    return made
