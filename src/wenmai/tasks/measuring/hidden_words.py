"""Of hidden words: how many are guessed, and how many pairs told right; speed is in rows, of one row in time. And what can be had
without a model: always the most frequent token, and that every sentence follows."""

import time
from collections.abc import Callable

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.locale import Message, phrase
from wenmai.tasks.measuring.baselines import Baseline
from wenmai.tasks.measuring.rows import p50_and_p99
from wenmai.tasks.metrics import bundled

ALONE = 50  # rows that are read one at a time


def measure_hidden(estimator, data: Dataset, metric: str) -> tuple[dict, np.ndarray]:
    task, trained = estimator.task_, estimator.trained()
    examples = estimator.examples(data.test.inputs)
    start = time.perf_counter()
    counts = task.counted(trained, examples)
    seconds, times = time.perf_counter() - start, []
    for row in range(min(ALONE, len(examples))):
        start = time.perf_counter()
        task.counted(trained, examples, np.array([row]))
        times.append(1000 * (time.perf_counter() - start))
    return {
        "scores": {"test": task.ratios(counts.sum(0))},
        "predictions_per_second": len(examples) / seconds,
        "latency_ms": p50_and_p99(times),
        "confusion": None,
        "worst": [],
    }, terms_of(counts, metric)


def hidden_terms(estimator, task, part: Part, metric: str) -> np.ndarray:
    return terms_of(
        estimator.task_.counted(estimator.trained(), estimator.examples(part.inputs)), metric
    )


def terms_of(counts: np.ndarray, metric: str) -> np.ndarray:
    return bundled(counts[:, :2].T if metric == "masked_accuracy" else counts[:, 2:].T)


def usual_word(data: Dataset, metric: str, loaded: Callable) -> Baseline:
    """Of the same tokens as the model has that is `loaded`."""
    estimator, terms, scores = loaded(), {}, {}
    task, trained = estimator.task_, estimator.trained()
    seen = task.examples(trained, data.train.inputs).tokens >> 1
    most = int(np.bincount(seen, minlength=estimator.inputs_.vocabulary).argmax())
    for part in ("valid", "test"):
        examples = task.examples(trained, getattr(data, part).inputs)
        batches = [examples.batch(np.array([row])) for row in range(len(examples))]
        follows = [float(batch.follows[0]) if task.next_sentence else 0.0 for batch in batches]
        counts = [
            ((batch.target == most).sum().item(), len(batch.target), known, task.next_sentence)
            for batch, known in zip(batches, follows)
        ]
        counts = np.array(counts, np.float64).reshape(-1, 4)
        terms[part], scores = terms_of(counts, metric), task.ratios(counts.sum(0))
    about = Message(
        "Guesses the most frequent token wherever one is hidden, and that every sentence follows."
    )
    return Baseline("usual-word", phrase("baseline", "usual word"), about, scores, terms)
