"""Switches: what was it good for? A part is taken out, everything else stays, and the answer is asked for again.

    block.1                  a layer: what came in goes on as it is
    block.1.attention:3      a head (from 0 on): the context that it finds is 0
    lstm.0.units:17          a unit: it is 0 after every step; cnn.0.units:5 a filter, block.1.mlp.units:8 a unit of a block
    lstm.0.forget=0          a gate of all units, held shut (0) or open (1); lstm.0.forget:17=1 of one unit
    word=good                a word of the text: the text without it is read anew; word=good#2 where it stands there again

f is what speaks for the answer (log p, or the number): what a removal takes from it is its part in the answer. Several removals
of one kind are read together, a row each; words one by one, so that what is said of each is what the text without it gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from wenmai.errors import Mistake, unknown
from wenmai.inspection.reading import Reading, repeated
from wenmai.layers.cells import CELLS
from wenmai.layers.trace import Trace
from wenmai.locale import Message, phrase
from wenmai.locale.messages import phrases
from wenmai.page.panels import Bars, Panel, Table

HELD = 1e4  # before a sigmoid: it is 0 or 1 then, exactly
SHOWN = 24  # removals that are ranked
UNITS = 256  # of a layer, that are tried one by one; those of a block's MLP, which are thousands, only where they are named
ROOM = 1 << 21
COLUMNS = list(phrases("column", "switched off", "answer", "what speaks for it", "lost").values())


@dataclass(frozen=True)
class Switch:
    """`point` is where it reaches in (Trace.passing), `index` which of the heads or units, None for all; `held`: at what a gate
    is held."""

    point: str
    index: int | None = None
    held: float | None = None
    gate: str = ""
    word: str = ""

    @property
    def name(self) -> str:
        if self.word:
            return f"word={self.word}"
        point = (
            self.point.removesuffix(".heads")
            if self.gate == ""
            else self.point.removesuffix("gates") + self.gate
        )
        return (
            point
            + ("" if self.index is None else f":{self.index}")
            + ("" if self.held is None else f"={self.held:g}")
        )

    def applied(self, value: Tensor, instead: Tensor | None, cell: str = "") -> Tensor:
        """The value with this taken out."""
        if self.gate:
            parts = CELLS[cell].parts
            width = value.shape[-1] // len(parts)
            start = parts.index(self.gate) * width
            own = slice(start, start + width) if self.index is None else start + self.index
            changed = value.clone()
            changed[..., own] = HELD if self.held else -HELD
            return changed
        if self.index is None:
            return torch.zeros_like(value) if instead is None else instead
        changed = value.clone()
        if self.point.endswith(".heads"):
            changed[:, self.index] = 0
        else:
            changed[..., self.index] = 0
        return changed


def cell_at(point: str) -> str:
    return next((part for part in point.split(".") if part in CELLS), "")


# What can be switched


def points(reading: Reading) -> dict[str, tuple[int, ...]]:
    """Every place where one can reach in, and the shape of what passes there."""
    shapes: dict[str, tuple[int, ...]] = {}

    def reach(name: str, value: Tensor, instead: Tensor | None) -> Tensor:
        if not name.endswith((".query", ".key", ".value", ".before")):
            shapes.setdefault(name, tuple(value.shape))
        return value

    reading.switched(reach)
    return shapes


def parts(reading: Reading) -> dict[str, list[Switch]]:
    """By the point: heads, units, layers; gates held at 0 and at 1."""
    known: dict[str, list[Switch]] = {}
    for point, shape in points(reading).items():
        if point.endswith(".heads"):
            known[point] = [Switch(point, head) for head in range(shape[1])]
        elif point.endswith(".mlp.units"):
            continue
        elif point.endswith(".units"):
            known[point] = [Switch(point, unit) for unit in range(min(UNITS, shape[-1]))]
        elif point.endswith(".gates"):
            known[point] = [
                Switch(point, None, held, gate)
                for gate in CELLS[cell_at(point)].gates
                for held in (0.0, 1.0)
            ]
        else:
            known[point] = [Switch(point)]
    return known


def named(reading: Reading, name: str) -> Switch:
    """The switch that is called so; a Mistake with the nearest where there is none."""
    if name.startswith("word="):
        return Switch("", word=name.removeprefix("word="))
    bare, _, held = name.partition("=")
    bare, _, index = bare.partition(":")
    known = {}
    for point, shape in points(reading).items():
        if point.endswith(".gates"):
            known |= {
                point.removesuffix("gates") + gate: (
                    point,
                    gate,
                    shape[-1] // len(CELLS[cell_at(point)].parts),
                )
                for gate in CELLS[cell_at(point)].gates
            }
        else:
            size = shape[1] if point.endswith(".heads") else shape[-1]
            known[point.removesuffix(".heads")] = point, "", size
    if bare not in known:
        raise unknown("switch", bare, known)
    point, gate, size = known[bare]
    if (held not in ("0", "1")) if gate else bool(held):
        raise Mistake(
            "--off {name}: a gate is held at 0 or 1, as in {example}; other parts are taken out without a number.",
            name=name,
            example=f"{bare if gate else 'lstm.0.forget'}=0",
        )
    if index and not (index.isdecimal() and int(index) < size):
        raise Mistake("--off {name}: expected a number from 0 to {last}.", name=name, last=size - 1)
    return Switch(point, int(index) if index else None, float(held) if gate else None, gate)


# Switching


def outputs_without(reading: Reading, switch: Switch) -> Tensor:
    """What the network says when this is off."""

    def reach(name: str, value: Tensor, instead: Tensor | None) -> Tensor:
        return switch.applied(value, instead, cell_at(name)) if name == switch.point else value

    return reading.switched(reach)


def together(reading: Reading, switches: Sequence[Switch]) -> Iterator[tuple[Switch, Tensor]]:
    """Of switches at one point: outputs of each, a row each, as many as there is room for."""
    if len(reading.batch.inputs) > 1:  # texts that are answered together
        yield from ((switch, outputs_without(reading, switch)) for switch in switches)
        return
    places = max(reading.batch.mask.shape[-1], 1)
    size = max(1, min(64, ROOM // (places * places)))
    for start in range(0, len(switches), size):
        some = switches[start : start + size]
        batch = repeated(reading.batch, len(some))

        def reach(name: str, value: Tensor, instead: Tensor | None, some=some) -> Tensor:
            if name != some[0].point or len(value) != len(some):
                return value
            rows = [
                switch.applied(
                    value[at : at + 1],
                    None if instead is None else instead[at : at + 1],
                    cell_at(name),
                )
                for at, switch in enumerate(some)
            ]
            return torch.cat(rows)

        with torch.no_grad():
            outputs = reading.model(batch, Trace(reach=reach))
        yield from ((switch, outputs[at : at + 1]) for at, switch in enumerate(some))


@dataclass
class Effect:
    switch: Switch
    answer: str
    support: float
    lost: float


def effect_of(reading: Reading, switch: Switch, outputs: Tensor) -> Effect:
    support = float(reading.support_of(outputs)[0])
    return Effect(switch, reading.named(outputs), support, reading.support - support)


def ranking(reading: Reading, words: bool = True) -> list[Effect]:
    """All removals, those first that change most."""
    effects = []
    for switches in parts(reading).values():
        effects += [
            effect_of(reading, switch, outputs) for switch, outputs in together(reading, switches)
        ]
    if words:
        effects += of_words(reading)
    return sorted(effects, key=lambda effect: -abs(effect.lost))


def of_words(reading: Reading) -> list[Effect]:
    effects, seen = [], {}
    for word in reading.removable:
        before, after = reading.support_without(word)
        less = reading.without(word)  # as it was read for that
        seen[word.name] = count = seen.get(word.name, 0) + 1
        name = word.name if count == 1 else f"{word.name}#{count}"  # where it stands several times
        effects.append(
            Effect(Switch("", word=name), less.named(less.outputs), after, before - after)
        )
    return effects


def before_and_after(reading: Reading, names: Sequence[str]) -> list[Effect]:
    """Of what the user names."""
    effects = []
    for name in names:
        switch = named(reading, name)
        if not switch.word:
            effects.append(effect_of(reading, switch, outputs_without(reading, switch)))
            continue
        matching = [effect for effect in of_words(reading) if effect.switch.word == switch.word]
        if not matching:
            raise unknown("word", switch.word, [word.name for word in reading.removable])
        effects += matching[:1]
    return effects


# Panels


def panels(reading: Reading, off: Sequence[str] = (), words: bool = True) -> list[Panel]:
    if reading.chosen is None:
        return []
    made: list[Panel] = []
    answer = reading.named(reading.outputs)
    if off:
        rows = [(phrase("switch", "nothing"), answer, round(reading.support, 6), 0.0)]
        rows += [
            (one.switch.name, one.answer, round(one.support, 6), round(one.lost, 6))
            for one in before_and_after(reading, off)
        ]
        made.append(
            Table(
                "off",
                Message("Before and after"),
                Message("The answer with everything on, and with each of these off."),
                COLUMNS,
                rows,
            )
        )
    effects = ranking(reading, words)
    shown = effects[:SHOWN]
    caption = Message(
        "Everything stays but one part, and the answer is asked for again: the longer the bar, the more of what "
        "speaks for it went with that part; below 0, the part spoke against it. The answer given then stands "
        "beside it, where it is another."
    )
    notes = [
        Message(
            "parts are numbered from 0 on: block.0.attention:1 is the first layer's second head"
        )
    ]
    if len(shown) < len(effects):
        notes.append(
            Message(
                "{shown} of {all} removals: those that change most",
                shown=len(shown),
                all=len(effects),
            )
        )
    made.append(
        Bars(
            "switches",
            Message("Switched off, one at a time"),
            caption,
            [one.switch.name for one in shown],
            np.array([one.lost for one in shown]),
            ["" if one.answer == answer else one.answer for one in shown],
            Message("lost of log p") if reading.probable else Message("change of the answer"),
            notes=notes,
        )
    )
    return made
