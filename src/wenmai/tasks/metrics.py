"""How sure a score is: the bootstrap (Efron 1979), by which a metric is measured on test sets drawn again from the one there is.

    metric = Σ above / Σ below        two numbers a row; the 95% interval lies between the quantiles 0.025 and 0.975
"""

import numpy as np

SAMPLES, BUNDLES = 2000, 10_000


def bootstrap(above: np.ndarray, below: np.ndarray, samples: int = SAMPLES) -> np.ndarray:
    """The metric on test sets drawn again, with replacement (samples,), the same ones for every rung. A large test set is drawn
    in 10,000 bundles of rows."""
    if len(above) > BUNDLES:
        bundle = np.arange(len(above)) * BUNDLES // len(above)
        above, below = np.bincount(bundle, above), np.bincount(bundle, below)
    generator, metrics = np.random.default_rng(0), np.empty(samples)
    for sample in range(samples):
        rows = generator.integers(0, len(above), len(above))
        total = below[rows].sum()
        metrics[sample] = above[rows].sum() / total if total else 0.0
    return metrics


def confidence_interval(samples: np.ndarray) -> list[float]:
    """The interval that holds 95% of a metric on test sets drawn again."""
    return [float(edge) for edge in np.quantile(samples, [0.025, 0.975])]
