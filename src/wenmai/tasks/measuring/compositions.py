"""What compare shows of a model that writes texts: how likely the test texts are, the least likely, and some that it writes."""

import time

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.tasks.columns import shown
from wenmai.tasks.measuring.rows import WORST, latency
from wenmai.tasks.metrics import bundled

SAMPLES, ANSWERED = 12, 500


def measure_compositions(estimator, data: Dataset, metric: str) -> tuple[dict, np.ndarray]:
    test = data.test
    sums, lengths = (
        estimator.log_prob(*test.pair),
        estimator.inputs_.target.encode(test.targets).lengths,
    )
    return {
        "scores": {"test": estimator.evaluate(*test.pair, test.where)},
        "predictions_per_second": speed(estimator, test),
        "latency_ms": latency(estimator, test),
        "confusion": None,
        "worst": worst(estimator, test, -sums / lengths),
        "samples": some(estimator, test),
    }, composition_terms(estimator, data.task, test, metric)


def composition_terms(estimator, task, part: Part, metric: str) -> np.ndarray:
    return bundled(estimator.task_.score_terms(estimator.trained(), *part.pair, metric))


def speed(estimator, test: Part) -> float:
    """Texts a second, the most probable for different inputs, written together."""
    inputs = (
        sorted(set(map(str, test.inputs)))
        if estimator.inputs_.kind == "labels"
        else test.inputs[:ANSWERED]
    )
    start = time.perf_counter()
    estimator.predict(inputs)
    return len(inputs) / (time.perf_counter() - start)


def worst(estimator, test: Part, mean: np.ndarray) -> list[dict]:
    """The texts that are least likely to it, token for token."""
    rows = np.argsort(-mean, kind="stable")[:WORST]
    answers = estimator.predict(test.take(rows).inputs)
    return [
        {
            "input": shown(test.inputs[row]),
            "expected": test.targets[row],
            "answer": answer,
            "perplexity": f"{np.exp(min(mean[row], 700.0)):,.1f}",
        }
        for row, answer in zip(rows.tolist(), answers)
    ]


def some(estimator, test: Part) -> list[dict]:
    """Texts that it draws by chance for some inputs, where these can be shown in words."""
    if estimator.inputs_.kind == "image":
        return []
    first = {shown(value): value for value in test.inputs}
    few = list(first.items())[:: max(1, len(first) // SAMPLES)][:SAMPLES]
    count = SAMPLES // len(few)
    return [
        {"input": words, "written": text}
        for words, value in few
        for text in estimator.compose(value, count)
    ]
