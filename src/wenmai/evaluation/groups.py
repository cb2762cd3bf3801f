"""Rows have groups, such as the tasks of bAbI: what is scored of all of them together, and of each.

Every metric of a task that tells groups apart is a mean over rows, so the score of all follows from those of the groups."""

import numpy as np

from wenmai.data.dataset import Part
from wenmai.tasks.contract import Scores
from wenmai.tasks.metrics import metric_named


def rows_of(groups: list[str]) -> dict[str, np.ndarray]:
    """Group → the numbers of its rows; groups in the order in which they come."""
    names = list(dict.fromkeys(groups))
    number = {name: at for at, name in enumerate(names)}
    each = np.fromiter((number[name] for name in groups), np.int64, len(groups))
    order = np.argsort(each, kind="stable")
    return dict(zip(names, np.split(order, np.flatnonzero(np.diff(each[order])) + 1)))


def evaluate(estimator, part: Part, **how) -> tuple[Scores, dict[str, dict]]:
    """(the scores of all rows, of every group its rows and scores): each row is answered once."""
    if not part.groups:
        return estimator.evaluate(*part.pair, part.where, **how), {}
    each = {name: part.take(rows) for name, rows in rows_of(part.groups).items()}
    scores = {
        name: estimator.evaluate(*some.pair, some.where, **how) for name, some in each.items()
    }
    sizes = [len(some) for some in each.values()]
    metrics = estimator.task_.metrics
    whole = {
        metric: float(np.average([one[metric] for one in scores.values()], weights=sizes))
        for metric in metrics
    }
    notes = dict.fromkeys(note for one in scores.values() for note in one.notes)
    return Scores(whole, list(notes)), {
        name: {"rows": len(each[name]), **one} for name, one in scores.items()
    }


def group_scores(
    seeds: list[np.ndarray], groups: list[str] | None, metric: str
) -> list[dict] | None:
    """The metric of every group, from what each row adds to it (N, K), seed by seed; its mean over them."""
    if not groups or any(len(groups) != len(terms) for terms in seeds):
        return None
    how = metric_named(metric)

    def score(rows: np.ndarray) -> float:
        return float(np.mean([how.shown(how.formula(terms[rows].sum(0))) for terms in seeds]))

    return [
        {"group": name, "rows": len(rows), "score": score(rows)}
        for name, rows in rows_of(groups).items()
    ]
