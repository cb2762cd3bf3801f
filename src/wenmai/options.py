"""The signature is the schema: options a user gives are checked against the functions that will take them.

The annotation of an option says its type, and its range where the type does not: `dropout: Share = 0.1`."""

import functools
import inspect
import math
import operator
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from wenmai.errors import Mistake, unknown
from wenmai.explanations import explained
from wenmai.locale import Listed, Message, phrase


class Range(NamedTuple):
    """Finite numbers from `least` on, and `below` a bound."""

    least: float = -math.inf
    below: float = math.inf

    def __contains__(self, value: Any) -> bool:
        return math.isfinite(value) and self.least <= value < self.below


MANY = 1 << 31  # no whole number is larger, unless it says so
Size = Annotated[int, Range(1, MANY)]
Count = Annotated[int, Range(0, MANY)]  # none is one too
Seed = Annotated[int, Range(0, 1 << 63)]
Layers = Annotated[int, Range(1, 1001)]  # each is made by itself, which takes its time
Threads = Annotated[
    int, Range(1, 257)
]  # of which a library ends the process where it cannot have them all
Share = Annotated[float, Range(least=0, below=1)]  # of something, never all of it
NonNegative = Annotated[float, Range(least=0)]
Portion = Annotated[float, Range(least=0, below=1 + 1e-9)]  # of something, up to all of it
Finite = Annotated[float, Range()]

# old name → the name that the option has now
RENAMED = {
    "pieces": "micro_batches",
    "bend": "activation",
    "quiet": "activation_penalty",
    "slow": "temporal_penalty",
    "between": "hidden_dropout",
    "enters": "context_input",
}

WANTED = {
    int: phrase("wanted", "a whole number"),
    float: phrase("wanted", "a number"),
    bool: phrase("wanted", "true or false"),
    str: phrase("wanted", "a text"),
}


class Situation(NamedTuple):
    """What it depends on whether an option has an effect."""

    kind: str  # of what is read (data/inputs/kinds.py)
    writes: bool  # texts are written, from whatever is read
    per_step: bool  # an answer at every step
    network: bool  # trained by the loop
    judged: bool  # there are rows that training is judged by
    processes: int
    started: bool = False  # from a body that was trained before
    sound: bool = False  # what is read are sounds


class Only(NamedTuple):
    """An annotation of options that have an effect in some situations alone: elsewhere they are refused."""

    what: Message
    holds: Callable[[Situation], bool]


IMAGES = Only(phrase("only", "images"), lambda here: here.kind == "image")
NOT_IMAGES = Only(phrase("only", "texts and numbers"), lambda here: here.kind != "image")
SEQUENCES = Only(
    phrase("only", "texts and sequences"), lambda here: here.kind in ("tokens", "lines", "frames")
)
SOUNDS = Only(phrase("only", "sounds"), lambda here: here.sound)
TEXTS = Only(phrase("only", "texts"), lambda here: here.kind in ("tokens", "lines") or here.writes)
ROWS_OF_TEXTS = Only(
    phrase("only", "texts that a network reads, each by itself"),
    lambda here: here.network and here.kind == "tokens",
)
ONE_A_TEXT = Only(
    phrase("only", "texts with one answer each"),
    lambda here: here.kind == "tokens" and not here.per_step,
)
ONE_A_STEP = Only(
    phrase("only", "one answer at every step, as tags are"), lambda here: here.per_step
)
HELD_OUT = Only(
    phrase("only", "trainings that some rows are held out from"), lambda here: here.judged
)
STARTED = Only(
    phrase("only", "trainings that start from a run or a checkpoint (--from)"),
    lambda here: here.started,
)
PROCESSES = Only(
    phrase("only", "several processes, which torchrun starts"), lambda here: here.processes > 1
)


class NoEffect(Mistake):
    """An option that would change nothing."""


class Option(NamedTuple):
    name: str
    annotation: object  # its type, without a range
    default: object
    range: Range | None  # of numbers
    only: Only | None = None  # where it has an effect, if not everywhere


@functools.cache  # every estimator asks, several times, and a signature takes a millisecond to read
def accepted(function: Callable) -> dict[str, Option]:
    """The keyword-only options of a function, with their types and ranges; not to be changed."""
    hints = typing.get_type_hints(
        function.__init__ if inspect.isclass(function) else function, include_extras=True
    )
    parameters = inspect.signature(function).parameters.values()
    return {
        p.name: option_of(p, hints.get(p.name, str)) for p in parameters if p.kind is p.KEYWORD_ONLY
    }


