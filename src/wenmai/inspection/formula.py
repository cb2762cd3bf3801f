"""The formula with its numbers: one cell of a map opened up, with the values that went into it and the lines that do it.

    attention    s = q·k / √D,  a = softmax(s)_s,  c = Σ_s a_s v_s
    a cell       the step of its cell (layers/cells.py) at one word, of one unit: gates, what is new, the state before and after

The lines are found in the source as it runs (inspect.getsourcelines), by what they compute."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import numpy as np
import torch

from wenmai.errors import Mistake
from wenmai.inspection import attention, gates
from wenmai.inspection.reading import Reading
from wenmai.layers.attention import attended
from wenmai.layers.cells import CELLS
from wenmai.layers.context import Context
from wenmai.locale import Message
from wenmai.page.panels import Formula, FormulaStep, Panel

CELL_FORMULAS = {
    "rnn": "h = tanh(W·x + U·h₋₁ + b)",
    "relu": "h = relu(W·x + U·h₋₁ + b)",
    "rnn-residual": "h = h₋₁ + u",
    "rnn-coupled": "h = f·h₋₁ + (1 − f)·u",
    "rnn-gated": "h = f·h₋₁ + i·u",
    "lstm": "c = f·c₋₁ + i·u,  h = o·tanh(c)",
    "gru": "h = z·h₋₁ + (1 − z)·n",
}
LETTERS = {
    "forget": "f",
    "input": "i",
    "output": "o",
    "update": "u",
    "new": "n",
    "reset": "r",
    "cell": "c",
    "state": "h",
}


def line_of(function: Callable, *parts: str) -> str:
    """file:line and the line of a function that has all these parts; nothing where none has."""
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(getattr(function, "func", function)))
        file = Path(inspect.getsourcefile(getattr(function, "func", function)))
    except (OSError, TypeError):
        return ""
    for number, line in enumerate(lines):
        if all(part in line for part in parts):
            return f"{file.parent.name}/{file.name}:{first + number}: {line.strip()}"
    return ""


def panels(reading: Reading, cell: str = "") -> list[Panel]:
    """`cell`: layer,head,row,column, from 1 on, of the first map; without it the brightest one off the diagonal."""
    if not reading.network:
        return []
    maps = attention.maps_of(reading)
    return [of_attention(reading, maps[0], cell)] if maps else of_gates(reading)


def brightest(part: attention.Attention) -> tuple[int, int, int, int]:
    """(layer, head, row, column) where it looks hardest at another place than its own"""
    weights = part.weights.copy()
    if weights.shape[-1] == weights.shape[-2] and weights.shape[-1] > 1:
        weights[..., np.arange(weights.shape[-1]), np.arange(weights.shape[-1])] = 0
        if weights.shape[-1] > 2:
            weights[..., 0] = 0  # many heads rest on the first place
    return tuple(int(at) for at in np.unravel_index(weights.argmax(), weights.shape))


def chosen_cell(part: attention.Attention, cell: str) -> tuple[int, int, int, int]:
    try:
        layer, head, row, column = (int(number) - 1 for number in cell.split(","))
    except ValueError:
        layer = row = column = head = -1
    words = len(part.rows), len(part.columns)
    sizes = (*part.weights.shape[:2], *words)
    if not all(0 <= at < size for at, size in zip((layer, head, row, column), sizes)):
        raise Mistake(
            "--cell {cell}: expected layer,head,row,column from 1 on, at the most {most}.",
            cell=cell,
            most=",".join(map(str, sizes)),
        )
    return layer, head, part.rows[row].places[-1], part.columns[column].places[0]


def of_attention(reading: Reading, part: attention.Attention, cell: str) -> Panel:
    layer, head, row, column = chosen_cell(part, cell) if cell else brightest(part)
    passed = reading.passed(".query", ".key", ".value")
    kinds = {
        kind: [values for name, values in passed.items() if matches(name, part.name, kind)][layer]
        for kind in ("query", "key", "value")
    }
    at = min(reading.row, len(kinds["query"][0]) - 1)
    q = (
        torch.cat(kinds["query"], 2)[at, head, row].double().cpu().numpy()
    )  # a step each, or all at once
    k, v = (kinds[kind][-1][at, head].double().cpu().numpy() for kind in ("key", "value"))
    weights = part.weights[layer, head, row]
    mine = part.weights.shape[0] * part.weights.shape[1] > 0 and len(k[0]) == len(q)
    names = (
        {place: word.name for word in (*part.rows,) for place in word.places},
        {place: word.name for word in part.columns for place in word.places},
    )
    steps = []
    blocks = not any(isinstance(module, Context) for module in reading.model.modules())
    source = attended if blocks else Context.with_weights
    if blocks and mine:
        score, size = float(q @ k[column] / sqrt(len(q))), len(q)
        values = {"q": q, "k": k[column], "D": float(size), "q·k": float(q @ k[column]), "s": score}
        steps.append(FormulaStep("s = q·k / √D", values, line_of(attended, "@ k.mT")))
        scores = k @ q / sqrt(size)
    else:
        scores = np.log(np.maximum(weights, 1e-30))
    seen = weights > 0
    shifted = np.where(seen, np.exp(scores - scores[seen].max()), 0.0)
    steps.append(
        FormulaStep(
            "a = e^s / Σ e^s",
            {"e^s": shifted, "Σ": float(shifted.sum()), "a": float(weights[column])},
            line_of(source, "softmax(-1)"),
        )
    )
    context = weights.astype(np.float64) @ v
    steps.append(
        FormulaStep(
            "c = Σ a·v",
            {"a": weights, "v": v[column], "a·v": float(weights[column]) * v[column], "c": context},
            line_of(source, "weights", "@ v"),
        )
    )
    caption = Message(
        "How {row} came to look at {column} in layer {layer}, head {head}: {share:.1%} of its look.",
        row=names[0].get(row, str(row + 1)),
        column=names[1].get(column, str(column + 1)),
        layer=layer + 1,
        head=head + 1,
        share=float(weights[column]),
    )
    return Formula("formula", Message("One square of the map, step by step"), caption, steps)


def matches(name: str, part: str, kind: str) -> bool:
    """Whether what passes under this name belongs to a part that looks, whatever its layer."""
    own = attention.NAME.fullmatch(name.removesuffix(f".{kind}"))
    return name.endswith(f".{kind}") and own is not None and own["side"] + own["kind"] == part


def of_gates(reading: Reading) -> list[Panel]:
    layers = gates.layers_of(reading)
    if not layers:
        return []
    layer = layers[0]
    words = gates.words_of(reading, layer)
    state = layer.parts["state"]
    at = max(1, len(words) - 1) if len(words) > 1 else 0
    place, unit = words[at].places[-1], int(state.std(0).argmax())
    before = place + (1 if layer.back else -1)
    values = {}
    for name, part in layer.parts.items():
        letter = "z" if layer.cell == "gru" and name == "update" else LETTERS[name]
        values[letter] = float(part[place, unit])
        if name in ("state", "cell"):
            values[f"{letter}₋₁"] = float(part[before, unit]) if 0 <= before < len(part) else 0.0
    step = CELLS[layer.cell].step
    source = line_of(step, "c = ") or line_of(step, "return")
    caption = Message(
        "Unit {unit} of {layer} at the word {word}: what it kept, what it took in, what it shows.",
        unit=unit,
        layer=layer.name,
        word=words[at].name,
    )
    return [
        Formula(
            "formula",
            Message("One step of the cell, with its numbers"),
            caption,
            [FormulaStep(CELL_FORMULAS[layer.cell], values, source)],
        )
    ]
