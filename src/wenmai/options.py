"""The signature is the schema: options a user gives are checked against the functions that will take them."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable

from wenmai.errors import Mistake, unknown
from wenmai.locale import Listed, Message, phrase

# old name → the name that the option has now
RENAMED = {
    "pieces": "micro_batches",
    "bend": "activation",
    "quiet": "activation_penalty",
    "slow": "temporal_penalty",
    "between": "hidden_dropout",
    "enters": "context_input",
}

SHARES = ("dropout", "validation", "warmup", "smoothing", "sampling")
SIGNED = ("z0",)
WANTED = {int: phrase("wanted", "a whole number"), float: phrase("wanted", "a number"),
          bool: phrase("wanted", "true or false"), str: phrase("wanted", "a text")}  # fmt: skip
FROM_ZERO = ("window", "history", "order", "stride")  # of these 0 says something, or who takes them says more


def accepted(function: Callable) -> dict[str, inspect.Parameter]:
    """The keyword-only options of a function, with their types resolved."""
    hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.replace(annotation=hints.get(p.name, str)) for p in parameters if p.kind is p.KEYWORD_ONLY}


def assign_options(given: dict, owners: dict[str, Callable]) -> dict[str, dict]:
    """{"hidden": 64, "epochs": 3} → {"rung": {"hidden": 64}, "training": {"epochs": 3}, …}, each value checked."""
    known = {owner: accepted(function) for owner, function in owners.items()}
    found: dict[str, dict] = {owner: {} for owner in owners}
    for name, value in given.items():
        owner = next((owner for owner in owners if name in known[owner]), None)
        if owner is None and any(RENAMED.get(name) in options for options in known.values()):
            raise Mistake("{old} is now {new}; use that name.", old=name, new=RENAMED[name])
        if owner is None:
            raise unknown("option", name, sorted({name for options in known.values() for name in options}))
        found[owner][name] = fitting(known[owner][name], value)
    return found


def fitting(option: inspect.Parameter, value):
    """The value in the option's type: text from a command line is read, anything else must fit already."""
    kinds = typing.get_args(option.annotation) if is_union(option.annotation) else (option.annotation,)
    if types.NoneType in kinds and (value is None or value in ("none", "None", "")):
        return None
    for kind in kinds:
        if typing.get_origin(kind) is typing.Literal:
            if value in typing.get_args(kind):
                return value
            choices = typing.get_args(kind)
            raise Mistake("{option}={value} is not one of {choices}.", option=option.name, value=told(value),
                          choices=Listed(map(str, choices)))  # fmt: skip
        read = read_as(kind, value)
        if read is not None:
            return in_range(option, read)
    wanted = WANTED.get(kinds[0], str(kinds[0]))
    found = type(value).__name__
    raise Mistake("{option}={value}: expected {wanted}, found {type}; the default is {default}.", option=option.name,
                  value=told(value), wanted=wanted, type=found, default=option.default)  # fmt: skip


def told(value, most: int = 60) -> str:
    if isinstance(value, int) and abs(value) >= 10**most:
        return Message("a number of many digits")
    shown = repr(value)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def is_union(kind) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def read_as(kind, value):
    if kind is bool:
        if isinstance(value, bool):
            return value
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(str(value).lower())
    if kind is str:
        return value if isinstance(value, str) else None
    if kind in (int, float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        if kind is float:
            return number
        return int(number) if math.isfinite(number) and number == int(number) else None
    return None


def in_range(option: inspect.Parameter, value):
    """Sizes begin at 1 and shares of something end below 1; nothing here is negative or infinite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if option.name in SIGNED and math.isfinite(value):
        return value
    least = 1 if isinstance(value, int) and option.default != 0 and option.name not in FROM_ZERO else 0
    if not math.isfinite(value) or value < least or (option.name in SHARES and value >= 1):
        wanted = phrase("wanted", "at least {least}", least=least)
        if option.name in SHARES:
            wanted = phrase("wanted", "at least {least} and below 1", least=least)
        raise Mistake("{option}={value}: expected {wanted}; the default is {default}.", option=option.name, value=value,
                      wanted=wanted, default=option.default)  # fmt: skip
    return value
