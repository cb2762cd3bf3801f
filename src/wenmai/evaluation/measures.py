"""How a score is measured: its interval, by drawing the test rows again; and how long one prediction takes."""

from __future__ import annotations

import time

import numpy as np

from wenmai.data.dataset import Part
from wenmai.estimator import Estimator


def edges(samples: np.ndarray) -> list[float]:
    """The interval that holds 95% of a metric on test sets drawn again."""
    return [float(edge) for edge in np.quantile(samples, [0.025, 0.975])]


def drawn(above: np.ndarray, below: np.ndarray, samples: int = 2000) -> np.ndarray:
    """The metric, Σ above / Σ below, on test sets drawn again, with replacement, the same ones for every rung. A large test set
    is drawn in 10,000 bundles of rows."""
    if len(above) > 10_000:
        bundle = np.arange(len(above)) * 10_000 // len(above)
        above, below = np.bincount(bundle, above), np.bincount(bundle, below)
    generator, found = np.random.default_rng(0), np.empty(samples)
    for sample in range(samples):
        rows = generator.integers(0, len(above), len(above))
        total = below[rows].sum()
        found[sample] = above[rows].sum() / total if total else 0.0
    return found


def latency(estimator: Estimator, test: Part, seconds: float = 1.0) -> dict[str, float]:
    """Of one prediction at a time, tokenizing included; a forecast is made from as many rows as it looks back on."""
    times, start, size = [], time.perf_counter(), estimator.task_.history or 1
    estimator.predict(test.inputs[:size])
    while len(times) < 200 and (time.perf_counter() - start < seconds or len(times) < 20):
        row = len(times) % (len(test) - size + 1)
        began = time.perf_counter()
        estimator.predict(test.inputs[row : row + size])
        times.append(1000 * (time.perf_counter() - began))
    return {"p50": float(np.quantile(times, 0.5)), "p99": float(np.quantile(times, 0.99))}
