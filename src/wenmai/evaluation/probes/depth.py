"""depth: one layer against two and three, one way against both. Each costs weights and time; what does it buy?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal

from wenmai.evaluation.pictures import metric_name
from wenmai.evaluation.probes.finding import Finding, Grid
from wenmai.evaluation.probes.variants_picture import Panel
from wenmai.evaluation.probes.variants_picture import picture as drawn
from wenmai.locale import Message
from wenmai.options import sort_out

Cell = Literal["gru", "lstm", "rnn", "rnn-residual", "rnn-coupled", "rnn-gated"]


def run(source: str, columns: dict[str, str] | None = None, settings: dict | None = None, seed: int = 0) -> Iterator:
    from wenmai.evaluation.probes.variants import rows_note, spread_note

    known = yield from measured(source, columns, seed, **sort_out(settings or {}, {"probe": measured})["probe"])
    notes = [rows_note(known), spread_note(known),
             Message("{rung} with hidden={hidden} and embed={embed}; both ways means as much again, from the end",
                     rung=known["rung"], hidden=known["hidden"], embed=known["embed"])]  # fmt: skip
    title = {"en": f"{source}: layers and directions of {known['rung']}", "zh": f"{source}：{known['rung']} 的层数与方向"}
    grids = {lang: [table(known, lang)] for lang in ("en", "zh")}
    return Finding(known | {"notes": notes}, title, grids, lambda lang: picture(known, lang), told(known), notes)


def measured(source: str, columns, seed: int, *, rung: Cell = "gru", layers: int = 3, rows: int = 4000, epochs: int = 8,
             hidden: int = 48, embed: int = 32, learning_rate: float = 4e-3, seeds: int = 3,
             device: str = "auto") -> Iterator:  # fmt: skip
    """`layers` up to which it is stacked; `rows` to learn from, at the most; `seeds` how often each is trained."""
    from wenmai.estimator import device_named
    from wenmai.evaluation.probes.variants import Variant, compared, opened, sizes

    began, device = time.perf_counter(), device_named(device)
    data = opened(source, columns, [rung], rows, seed)
    options = {"hidden": hidden, "embed": embed}
    variants = [Variant(f"{number} {'both' if both else 'one'}", rung, options | {"layers": number, "bidirectional": both})
                for both in (False, True) for number in range(1, layers + 1)]  # fmt: skip
    training = {"epochs": epochs, "learning_rate": learning_rate, "device": device}
    metric, found = yield from compared(data, variants, training, seeds, seed)
    return {"probe": "depth", "data": source, "task": data.task.name, "metric": metric, "rung": rung, "rows": sizes(data),
            "epochs": epochs, "hidden": hidden, "embed": embed, "learning_rate": learning_rate, "seed": seed, "seeds": seeds,
            "device": device, "variants": found, "seconds": round(time.perf_counter() - began, 1)}  # fmt: skip


def named(row: dict, lang: str) -> str:
    layers, both = row["options"]["layers"], row["options"]["bidirectional"]
    if lang == "zh":
        return f"{layers} 层，{'双向' if both else '单向'}"
    return f"{layers} layer{'s' * (layers > 1)}, {'both ways' if both else 'one way'}"


def told(known: dict) -> list[str]:
    from wenmai.evaluation.probes.variants import apart, with_spread

    rows, metric = known["variants"], known["metric"]
    one, half = rows[0], len(rows) // 2
    look = []
    for deep in rows[1:half]:
        look.append(f"{deep['options']['layers']} layers instead of one, one way: {metric} {with_spread(one)} → "
                    f"{with_spread(deep)}, {apart(deep, one)}; {deep['median_seconds'] / one['median_seconds']:.1f} times the "
                    "seconds.")  # fmt: skip
    both = rows[half]
    look.append(f"Both ways instead of one, one layer: {metric} {with_spread(one)} → {with_spread(both)}, {apart(both, one)}; "
                f"{both['median_seconds'] / one['median_seconds']:.1f} times the seconds.")  # fmt: skip
    return look


def table(known: dict, lang: str) -> Grid:
    from wenmai.evaluation.probes.variants import with_spread

    zh = lang == "zh"
    head = ["层数与方向" if zh else "layers and ways", metric_name(known["metric"], lang), "权重个数" if zh else "weights",
            "训练秒数" if zh else "seconds to train"]  # fmt: skip
    rows = [[named(row, lang), with_spread(row), f"{row['parameters']:,}", f"{row['median_seconds']:.1f}"]
            for row in known["variants"]]  # fmt: skip
    return Grid("质量与代价" if zh else "Quality and cost", head, rows)


def picture(known: dict, lang: str):
    zh, rows = lang == "zh", known["variants"]
    metric = metric_name(known["metric"], lang)
    return drawn([named(row, lang) for row in rows], [int(row["options"]["bidirectional"]) for row in rows], [
        Panel(f"{metric}（测试）" if zh else f"{metric}, test part", [row["scores"] for row in rows], False),
        Panel("权重个数" if zh else "weights", [[row["parameters"]] for row in rows]),
        Panel("训练秒数" if zh else "seconds to train", [row["seconds"] for row in rows])])  # fmt: skip
