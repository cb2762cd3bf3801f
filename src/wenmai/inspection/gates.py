"""Gates and states of recurrent cells, word by word (formulas: layers/cells.py).

A gate is between 0 (shut) and 1 (open): forget keeps what the cell holds, input lets in what is new, output shows it; reset and
update are the GRU's. Both directions stand apart; the one that reads back begins at the last word.

A unit that follows something in the text is found by its correlation with it (Karpathy et al. 2016): r = cov(h, z) / σ_h σ_z, z
being 1 inside quotes, how deep in brackets, or how far into the line."""

from __future__ import annotations

import re

import numpy as np

from wenmai.inspection.reading import Reading
from wenmai.inspection.words import Word, last_of
from wenmai.layers.cells import CELLS
from wenmai.locale import Message, phrase
from wenmai.locale.messages import phrases
from wenmai.page.panels import Curves, Matrix, Panel, Table

UNITS, FEW = (
    64,
    16,
)  # that are shown of a layer, those that move most: where gates are asked for, and unasked
OPENING, CLOSING, QUOTES = "([{（【「『《", ")]}）】」』》", '"“”「」『』'
NAME = re.compile(
    r"(?P<scope>.*?)(?P<cell>"
    + "|".join(sorted(CELLS, key=len, reverse=True))
    + r")\.(?P<level>\d+)"
    r"(?P<back>\.back)?\.(?P<part>\w+)"
)
FOLLOWED = list(
    phrases(
        "followed",
        "inside quotes",
        "depth of brackets",
        "words of the line so far",
        "letters of the line so far",
    ).values()
)
COLUMNS = list(phrases("column", "it follows", "layer", "unit", "correlation").values())


class Layer:
    """One layer in one direction: by name, (T, H) each."""

    def __init__(self, scope: str, cell: str, level: int, back: bool):
        self.scope, self.cell, self.level, self.back, self.parts = scope, cell, level, back, {}

    @property
    def name(self) -> str:
        return f"{self.scope}{self.cell}.{self.level}{'.back' if self.back else ''}"

    @property
    def gates(self) -> dict[str, np.ndarray]:
        return {name: self.parts[name] for name in CELLS[self.cell].gates if name in self.parts}

    @property
    def states(self) -> dict[str, np.ndarray]:
        return {
            name: value for name, value in self.parts.items() if name not in CELLS[self.cell].gates
        }


def layers_of(reading: Reading) -> list[Layer]:
    layers: dict[tuple, Layer] = {}
    for name, value in reading.notes.items():
        if match := NAME.fullmatch(name):
            key = match["scope"], match["cell"], int(match["level"]), bool(match["back"])
            row = (
                value[reading.row if len(value) > reading.row else 0].float().cpu().numpy()
            )  # (T, H)
            layers.setdefault(key, Layer(*key)).parts[match["part"]] = row
    for layer in layers.values():
        if layer.back:  # it is noted in the order in which it reads: the last real place first
            real = int(reading.batch.mask[reading.row].sum())
            layer.parts = {
                part: np.concatenate([value[:real][::-1], value[real:]])
                for part, value in layer.parts.items()
            }
    return list(layers.values())


def words_of(reading: Reading, layer: Layer) -> list[Word]:
    """What stands at the steps of this layer."""
    steps = len(next(iter(layer.parts.values())))
    if layer.scope.startswith("decoder") and reading.written is not None:
        from wenmai.inspection.attention import fit, shifted

        return fit(shifted(reading.written, 0), steps)
    return [word for word in reading.words if max(word.places) < steps] or [
        Word(str(at + 1), [at]) for at in range(steps)
    ]


def joined(values: dict[str, np.ndarray], words: list[Word], back: bool) -> np.ndarray:
    """(parts, words, H)"""
    return np.stack([last_of(value, words, 0, back) for value in values.values()])


# Panels


def panels(reading: Reading, units: int = UNITS) -> list[Panel]:
    made: list[Panel] = []
    for layer in layers_of(reading):
        made += of_layer(layer, words_of(reading, layer), units)
    return made + followers(reading)


