"""Columns → inputs, as every task reads them, the answers to them, and how an input is shown to a reader."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.files.sounds import Clips
from wenmai.data.parts import line_named
from wenmai.data.text.tokenizers import joined
from wenmai.errors import Mistake, Unlabelled
from wenmai.locale import Listed, Message, phrase, phrases

PLAIN = {str, int, float, bool}
TARGETS = phrases("targets", "tags", "target", "targets")
ANSWERS = ("label", "tags", "target", "targets")  # columns that hold an answer


def inputs_in(chunk: Chunk, source: str):
    """The inputs in these columns: texts, pairs, tokens, images, numeric sequences, or else all columns as numbers."""
    columns = chunk.columns
    if "tokens" in columns:
        where = line_of(chunk, source)
        return [as_tokens(value, where(row)) for row, value in enumerate(columns["tokens"])]
    if "text" in columns:
        return texts_in(chunk, "text", source)
    if "text_a" in columns and "text_b" in columns:
        return list(zip(texts_in(chunk, "text_a", source), texts_in(chunk, "text_b", source)))
    if "image" in columns:
        return np.asarray(columns["image"])
    if "audio" in columns:
        return sounds_in(chunk, source)
    if "inputs" in columns:
        return number_sequences(columns["inputs"], chunk.lines, source, "inputs")
    names = [name for name in columns if name not in ANSWERS]
    if not names:
        answers = (
            Listed(map(short, columns), Message(" and "))
            if columns
            else phrase("columns", "nothing")
        )
        raise Mistake(
            "{file} has only the column {answers}; expected text, text_a and text_b, tokens, image, audio, inputs, "
            "or numbers too.",
            file=source,
            answers=answers,
        )
    return numbers(columns, names, chunk.lines, source)


def sounds_in(chunk: Chunk, source: str) -> Clips:
    """Every file is looked at, so that one that is missing or damaged is a row that can be named, and left out."""
    audio = chunk.columns["audio"]
    return (
        audio
        if isinstance(audio, Clips)
        else Clips.of(texts_in(chunk, "audio", source), line_of(chunk, source))
    )


def line_of(chunk: Chunk, source: str) -> Callable[[int], Message]:
    """Where the user finds a row of the chunk."""
    groups = chunk.columns.get("group")
    return lambda row: line_named(
        source, chunk.lines[row], None if groups is None else groups[row], chunk.asked
    )


def texts_in(chunk: Chunk, name: str, source: str) -> list[str]:
    """A column of texts; numbers are taken as they are written, but nothing at all and lists are no texts."""
    values = chunk.columns[name]
    kinds = set(map(type, values))
    if not kinds <= PLAIN:
        for row, value in enumerate(values):
            if value is None or isinstance(value, (list, dict, tuple, bytes)):
                cell = phrase("cell", "nothing") if value is None else repr(short(str(value), 40))
                raise Mistake(
                    "{where}: found {actual} in column {name}, expected a text; correct it or remove the row.",
                    where=line_of(chunk, source)(row),
                    actual=cell,
                    name=name,
                )
    return (
        values if kinds == {str} and isinstance(values, list) else [str(value) for value in values]
    )


def labels_in(chunk: Chunk, source: str) -> list[str]:
    cells = ["" if value is None or value != value else value for value in chunk.columns["label"]]
    labels = [
        text.strip() for text in texts_in(replace(chunk, columns={"label": cells}), "label", source)
    ]
    if "" in labels:
        raise Unlabelled(
            "{file}, line {line}: the label is empty; give every row a label or drop the row.",
            file=source,
            line=chunk.lines[labels.index("")],
        )
    return labels


def as_tokens(value, where: str) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(token, str) for token in value):
        raise Mistake(
            '{where}: found {value!r} in column tokens, expected a list of texts such as ["a", "b"].',
            where=where,
            value=str(value)[:40],
        )
    return list(value)


def numbers(columns: dict, names: list[str], lines, source: str) -> np.ndarray:
    """The named columns as an (N, F) table; the first cell that is no finite number is named."""
    try:
        table = np.array([np.asarray(columns[name], np.float64) for name in names]).T
        if table.ndim == 2 and np.isfinite(table).all():
            return table
    except (TypeError, ValueError, OverflowError):
        pass
    for name in names:
        for row, value in enumerate(columns[name]):
            number = as_number(value)
            if number is None:
                do = Message("correct the line or remove it")
                if name not in ANSWERS:
                    do = Message(
                        "correct it, choose columns with --columns, or, if it is the text, say --columns "
                        "text={name},label=NAME",
                        name=short(name),
                    )
                raise Mistake(
                    "{file}, line {line}: found {value!r} in column {name}, expected a number; {number_do}.",
                    file=source,
                    line=lines[row],
                    value=str(value)[:40],
                    name=short(name),
                    number_do=do,
                )
            if not np.isfinite(number):
                raise Mistake(
                    "{file}, line {line}: found {value} in column {name}, expected a finite number; correct the line "
                    "or remove it.",
                    file=source,
                    line=lines[row],
                    value=short(str(value)),
                    name=short(name),
                )
    raise Mistake(
        "{file}: the columns {names} are not numbers of equal length.",
        file=source,
        names=listed(names),
    )


def as_number(value) -> float | None:
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf")
    except (TypeError, ValueError):
        return None


def number_sequences(values, lines, source: str, name: str) -> Sequences:
    """Lists of numbers, or of lists of numbers (frames), as Sequences; what is none is named with its line."""
    rows, width = [], None
    for value, line in zip(values, lines):
        try:
            row = np.asarray(value, np.float64)
        except (TypeError, ValueError, OverflowError):
            row = None
        if row is None or row.ndim not in (1, 2):
            raise Mistake(
                "{file}, line {line}: found {value!r} in {name}, expected a list of numbers such as [3, 5].",
                file=source,
                line=line,
                value=str(value)[:40],
                name=name,
            )
        if not np.isfinite(row).all():
            at = int(np.argwhere(~np.isfinite(row))[0][0])
            raise Mistake(
                "{file}, line {line}: found {value} at step {step} of {name}, expected a finite number.",
                file=source,
                line=line,
                value=value[at],
                step=at + 1,
                name=name,
            )
        if len(row):
            width = row.shape[1:] if width is None else width
            if row.shape[1:] != width:
                size, expected = (
                    Message("{count} numbers", count=shape[0]) if shape else Message("one number")
                    for shape in (row.shape[1:], width)
                )
                raise Mistake(
                    "{file}, line {line}: found {numbers1} a step in {name}, expected {numbers2} as before.",
                    file=source,
                    line=line,
                    numbers1=size,
                    name=name,
                    numbers2=expected,
                )
        rows.append(row)
    return Sequences.of(
        [row if len(row) else np.zeros((0, *(width or ()))) for row in rows], np.float64
    )


def shown(value, most: int = 200) -> str:
    """An input as a reader of a report sees it."""
    if isinstance(value, np.ndarray):
        if value.ndim == 1:
            text = ", ".join(f"{number:g}" for number in value[:50])
        elif value.ndim == 2 and value.dtype.kind == "f" and value.shape[1] <= 8:
            text = "; ".join(" ".join(f"{number:g}" for number in frame) for frame in value[:20])
        else:
            text = f"image {' × '.join(map(str, value.shape))}"
    elif isinstance(value, list):
        text = joined(value)[0]
    else:
        text = " ‖ ".join(value) if isinstance(value, tuple) else str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def answers_of(estimator, chunk: Chunk, source: str, how: dict) -> list[dict]:
    """An answer for every row, found with the options `how`; `source` is the file's name in sentences."""
    inputs = estimator.task_.inputs_of(chunk, source)
    if estimator.task_.profile.blank_answer is None:
        return estimator.answers(inputs, **how)
    return without_blanks(estimator, inputs, line_of(chunk, source), how)


def without_blanks(estimator, texts: list[str], where: Callable, how: dict) -> list[dict]:
    """For an empty text, the empty one that the task has for it; the model answers for the others."""
    rows = [row for row, text in enumerate(texts) if text.strip()]
    answers = estimator.answers(
        [texts[row] for row in rows], **how, where=lambda row: where(rows[row])
    )
    each, blank = iter(answers), estimator.task_.profile.blank_answer
    return type(answers)(
        (next(each) if text.strip() else dict(blank) for text in texts), answers.notes
    )
