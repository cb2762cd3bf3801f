"""One input, looked into: which panels there are, and which of them a reader sees unasked.

A kind of panel is a function of a Reading that gives panels, none where the model has nothing of that kind. Those that a learner
should see first come unasked; `show` names others, or all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from wenmai.data.files.sounds import Clip
from wenmai.errors import Mistake, unknown
from wenmai.inspection import (
    activations,
    attention,
    attribution,
    embeddings,
    filters,
    formula,
    gates,
    gradients,
    neighbours,
    positions,
    sounds,
    surprise,
    switches,
)
from wenmai.inspection.reading import Reading
from wenmai.locale import Listed, Message, phrase
from wenmai.page.panels import Beside, Inspection, Panel

LONG = 128  # places from which on parts are not switched off one by one unless asked


@dataclass
class Asked:
    """What the user says beside the input."""

    show: Sequence[str] = ()  # kinds; none: those that come unasked; "all"
    off: Sequence[str] = ()  # switches
    analogies: Sequence[str] = ()  # man:king:woman
    map: str = "pca"
    cell: str = ""  # layer,head,row,column
    rows: tuple | None = None  # (inputs, targets) that the run learned from
    tokens: np.ndarray | None = field(default=None, repr=False)  # of running text, the same


def attended(reading: Reading, asked: Asked) -> list[Panel]:
    return attention.panels(reading) if reading.network else []


def gated(reading: Reading, asked: Asked) -> list[Panel]:
    return (
        gates.panels(reading, gates.UNITS if "gates" in asked.show else gates.FEW)
        if reading.network
        else []
    )


def moved(reading: Reading, asked: Asked) -> list[Panel]:
    if not reading.network and reading.running and asked.tokens is not None:
        from wenmai.inspection import explained

        return explained.of_text(reading, asked.tokens)
    return attribution.panels(
        reading, occluded=len(reading.words) <= LONG or "attribution" in asked.show
    )


def fired(reading: Reading, asked: Asked) -> list[Panel]:
    return filters.panels(reading) if reading.network else []


def switched(reading: Reading, asked: Asked) -> list[Panel]:
    if not reading.network or reading.chosen is None:
        return []
    wanted = "switches" in asked.show or bool(asked.off)
    if len(reading.words) > LONG and not wanted:
        return []
    return switches.panels(reading, asked.off, words=len(reading.words) <= LONG)


def neared(reading: Reading, asked: Asked) -> list[Panel]:
    return [] if asked.rows is None else neighbours.panels(reading, *asked.rows)


KINDS: dict[
    str, tuple[Callable[[Reading, Asked], list[Panel]], bool]
] = {  # name → (its panels, whether it comes unasked)
    "sounds": (lambda reading, asked: sounds.panels(reading), True),
    "attribution": (moved, True),
    "surprise": (lambda reading, asked: surprise.panels(reading), True),
    "filters": (fired, True),
    "attention": (attended, True),
    "gates": (gated, True),
    "switches": (switched, True),
    "formula": (lambda reading, asked: formula.panels(reading, asked.cell), True),
    "neighbours": (neared, True),
    "embeddings": (
        lambda reading, asked: embeddings.panels(reading, asked.analogies, asked.map),
        False,
    ),
    "positions": (lambda reading, asked: positions.panels(reading), False),
    "gradients": (lambda reading, asked: gradients.panels(reading), False),
    "activations": (lambda reading, asked: activations.panels(reading), False),
}


def chosen_kinds(asked: Asked) -> list[str]:
    for name in asked.show:
        if name not in KINDS and name != "all":
            raise unknown("panel", name, (*KINDS, "all"))
    if "all" in asked.show:
        return list(KINDS)
    options = {"switches": asked.off, "embeddings": asked.analogies, "formula": asked.cell}
    implied = [name for name, value in options.items() if value]
    return list(
        dict.fromkeys(
            [*(asked.show or [name for name, (_, unasked) in KINDS.items() if unasked]), *implied]
        )
    )


def panels_of(reading: Reading, asked: Asked) -> list[Panel]:
    """In the order of KINDS. A kind that was asked for by name and is not there: what there is instead."""
    names, made = chosen_kinds(asked), []
    for name in KINDS:
        if name not in names:
            continue
        own = KINDS[name][0](reading, asked)
        if not own and name in asked.show:
            raise Mistake(
                "{rung} has no {what} to show of this; it has {instead}.",
                rung=reading.estimator.rung,
                what=name,
                instead=Listed(there_is(reading, asked)),
            )
        made += own
    return made


def there_is(reading: Reading, asked: Asked) -> list[str]:
    """The kinds of which this model has something."""
    plain = Asked(rows=asked.rows)
    return [
        name for name, (make, _) in KINDS.items() if name not in asked.show and make(reading, plain)
    ]


# One result


def facts_of(reading: Reading, run: str) -> list[tuple[Message, str]]:
    estimator = reading.estimator
    facts = [(phrase("fact", "run"), run)] if run else []
    facts += [
        (phrase("fact", "rung"), estimator.rung),
        (phrase("fact", "task"), estimator.task_.profile.words),
    ]
    facts += [(phrase("fact", "input"), shown_value(reading))]
    if reading.network and reading.batch.target_mask is not None:
        facts += [
            (phrase("fact", "written"), reading.written_text),
            (phrase("fact", "log p"), f"{reading.support:.4f}"),
        ]
    elif reading.chosen is not None:
        name = phrase("fact", "next word") if reading.running else phrase("fact", "answer")
        facts += [(name, reading.named(reading.outputs))]
        if reading.probable:
            facts += [(phrase("fact", "probability"), f"{float(np.exp(reading.support)):.4f}")]
    return facts


def shown_value(reading: Reading) -> str:
    if reading.pretokenized is not None:
        return " ".join(reading.pretokenized)
    if reading.texts:
        return " ‖ ".join(reading.texts)
    if isinstance(reading.value, Clip):
        return str(reading.value)
    value = np.asarray(reading.value)
    return (
        ", ".join(f"{number:g}" for number in value)
        if value.ndim == 1
        else " × ".join(map(str, value.shape))
    )


def inspect(
    estimator,
    value,
    show: Sequence[str] | str = (),
    *,
    off: Sequence[str] | str = (),
    beside: dict | None = None,
    run: str = "",
    target: str | None = None,
    analogies: Sequence[str] | str = (),
    map: str = "pca",
    cell: str = "",
    rows: tuple | None = None,
    tokens: np.ndarray | None = None,
) -> Inspection:
    """What a trained estimator makes of one input, as panels that show themselves in a notebook.

    `show`: sounds, attention, gates, attribution, switches, surprise, embeddings, positions, gradients, activations, formula,
    filters, neighbours, or all; without it, what is worth seeing first. `off`: parts to switch off, as block.0.attention:3,
    lstm.0.forget=0 or word=good. `beside`: other estimators by their names, shown side by side. `target`: the text that is
    written for it, where another than the model's own is to be looked at."""
    asked = Asked(listed(show), listed(off), listed(analogies), map, cell, rows, tokens)
    named = {run or estimator.rung: estimator, **(beside or {})}
    readings = {name: Reading(one, value, target) for name, one in named.items()}
    first = next(iter(readings.values()))
    title = Message("Inside {rung}", rung=estimator.rung)
    if len(readings) == 1:
        return Inspection(title, facts_of(first, run), panels_of(first, asked), first.messages)
    several = [panels_of(reading, asked) for reading in readings.values()]
    panels: list[Panel] = surprise.together(readings)
    panels.append(
        Beside(
            "beside",
            Message("Side by side"),
            Message("The same input, looked at in the same ways."),
            list(readings),
            several,
        )
    )
    return Inspection(
        title,
        facts_of(first, run),
        panels,
        [note for reading in readings.values() for note in reading.messages],
    )


def over_time(
    steps: dict[str, object], value, show: Sequence[str] | str = (), *, run: str = ""
) -> Inspection:
    """One run over its checkpoints: estimators by the step they were kept at, the first first."""
    asked = Asked(listed(show) or ("attribution", "attention", "embeddings"))
    readings = {name: Reading(estimator, value) for name, estimator in steps.items()}
    last = list(readings.values())[-1]
    kinds = [name for name in chosen_kinds(asked) if show or KINDS[name][0](last, asked)]
    several = [
        [panel for name in kinds for panel in KINDS[name][0](reading, asked)]
        for reading in readings.values()
    ]
    panel = Beside(
        "steps",
        Message("Over its training"),
        Message(
            "Move through the checkpoints: how the answer, what moved it, attention and neighbours came about."
        ),
        list(readings),
        several,
        slider=True,
    )
    return Inspection(
        Message("Inside {rung}", rung=last.estimator.rung),
        facts_of(last, run),
        [panel],
        last.messages,
    )


def listed(names: Sequence[str] | str) -> tuple[str, ...]:
    """Names, or a text with commas between them."""
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(part.strip() for part in parts if part.strip())


def run_name(run: str | Path) -> str:
    return Path(run).name or str(run)
