"""What was saved as JSON, taken from it again: every value is asked for by its key and is what was written there, or Unfit.

Who opens the file turns Unfit into a Mistake that names it (training/run_folder.py).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from wenmai.data.files.columns import short
from wenmai.errors import WithMessage
from wenmai.locale import Listed, phrase

MOST = 1 << 40  # of anything that is counted


class Unfit(WithMessage, ValueError):
    """A value that nobody wrote there."""


def value(saved: object, key: str):
    if not isinstance(saved, dict):
        raise Unfit("found {value}, expected an object", value=told(saved))
    if key not in saved:
        raise Unfit('found no "{key}"', key=key)
    return saved[key]


def told(one: object) -> str:
    """A value as JSON calls it; of a long one its beginning."""
    if isinstance(one, str):
        return f'"{short(one, 40)}"'
    if isinstance(one, (dict, list)):
        return phrase("saved", "an object") if isinstance(one, dict) else phrase("saved", "a list")
    if one is None or isinstance(one, bool):
        return {None: "null", True: "true", False: "false"}[one]
    return f"{one:.6g}" if one != one or abs(one) < 1e300 else phrase("saved", "a number out of bounds")


def unfit(key: str, one: object, expected: str) -> Unfit:
    return Unfit('"{key}" is {value}, expected {expected}', key=key, value=told(one), expected=expected)


def is_whole(one: object, least: int = 0, most: int = MOST) -> bool:
    return isinstance(one, int) and not isinstance(one, bool) and least <= one <= most


def is_number(one: object) -> bool:
    return math.isfinite(one) if isinstance(one, float) else is_whole(one, -(1 << 64), 1 << 64)


def of_kind(saved: object, key: str, kind: type, expected: str):
    one = value(saved, key)
    if not isinstance(one, kind):
        raise unfit(key, one, expected)
    return one


def flag(saved: object, key: str) -> bool:
    return of_kind(saved, key, bool, phrase("saved", "true or false"))


def text(saved: object, key: str) -> str:
    return of_kind(saved, key, str, phrase("saved", "a text"))


def items(saved: object, key: str) -> list:
    return of_kind(saved, key, list, phrase("saved", "a list"))


def whole(saved: object, key: str, least: int = 0, most: int = MOST) -> int:
    one = value(saved, key)
    if not is_whole(one, least, most):
        raise unfit(key, one, phrase("saved", "a whole number from {least} on", least=least))
    return one


def maybe_whole(saved: object, key: str, least: int = 0, most: int = MOST) -> int | None:
    return None if value(saved, key) is None else whole(saved, key, least, most)


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


def wholes(saved: object, key: str, least: int = 0, most: int = MOST) -> list[int]:
    expected = phrase("saved", "whole numbers from {least} to {most} only", least=least, most=most)
    return items_that(lambda one: is_whole(one, least, most), saved, key, expected)


def numbers(saved: object, key: str) -> np.ndarray:
    """(F,)"""
    return np.array(items_that(is_number, saved, key, phrase("saved", "finite numbers only")), np.float64)


def scaling(saved: object) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, a pair for every column; what is divided by is above 0."""
    mean, deviation = numbers(saved, "mean"), numbers(saved, "deviation")
    if not len(mean) or len(mean) != len(deviation) or not (deviation > 0).all():
        raise Unfit('"deviation" has {count} numbers, expected one above 0 for each of the {columns} of "mean"',
                    count=len(deviation), columns=len(mean))  # fmt: skip
    return mean, deviation
