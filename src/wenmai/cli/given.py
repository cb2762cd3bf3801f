"""What the texts of arguments mean: columns, settings, and the run that one names."""

import sys
from pathlib import Path

import typer

from wenmai.errors import Mistake
from wenmai.locale import Message


def columns_from(text: str) -> dict[str, str] | None:
    from wenmai.data.files.readers import parse_columns

    return parse_columns(text) if text else None


def delimiter_from(text: str) -> str | None:
    mark = {"comma": ",", "semicolon": ";", "tab": "\t", r"\t": "\t"}.get(text, text)
    if len(mark) > 1 or mark in ('"', "\n", "\r", "\0"):
        raise Mistake(
            "--delimiter {text}: expected comma, semicolon, tab, or one mark such as '|'.",
            text=text,
        )
    return mark or None


def settings_from(pairs: list[str], own: tuple[str, ...] = ()) -> dict[str, str]:
    """`own`: those that the command has options of its own for."""
    pairs = [pair if "=" in pair else pair.replace("＝", "=") for pair in pairs]
    for pair in pairs:
        if not pair.partition("=")[0].strip() or "=" not in pair:
            raise Mistake("--set {pair}: expected key=value, such as --set hidden=64.", pair=pair)
    settings = {
        key.strip(): value.strip() for key, _, value in (pair.partition("=") for pair in pairs)
    }
    for name in set(own) & settings.keys():
        raise Mistake(
            "--set {name}={value}: this is an option of the command; say --{name} {value}.",
            name=name,
            value=settings[name],
        )
    return settings


COMMANDS_OWN = ("seed", "device", "minutes")


def lines_given() -> list[str]:
    """Those of standard input."""
    if sys.stdin.isatty():
        print(Message("one input a line; end with Ctrl-D"), file=sys.stderr)
    lines = [line.rstrip("\r\n") for line in sys.stdin]
    if not lines:
        raise Mistake(
            "standard input is empty, expected one input a line, as in: wenmai predict RUN - < texts.txt"
        )
    return lines


def table_for(
    estimator,
    source: str,
    columns: str,
    target: str | None = None,
    delimiter: str = "",
    predict: bool = False,
):
    """A file for a run, or the test part of data that has one: the columns that it was trained on are found again, by name.
    To `predict`, no answers are wanted, and the other columns go along. What had to be guessed is said."""
    from wenmai.cli.output import say
    from wenmai.data.dataset import open_table
    from wenmai.data.understanding import answer_of, match_columns

    task, inputs, column_names = estimator.task_, estimator.inputs_, columns_from(columns)
    seen = estimator.columns_
    if (
        not seen
        and inputs.kind in ("tokens", "lines")
        and not getattr(inputs, "pairs", False)
        and answer_of(task) is not False
    ):
        seen = {"text": "text"}  # it was trained on no file
    if predict and getattr(
        task, "pairs", False
    ):  # it learned from running text, and is asked about two texts
        seen = {"text_a": "text_a", "text_b": "text_b"}
    table = open_table(source, column_names, target, task, delimiter_from(delimiter), seen.values())
    table = table.held["test"]() if "test" in table.held else table
    table, guess = match_columns(
        table, column_names, seen, task, answers=not predict, beside=predict
    )
    if guess and (sentence := guess.sentence(source, task.name, table.every)):
        say(sentence)
    return table


def load_run(run: Path, device: str, verb: str = "", example: str = ""):
    """The estimator of a run folder. One that lacks the verb that the command needs is refused; `example` trains one that has
    it."""
    from wenmai.data.storage import arrays
    from wenmai.estimators import load
    from wenmai.training import run_folder

    estimator = load(run, device=device)
    if run_folder.is_mapped(estimator.model_):
        cut_off = Message(
            "{file} was cut off while it was in use; make it whole, and start again.",
            file=run / "weights.safetensors",
        )
        arrays.when_cut_off(f"wenmai: {cut_off}")
    if verb and not hasattr(estimator, verb):
        raise Mistake(
            "{run} does {task}, and a run is wanted that does {verb}, as wenmai train {example} makes one.",
            run=run,
            task=estimator.task_name,
            verb=verb,
            example=example,
        )
    return estimator


def alone(context: typer.Context, folder: Path, beside: tuple[str, ...] = ()) -> None:
    """--resume stands alone, but for what may stand `beside` it: anything else was said when it began."""
    for name in context.params:
        if (
            name not in ("resume", "as_json", *beside)
            and context.get_parameter_source(name).name == "COMMANDLINE"
        ):
            raise Mistake(
                "--resume {folder} goes on as it was begun; leave everything else out, such as {option}.",
                folder=folder,
                option=next(p for p in context.command.params if p.name == name).opts[0],
            )
