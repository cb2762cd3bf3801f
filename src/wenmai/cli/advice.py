"""What a beginner meant: hyphens that an editor has joined, options of a rung given as options of the command, arguments in the
other order."""

import re
from os.path import isfile
from pathlib import Path

from wenmai.cli.completion import rung_names
from wenmai.errors import Mistake, typed
from wenmai.explanations import EXPLANATIONS
from wenmai.locale import Message, phrase
from wenmai.locale.theirs import usage

DASHES = re.compile(r"(?:[‐-―−－]|-(?=[‐-―−－]))[‐-―−－-]*(\w[\w-]*)((?:=.*)?)", re.DOTALL)


def check_dashes(command, arguments: list[str]) -> None:
    """—minutes is no text where the command has an option --minutes."""
    called = getattr(command, "commands", {}).get(next(iter(arguments), ""))
    options = {option for parameter in getattr(called, "params", ()) for option in parameter.opts}
    for argument in arguments[1:]:
        dashes = DASHES.fullmatch(argument)
        if dashes and f"--{dashes[1]}" in options:
            raise Mistake(
                "{argument} begins with a long dash, which editors make of two hyphens; write --{option}.",
                argument=argument,
                option=dashes[1] + dashes[2],
            )


def on_usage(error, arguments: list[str]) -> Message:
    """A sentence on arguments that the command does not take."""
    if arguments[0] == "compare" and len(arguments) > 2 and arguments[1] in rung_names():
        return Message(
            "compare takes data, and rungs after --rungs; say wenmai compare {data} --rungs {rung}.",
            data=typed(arguments[2]),
            rung=arguments[1],
        )
    sentence, context = on_value(error, arguments) or usage(error), getattr(error, "ctx", None)
    if context is None or getattr(error, "possibilities", None):
        return on_option(error, arguments) or sentence
    if not context.parent:
        return Message("{sentence} wenmai --help lists the commands.", sentence=sentence)
    return on_option(error, arguments) or Message(
        "{sentence} wenmai {command} --help shows what it takes.",
        sentence=sentence,
        command=context.info_name,
    )


def on_option(error, arguments: list[str]) -> Message | None:
    """--hidden 64 is said as --set hidden=64."""
    name = getattr(error, "option_name", None) or ""
    option = name.lstrip("-").replace("-", "_")
    known = {key.rpartition("__")[2] for key in EXPLANATIONS}
    if option not in known or "--set" not in {
        text for one in error.ctx.command.params for text in one.opts
    }:
        return None
    value = given_for(name, arguments)
    return Message(
        "{name} is an option of rungs, not of the command; say --set {option}={value}.",
        name=name,
        option=option,
        value="…" if value.startswith("-") else value,
    )


def given_for(name: str, arguments: list[str]) -> str:
    """The value that an option has there."""
    matching = [argument for argument in arguments if argument.startswith(f"{name}=")]
    at = arguments.index(name) + 1 if name in arguments else len(arguments)
    return (
        matching[-1].partition("=")[2]
        if matching
        else arguments[at]
        if at < len(arguments)
        else "…"
    )


def on_value(error, arguments: list[str]) -> Message | None:
    """--minutes abc: expected a number."""
    parameter, reason = getattr(error, "param", None), str(getattr(error, "message", ""))
    name = next(
        (
            name
            for name in getattr(parameter, "opts", ())
            if name in {word.partition("=")[0] for word in arguments}
        ),
        None,
    )
    if name is None or not reason.startswith("Input should be "):
        return None
    wanted = (
        phrase("wanted", "a whole number") if "integer" in reason else phrase("wanted", "a number")
    )
    if "greater than" in reason:
        wanted = phrase("wanted", "at least {least}", least=plain(parameter.min))
    elif "less than" in reason:
        wanted = phrase("wanted", "at most {most}", most=plain(parameter.max))
    return Message(
        "{name} {value}: expected {wanted}.",
        name=name,
        value=given_for(name, arguments),
        wanted=wanted,
    )


def plain(bound: float) -> float:
    return int(bound) if bound == int(bound) else bound


def check_train_order(rung: str, source: str) -> None:
    names = rung_names()
    if source in names and rung not in names and not Path(source).exists():
        raise Mistake(
            "train takes the rung first, then the data; say wenmai train {rung} {data}.",
            rung=source,
            data=typed(rung),
        )


def check_run_order(command: str, run: Path, others: list[str]) -> None:
    """The run stands first, and what stands there is none."""
    for other in others[:1]:
        if isfile(Path(other) / "run.json"):
            raise Mistake(
                "{command} takes the run first; say wenmai {command} {run} {other}.",
                command=command,
                run=typed(Path(other)),
                other=typed(str(run)),
            )