def option_of(parameter: inspect.Parameter, hint) -> Option:
    only = None
    if typing.get_origin(hint) is Annotated and isinstance(hint.__metadata__[-1], Only):
        *others, only = hint.__metadata__
        hint = Annotated[hint.__origin__, *others] if others else hint.__origin__
    kinds = typing.get_args(hint) if is_union(hint) else (hint,)
    ranged = [kind for kind in kinds if typing.get_origin(kind) is Annotated]
    bounds = ranged[0].__metadata__[0] if ranged else None
    plain = [kind.__origin__ if kind in ranged else kind for kind in kinds]
    if bounds is None and int in plain:
        bounds = Range(0 if parameter.default == 0 else 1, MANY)
    elif bounds is None and float in plain:
        bounds = Range(0)
    return Option(
        parameter.name, functools.reduce(operator.or_, plain), parameter.default, bounds, only
    )


def assign_options(settings: dict, owners: dict[str, Callable]) -> dict[str, dict]:
    """{"hidden": 64, "epochs": 3} → {"rung": {"hidden": 64}, "training": {"epochs": 3}, …}, each value checked."""
    known = {owner: accepted(function) for owner, function in owners.items()}
    assigned: dict[str, dict] = {owner: {} for owner in owners}
    for name, value in settings.items():
        owner = next((owner for owner in owners if name in known[owner]), None)
        if owner is None and any(RENAMED.get(name) in options for options in known.values()):
            raise Mistake("{old} is now {new}; use that name.", old=name, new=RENAMED[name])
        if owner is None and explained(name):
            raise Mistake(
                'unknown option "{option}": other rungs or tasks have it; known here are: {choices}.',
                option=name,
                choices=Listed(sorted({name for options in known.values() for name in options})),
            )
        if owner is None:
            raise unknown(
                "option", name, sorted({name for options in known.values() for name in options})
            )
        assigned[owner][name] = checked_value(known[owner][name], value)
    return assigned


def check_effect(assigned: dict[str, dict], owners: dict[str, Callable], here: Situation) -> None:
    """Every option that is not at its default does something here, or it is refused."""
    for owner, values in assigned.items():
        known = accepted(owners[owner])
        for name, value in values.items():
            option = known[name]
            if option.only and value != option.default and not option.only.holds(here):
                raise NoEffect(
                    "{option}={value} has no effect here: it is for {what}; leave it out.",
                    option=name,
                    value=shown_value(value),
                    what=option.only.what,
                )


def checked_value(option: Option, value):
    """The value in the option's type: text from a command line is read, anything else must fit already."""
    kinds = (
        typing.get_args(option.annotation) if is_union(option.annotation) else (option.annotation,)
    )
    if types.NoneType in kinds and (value is None or value in ("none", "None", "")):
        return None
    for kind in kinds:
        if typing.get_origin(kind) is typing.Literal:
            if value in typing.get_args(kind):
                return value
            raise Mistake(
                "{option}={value} is not one of {choices}.",
                option=option.name,
                value=shown_value(value),
                choices=Listed(map(str, typing.get_args(kind))),
            )
        converted = converted_to(kind, value)
        if converted is not None:
            return in_range(option, converted)
    wanted = WANTED.get(kinds[0], str(kinds[0]))
    raise Mistake(
        "{option}={value}: expected {wanted}, found {type}; the default is {default}.",
        option=option.name,
        value=shown_value(value),
        wanted=wanted,
        type=type(value).__name__,
        default=option.default,
    )


def shown_value(value, most: int = 60) -> str:
    if isinstance(value, int) and abs(value) >= 10**most:
        return Message("a number of many digits")
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def is_union(kind) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def converted_to(kind, value):
    """None where the value is none of this kind."""
    if kind is bool:
        if isinstance(value, bool):
            return value
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
            str(value).lower()
        )
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


def in_range(option: Option, value):
    if option.range is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if value in option.range:
        return value
    least, below = option.range
    if not math.isfinite(least) or not math.isfinite(value):
        wanted = phrase("wanted", "a finite number")
    elif math.isfinite(below) and (below != MANY or value >= below):
        wanted = phrase("wanted", "at least {least} and below {below}", least=least, below=below)
    else:
        wanted = phrase("wanted", "at least {least}", least=least)
    raise Mistake(
        "{option}={value}: expected {wanted}; the default is {default}.",
        option=option.name,
        value=value,
        wanted=wanted,
        default=option.default,
    )
