"""Of rows that have an answer each: scores, what was confused with what, the worst mistakes, predictions a second, latency."""

import time

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import joined
from wenmai.data.values import pick
from wenmai.tasks.metrics import bootstrap, confidence_interval

WORST, SECONDS = 10, 1.0  # mistakes that are shown; that latency is measured for


def measure_rows(estimator, data: Dataset) -> tuple[dict, np.ndarray]:
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
    samples = bootstrap(*task.score_terms(decided, targets))
    return {"scores": {"test": task.scores(decided, targets)}, "interval": confidence_interval(samples),
            "predictions_per_second": float(np.median(rates)), "latency_ms": latency(estimator, test),
            "confusion": task.confusion(decided, targets),
            "worst": worst(estimator, examples, missed, task.prepare(*test.pair)[0])}, samples  # fmt: skip


def worst(estimator, examples: Examples, missed: np.ndarray, inputs, most: int = WORST) -> list[dict]:
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
    return {"p50": float(np.quantile(milliseconds, 0.5)), "p99": float(np.quantile(milliseconds, 0.99))}
