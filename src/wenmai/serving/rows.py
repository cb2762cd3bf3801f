"""Rows of a file → their answers: what `predict --file` does with every chunk of one, in this process or on Spark."""

from collections.abc import Callable

from wenmai.data.files.readers import Chunk
from wenmai.tasks.columns import line_of
from wenmai.tasks.contract import Answers


def answers_of(estimator, chunk: Chunk, source: str, how: dict) -> Answers:
    """An answer for every row, found with the options `how`; `source` is the file's name in sentences."""
    inputs = estimator.task_.inputs_of(chunk, source)
    if estimator.task_.profile.blank_answer is None:
        return estimator.answers(inputs, **how)
    return without_blanks(estimator, inputs, line_of(chunk, source), how)


def without_blanks(estimator, texts: list[str], where: Callable, how: dict) -> Answers:
    """For an empty text, the empty one that the task has for it; the model answers for the others."""
    rows = [row for row, text in enumerate(texts) if text.strip()]
    answers = estimator.answers([texts[row] for row in rows], **how, where=lambda row: where(rows[row]))
    each, blank = iter(answers), estimator.task_.profile.blank_answer
    return Answers((next(each) if text.strip() else dict(blank) for text in texts), answers.notes)
