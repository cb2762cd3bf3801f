"""What was saved as JSON, taken from it again: every value is asked for by its key and is what was written there, or Unfit.

Who opens the file turns Unfit into a Mistake that names it (training/run_folder.py).
"""

import math
from collections.abc import Sequence

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


def told(found: object) -> str:
    """A value as JSON calls it; of a long one its beginning."""
    if isinstance(found, str):
        return f'"{short(found, 40)}"'
    if isinstance(found, (dict, list)):
        return phrase("saved", "an object") if isinstance(found, dict) else phrase("saved", "a list")
    if found is None or isinstance(found, bool):
        return {None: "null", True: "true", False: "false"}[found]
    return f"{found:.6g}" if found != found or abs(found) < 1e300 else phrase("saved", "a number out of bounds")


def unfit(key: str, found: object, expected: str) -> Unfit:
    return Unfit('"{key}" is {value}, expected {expected}', key=key, value=told(found), expected=expected)


def is_whole(found: object, least: int = 0, most: int = MOST) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and least <= found <= most


def is_number(found: object) -> bool:
    return math.isfinite(found) if isinstance(found, float) else is_whole(found, -(1 << 64), 1 << 64)


def whole(saved: object, key: str, least: int = 0, most: int = MOST) -> int:
    found = value(saved, key)
    if not is_whole(found, least, most):
        raise unfit(key, found, phrase("saved", "a whole number from {least} on", least=least))
    return found


def maybe_whole(saved: object, key: str, least: int = 0, most: int = MOST) -> int | None:
    return None if value(saved, key) is None else whole(saved, key, least, most)


def flag(saved: object, key: str) -> bool:
    found = value(saved, key)
    if not isinstance(found, bool):
        raise unfit(key, found, phrase("saved", "true or false"))
    return found


def text(saved: object, key: str) -> str:
    found = value(saved, key)
    if not isinstance(found, str):
        raise unfit(key, found, phrase("saved", "a text"))
    return found


def one_of(saved: object, key: str, known: Sequence[str]) -> str:
    found = text(saved, key)
    if found not in known:
        raise unfit(key, found, phrase("saved", "one of {choices}", choices=Listed(known)))
    return found


def items(saved: object, key: str) -> list:
    found = value(saved, key)
    if not isinstance(found, list):
        raise unfit(key, found, phrase("saved", "a list"))
    return found


def texts(saved: object, key: str) -> list[str]:
    found = items(saved, key)
    for one in found:
        if not isinstance(one, str):
            raise unfit(key, one, phrase("saved", "texts only"))
    return found


def wholes(saved: object, key: str, least: int = 0, most: int = MOST) -> list[int]:
    found = items(saved, key)
    for one in found:
        if not is_whole(one, least, most):
            raise unfit(key, one, phrase("saved", "whole numbers from {least} to {most} only", least=least, most=most))
    return found


def numbers(saved: object, key: str) -> np.ndarray:
    """(F,)"""
    found = items(saved, key)
    for one in found:
        if not is_number(one):
            raise unfit(key, one, phrase("saved", "finite numbers only"))
    return np.array(found, np.float64)


def scaling(saved: object) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation, a pair for every column; what is divided by is above 0."""
    mean, deviation = numbers(saved, "mean"), numbers(saved, "deviation")
    if not len(mean) or len(mean) != len(deviation) or not (deviation > 0).all():
        raise Unfit('"deviation" has {count} numbers, expected one above 0 for each of the {columns} of "mean"',
                    count=len(deviation), columns=len(mean))  # fmt: skip
    return mean, deviation
