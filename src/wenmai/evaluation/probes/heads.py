"""heads: one head looks at one thing at a time; several, each on its slice of the width, look at several. Does it help?

entropy  −Σ_s a_ts log a_ts / log S    of a head: 0 where it looks at one place, 1 where it looks at all alike
overlap  Σ_s min(a_ts, a'_ts)          of two heads of a layer: 1 where they look at the same, 0 where at nothing in common
"""

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from statistics import mean

from wenmai.errors import Mistake
from wenmai.evaluation.probes.finding import Finding, Grid, growing_numbers
from wenmai.evaluation.probes.variants import (
    Variant,
    beyond_chance,
    compared,
    how,
    open_rows,
    with_spread,
)
from wenmai.evaluation.probes.variants_picture import Panel, quality
from wenmai.evaluation.probes.variants_picture import picture as panels_figure
from wenmai.locale import Message
from wenmai.options import assign_options
from wenmai.page.pictures import metric_key, metric_words

TRACED = 64  # rows of the test part whose attention is shown


def run(
    source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0
) -> Iterator:
    known = yield from measured(
        source, columns, seed, **assign_options(settings or {}, {"probe": measured})["probe"]
    )
    notes = [
        *how(known),
        Message(
            "width {width} and {layers} layers for all: the weights are equally many, only their use differs",
            width=known["width"],
            layers=known["layers"],
        ),
        Message(
            "entropy (0: one place, 1: all places alike) and overlap (1: two heads of a layer look at the same) are "
            "means over layers, heads and the real places of {rows} test rows",
            rows=TRACED,
        ),
    ]
    title = Message("{source}: one head against many", source=source)
    return Finding(known, title, tables, picture, conclusions(known), notes)


def measured(
    source: str,
    columns,
    seed: int,
    *,
    heads: str = "1,2,4,8",
    width: int = 64,
    layers: int = 2,
    rows: int = 6000,
    epochs: int = 8,
    learning_rate: float = 2e-3,
    seeds: int = 3,
    device: str = "auto",
) -> Iterator:
    """`heads` are compared at equal `width`; `rows` to learn from, at the most; `seeds` how often each is trained."""
    numbers = growing_numbers(heads)
    if not numbers or any(number < 1 or width % number for number in numbers):
        raise Mistake(
            "heads={heads}: expected growing numbers that divide width={width}, such as 1,2,4.",
            heads=heads,
            width=width,
        )
    data = open_rows(source, columns, ["transformer"], rows, seed)
    variants = [
        Variant(str(number), "transformer", {"heads": number, "width": width, "layers": layers})
        for number in numbers
    ]
    training = {"epochs": epochs, "learning_rate": learning_rate, "device": device}
    known = {
        "probe": "heads",
        "data": source,
        "higher_is_better": data.task.higher_is_better,
        "width": width,
        "layers": layers,
    }
    return (
        yield from compared(
            known, data, variants, training, seeds, seed, partial(attention_of, part=data.test)
        )
    )


def attention_of(estimator, part) -> dict[str, float | None]:
    """Entropy and overlap of the heads on some rows."""
    import numpy as np
    import torch

    from wenmai.layers.trace import Trace

    some = part.take(np.arange(min(TRACED, len(part))))
    examples, trace = estimator.examples(some.inputs), Trace()
    batch = examples.batch(np.arange(len(examples))).to(estimator.device_)
    with torch.no_grad():
        estimator.model_(batch, trace)
    entropies, overlaps = [], []
    for name, weights in trace.notes.items():
        if name.endswith(".attention"):
            entropies.append(entropy(weights, batch.mask))
            overlaps += overlap(weights, batch.mask)
    return {"entropy": mean(entropies), "overlap": mean(overlaps) if overlaps else None}


def entropy(weights, mask) -> float:
    """(B, A, T, S), (B, T) → the mean over heads and real places of rows that have two or more."""
    sizes = mask.sum(1)  # (B,)
    asked = mask & (sizes > 1).unsqueeze(1)  # (B, T)
    entropies = (
        -(weights * weights.clamp(min=1e-30).log()).sum(-1)
        / sizes.clamp(min=2).log()[:, None, None]
    )  # (B, A, T)
    return float(entropies.transpose(1, 2)[asked].mean()) if asked.any() else 0.0


def overlap(weights, mask) -> list[float]:
    """Of every pair of heads."""
    a = weights.transpose(0, 1)  # (A, B, T, S)
    return [
        float(a[one].minimum(a[two]).sum(-1)[mask].mean())
        for one, two in combinations(range(len(a)), 2)
    ]


def conclusions(known: dict) -> list[str]:
    rows, metric = known["variants"], metric_key(known["metric"])
    best, one = (
        (max if known["higher_is_better"] else min)(rows, key=lambda row: row["mean"]),
        rows[0],
    )
    gist = [
        Message(
            "The best {metric} is {best}, with heads={heads1}; with heads={heads2} it is {one}.",
            metric=metric,
            best=with_spread(best),
            heads1=best["variant"],
            heads2=one["variant"],
            one=with_spread(one),
        )
    ]
    if best is not one:
        gist.append(Message("The difference is {apart}.", apart=beyond_chance(best, one)))
    several = [row for row in rows if None not in row["overlap"]]
    if several:
        gist.append(
            Message(
                "With heads={heads} two heads share {share:.0%} of what they look at, on average: the rest is what a "
                "single head could not see at the same time.",
                heads=several[-1]["variant"],
                share=mean(several[-1]["overlap"]),
            )
        )
    return gist


def tables(known: dict, lang: str) -> list[Grid]:
    names = (
        Message("heads"),
        metric_words(known["metric"]),
        Message("entropy"),
        Message("overlap"),
        Message("weights"),
    )
    head = [name.told_in(lang) for name in (*names, Message("seconds to train"))]
    rows = [
        [
            row["variant"],
            with_spread(row),
            f"{mean(row['entropy']):.3f}",
            "–" if None in row["overlap"] else f"{mean(row['overlap']):.3f}",
            f"{row['parameters']:,}",
            f"{row['median_seconds']:.1f}",
        ]
        for row in known["variants"]
    ]
    return [Grid(Message("Heads at equal width").told_in(lang), head, rows)]


def picture(known: dict, lang: str):
    rows = known["variants"]
    overlaps = [[value for value in row["overlap"] if value is not None] for row in rows]
    panels = [
        quality(known, lang),
        Panel(
            Message("entropy (1: everywhere alike)").told_in(lang), [row["entropy"] for row in rows]
        ),
    ]
    if any(overlaps):
        panels.append(Panel(Message("overlap of two heads (1: the same)").told_in(lang), overlaps))
    labels = [Message("heads={heads}", heads=row["variant"]).told_in(lang) for row in rows]
    return panels_figure(labels, [0] * len(rows), panels)