def of_layer(layer: Layer, words: list[Word], most: int) -> list[Panel]:
    names, made, slug = [word.name for word in words], [], layer.name.replace(".", "-")
    states = joined(layer.states, words, layer.back)  # (parts, words, H)
    main = states[list(layer.states).index("state")]
    moving = np.sort(
        np.argsort(-main.std(0), kind="stable")[:most]
    )  # units that move most, in their order
    units = [str(unit) for unit in moving]  # numbered as a switch names them
    cut = [
        Message(
            "{shown} of {all} units: those whose state moves most",
            shown=len(units),
            all=main.shape[1],
        )
    ]
    cut = cut if len(units) < main.shape[1] else []
    way = (
        Message("{layer}, read backwards", layer=layer.name)
        if layer.back
        else Message("{layer}", layer=layer.name)
    )
    if layer.gates:
        gates = joined(layer.gates, words, layer.back)
        made.append(
            Curves(
                f"gates-{slug}",
                Message("How open the gates are: {layer}", layer=way),
                Message(
                    "The mean over all units, word by word: where forget (update, of a GRU) is near 1, what was "
                    "read before is kept, near 0 it begins anew; input near 0 passes a word by."
                ),
                names,
                gates.mean(2),
                list(layer.gates),
                phrase("axis", "words"),
                phrase("axis", "mean of the gate"),
            )
        )
        made.append(
            Matrix(
                f"gates-units-{slug}",
                Message("Gates of every unit: {layer}", layer=way),
                Message("A row is a unit, a column a word; 0 is shut, 1 is open."),
                gates[:, :, moving].transpose(0, 2, 1),
                units,
                names,
                [(phrase("choice", "gate"), list(layer.gates))],
                notes=cut,
                see=("switches",),
            )
        )
    made.append(
        Matrix(
            f"states-{slug}",
            Message("States of every unit: {layer}", layer=way),
            Message(
                "A row is a unit, a column what it holds after that word: one that keeps its colour remembers."
            ),
            states[:, :, moving].transpose(0, 2, 1),
            units,
            names,
            [(phrase("choice", "state"), list(layer.states))],
            scale="signed",
            notes=cut,
            see=("switches",),
        )
    )
    return made


def features_of(reading: Reading, words: list[Word]) -> np.ndarray:
    """(FOLLOWED, words): what can be followed in the text that was given, at the end of every word"""
    values = np.zeros((len(FOLLOWED), len(words)))
    for at, word in enumerate(words):
        if word.span is None or reading.pretokenized is not None:
            continue
        line = reading.texts[word.span[0]][: word.span[2]]
        line = line[line.rfind("\n") + 1 :]
        quotes = (
            sum(line.count(mark) for mark in QUOTES[:1]) % 2
            + sum(line.count(mark) for mark in "“「『")
            - sum(line.count(mark) for mark in "”」』")
        )
        depth = sum(line.count(mark) for mark in OPENING) - sum(
            line.count(mark) for mark in CLOSING
        )
        values[:, at] = quotes > 0, max(0, depth), line.count(" ") + 1, len(line)
    return values


def correlations(states: np.ndarray, features: np.ndarray) -> np.ndarray:
    """(T, H), (F, T) → Pearson's r (F, H), 0 where one of them never changes"""
    h, z = states - states.mean(0), features - features.mean(1, keepdims=True)
    size = np.sqrt((z**2).sum(1))[:, None] * np.sqrt((h**2).sum(0))[None]
    return np.divide(z @ h, size, out=np.zeros(size.shape), where=size > 1e-9)


def followers(reading: Reading) -> list[Panel]:
    """The unit of each layer that follows each thing best, and how the best of all goes along the text."""
    rows, best = [], None
    for layer in layers_of(reading):
        words = words_of(reading, layer)
        features = features_of(reading, words)
        for kind, value in layer.states.items():
            if kind not in ("state", "cell") or len(words) < 8:
                continue
            r = correlations(last_of(value, words, 0, layer.back), features)
            for number in np.flatnonzero(np.abs(r).max(1, initial=0.0) > 0):
                unit = int(np.abs(r[number]).argmax())
                rows.append(
                    (FOLLOWED[number], f"{layer.name}.{kind}", unit, float(r[number, unit]))
                )
                if best is None or abs(r[number, unit]) > abs(best[0]):
                    curve = last_of(value, words, 0, layer.back)[:, unit]
                    best = (
                        float(r[number, unit]),
                        layer.name,
                        unit,
                        FOLLOWED[number],
                        words,
                        curve,
                        features[number],
                    )
    if best is None:
        return []
    rows.sort(key=lambda row: -abs(row[3]))
    r, layer, unit, what, words, curve, feature = best
    table = Table(
        "units",
        Message("Units that follow something in the text"),
        Message(
            "Correlation over this text: near 1 or −1, the unit goes along with it. In a short text some do by "
            "chance; give a longer one to be sure."
        ),
        COLUMNS,
        rows,
    )
    scaled = feature / max(1e-9, np.abs(feature).max())
    curves = Curves(
        "unit",
        Message("Unit {unit} of {layer} over the text", unit=unit, layer=layer),
        Message(
            "Its state, word by word, and what it follows (brought to 1 at the most): r = {r:.2f}.",
            r=r,
        ),
        [word.name for word in words],
        np.stack([curve, scaled]),
        [f"{layer}:{unit}", what],
        phrase("axis", "words"),
    )
    return [table, curves]
