"""Inputs and targets, whatever the user holds them in: lists, arrays, columns of pandas or polars, Sequences, stored texts."""

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np

from wenmai.data.examples.sequences import Sequences
from wenmai.data.examples.stored import StoredTexts
from wenmai.data.files.sounds import Clips
from wenmai.errors import Mistake
from wenmai.locale import Listed, Message, phrase


def listed(values):
    """A list of texts, pairs or tokens, an array of numbers or images, or Sequences of numbers."""
    if isinstance(values, (Sequences, StoredTexts, Clips)):
        return values
    if values is None or isinstance(
        values, (str, bytes)
    ):  # a text is a list of its letters, which nobody means
        what = phrase("rows", "nothing") if values is None else Message("a single text")
        raise Mistake(
            "found {what} where rows are expected; give a list, of one row too.", what=what
        )
    names = [str(name) for name in getattr(values, "columns", ())]
    values = (
        values.to_numpy() if hasattr(values, "to_numpy") else values
    )  # a column or a table of pandas or polars
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUS":
        return values
    if (
        isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1
    ):  # a table of one column
        values = values[:, 0]
    elif names and names != ["text_a", "text_b"]:
        raise Mistake(
            "found a table with the columns {names} where one column of texts is expected; choose it, as in "
            'table["{first}"].',
            names=Listed(names[:12]),
            first=names[0],
        )
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if (
        values
        and isinstance(values[0], (list, tuple, np.ndarray))
        and not isinstance(next(iter(values[0]), ""), str)
    ):
        if len({np.shape(row) for row in values}) > 1:  # of different length
            return Sequences.of(values, np.float64)
        return np.asarray(values)
    return values


def one_column(targets):
    """(N, 1) as (N,)."""
    return (
        targets[:, 0]
        if isinstance(targets, np.ndarray) and targets.ndim == 2 and targets.shape[1] == 1
        else targets
    )


def checked(texts) -> Iterator[str]:
    if not isinstance(texts, Iterable):
        raise Mistake(
            "expected a text, or texts, found {type} {value!r}.",
            type=type(texts).__name__,
            value=str(texts)[:40],
        )
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise Mistake(
                "input {row}: expected a text, found {type} {value!r}.",
                row=row + 1,
                type=type(text).__name__,
                value=str(text)[:40],
            )
        yield text


def as_frames(values, width: int) -> Sequences:
    """Rows that happen to be equally long came as one array."""
    if isinstance(values, Sequences):
        return values
    if not len(values):
        return Sequences(np.zeros((0, width)), np.zeros(1, np.int64))
    try:
        return Sequences.of(
            [np.atleast_1d(np.asarray(row, np.float64)) for row in values], np.float64
        )
    except (TypeError, ValueError):
        raise Mistake(
            "expected sequences of numbers, {width} a step, found {value!r}.",
            width=width,
            value=str(values[0])[:40],
        ) from None


def pick(values, rows: np.ndarray):
    if isinstance(values, (Sequences, StoredTexts, Clips)):
        return values.take(rows)
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]


def check_lengths(inputs, targets) -> None:
    if len(inputs) != len(targets):
        raise Mistake(
            "found {inputs} inputs and {targets_count} targets; expected one target for every input.",
            inputs=len(inputs),
            targets_count=len(targets),
        )
    if not len(inputs):
        raise Mistake("there are no rows; expected at least one input with its target.")


def numbered(targets) -> tuple[np.ndarray, np.ndarray]:
    """The distinct targets in order, and which of them every row has. Of a list of texts no array is made: each would take
    the room of the longest."""
    if not isinstance(targets, list) or set(map(type, targets)) != {str}:
        targets = one_column(targets)
        for row in (
            row
            for row, value in enumerate(targets)
            if value is None or (isinstance(value, float) and value != value)
        ):
            raise Mistake(
                "row {row}: found no label ({value}); leave such rows out, as dropna() of pandas does.",
                row=row + 1,
                value=targets[row],
            )
        targets = np.asarray(targets)
        distinct, which = np.unique(targets, return_inverse=True)
        return distinct, which.reshape(targets.shape)
    number = {target: at for at, target in enumerate(dict.fromkeys(targets))}
    distinct, place = np.unique(np.array(list(number)), return_inverse=True)
    return distinct, place[np.fromiter(map(number.__getitem__, targets), np.int32, len(targets))]


def digest_of(*columns: Iterable | None) -> str:
    """Changes when a value of these columns does: inputs and targets, or the blocks of a running text."""
    digest = hashlib.blake2b(digest_size=16)
    for column in columns:
        digest.update(b"column\0")
        for value in (
            () if column is None else column.blocks() if hasattr(column, "blocks") else column
        ):
            if isinstance(value, np.ndarray):
                digest.update(f"{value.dtype} {value.shape}\0".encode())
                value = np.ascontiguousarray(value).tobytes()
            value = (
                value
                if isinstance(value, bytes)
                else repr(value).encode("utf-8", "backslashreplace")
            )
            digest.update(b"%d\0" % len(value))
            digest.update(value)
    return digest.hexdigest()
