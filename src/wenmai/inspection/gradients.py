"""Gradient flow: how much of what is said at the end still reaches an early step.

    ‖∂f/∂h_t‖        h_t: the state of a recurrent layer after step t, or what a Transformer's block says at place t

Going back, a gradient passes every state between (Hochreiter 1991; Bengio et al. 1994): of a plain rnn it shrinks or grows by a
power; a gate that stays open keeps it; attention needs one step, however far. `of_cells` shows all cells before they have learned
anything, at several lengths; `panels` a run's own, on the user's text."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor

from wenmai.inspection.reading import Reading
from wenmai.layers.cells import CELLS
from wenmai.layers.recurrent import Recurrent
from wenmai.layers.trace import Trace
from wenmai.layers.transformer import Transformer
from wenmai.locale import Message, phrase
from wenmai.page.panels import Curves, Panel

LENGTHS = (10, 30, 100)
WIDTH, ROWS = 16, 4
BLOCK = "transformer"


def norms(reading: Reading) -> dict[str, np.ndarray]:
    """By layer: ‖∂f/∂h_t‖ for every step (T,)"""
    seen: dict[str, list[Tensor]] = {}

    def reach(name: str, value: Tensor, instead: Tensor | None) -> Tensor:
        if name.split(".")[-1] == "units" or (
            name.split(".")[-2:-1] == ["block"] and name.split(".")[-1].isdecimal()
        ):
            value = value if value.requires_grad else value.detach().requires_grad_()
            seen.setdefault(name, []).append(value)
        return value

    x, mask = reading.x
    with torch.enable_grad():
        outputs = reading.model.outputs_from(
            x.detach().requires_grad_(), mask, Trace(reach=reach), batch=reading.batch
        )
        f = reading.support_of(outputs)[0]
        tensors = [value for values in seen.values() for value in values]
        gradients = iter(torch.autograd.grad(f, tensors, allow_unused=True))
    sizes = {}
    for name, values in seen.items():
        each = [
            torch.zeros_like(value) if (gradient := next(gradients)) is None else gradient
            for value in values
        ]
        row = [one[min(reading.row, len(one) - 1)] for one in each]
        steps = torch.stack(row) if len(row) > 1 or row[0].dim() == 1 else row[0]  # (T, H)
        if steps.dim() == 2 and len(steps) > 1:
            sizes[name] = steps.double().norm(dim=-1).cpu().numpy()
    for name in [name for name in sizes if ".back." in name]:  # in the order of the text
        real = int(reading.batch.mask[reading.row].sum())
        sizes[name] = np.concatenate([sizes[name][:real][::-1], sizes[name][real:]])
    return sizes


def panels(reading: Reading) -> list[Panel]:
    if not reading.network or reading.chosen is None:
        return [of_cells()]
    sizes = norms(reading)
    made: list[Panel] = []
    steps = max(map(len, sizes.values()), default=0)
    if steps:
        values = np.full((len(sizes), steps), np.nan)
        for row, size in enumerate(sizes.values()):
            values[row, : len(size)] = np.maximum(size, 1e-30)
        made.append(
            Curves(
                "gradients",
                Message("How far the answer reaches back"),
                Message(
                    "‖∂f/∂h_t‖ at every step of this text, f being what speaks for the answer: a curve that falls "
                    "to the left has forgotten how it began."
                ),
                list(range(1, steps + 1)),
                values,
                [name.removesuffix(".units") for name in sizes],
                phrase("axis", "step"),
                phrase("axis", "size of the gradient"),
                logarithmic=True,
            )
        )
    return [*made, of_cells()]


def flow(kind: str, length: int, seed: int = 0) -> np.ndarray:
    """(T,) of a layer as it is born: the gradient of its last output with respect to every state, the last one's 1"""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        x = torch.randn(ROWS, length, WIDTH)
        body = (
            Transformer(WIDTH, 4, 1, 4 * WIDTH, positions="sinusoidal", causal=True)
            if kind == BLOCK
            else (Recurrent(WIDTH, WIDTH, kind))
        )
        wish = torch.randn(WIDTH)
    states: list[Tensor] = []

    def reach(name: str, value: Tensor, instead: Tensor | None) -> Tensor:
        if name.endswith(".units") and kind != BLOCK:
            states.append(value)
        return value

    x = x.requires_grad_()
    y, _, _ = body.eval()(x, torch.ones(ROWS, length, dtype=torch.bool), trace=Trace(reach=reach))
    gradients = torch.autograd.grad((y[:, -1] @ wish).sum(), x if kind == BLOCK else states)
    size = (
        gradients[0].norm(dim=-1).mean(0)
        if kind == BLOCK
        else torch.stack([one.norm(dim=-1).mean() for one in gradients])
    )
    return (size / size[-1].clamp(min=1e-30)).clamp(min=1e-30).double().numpy()


@cache
def of_cells(lengths: tuple[int, ...] = LENGTHS) -> Panel:
    """One picture: every cell and a block of a Transformer, at several lengths, from the last step to the first."""
    most, series, values = max(lengths), [], []
    for kind in (*CELLS, BLOCK):
        for length in lengths:
            row = np.full(most, np.nan)
            row[:length] = flow(kind, length)[::-1]
            series.append(f"{kind}, {length}")
            values.append(row)
    return Curves(
        "gradient-flow",
        Message("Gradient flow of every cell, before it has learned"),
        Message(
            "From the last step back to the first, as a share of the last, at {lengths} steps: the plain rnn loses "
            "it by a power, gates that begin open keep more, and a Transformer is as near to the first as to all.",
            lengths=", ".join(map(str, lengths)),
        ),
        list(range(most)),
        np.array(values),
        series,
        phrase("axis", "steps back"),
        phrase("axis", "share of the last step's gradient"),
        logarithmic=True,
    )
