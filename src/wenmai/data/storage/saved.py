"""What was saved as JSON, taken from it again: every value is asked for by its key and is what was written there, or Unfit.

Who opens the file turns Unfit into a Mistake that names it (training/run_folder.py).
"""

import json
import math
import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from wenmai.data.files.columns import short
from wenmai.errors import WithMessage
from wenmai.locale import Listed, phrase

MOST = 1 << 40  # of anything that is counted
LARGEST = 1 << 28  # bytes of a JSON file


class Unfit(WithMessage, ValueError):
    """A value that nobody wrote there."""


def plain_file(path: Path) -> bytes:
    """What stands in it, if it is a plain file of no more than LARGEST bytes: no pipe is waited for, and of what a system makes
    up as it is read (/proc) no more is taken than it announces."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise Unfit("it is no plain file")
        if about.st_size > LARGEST:
            raise Unfit(
                "found {size:,} bytes, expected {most:,} at the most",
                size=about.st_size,
                most=LARGEST,
            )
        parts, left = [], about.st_size
        while left and (part := os.read(handle, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def json_in(path: Path):
    return json.loads(plain_file(path).decode("utf-8"))


def value(saved: object, key: str):
    if not isinstance(saved, dict):
        raise Unfit("found {value}, expected an object", value=summary(saved))
    if key not in saved:
        raise Unfit('found no "{key}"', key=key)
    return saved[key]


def summary(one: object) -> str:
    """A value as JSON calls it; of a long one its beginning."""
    if isinstance(one, str):
        return f'"{short(one, 40)}"'
    if isinstance(one, (dict, list)):
        return phrase("saved", "an object") if isinstance(one, dict) else phrase("saved", "a list")
    if one is None or isinstance(one, bool):
        return {None: "null", True: "true", False: "false"}[one]
    return (
        f"{one:.6g}"
        if one != one or abs(one) < 1e300
        else phrase("saved", "a number out of bounds")
    )


def unfit(key: str, one: object, expected: str) -> Unfit:
    return Unfit(
        '"{key}" is {value}, expected {expected}', key=key, value=summary(one), expected=expected
    )


def is_integer(one: object, least: int = 0, most: int = MOST) -> bool:
    return isinstance(one, int) and not isinstance(one, bool) and least <= one <= most


def is_number(one: object) -> bool:
    return math.isfinite(one) if isinstance(one, float) else is_integer(one, -(1 << 64), 1 << 64)


def of_kind(saved: object, key: str, kind: type, expected: str):
    one = value(saved, key)
    if not isinstance(one, kind):
        raise unfit(key, one, expected)
    return one


flag = partial(of_kind, kind=bool, expected=phrase("saved", "true or false"))
text = partial(of_kind, kind=str, expected=phrase("saved", "a text"))
items = partial(of_kind, kind=list, expected=phrase("saved", "a list"))


def integer(saved: object, key: str, least: int = 0, most: int = MOST) -> int:
    one = value(saved, key)
    if not is_integer(one, least, most):
        raise unfit(key, one, phrase("saved", "a whole number from {least} on", least=least))
    return one


def number(saved: object, key: str, finite: bool = True) -> float:
    one = value(saved, key)
    if not (is_number(one) or (isinstance(one, float) and not finite)):
        raise unfit(key, one, phrase("saved", "a number"))
    return one


def maybe_integer(saved: object, key: str, least: int = 0, most: int = MOST) -> int | None:
    return None if value(saved, key) is None else integer(saved, key, least, most)


def one_of(saved: object, key: str, known: Sequence[str]) -> str:
    if text(saved, key) not in known:
        raise unfit(key, saved[key], phrase("saved", "one of {choices}", choices=Listed(known)))
    return saved[key]


def items_that(fit: Callable[[object], bool], saved: object, key: str, expected: str) -> list:
    """A list of nothing but what fits."""
    for one in items(saved, key):
        if not fit(one):
            raise unfit(key, one, expected)
    return saved[key]


def texts(saved: object, key: str) -> list[str]:
    return items_that(lambda one: isinstance(one, str), saved, key, phrase("saved", "texts only"))


def integers(saved: object, key: str, least: int = 0, most: int = MOST) -> list[int]:
    expected = phrase("saved", "whole numbers from {least} to {most} only", least=least, most=most)
    return items_that(lambda one: is_integer(one, least, most), saved, key, expected)


def numbers(saved: object, key: str) -> np.ndarray:
    """(F,)"""
    return np.array(
        items_that(is_number, saved, key, phrase("saved", "finite numbers only")), np.float64
    )


def scaling(saved: object) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, a pair for every column; what is divided by is above 0."""
    mean, deviation = numbers(saved, "mean"), numbers(saved, "deviation")
    if not len(mean) or len(mean) != len(deviation) or not (deviation > 0).all():
        raise Unfit(
            '"deviation" has {count} numbers, expected one above 0 for each of the {columns} of "mean"',
            count=len(deviation),
            columns=len(mean),
        )
    return mean, deviation


def array(arrays: dict[str, np.ndarray], name: str, kind: type, *shape: int | None) -> np.ndarray:
    """The compiled code trusts what it is given: an array of another kind or shape (None: of any length) is refused here."""
    one = arrays.get(name)
    if one is None:
        raise Unfit('found no "{key}"', key=name)
    fits = one.ndim == len(shape) and all(
        expected in (None, size) for expected, size in zip(shape, one.shape)
    )
    if one.dtype != kind or not fits or not (one.flags.c_contiguous and one.flags.aligned):
        expected = " × ".join("any" if size is None else str(size) for size in shape)
        raise Unfit(
            "{name}: found {type1} of {shape1}, expected {type2} of {shape2}",
            name=name,
            type1=one.dtype,
            shape1=" × ".join(map(str, one.shape)),
            type2=np.dtype(kind),
            shape2=expected,
        )
    return one


def maybe_text(saved: dict, key: str) -> str | None:
    return None if saved.get(key) is None else text(saved, key)


def columns(saved: dict) -> dict[str, str]:
    """Word → name; a run that was trained on no file has none."""
    known = saved.get("columns", {})
    if not isinstance(known, dict) or not all(isinstance(name, str) for name in known.values()):
        raise unfit("columns", known, phrase("saved", "an object of texts"))
    return known
