"""Which rung to use: the smallest on disk of those whose quality cannot be told from the best, by a paired bootstrap: both are
measured on the same test rows, drawn again and again, and what counts is their difference there."""

from math import exp

import numpy as np

from wenmai.locale import Message, plural
from wenmai.page.leaderboard import size as size_of
from wenmai.page.pictures import metric_words
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
    facts = {"rung": choice["rung"], "metric": metric_words(metric), "score": score, "size": size_of(choice["bytes"]),
             "count": len(level)}  # fmt: skip
    if choice is not best:
        low, high = (difference(edge, metric) for edge in worse_by(samples[best["rung"]], samples[choice["rung"]]))
        reason = Message("{rung} ({metric} {score:.3f}, {size}) is the smallest of the {count} rungs that cannot be told from "
                         "the best, {leader} ({top:.3f}): the difference lies between {low} and {high} (95%).", **facts,
                         leader=best["rung"], top=top, low=low, high=high)  # fmt: skip
        return {"rung": choice["rung"], "reason": reason.english, "reason_zh": reason.chinese}
    reason, beaten = Message("{rung} has the best {metric} ({score:.3f}, {size})", **facts), len(able) - len(level)
    if len(level) > 1:
        reason = Message("{reason} and is the smallest of the {count} rungs that cannot be told from it", reason=reason, **facts)
    if beaten:
        reason = plural("{reason}; {count} is worse beyond chance", "{reason}; {count} are worse beyond chance", count=beaten,
                        reason=reason)  # fmt: skip
    reason = Message("{reason}.", reason=reason)
    return {"rung": choice["rung"], "reason": reason.english, "reason_zh": reason.chinese}


def difference(value: float, metric: str) -> str:
    """A difference of the metric; of perplexities, whose logarithms are weighed, in percent."""
    return f"{exp(min(value, 700.0)) - 1:+.1%}" if metric == "perplexity" else f"{value:+.3f}"


def worse_by(best: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """95% interval of the difference of the metrics, over the same test rows drawn again (a paired bootstrap)."""
    return tuple(confidence_interval(best - other))
