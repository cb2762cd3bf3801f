"""What compare shows of a model that translates or summarises: its scores, those of short and of long sources, the texts that it
missed by most, some that it writes, and how many tokens a second it writes. All by beam search, as `evaluate` does. And of
summaries, what the first words of every source score: the lead, which asks for no model."""

import time

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.locale import Message, phrase
from wenmai.tasks.columns import shown
from wenmai.tasks.measuring.rows import WORST, latency
from wenmai.tasks.metrics import confidence_interval
from wenmai.tasks.overlap import chrf_of_each, script_of

SAMPLES = 12
LEADS, LED, LOOKED_AT = (1, 2, 3), 500, 2000  # times as long as a target by the median; rows that say which; targets looked at


def measure_translations(estimator, data: Dataset) -> tuple[dict, np.ndarray]:
    """The scores are those of the data's task: a run that is added may have learned from targets of another kind."""
    task, test = data.task, data.test
    answers, speed, notes = written(estimator, test)
    samples = task.bootstrap(answers, test.targets)
    return {"scores": {"test": task.scores(answers, test.targets)}, "interval": confidence_interval(samples),
            "predictions_per_second": speed, "latency_ms": latency(estimator, test), "confusion": None,
            "worst": worst(test, answers), "samples": some(test, answers), "lengths": by_length(task, test, answers),
            "notes": notes}, samples  # fmt: skip


def written(estimator, test: Part) -> tuple[list[str], float, list[str]]:
    """A text for every source of the test part, how many tokens a second were written, ends of texts among them, and notes."""
    start = time.perf_counter()
    texts = estimator.hypotheses(test.inputs, test.targets)
    seconds = time.perf_counter() - start
    return [best.text for best in texts], sum(len(best.tokens) for best in texts) / seconds, texts.notes


def worst(test: Part, answers: list[str]) -> list[dict]:
    """Those that are least like what was expected, character for character."""
    wrong = [row for row, (answer, target) in enumerate(zip(answers, test.targets)) if answer != target]
    likeness = chrf_of_each([answers[row] for row in wrong], [test.targets[row] for row in wrong])
    rows = np.argsort(likeness, kind="stable")[:WORST]
    return [shown_row(test, wrong[row], "answer", answers[wrong[row]]) for row in rows]


def some(test: Part, answers: list[str]) -> list[dict]:
    rows = range(0, len(answers), max(1, len(answers) // SAMPLES))
    return [shown_row(test, row, "written", answers[row]) for row in rows][:SAMPLES]


def shown_row(test: Part, row: int, word: str, text: str) -> dict:
    return {"input": shown(test.inputs[row]), "expected": shown(test.targets[row]), word: shown(text)}


def by_length(task, test: Part, answers: list[str]) -> list[dict]:
    """The metric on the shortest third of the sources, the middle and the longest, in characters; sources of one length stay
    together. A state of fixed size holds a short text and not a long one: here it is seen."""
    lengths = np.fromiter(map(len, test.inputs), np.int64, len(test))
    third = np.searchsorted(np.quantile(lengths, [1 / 3, 2 / 3]), lengths)  # (N,) of 0, 1, 2
    thirds = []
    for number in range(3):
        rows = np.flatnonzero(third == number).tolist()
        if rows:
            score = task.scores([answers[row] for row in rows], [test.targets[row] for row in rows])[task.metric]
            thirds.append({"shortest": int(lengths[rows].min()), "longest": int(lengths[rows].max()), "rows": len(rows),
                           "score": score})  # fmt: skip
    return thirds


def lead(data: Dataset, best: float) -> Message | None:
    """What the beginnings of the sources score as summaries: as many words of each, or characters, as score most on valid. `best`
    is what the rungs do. Of translations, nothing."""
    if not data.task.summarise:
        return None
    task, spaced = data.task, (data.task.script or script_of(data.train.targets)) in ("english", "spaced")

    def first(texts: list[str], count: int) -> list[str]:
        return [" ".join(text.split()[:count]) if spaced else text[:count] for text in texts]

    def score(part: Part, count: int, rows: int | None = None) -> float:
        return float(task.each(first(part.inputs[:rows], count), part.targets[:rows]).mean())

    usual = int(np.median([len(text.split()) if spaced else len(text) for text in data.train.targets[:LOOKED_AT]]))
    count = max((times * usual for times in LEADS), key=lambda count: score(data.valid, count, LED))
    reached = score(data.test, count)
    unit = phrase("unit", "words") if spaced else phrase("unit", "characters")
    if best <= reached:
        return Message("Without a model, the first {count} {unit} of every source, taken as its summary, score {found:.3f}: no "
                       "rung has more.", count=count, unit=unit, found=reached)  # fmt: skip
    return Message("Without a model, the first {count} {unit} of every source, taken as its summary, score {found:.3f}.",
                   count=count, unit=unit, found=reached)  # fmt: skip
