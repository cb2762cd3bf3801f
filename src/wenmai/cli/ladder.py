"""Commands that look at data and at the whole ladder: demo, data, rungs, compare, probe."""

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import completion
from wenmai.cli.arguments import (
    DATA,
    AsJson,
    Columns,
    Delimiter,
    Device,
    MaxLine,
    MaxRows,
    Out,
    Quiet,
    Replace,
    Seed,
    Set,
    SkipBad,
    Target,
    Task,
    Test,
    Unseen,
    Valid,
)
from wenmai.cli.given import COMMANDS_OWN, alone, columns_from, delimiter_from, settings_from
from wenmai.cli.output import SILENT, finish, phase, say
from wenmai.errors import Mistake, unknown
from wenmai.locale import Message, language

# Names in six languages, networks as small as they are, and passes counted rather than minutes where these suffice: so that most
# rungs converge, and another machine, or a busy one, shows the same.
DEMO = ["epochs=9", "threads=1", "hidden=64", "embed=32", "width=48", "layers=1", "filters=32"]


def demo(
    out: Out = Path("reports/languages"),
    minutes: float = 5.0,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare every rung on built-in data: which language is this name in?"""
    compare(
        None,
        "languages:few",
        minutes=minutes,
        test="0.3",
        settings=DEMO,
        seed=seed,
        out=out,
        as_json=as_json,
    )


def data(
    source: Annotated[str, typer.Argument(help=DATA, autocompletion=completion.data)] = "",
    columns: Columns = "",
    task: Task = "",
    valid: Valid = "",
    test: Test = "",
    target: Target = "",
    delimiter: Delimiter = "",
    skip_bad: SkipBad = False,
    max_line: MaxLine = 0,
    max_rows: MaxRows = 0,
    settings: Set = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Show what was understood of a file; without one, list the built-in sets."""
    from wenmai.cli import overview
    from wenmai.data.builtin import BUILTIN

    if not source:
        return finish(overview.builtin_sets(BUILTIN.values(), language()), as_json)
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset, open_table, says_no_task, understood
    from wenmai.data.files.opening import allow

    allow(max_line, max_rows)
    column_names, mark = columns_from(columns), delimiter_from(delimiter)
    if not task:
        table, _ = understood(
            open_table(source, column_names, target or None, delimiter=mark),
            column_names,
            TASKS,
            None,
        )
        if sentence := says_no_task(table, TASKS):
            return finish(overview.table(table, sentence, language()), as_json)
    more = {
        "settings": settings_from(settings),
        "target": target or None,
        "delimiter": mark,
        "skip_bad": skip_bad,
    }
    dataset = open_dataset(
        source, TASKS, task or None, column_names, valid or None, test or None, **more
    )
    finish(overview.data_set(dataset, language()), as_json)


def rungs(
    name: Annotated[
        str, typer.Argument(help="A rung, to see its options.", autocompletion=completion.rungs)
    ] = "",
    task: Annotated[str, typer.Option(help="For this task; for its first one without it.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the rungs of the ladder, or the options of one."""
    from wenmai.catalog import RUNGS, rung_named
    from wenmai.cli import overview
    from wenmai.estimators import ESTIMATORS

    if not name:
        return finish(overview.ladder(RUNGS.values(), language()), as_json)
    if task and task not in ESTIMATORS:
        raise unknown("task", task, ESTIMATORS)
    task = task or (RUNGS[name].tasks[0] if name in RUNGS else "")
    rung_named(name, task)
    finish(overview.options_of(ESTIMATORS[task](name), language()), as_json)


def compare(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help=DATA, autocompletion=completion.data)] = "",
    minutes: Annotated[
        float, typer.Option(min=0.01, help="For all rungs together, shared equally.")
    ] = 5.0,
    only: Annotated[str, typer.Option("--rungs", help="Only these: softmax,cnn,gru.")] = "",
    with_: Annotated[
        list[str],
        typer.Option(
            "--with",
            help="A run to add as a row, or a checkpoint to fine-tune. May be repeated.",
            autocompletion=completion.runs,
        ),
    ] = [],  # noqa: B006
    target: Target = "",
    valid: Valid = "0.1",
    test: Test = "0.1",
    columns: Columns = "",
    task: Task = "",
    unseen: Unseen = False,
    delimiter: Delimiter = "",
    skip_bad: SkipBad = False,
    max_line: MaxLine = 0,
    max_rows: MaxRows = 0,
    settings: Set = [],  # noqa: B006
    metric: Annotated[
        str, typer.Option(help="Rank and recommend by this score of the task, such as macro_f1.")
    ] = "",
    seeds: Annotated[
        int,
        typer.Option(
            min=1, help="Train each rung so many times: their mean counts, and their spread."
        ),
    ] = 1,
    seed: Seed = 0,
    device: Device = "auto",
    out: Annotated[
        Path | None, typer.Option(help="The report's folder; reports/DATA without it.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on with a comparison: what was stopped, or is undecided."),
    ] = None,
    replace: Replace = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train every rung under one budget; one leaderboard, one report, one recommendation."""
    started = time.perf_counter()
    if resume is None and not source:
        raise Mistake(
            "compare needs data, as in wenmai compare reviews.csv; `wenmai data` lists the built-in sets."
        )
    if resume is not None:
        alone(context, resume, ("minutes",))
    with phase(source or resume.name, Message("starting")):
        from wenmai.cli import comparing

    if resume is not None:
        minutes_given = context.get_parameter_source("minutes").name == "COMMANDLINE"
        return comparing.go_on(resume, minutes if minutes_given else None, as_json, started)
    rungs = [name.strip() for name in re.split("[,，、]", only)] if only else None
    arguments = {
        "source": source,
        "minutes": minutes,
        "rungs": rungs,
        "with": with_,
        "target": target or None,
        "valid": valid,
        "test": test,
        "columns": columns_from(columns),
        "task": task or None,
        "unseen": unseen,
        "settings": settings_from(settings, COMMANDS_OWN),
        "seeds": seeds,
        "seed": seed,
        "device": device,
        "runs": "runs",
        "replace": replace,
        "delimiter": delimiter_from(delimiter),
        "skip_bad": skip_bad,
        "max_line": max_line,
        "max_rows": max_rows,
        "metric": metric or None,
    }
    comparing.begin(arguments, out, as_json, started)


def probe(
    name: Annotated[str, typer.Argument(help="A probe; without one they are listed.")] = "",
    source: Annotated[
        str, typer.Argument(help="What it reads: a file, or a built-in set; its own without one.")
    ] = "",
    columns: Columns = "",
    settings: Annotated[
        list[str], typer.Option("--set", help="An option of the probe or its tokenizer, key=value.")
    ] = [],  # noqa: B006
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for what was found; reports/probe-NAME without it."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run a small experiment that shows why a rung is built as it is: a table and a picture."""
    from wenmai.cli import overview
    from wenmai.evaluation.probes import PROBES, probe_named
    from wenmai.evaluation.probes.finding import check_place
    from wenmai.page.terminal import bars

    if not name:
        return finish(overview.probes(PROBES.values(), language()), as_json)
    chosen, folder = probe_named(name), out or Path("reports") / f"probe-{name}"
    check_place(name, folder)
    with bars(SILENT.get()) as draw:
        finding = draw.through(
            chosen.run(source or chosen.data, columns_from(columns), settings_from(settings), seed)
        )
    written = finding.write(name, folder)
    if not as_json:
        finding.show(language())
    say("written to {file}", file=folder)
    finish(finding.known | {"files": [str(path) for path in written]}, as_json, quiet=True)
