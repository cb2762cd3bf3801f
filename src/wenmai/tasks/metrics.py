"""What a score is made of, and how sure it is: the bootstrap (Efron 1979), by which a metric is measured on rows drawn again from
those there are.

    metric = f(Σ_n t_n)        t_n: the numbers that row n adds (K,); most often f = Σ above / Σ below

The 95% interval lies between the quantiles 0.025 and 0.975. With several trainings a rung, its score is the mean of theirs, and
chance has two parts: which rows there are, and which seed it was, s² / S."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from wenmai.tasks.overlap import bleu_of, chrf_of

SAMPLES, BUNDLES = 2000, 2000


def ratio(sums: np.ndarray) -> np.ndarray:
    """Σ above / Σ below, of sums (…, 2); 0 where there is nothing to divide by."""
    return np.divide(
        sums[..., 0], sums[..., 1], out=np.zeros(sums.shape[:-1]), where=sums[..., 1] != 0
    )


def mean_ratio(sums: np.ndarray) -> np.ndarray:
    """The mean of such ratios, one a class, of sums (…, 2C); a class that is nowhere to be seen is left out."""
    above, below = np.split(sums, 2, -1)
    each = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return np.nan_to_num(np.nanmean(np.where((below > 0).any(-1, keepdims=True), each, 0.0), -1))


def bits_per_byte(sums: np.ndarray) -> np.ndarray:
    """Of sums of −log p, tokens, bytes, and −log p of how unknown tokens are spelled."""
    return (sums[..., 0] + sums[..., 3]) / np.maximum(sums[..., 2], 1) / np.log(2)


@dataclass(frozen=True)
class Metric:
    """How it follows from the sums, on the scale on which it is compared; and as it is shown."""

    formula: Callable[[np.ndarray], np.ndarray] = ratio
    higher: bool = True
    shown: Callable = lambda value: value

    @property
    def sign(self) -> int:
        return 1 if self.higher else -1


METRICS = {
    "macro_f1": Metric(mean_ratio),
    "perplexity": Metric(
        ratio, False, lambda value: np.exp(np.minimum(value, 700.0))
    ),  # its logarithms are compared
    "bits_per_byte": Metric(bits_per_byte, False),
    "bleu": Metric(bleu_of),
    "chrf": Metric(chrf_of),
    "mse": Metric(higher=False),
    "mae": Metric(higher=False),
    "wer": Metric(higher=False),
    "cer": Metric(higher=False),
}


def metric_named(name: str) -> Metric:
    """Unless it is known to be otherwise: a ratio of sums, the more the better."""
    return METRICS.get(name, Metric())


def bundles(rows: int, size: int = 1) -> np.ndarray:
    """(N,): of each row the number of its bundle, 2,000 at the most, each of `size` rows at the least: rows that are drawn
    together. Windows of a series lie over one another, and are drawn in one piece."""
    count = max(1, min(BUNDLES, rows // size))
    return np.arange(rows) * count // max(1, rows)


def bundled(terms: Sequence[np.ndarray], size: int = 1) -> np.ndarray:
    """Terms (N,) or (N, C) each, side by side and summed over bundles (G, K)."""
    table = np.column_stack(terms).astype(np.float64)
    bundle = bundles(len(table), size)
    if len(table) <= BUNDLES and size == 1:
        return table
    starts = np.flatnonzero(np.diff(bundle, prepend=-1))
    return np.add.reduceat(table, starts) if len(starts) else table


@lru_cache(2)
def draws(rows: int, samples: int) -> np.ndarray:
    """(samples, N): how often each row is drawn, with replacement; the same for every rung."""
    generator, counts = np.random.default_rng(0), np.empty((samples, rows))
    for sample in range(samples):
        counts[sample] = np.bincount(generator.integers(0, rows, rows), minlength=rows)
    return counts


def resampled(terms: np.ndarray, metric: Metric, samples: int = SAMPLES) -> np.ndarray:
    """The metric on rows drawn again (samples,), of terms (N, K). One that is not a number anywhere is so everywhere."""
    if not np.isfinite(terms).all():
        return np.full(samples, float(metric.formula(terms.sum(0))))
    return metric.formula(draws(len(terms), samples) @ terms)


@dataclass(frozen=True)
class Drawn:
    """A rung's score, the mean over its seeds, and what chance makes of it, on the scale on which it is compared."""

    each: tuple[float, ...]  # of every seed
    samples: np.ndarray  # (samples,) on rows drawn again
    luck: float = 0.0  # the standard error that the choice of seeds brings

    @property
    def score(self) -> float:
        return float(np.mean(self.each))

    @property
    def spread(self) -> float | None:
        return float(np.std(self.each, ddof=1)) if len(self.each) > 1 else None

    def noisy(self, number: int) -> np.ndarray:
        """The samples, as other seeds would have them too; `number` tells a rung from others, whose seeds are its own."""
        if not self.luck:
            return self.samples
        return self.samples + self.luck * np.random.default_rng([1, number]).standard_normal(
            len(self.samples)
        )

    def interval(self, metric: Metric) -> list[float]:
        return [float(metric.shown(bound)) for bound in confidence_interval(self.noisy(0))]


def drawn(terms: Sequence[np.ndarray], metric: Metric, samples: int = SAMPLES) -> Drawn:
    """Of the terms of every seed (N, K)."""
    each = tuple(float(metric.formula(part.sum(0))) for part in terms)
    return Drawn(each, np.mean([resampled(part, metric, samples) for part in terms], 0))


def with_luck(rungs: dict[str, Drawn]) -> dict[str, Drawn]:
    """Two or three seeds say little of how far seeds lie apart: what all rungs say together counts, where a rung's own do not
    lie further apart. A rung that comes out the same with every seed has no luck."""
    own = {
        name: one.spread for name, one in rungs.items() if one.spread and np.isfinite(one.spread)
    }
    usual = float(np.sqrt(np.mean(np.square(list(own.values()))))) if own else 0.0
    return {
        name: replace(
            one, luck=max(own[name], usual) / len(one.each) ** 0.5 if name in own else 0.0
        )
        for name, one in rungs.items()
    }


def confidence_interval(samples: np.ndarray) -> list[float]:
    """The interval that holds 95% of a metric on rows drawn again."""
    if not np.isfinite(samples).all():
        return [float(samples[0])] * 2
    return [float(bound) for bound in np.quantile(samples, [0.025, 0.975])]
