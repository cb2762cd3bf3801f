"""gates: the gru has two gates where the lstm has three. What do they buy, and what do they cost?

All of them at the same `hidden`, where the lstm has four matrices a layer, the gru three and the rnn one; then gru and rnn as
large as the lstm is, counted in weights (as Chung et al. 2014 compare them).
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from wenmai.evaluation.pictures import metric_name
from wenmai.evaluation.probes.finding import Finding, Grid
from wenmai.evaluation.probes.variants_picture import Panel
from wenmai.evaluation.probes.variants_picture import picture as drawn
from wenmai.locale import Message
from wenmai.options import sort_out

CELLS = ("rnn", "gru", "lstm")


def run(source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0) -> Iterator:
    from wenmai.evaluation.probes.variants import rows_note, spread_note

    known = yield from measured(source, columns, seed, **sort_out(settings or {}, {"probe": measured})["probe"])
    notes = [rows_note(known), spread_note(known),
             Message("embed={embed}, one layer, one way; as large as lstm means the hidden that comes nearest to its weights",
                     embed=known["embed"])]  # fmt: skip
    title = {"en": f"{source}: what gates buy and cost", "zh": f"{source}：门带来什么，代价多少"}
    grids = {lang: tables(known, lang) for lang in ("en", "zh")}
    return Finding(known | {"notes": notes}, title, grids, lambda lang: picture(known, lang), told(known), notes)


def measured(source: str, columns, seed: int, *, rows: int = 6000, epochs: int = 8, hidden: int = 64, embed: int = 32,
             learning_rate: float = 4e-3, seeds: int = 3, device: str = "auto") -> Iterator:  # fmt: skip
    """`rows` to learn from, at the most; `hidden` is the size of all three, and of the lstm that the others are then made as
    large as; `seeds` how often each is trained."""
    from wenmai.estimator import device_named
    from wenmai.evaluation.probes.variants import Variant, as_large, compared, counter, opened, sizes

    began, device = time.perf_counter(), device_named(device)
    data = opened(source, columns, list(CELLS), rows, seed)
    count, options = counter(data), {"embed": embed}
    weights = count("lstm", options | {"hidden": hidden})
    variants = [Variant(f"{cell}, {hidden}", cell, options | {"hidden": hidden}) for cell in CELLS]
    for cell in ("rnn", "gru"):
        size = as_large(count, cell, options, weights)
        variants.append(Variant(f"{cell}, {size}", cell, options | {"hidden": size}))
    training = {"epochs": epochs, "learning_rate": learning_rate, "device": device}
    metric, found = yield from compared(data, variants, training, seeds, seed)
    return {"probe": "gates", "data": source, "task": data.task.name, "metric": metric,
            "higher_is_better": data.task.higher_is_better, "rows": sizes(data), "epochs": epochs,
            "hidden": hidden, "embed": embed, "learning_rate": learning_rate, "seed": seed, "seeds": seeds, "device": device,
            "variants": found, "seconds": round(time.perf_counter() - began, 1)}  # fmt: skip


def told(known: dict) -> list[str]:
    from wenmai.evaluation.probes.variants import apart, best_of, with_spread

    rnn, gru, lstm, large_rnn, large_gru = known["variants"]
    metric, higher = known["metric"], known["higher_is_better"]
    gated = best_of([gru, lstm, large_gru], higher)["mean"] - best_of([rnn, large_rnn], higher)["mean"]
    shares = [f"{cell['parameters'] / lstm['parameters']:.0%}" for cell in (gru, rnn)]
    return [
        f"Equal hidden: {metric} of gru {with_spread(gru)}, of lstm {with_spread(lstm)}; the difference is {apart(gru, lstm)}. "
        f"Of the lstm's weights gru has {shares[0]}, rnn {shares[1]}.",
        f"Equal weights: {metric} of gru {with_spread(large_gru)}; the difference to lstm is {apart(large_gru, lstm)}.",
        f"Without gates: rnn {with_spread(rnn)}, and as large as the lstm {with_spread(large_rnn)}; the best gated one is better "
        f"by {gated if higher else -gated:.4f}.",
    ]  # fmt: skip


def tables(known: dict, lang: str) -> list[Grid]:
    from wenmai.evaluation.probes.variants import with_spread

    zh = lang == "zh"
    head = ["级，hidden" if zh else "rung, hidden", metric_name(known["metric"], lang), "权重个数" if zh else "weights",
            "训练秒数" if zh else "seconds to train"]  # fmt: skip
    rows = [[row["variant"], with_spread(row), f"{row['parameters']:,}", f"{row['median_seconds']:.1f}"]
            for row in known["variants"]]  # fmt: skip
    equal, large = ("hidden 相同", "与 lstm 一样大") if zh else ("Equal hidden", "As many weights as lstm")
    return [Grid("质量与代价" if zh else "Quality and cost", head, rows),
            Grid(equal, head, rows[:3]), Grid(large, head, [rows[2], *rows[3:]])]  # fmt: skip


def picture(known: dict, lang: str):
    zh, rows = lang == "zh", known["variants"]
    metric = metric_name(known["metric"], lang)
    return drawn([row["variant"] for row in rows], [CELLS.index(row["rung"]) for row in rows], [
        Panel(f"{metric}（测试）" if zh else f"{metric}, test part", [row["scores"] for row in rows], False),
        Panel("权重个数" if zh else "weights", [[row["parameters"]] for row in rows]),
        Panel("训练秒数" if zh else "seconds to train", [row["seconds"] for row in rows])])  # fmt: skip
