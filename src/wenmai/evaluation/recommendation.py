"""Which rung to use: the smallest on disk of those whose quality cannot be told from the best, by a paired bootstrap: both are
measured on the same test rows, drawn again and again, and what counts is their difference there.
"""

from __future__ import annotations

from math import exp

import numpy as np

from wenmai.page.leaderboard import size as size_of
from wenmai.page.pictures import metric_name
from wenmai.tasks.metrics import confidence_interval


def recommend(rows: list[dict], samples: dict[str, np.ndarray], metric: str, sign: int) -> dict | None:
    """The smallest on disk of the rungs whose quality cannot be told from the best."""
    able = [row for row in rows if not row["failed"]]
    if not able:
        return None
    best = able[0]
    side = 0 if sign > 0 else 1  # of the interval: the smallest difference in the best one's favour
    level = [row for row in able if sign * worse_by(samples[best["rung"]], samples[row["rung"]])[side] <= 0]
    choice = min(level, key=lambda row: row["bytes"])
    score, top = choice["scores"]["test"][metric], best["scores"]["test"][metric]
    name, zh, size, count = metric_name(metric, "en"), metric_name(metric, "zh"), size_of(choice["bytes"]), len(level)
    chosen, leader = choice["rung"], best["rung"]
    if choice is best:
        beaten = len(able) - count
        reason = f"{chosen} has the best {name} ({score:.3f}, {size})"
        spaced = f"{' ' * zh[:1].isascii()}{zh}{' ' * zh[-1:].isascii()}"
        reason_zh = f"{chosen} 的{spaced}最{'高' if sign > 0 else '低'}（{score:.3f}，{size}）"
        if count > 1:
            reason += f" and is the smallest of the {count} rungs that cannot be told from it"
            reason_zh += f"，在与它难分高下的 {count} 级中体积最小"
        if beaten:
            reason += f"; {beaten} {'is' if beaten == 1 else 'are'} worse beyond chance"
            reason_zh += f"；其余 {beaten} 级更差"
        reason, reason_zh = f"{reason}.", f"{reason_zh}。"
    else:
        low, high = (difference(edge, metric) for edge in worse_by(samples[leader], samples[chosen]))
        reason = (f"{chosen} ({name} {score:.3f}, {size}) is the smallest of the {count} rungs that cannot be told from the "
                  f"best, {leader} ({top:.3f}): the difference lies between {low} and {high} (95%).")  # fmt: skip
        reason_zh = (f"{chosen}（{zh} {score:.3f}，{size}）是与最佳的 {leader}（{top:.3f}）难分高下的 {count} 级中体积最小的："
                     f"两者之差在 {low} 与 {high} 之间（95%）。")  # fmt: skip
    return {"rung": chosen, "reason": reason, "reason_zh": reason_zh}


def difference(value: float, metric: str) -> str:
    """A difference of the metric; of perplexities, whose logarithms are weighed, in percent."""
    return f"{exp(min(value, 700.0)) - 1:+.1%}" if metric == "perplexity" else f"{value:+.3f}"


def worse_by(best: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """95% interval of the difference of the metrics, over the same test rows drawn again (a paired bootstrap)."""
    low, high = confidence_interval(best - other)
    return low, high
