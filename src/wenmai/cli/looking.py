"""The command that looks inside: inspect."""

from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import advice, completion
from wenmai.cli.arguments import AsJson, Columns, Device, Run
from wenmai.cli.given import columns_from, lines_given, load_run
from wenmai.cli.output import finish, phase, say
from wenmai.errors import Mistake, typed
from wenmai.locale import Message


def inspect(
    run: Run,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="One input: a text, two texts, numbers as 1,2,3, an image; - reads a "
            "text from standard input."
        ),
    ] = None,
    show: Annotated[
        str, typer.Option(help="Which panels: attention,gates,attribution,switches,… or all.")
    ] = "",
    off: Annotated[
        list[str],
        typer.Option(help="Switch this off: block.0.attention:3, lstm.0.forget=0, word=good."),
    ] = [],  # noqa: B006
    out: Annotated[
        Path | None, typer.Option(help="Write page, pictures and numbers into this folder.")
    ] = None,
    others: Annotated[
        list[Path],
        typer.Option(
            "--with",
            help="Another run, side by side. May be repeated.",
            autocompletion=completion.runs,
        ),
    ] = [],  # noqa: B006
    steps: Annotated[
        bool, typer.Option("--steps", help="Over the checkpoints that train --keep kept.")
    ] = False,
    data: Annotated[
        str, typer.Option(help="What the run learned from, for the rows nearest to the input.")
    ] = "",
    columns: Columns = "",
    choice: Annotated[list[str], typer.Option(help="An answer to choose among; two or more.")] = [],  # noqa: B006
    target: Annotated[
        str, typer.Option(help="The text that is written, where it is not the model's own.")
    ] = "",
    analogy: Annotated[
        list[str], typer.Option(help="Three words, as in man:king:woman. May be repeated.")
    ] = [],  # noqa: B006
    mapping: Annotated[
        str, typer.Option("--map", help="How words become a map: pca or tsne.")
    ] = "pca",
    cell: Annotated[
        str, typer.Option(help="Which square of the map is opened: layer,head,row,column.")
    ] = "",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Look inside a run: attention, gates, what moved the answer, and what happens when parts are switched off."""
    from wenmai.inspection import inspecting
    from wenmai.page import inspection_page, inspection_terminal

    if not inputs:
        raise Mistake(
            'inspect needs a run and one input, as in wenmai inspect runs/reviews-gru "a truly good film".'
        )
    if not (run / "run.json").is_file():
        advice.check_run_order("inspect", run, inputs)
    if steps and (others or data or off):
        raise Mistake(
            "--steps shows one run over its checkpoints; leave --with, --data and --off out."
        )
    if out is not None:
        inspection_page.check_place(out)
    estimator = load_run(run, device)
    value = value_of(estimator, ["\n".join(lines_given())] if inputs == ["-"] else inputs, choice)
    with phase(run.name, Message("looking inside")):
        if steps:
            from wenmai.inspection.kept import estimators_of

            inspection = inspecting.over_time(
                estimators_of(run, estimator), value, show, run=str(run)
            )
        else:
            beside = {str(other): load_run(other, device) for other in others}
            check_same(estimator, beside)
            rows = learned_rows(run, estimator, data, columns) if data else (None, None)
            inspection = inspecting.inspect(
                estimator,
                value,
                show,
                off=off,
                beside=beside,
                run=str(run),
                target=target or None,
                analogies=analogy,
                map=mapping,
                cell=cell,
                rows=rows[0],
                tokens=rows[1],
            )
    if as_json:
        from wenmai.page.panels_json import to_json

        for note in inspection.notes:
            say(note)
        document = to_json(inspection)[0]
    else:
        document = {}
        inspection_terminal.show(inspection)
    if out is not None:
        files = inspection_page.write(inspection, out)
        say(
            "{count} files, written to {folder}; open {page}",
            count=len(files),
            folder=out,
            page=typed(out / "index.html"),
        )
    finish(
        {
            "run": str(run),
            "task": estimator.task_name,
            "rung": estimator.rung,
            **({"out": str(out)} if out else {}),
            **document,
        },
        as_json,
        quiet=True,
    )


def value_of(estimator, arguments: list[str], choices: list[str]):
    """One input of the run's kind."""
    from wenmai.cli.answers import read_arguments

    if hasattr(estimator, "answer"):  # a context and a question
        if len(arguments) != 2:
            raise Mistake(
                "this run answers questions: found {found} texts, expected two, a context and a question.",
                found=len(arguments),
            )
        return (*arguments, choices) if choices else tuple(arguments)
    if choices:
        raise Mistake("--choice goes with a run that chooses an answer; leave it out.")
    if len(arguments) == 1 and getattr(
        estimator.task_, "pairs", False
    ):  # an encoder, asked about two texts, reads one as well
        return arguments[0]
    values = read_arguments(estimator, arguments)
    if len(values) != 1:
        raise Mistake(
            "inspect looks at one input at a time: found {found}; put a text in quotes.",
            found=len(values),
        )
    return values[0]


def check_same(estimator, others: dict) -> None:
    """Runs side by side read the same kind of input."""
    for name, other in others.items():
        if other.inputs_.kind != estimator.inputs_.kind:
            raise Mistake(
                "{run} reads {found}, and the first run {expected}; side by side stand runs that read the same.",
                run=name,
                found=other.inputs_.kind,
                expected=estimator.inputs_.kind,
            )


def learned_rows(run: Path, estimator, source: str, columns: str) -> tuple:
    """((inputs, targets, where each stands), None) of the rows that a run learned from, or (None, tokens) of running text; a
    Mistake where the file is not that: its fingerprint is another."""
    import numpy as np

    from wenmai.cli.training import HELD_OUT
    from wenmai.data.dataset import open_dataset
    from wenmai.data.storage import saved as take

    about = take.json_in(run / "run.json")
    split = about.get("split") or {"valid": HELD_OUT}
    column_names = columns_from(columns) or None
    for valid in dict.fromkeys((split.get("valid"), None)):
        dataset = open_dataset(
            source,
            {estimator.task_.name: type(estimator.task_)},
            estimator.task_.name,
            column_names,
            valid,
            split.get("test"),
            split.get("seed", 0),
            split.get("unseen", False),
            {},
            split.get("target"),
            split.get("delimiter"),
            split.get("skip_bad", False),
        )
        if dataset.fingerprint() == about.get("fingerprint"):
            if dataset.task.running_text:
                return None, np.concatenate(
                    [block for block in estimator.inputs_.token_blocks(dataset.train.inputs)]
                )
            return (*dataset.train.pair, dataset.train.where), None
    raise Mistake(
        "{file} is not what {run} learned from: its rows have another fingerprint; give the file that it was trained "
        "on, as it was then.",
        file=source,
        run=run,
    )
