"""Commands that look at data and at the whole ladder: demo, data, rungs, compare, probe."""

from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli.arguments import AsJson, Columns, Data, Device, Out, Seed, Set, Target, Task, Test, Unseen, Valid
from wenmai.cli.given import columns_from, settings_from
from wenmai.cli.output import finish, say
from wenmai.errors import unknown
from wenmai.locale import Message, language


def demo(out: Out = Path("reports/languages"), minutes: float = 3.0, seed: Seed = 0, as_json: AsJson = False) -> None:
    """Compare every rung on built-in data: which language is this name in?"""
    compare("languages", minutes=minutes, seed=seed, out=out, as_json=as_json)


def data(source: Annotated[str, typer.Argument()] = "", columns: Columns = "", task: Task = "", valid: Valid = "",
         test: Test = "", target: Target = "", settings: Set = [], as_json: AsJson = False) -> None:  # fmt: skip # noqa: B006
    """Show what was understood of a file; without one, list the built-in sets."""
    from wenmai.cli import overview
    from wenmai.data.builtin import BUILTIN

    if not source:
        return finish(overview.builtin_sets(BUILTIN.values(), language()), as_json)
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset, open_table, says_no_task

    if not task and (sentence := says_no_task(table := open_table(source, columns_from(columns), target or None), TASKS)):
        return finish(overview.table(table, sentence, language()), as_json)
    more = {"settings": settings_from(settings), "target": target or None}
    dataset = open_dataset(source, TASKS, task or None, columns_from(columns), valid or None, test or None, **more)
    finish(overview.data_set(dataset, language()), as_json)


def rungs(
    name: Annotated[str, typer.Argument(help="A rung, to see its options.")] = "",
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
    source: Data,
    minutes: Annotated[float, typer.Option(min=0.01, help="For all rungs together, shared equally.")] = 5.0,
    only: Annotated[str, typer.Option("--rungs", help="Only these: softmax,cnn,gru.")] = "",
    with_: Annotated[list[str], typer.Option("--with", help="A run to add as a row. May be repeated.")] = [],  # noqa: B006
    target: Target = "", valid: Valid = "0.1", test: Test = "0.1", columns: Columns = "", task: Task = "", unseen: Unseen = False,
    settings: Set = [],  # noqa: B006
    seeds: Annotated[int, typer.Option(min=1, help="Train each rung so many times; the spread is shown.")] = 1,
    seed: Seed = 0, device: Device = "auto",
    out: Annotated[Path | None, typer.Option(help="The report's folder; reports/DATA without it.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Train every rung under one budget; one leaderboard, one report, one recommendation."""
    from wenmai.catalog import TASKS, rung_named
    from wenmai.data.dataset import open_dataset
    from wenmai.evaluation import compare as comparing
    from wenmai.evaluation import report as reporting
    from wenmai.page import lengths
    from wenmai.page.leaderboard import leaderboard
    from wenmai.page.terminal import bars, console

    given = settings_from(settings)
    dataset = open_dataset(source, TASKS, task or None, columns_from(columns), valid, test, seed, unseen, given, target or None)
    names = [rung_named(name, dataset.task.name).name for name in only.split(",")] if only else None
    dataset.check()
    folder = Path(out or Path("reports") / dataset.name.replace(":", "-"))
    folder.mkdir(parents=True, exist_ok=True)
    steps = comparing.compare(dataset, minutes, names, seed, seeds, device, tuple(with_), given)
    with bars() as draw:
        report = draw.through(steps)
    written = reporting.write(report, folder)
    lang = language()
    if not as_json:
        console.print(leaderboard(report, lang, console.width))
        if by_length := lengths.on_terminal(report, lang):
            console.print(by_length)
        if report["recommendation"]:
            console.print(report["recommendation"]["reason_zh" if lang == "zh" else "reason"])
        console.print(Message("Report: {file}", file=next(path for path in written if path.suffix == ".html")).told_in(lang))
    finish({"data": source, "task": report["task"], "rungs": report["rungs"], "recommendation": report["recommendation"],
            "report": str(folder / "report.html")}, as_json, quiet=True)  # fmt: skip


def probe(
    name: Annotated[str, typer.Argument(help="A probe; without one they are listed.")] = "",
    source: Annotated[str, typer.Argument(help="What it reads: a file, or a built-in set; its own without one.")] = "",
    columns: Columns = "",
    settings: Annotated[list[str], typer.Option("--set", help="An option of the probe or its tokenizer, key=value.")] = [],  # noqa: B006
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="The folder for what was found; reports/probe-NAME without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a small experiment that shows why a rung is built as it is: a table and a picture."""
    from wenmai.cli import overview
    from wenmai.evaluation.probes import PROBES, probe_named
    from wenmai.page.terminal import bars

    if not name:
        return finish(overview.probes(PROBES.values(), language()), as_json)
    chosen, folder = probe_named(name), out or Path("reports") / f"probe-{name}"
    with bars() as draw:
        finding = draw.through(chosen.run(source or chosen.data, columns_from(columns), settings_from(settings), seed))
    written = finding.write(name, folder)
    if not as_json:
        finding.show(language())
    say("written to {file}", file=folder)
    finish(finding.known | {"files": [str(path) for path in written]}, as_json, quiet=True)
