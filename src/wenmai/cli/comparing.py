"""One `wenmai compare`, from its arguments to its report; the rungs that are done are kept, so that it can be gone on with."""

import time
from pathlib import Path

import typer

from wenmai.catalog import TASKS, known_rung, rung_named
from wenmai.cli.output import SILENT, finish, phase, say
from wenmai.cli.overview import metric_name
from wenmai.cli.training import absolute
from wenmai.data.dataset import Dataset, open_dataset
from wenmai.data.files.opening import allow
from wenmai.errors import Mistake, Stopped
from wenmai.evaluation import report as reporting
from wenmai.evaluation.compare import check_metric, compare, suited_rungs
from wenmai.evaluation.unfinished import Unfinished
from wenmai.locale import Message, language
from wenmai.page.leaderboard import leaderboard, more_tables
from wenmai.page.terminal import Bars, bars, console
from wenmai.training import folders
from wenmai.training.interrupts import number_of
from wenmai.training.run_folder import columns_of

ARGUMENTS = (
    "source",
    "minutes",
    "rungs",
    "with",
    "target",
    "valid",
    "test",
    "columns",
    "task",
    "unseen",
    "settings",
    "seeds",
    "seed",
    "device",
    "runs",
    "replace",
    "delimiter",
    "skip_bad",
    "max_line",
    "max_rows",
    "metric",
)


def begin(arguments: dict, out: Path | None, as_json: bool, started: float) -> None:
    """`started`: when the command did, of whose minutes this is part."""
    for name in arguments["rungs"] or ():
        known_rung(name)  # before anything is read
    dataset = dataset_for(arguments)
    folder = out or Path("reports") / dataset.name.replace(":", "-")
    kept = Unfinished(folder)
    reporting.check_place(folder)
    with folders.only_one(folder):
        known = absolute(arguments, ("source", "target", "valid", "test"))
        known["runs"] = str(Path(arguments["runs"]).resolve())
        known["with"] = [
            str(Path(run).resolve()) if Path(run).exists() else run for run in arguments["with"]
        ]
        known["settings"] = absolute(arguments["settings"], ("embedding",))
        carry_out(
            arguments,
            dataset,
            kept,
            as_json,
            started,
            known | {"fingerprint": dataset.fingerprints()},
        )


def go_on(folder: Path, minutes: float | None, as_json: bool, started: float) -> None:
    """With what was stopped; with the rungs that were not decided, where all were done. `minutes`: for these alone."""
    kept = Unfinished(folder)
    with folders.only_one(folder):
        again = kept.reopen()
        arguments = kept.arguments((*ARGUMENTS, "fingerprint"))
        dataset = dataset_for(arguments)
        if dataset.fingerprints() != arguments["fingerprint"]:
            raise Mistake(
                "{data} is not what {folder} compared: its rows have changed; put the old data back, or start anew "
                "with wenmai compare.",
                data=arguments["source"],
                folder=folder,
            )
        if again or minutes:
            spent = kept.seconds(arguments["rungs"] or suited_rungs(dataset)) / 60
            kept.rewrite(arguments | {"minutes": spent + (minutes or arguments["minutes"])})
            arguments = kept.arguments((*ARGUMENTS, "fingerprint"))
        carry_out(arguments, dataset, kept, as_json, started)


def dataset_for(arguments: dict) -> Dataset:
    names = (
        "task",
        "columns",
        "valid",
        "test",
        "seed",
        "unseen",
        "settings",
        "target",
        "delimiter",
        "skip_bad",
    )
    allow(arguments["max_line"], arguments["max_rows"])
    with phase(arguments["source"], Message("reading")):
        dataset = open_dataset(
            arguments["source"],
            TASKS,
            **{name: arguments[name] for name in names},
            seen=columns_of(arguments["with"]),
        )
    if dataset.guess:
        say(dataset.guess)
    for name in arguments["rungs"] or ():
        rung_named(name, dataset.task.name)
    dataset.check()
    check_metric(dataset.task, arguments["metric"])
    return dataset


def carry_out(
    arguments: dict,
    dataset: Dataset,
    kept: Unfinished,
    as_json: bool,
    started: float,
    begun: dict | None = None,
) -> None:
    """`begun`: what is kept of the arguments, where they are new."""

    def steps(rungs: list[str] | None, with_runs: list[str]):
        return compare(
            dataset,
            arguments["minutes"],
            rungs,
            arguments["seed"],
            arguments["seeds"],
            arguments["device"],
            tuple(with_runs),
            arguments["settings"],
            Path(arguments["runs"]),
            kept,
            begun,
            arguments["replace"],
            arguments["metric"],
            started,
        )

    names, done = arguments["rungs"] or suited_rungs(dataset), {}
    if begun is None:
        done = kept.done(names)
    left = arguments["minutes"] * 60 - sum(one.seconds for one in done.values())
    number = 0
    try:
        with bars(SILENT.get()) as draw:
            draw.metric, draw.end = (
                metric_name(dataset.task.profile.judged or dataset.task.metric),
                time.monotonic() + left,
            )
            report = draw.through(
                numbered(steps(arguments["rungs"], arguments["with"]), draw, len(done), len(names))
            )
    except KeyboardInterrupt as interrupt:
        if begun is not None and not kept.begun:
            raise  # nothing of it is kept, and what stands there is another's
        number, begun = number_of(interrupt), None
        done = kept.done(arguments["rungs"] or suited_rungs(dataset))
        if not done and kept.begun:
            kept.remove()
            raise
        if not done:
            raise Stopped(
                "stopped before the next rung was done; go on with: {command}", command=kept.command
            ).by(number) from None
        with bars(SILENT.get()) as draw:
            report = draw.through(steps(list(done), []))
    shown(report, as_json)
    result = {
        "data": arguments["source"],
        "task": report["task"],
        "rungs": report["rungs"],
        "recommendation": report["recommendation"],
    }
    if number:
        finish(result, as_json, quiet=True)
        raise Stopped(
            "stopped; the rungs above are done and kept, and the others are not; go on with: {command}",
            command=kept.command,
        ).by(number)
    try:
        written = reporting.write(report, kept.report)
    except Mistake as mistake:
        raise Mistake(
            "{note} What was kept before stands there still; when there is room, go on with: {command}",
            note=mistake.message,
            command=kept.command,
        ) from None
    kept.finish(report)
    if not as_json:
        page = next(path for path in written if path.suffix == ".html")
        console.print(Message("Report: {file}", file=page).told_in(language()))
    finish(result | {"report": str(kept.report / "report.html")}, as_json, quiet=True)
    if any(row["failed"] for row in report["rungs"]):
        raise typer.Exit(1)


def numbered(steps, draw: Bars, done: int, count: int):
    """Which of how many rungs it is goes along with every stage."""
    names = []
    while True:
        try:
            name, stage, progress = next(steps)
        except StopIteration as end:
            return end.value
        names += [name] if name not in names else []
        at = done + names.index(name) + 1
        draw.place = Message("{number} of {count}", number=at, count=count) if at <= count else ""
        yield name, stage, progress


def shown(report: dict, as_json: bool) -> None:
    lang = language()
    if not as_json:
        console.print(leaderboard(report, lang, console.width))
        for table in more_tables(report, lang):
            console.print(table)
        if report["recommendation"]:
            console.print(report["recommendation"]["reason_zh" if lang == "zh" else "reason"])
