"""Of rows that have an answer each: scores, what was confused with what, the worst mistakes, predictions a second, latency."""

import time

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import joined
from wenmai.data.values import pick
from wenmai.tasks.metrics import bundled

WORST, SECONDS = 10, 1.0  # mistakes that are shown; that latency is measured for


def measure_rows(estimator, data: Dataset, metric: str) -> tuple[dict, np.ndarray]:
    task, test = estimator.task_, data.test
    start = time.perf_counter()
    examples = estimator.examples(*test.pair, test.where)
    targets, answered, missed = examples.targets, [], []
    for rows, outputs, decided in estimator.streamed(examples):
        answered.append(decided)
        missed.append(task.missed(outputs, decided, pick(targets, rows)))
    decided, missed = joined(answered), np.concatenate(missed)
    rates = [len(test) / (time.perf_counter() - start)]
    while len(rates) < 3 and sum(len(test) / rate for rate in rates) < 2:
        start = time.perf_counter()
        estimator.predict(test.inputs)
        rates.append(len(test) / (time.perf_counter() - start))
    confusion = task.confusion(decided, targets)
    shown = {
        "scores": {"test": task.scores(decided, targets)},
        "predictions_per_second": float(np.median(rates)),
        "latency_ms": latency(estimator, test),
        "confusion": confusion,
        "per_class": task.profile.per_class(task, confusion, decided, targets),
        "worst": worst(estimator, examples, missed, task.prepare(*test.pair)[0]),
    }
    return shown, terms_of(task, decided, targets, metric)


def row_terms(estimator, task, part: Part, metric: str) -> np.ndarray:
    """What every row of a part adds to the metric."""
    examples = estimator.examples(*part.pair, part.where)
    decided = joined([decided for *_, decided in estimator.streamed(examples)])
    return terms_of(estimator.task_, decided, examples.targets, metric)


def terms_of(task, decided, targets, metric: str) -> np.ndarray:
    return bundled(task.score_terms(decided, targets, metric), getattr(task, "horizon", None) or 1)


def class_scores(task, confusion: dict | None, decided, targets) -> list[dict] | None:
    """How often each class was right of how often it was answered (precision) and expected (recall, of its support)."""
    if confusion is None:
        return None
    counts = np.array(confusion["counts"])
    return ratios(confusion["classes"], np.diag(counts), counts.sum(0), counts.sum(1))


def ratios(
    names: list[str], right: np.ndarray, answered: np.ndarray, expected: np.ndarray
) -> list[dict]:
    precision, recall = right / np.maximum(1, answered), right / np.maximum(1, expected)
    f1 = 2 * right / np.maximum(1, answered + expected)
    return [
        {
            "class": name,
            "precision": float(p),
            "recall": float(r),
            "f1": float(f),
            "support": int(n),
        }
        for name, p, r, f, n in zip(names, precision, recall, f1, expected)
    ]


def worst(
    estimator, examples: Examples, missed: np.ndarray, inputs, most: int = WORST
) -> list[dict]:
    """The rows that were missed by most."""
    rows = np.argsort(-missed, kind="stable")[:most]
    rows = rows[missed[rows] > 0]
    few = examples.take(rows)
    outputs = estimator.outputs(few)
    decided = estimator.task_.decide(outputs, estimator.model_)
    return estimator.task_.mistakes(outputs, decided, few.targets, [inputs[row] for row in rows])


def latency(estimator, test: Part) -> dict[str, float]:
    """Of one prediction at a time, tokenizing included; a forecast is made from as many rows as it looks back on."""
    times, start, size = [], time.perf_counter(), estimator.task_.history or 1
    estimator.predict(test.inputs[:size])
    while len(times) < 200 and (time.perf_counter() - start < SECONDS or len(times) < 20):
        row = len(times) % (len(test) - size + 1)
        began = time.perf_counter()
        estimator.predict(test.inputs[row : row + size])
        times.append(1000 * (time.perf_counter() - began))
    return p50_and_p99(times)


def p50_and_p99(milliseconds: list[float]) -> dict[str, float]:
    return {
        "p50": float(np.quantile(milliseconds, 0.5)),
        "p99": float(np.quantile(milliseconds, 0.99)),
    }
