"""depth: one layer against two and three, one way against both. Each costs weights and time; what does it buy?"""

from collections.abc import Iterator
from typing import Literal

from wenmai.evaluation.probes.finding import Finding, Grid
from wenmai.evaluation.probes.variants import (
    Variant,
    beyond_chance,
    compared,
    costs,
    how,
    open_rows,
    with_spread,
)
from wenmai.evaluation.probes.variants_picture import picture as panels_figure
from wenmai.evaluation.probes.variants_picture import quality_and_cost
from wenmai.locale import Message, plural
from wenmai.options import assign_options
from wenmai.page.pictures import metric_key

Cell = Literal["gru", "lstm", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated"]


def run(
    source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0
) -> Iterator:
    known = yield from measured(
        source, columns, seed, **assign_options(settings or {}, {"probe": measured})["probe"]
    )
    notes = [
        *how(known),
        Message(
            "{rung} with hidden={hidden} and embed={embed}; both ways means as much again, from the end",
            rung=known["rung"],
            hidden=known["hidden"],
            embed=known["embed"],
        ),
    ]
    title = Message("{source}: layers and directions of {rung}", source=source, rung=known["rung"])
    return Finding(known, title, tables, picture, conclusions(known), notes)


def measured(
    source: str,
    columns,
    seed: int,
    *,
    rung: Cell = "gru",
    layers: int = 3,
    rows: int = 4000,
    epochs: int = 8,
    hidden: int = 48,
    embed: int = 32,
    learning_rate: float = 4e-3,
    seeds: int = 3,
    device: str = "auto",
) -> Iterator:
    """`layers` up to which it is stacked; `rows` to learn from, at the most; `seeds` how often each is trained."""
    data = open_rows(source, columns, [rung], rows, seed)
    options = {"hidden": hidden, "embed": embed}
    variants = [
        Variant(
            f"{number} {'both' if both else 'one'}",
            rung,
            options | {"layers": number, "bidirectional": both},
        )
        for both in (False, True)
        for number in range(1, layers + 1)
    ]
    training = {"epochs": epochs, "learning_rate": learning_rate, "device": device}
    known = {"probe": "depth", "data": source, "rung": rung, "hidden": hidden, "embed": embed}
    return (yield from compared(known, data, variants, training, seeds, seed))


def named(row: dict, lang: str) -> str:
    layers, both = row["options"]["layers"], row["options"]["bidirectional"]
    way = Message("both ways") if both else Message("one way")
    return plural("{count} layer, {way}", "{count} layers, {way}", count=layers, way=way).told_in(
        lang
    )


def conclusions(known: dict) -> list[str]:
    rows, metric = known["variants"], metric_key(known["metric"])
    one, half = rows[0], len(rows) // 2
    gist = []
    for deep in rows[1:half]:
        gist.append(
            Message(
                "{layers} layers instead of one, one way: {metric} {one} → {deep}, {apart}; {times:.1f} times the "
                "seconds.",
                layers=deep["options"]["layers"],
                metric=metric,
                one=with_spread(one),
                deep=with_spread(deep),
                apart=beyond_chance(deep, one),
                times=deep["median_seconds"] / one["median_seconds"],
            )
        )
    both = rows[half]
    gist.append(
        Message(
            "Both ways instead of one, one layer: {metric} {one} → {both}, {apart}; {times:.1f} times the seconds.",
            metric=metric,
            one=with_spread(one),
            both=with_spread(both),
            apart=beyond_chance(both, one),
            times=both["median_seconds"] / one["median_seconds"],
        )
    )
    return gist


def tables(known: dict, lang: str) -> list[Grid]:
    return [
        costs(
            known, Message("layers and ways"), [named(row, lang) for row in known["variants"]], lang
        )
    ]


def picture(known: dict, lang: str):
    names, groups = zip(
        *((named(row, lang), int(row["options"]["bidirectional"])) for row in known["variants"])
    )
    return panels_figure(names, groups, quality_and_cost(known, lang))
