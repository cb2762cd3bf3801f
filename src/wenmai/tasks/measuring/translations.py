"""What compare shows of a model that translates or summarises: its scores, those of short and of long sources, the texts that it
missed by most, some that it writes, and how many tokens a second it writes. All by beam search, as `evaluate` does. And of
summaries, what the first words of every source score: the lead, which asks for no model."""

import time
from collections.abc import Callable

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.locale import Message, phrase
from wenmai.tasks.columns import shown
from wenmai.tasks.measuring.baselines import Baseline, of_translations
from wenmai.tasks.measuring.rows import WORST, latency
from wenmai.tasks.metrics import bundled
from wenmai.tasks.overlap import chrf_of_each, script_of

SAMPLES, CHOSEN_BY = 12, 1000
LEADS, LED, SAMPLED = (
    (1, 2, 3),
    500,
    2000,
)  # times as long as a target by the median; rows that say which; targets looked at


def measure_translations(estimator, data: Dataset, metric: str) -> tuple[dict, np.ndarray]:
    """The scores are those of the data's task: a run that is added may have learned from targets of another kind."""
    task, test = data.task, data.test
    start = time.perf_counter()
    texts = estimator.hypotheses(test.inputs, test.targets)
    speed = sum(len(best.tokens) for best in texts) / (
        time.perf_counter() - start
    )  # tokens a second, ends of texts among them
    answers = [best.text for best in texts]
    return {
        "scores": {"test": task.scores(answers, test.targets)},
        "predictions_per_second": speed,
        "latency_ms": latency(estimator, test),
        "confusion": None,
        "worst": worst(test, answers),
        "samples": some(test, answers),
        "lengths": by_length(task, test, answers),
        "notes": texts.notes,
    }, bundled(task.score_terms(answers, test.targets, metric))


def translation_terms(estimator, task, part: Part, metric: str) -> np.ndarray:
    """Of a thousand rows at the most: beam search takes its time."""
    part = part.take(np.arange(0, len(part), max(1, -(-len(part) // CHOSEN_BY))))
    texts = estimator.hypotheses(part.inputs, part.targets)
    return bundled(task.score_terms([best.text for best in texts], part.targets, metric))


def worst(test: Part, answers: list[str]) -> list[dict]:
    """Those that are least like what was expected, character for character."""
    wrong = [
        row for row, (answer, target) in enumerate(zip(answers, test.targets)) if answer != target
    ]
    likeness = chrf_of_each([answers[row] for row in wrong], [test.targets[row] for row in wrong])
    rows = np.argsort(likeness, kind="stable")[:WORST]
    return [shown_row(test, wrong[row], "answer", answers[wrong[row]]) for row in rows]


def some(test: Part, answers: list[str]) -> list[dict]:
    rows = range(0, len(answers), max(1, len(answers) // SAMPLES))
    return [shown_row(test, row, "written", answers[row]) for row in rows][:SAMPLES]


def shown_row(test: Part, row: int, word: str, text: str) -> dict:
    return {
        "input": shown(test.inputs[row]),
        "expected": shown(test.targets[row]),
        word: shown(text),
    }


def by_length(task, test: Part, answers: list[str]) -> list[dict]:
    """The metric on the shortest third of the sources, the middle and the longest, in characters; sources of one length stay
    together. A state of fixed size holds a short text and not a long one: here it is seen."""
    lengths = np.fromiter(map(len, test.inputs), np.int64, len(test))
    third = np.searchsorted(np.quantile(lengths, [1 / 3, 2 / 3]), lengths)  # (N,) of 0, 1, 2
    thirds = []
    for number in range(3):
        rows = np.flatnonzero(third == number).tolist()
        if rows:
            score = task.scores(
                [answers[row] for row in rows], [test.targets[row] for row in rows]
            )[task.metric]
            thirds.append(
                {
                    "shortest": int(lengths[rows].min()),
                    "longest": int(lengths[rows].max()),
                    "rows": len(rows),
                    "score": score,
                }
            )
    return thirds


def spaced(data: Dataset) -> bool:
    return (data.task.script or script_of(data.train.targets)) in ("english", "spaced")


def lead_score(data: Dataset, part: Part, count: int, rows: int | None = None) -> float:
    return float(
        data.task.each(beginnings(data)(part.inputs[:rows], count), part.targets[:rows]).mean()
    )


def beginnings(data: Dataset):
    """(texts, so many words or characters) → what each begins with."""
    words = spaced(data)
    return lambda texts, count: [
        " ".join(text.split()[:count]) if words else text[:count] for text in texts
    ]


def lead_length(data: Dataset) -> int:
    """Of words, or characters: as many as score most on valid."""
    words = spaced(data)
    usual = int(
        np.median(
            [len(text.split()) if words else len(text) for text in data.train.targets[:SAMPLED]]
        )
    )
    return max(
        (times * usual for times in LEADS),
        key=lambda count: lead_score(data, data.valid, count, LED),
    )


def lead_or_copy(data: Dataset, metric: str, loaded: Callable) -> Baseline:
    """Of summaries the lead; of translations the source itself."""
    return of_translations(
        data, metric, beginnings(data), lead_length(data) if data.task.summarise else None
    )


def lead(data: Dataset, best: float) -> Message | None:
    """What the beginnings of the sources score as summaries. `best` is what the rungs do. Of translations, nothing."""
    if not data.task.summarise:
        return None
    count = lead_length(data)
    reached, words = lead_score(data, data.test, count), spaced(data)
    unit = phrase("unit", "words") if words else phrase("unit", "characters")
    if best <= reached:
        return Message(
            "Without a model, the first {count} {unit} of every source, taken as its summary, score {actual:.3f}: no "
            "rung has more.",
            count=count,
            unit=unit,
            actual=reached,
        )
    return Message(
        "Without a model, the first {count} {unit} of every source, taken as its summary, score {actual:.3f}.",
        count=count,
        unit=unit,
        actual=reached,
    )
