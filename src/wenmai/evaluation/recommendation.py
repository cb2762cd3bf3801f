"""Which rung to use. First which may be the best at all: a model confidence set (Hansen, Lunde & Nason 2011), which holds the
best with 95%, and all of them where several are equal, however many rungs there are. All are measured on the same valid rows,
drawn again and again; the test rows have no say in it.

    t_i = (mean of the set − score of i) / e_i        max_i t_i beyond chance: the worst leaves the set, and so on

e_i² lies midway between its own error and that of all, since few rows say little of errors, and who is wrong more often has a
larger one.

Of the set the smallest on disk is recommended, to two digits; then the fastest, where it is twice as fast; then the simplest."""

from collections.abc import Mapping
from math import exp

import numpy as np

from wenmai.catalog import RUNGS
from wenmai.locale import Message, plural
from wenmai.page.leaderboard import size as size_of
from wenmai.page.pictures import metric_words
from wenmai.tasks.metrics import Drawn, Metric, confidence_interval, metric_named

LEVEL = 0.045  # of chance: a little less than 5%, since a bootstrap of some hundred rows finds errors a little too small


def recommend(rows: list[dict], valid: Mapping[str, Drawn], metric: str, count: int) -> dict | None:
    """`valid`: of every rung its score on the valid rows, of which there are `count`. Rows come best first, by the test rows,
    which only report."""
    able = [row for row in rows if not row["failed"]]
    if not able:
        return None
    how = metric_named(metric)
    names = confidence_set({row["rung"]: valid[row["rung"]] for row in able}, how, count)
    level = [row for row in able if row["rung"] in names]
    choice, why = simplest(level)
    reason = Message(
        "{rung} ({metric} {score:.3f} on the test rows, {size})",
        rung=choice["rung"],
        metric=metric_words(metric),
        score=choice["scores"]["test"][metric],
        size=size_of(choice["bytes"]),
    )
    if len(able) == 1:
        reason = Message("{reason} is the only one that finished", reason=reason)
    elif len(level) == 1:
        reason = Message(
            "{reason} is the best on the valid rows, beyond chance (95%)", reason=reason
        )
    else:
        reason = Message(
            "{reason} is {why} of the {count} rungs that may be the best, as far as the valid rows tell (95%)",
            reason=reason,
            why=why,
            count=len(level),
        )
        best = max(level, key=lambda row: how.sign * valid[row["rung"]].score)
        if how.sign * (valid[best["rung"]].score - valid[choice["rung"]].score) > 0:
            low, high = worse_by(valid[best["rung"]], valid[choice["rung"]], metric)
            reason = Message(
                "{reason}; there {leader} is ahead of it by {low} to {high} (95%, of these two alone)",
                reason=reason,
                leader=best["rung"],
                low=low,
                high=high,
            )
    if len(level) < len(able):
        reason = plural(
            "{reason}; {count} other is worse beyond chance",
            "{reason}; {count} others are worse beyond chance",
            count=len(able) - len(level),
            reason=reason,
        )
    reason = Message("{reason}.", reason=reason)
    return {
        "rung": choice["rung"],
        "level": [row["rung"] for row in level],
        "reason": reason.english,
        "reason_zh": reason.chinese,
    }


def simplest(level: list[dict]) -> tuple[dict, Message]:
    """Of these the smallest, by two digits of its bytes; of several the fastest, where it is twice as fast as another; of
    several the one that comes first on the ladder. And what of it tells it from the others."""
    least = min(float(f"{row['bytes']:.2g}") for row in level)
    small = [row for row in level if float(f"{row['bytes']:.2g}") == least]
    if len(small) == 1:
        return small[0], Message("the smallest")
    quickest = min(
        row["latency_ms"]["p50"] for row in small
    )  # of one prediction, which a busy machine changes least
    fast = [row for row in small if row["latency_ms"]["p50"] <= 2 * quickest]
    if len(fast) == 1:
        return fast[0], Message("the fastest of the smallest")
    order = list(RUNGS)
    return min(fast, key=lambda row: order.index(row["ladder"])), Message(
        "the simplest of the smallest"
    )


def worse_by(best: Drawn, other: Drawn, metric: str) -> tuple[str, str]:
    """95% interval of how far the other is behind, over the same rows drawn again (a paired bootstrap): of perplexities, whose
    logarithms are weighed, in percent."""
    sign = metric_named(metric).sign
    bounds = confidence_interval(sign * (best.noisy(0) - other.noisy(1)))
    if metric == "perplexity":
        return tuple(f"{exp(min(bound, 700.0)) - 1:+.1%}" for bound in bounds)
    return tuple(f"{bound:+.3f}" for bound in bounds)


def confidence_set(rungs: Mapping[str, Drawn], metric: Metric, rows: int) -> list[str]:
    """Those that may be the best, in their order. `rows`: of how many rows the scores are."""
    names = [name for name, one in rungs.items() if np.isfinite(one.samples).all()] or list(rungs)
    if len(names) < 2 or not np.isfinite([rungs[name].score for name in names]).all():
        return names
    scores = metric.sign * np.array([rungs[name].score for name in names])  # (R,)
    noise = metric.sign * np.stack(
        [rungs[name].noisy(at) for at, name in enumerate(names)], 1
    )  # (samples, R)
    noise = (noise - noise.mean(0)) * np.sqrt(
        rows / max(1, rows - 1)
    )  # as a sample's own deviation is a little too small
    kept = np.arange(len(names))
    while len(kept) > 1:
        behind = scores[kept].mean() - scores[kept]
        chance = noise[:, kept].mean(1, keepdims=True) - noise[:, kept]
        error = np.sqrt((chance.var(0) + chance.var(0).mean()) / 2)  # (R,)
        if not error.any():  # nothing depends on which rows are drawn
            return [names[at] for at in kept if behind[kept == at] <= min(behind) + 1e-9]
        t = behind / error
        if np.mean((chance / error).max(1) >= t.max()) >= LEVEL:
            break
        kept = np.delete(kept, t.argmax())
    return [names[at] for at in kept]
