"""gates: the gru has two gates where the lstm has three. What do they buy, and what do they cost?

All of them at the same `hidden`, where the lstm has four matrices a layer, the gru three and the rnn one; then gru and rnn as
large as the lstm is, counted in weights (as Chung et al. 2014 compare them)."""

from collections.abc import Iterator

from wenmai.evaluation.probes.finding import Finding, Grid
from wenmai.evaluation.probes.variants import (
    Variant,
    as_large,
    beyond_chance,
    compared,
    costs,
    counter,
    how,
    open_rows,
    with_spread,
)
from wenmai.evaluation.probes.variants_picture import picture as panels_figure
from wenmai.evaluation.probes.variants_picture import quality_and_cost
from wenmai.locale import Message
from wenmai.options import assign_options
from wenmai.page.pictures import metric_key

CELLS = ("rnn", "gru", "lstm")


def run(
    source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0
) -> Iterator:
    known = yield from measured(
        source, columns, seed, **assign_options(settings or {}, {"probe": measured})["probe"]
    )
    notes = [
        *how(known),
        Message(
            "embed={embed}, one layer, one way; as large as lstm means the hidden that comes nearest to its weights",
            embed=known["embed"],
        ),
    ]
    title = Message("{source}: what gates buy and cost", source=source)
    return Finding(known, title, tables, picture, conclusions(known), notes)


def measured(
    source: str,
    columns,
    seed: int,
    *,
    rows: int = 6000,
    epochs: int = 8,
    hidden: int = 64,
    embed: int = 32,
    learning_rate: float = 4e-3,
    seeds: int = 3,
    device: str = "auto",
) -> Iterator:
    """`rows` to learn from, at the most; `hidden` is the size of all three, and of the lstm that the others are then made as
    large as; `seeds` how often each is trained."""
    data = open_rows(source, columns, list(CELLS), rows, seed)
    count, options = counter(data), {"embed": embed}
    weights = count("lstm", options | {"hidden": hidden})
    variants = [Variant(f"{cell}, {hidden}", cell, options | {"hidden": hidden}) for cell in CELLS]
    for cell in ("rnn", "gru"):
        size = as_large(count, cell, options, weights)
        variants.append(Variant(f"{cell}, {size}", cell, options | {"hidden": size}))
    training = {"epochs": epochs, "learning_rate": learning_rate, "device": device}
    known = {
        "probe": "gates",
        "data": source,
        "higher_is_better": data.task.higher_is_better,
        "hidden": hidden,
        "embed": embed,
    }
    return (yield from compared(known, data, variants, training, seeds, seed))


def conclusions(known: dict) -> list[str]:
    rnn, gru, lstm, large_rnn, large_gru = known["variants"]
    metric, higher = metric_key(known["metric"]), known["higher_is_better"]
    best = max if higher else min
    gated = best(row["mean"] for row in (gru, lstm, large_gru)) - best(
        row["mean"] for row in (rnn, large_rnn)
    )
    shares = [f"{cell['parameters'] / lstm['parameters']:.0%}" for cell in (gru, rnn)]
    return [
        Message(
            "Equal hidden: {metric} of gru {gru}, of lstm {lstm}; the difference is {apart}. Of the lstm's weights gru has "
            "{share1}, rnn {share2}.",
            metric=metric,
            gru=with_spread(gru),
            lstm=with_spread(lstm),
            apart=beyond_chance(gru, lstm),
            share1=shares[0],
            share2=shares[1],
        ),
        Message(
            "Equal weights: {metric} of gru {gru}; the difference to lstm is {apart}.",
            metric=metric,
            gru=with_spread(large_gru),
            apart=beyond_chance(large_gru, lstm),
        ),
        Message(
            "Without gates: rnn {rnn1}, and as large as the lstm {rnn2}; the best gated one is better by {gain:.4f}.",
            rnn1=with_spread(rnn),
            rnn2=with_spread(large_rnn),
            gain=gated if higher else -gated,
        ),
    ]


def tables(known: dict, lang: str) -> list[Grid]:
    table = costs(
        known, Message("rung, hidden"), [row["variant"] for row in known["variants"]], lang
    )
    equal, large = (
        Message("Equal hidden").told_in(lang),
        Message("As many weights as lstm").told_in(lang),
    )
    return [table, Grid(equal, table.head, table.rows[:3]), Grid(large, table.head, table.rows[2:])]


def picture(known: dict, lang: str):
    names, groups = zip(*((row["variant"], CELLS.index(row["rung"])) for row in known["variants"]))
    return panels_figure(names, groups, quality_and_cost(known, lang))
