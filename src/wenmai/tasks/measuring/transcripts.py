"""What compare shows of a model that transcribes: its scores, those of short and of long sounds, the texts that it missed by
most, some that it writes, and how many sounds a second it hears. All greedily, or by the decoder's first choice, as `evaluate`
does."""

import time

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.tasks.measuring.rows import latency
from wenmai.tasks.measuring.translations import CHOSEN_BY, some, worst
from wenmai.tasks.metrics import bundled


def measure_transcripts(estimator, data: Dataset, metric: str) -> tuple[dict, np.ndarray]:
    task, test = data.task, data.test
    start = time.perf_counter()
    texts = estimator.hypotheses(test.inputs, test.targets)
    speed = len(texts) / (time.perf_counter() - start)
    answers = [best.text for best in texts]
    return {
        "scores": {"test": task.scores(answers, test.targets)},
        "predictions_per_second": speed,
        "latency_ms": latency(estimator, test),
        "confusion": None,
        "worst": worst(test, answers),
        "samples": some(test, answers),
        "notes": texts.notes,
    }, bundled(task.score_terms(answers, test.targets, metric))


def transcript_terms(estimator, task, part: Part, metric: str) -> np.ndarray:
    part = part.take(np.arange(0, len(part), max(1, -(-len(part) // CHOSEN_BY))))
    texts = estimator.hypotheses(part.inputs, part.targets)
    return bundled(task.score_terms([best.text for best in texts], part.targets, metric))
