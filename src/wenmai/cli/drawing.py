"""draw: the structure of a rung or a run, as a picture or as Mermaid."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import completion
from wenmai.cli.arguments import AsJson, Set, Task
from wenmai.cli.given import load_run, settings_from
from wenmai.cli.output import finish, say
from wenmai.errors import Mistake, unknown
from wenmai.locale import language

FORMATS = {".svg": "svg", ".png": "png", ".mmd": "mermaid", ".mermaid": "mermaid", ".md": "mermaid"}


def draw(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUNG_OR_RUN",
            help="A rung, or a run folder that `wenmai train` made.",
            autocompletion=completion.rungs_and_runs,
        ),
    ],
    task: Task = "",
    data: Annotated[
        str,
        typer.Option(help="Draw a rung for the tokens and classes of this file, or built-in set."),
    ] = "",
    settings: Set = [],  # noqa: B006
    format: Annotated[
        str, typer.Option(help="svg, mermaid or png; without it, as --out ends.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; without it, the picture is shown as text."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a rung or a run as textbooks do, unrolled over time, with its shapes and counts."""
    kind = format or (FORMATS.get(out.suffix.lower(), "") if out else "")
    if kind not in ("", *FORMATS.values()):
        raise unknown("format", kind, sorted(set(FORMATS.values())))
    if out and not kind:
        raise Mistake(
            "--out {file}: its name ends neither in .svg, .png nor .mmd; say which with --format svg, png or mermaid.",
            file=out,
        )
    if kind == "png" and not out:
        raise Mistake(
            "--format png: a picture is no text; say where it is to be written, as in --out {file}.",
            file=f"{Path(what).name}.png",
        )
    diagram = drawn(what, task, data, settings_from(settings))
    for note in diagram.notes if kind or as_json else ():
        say(note)
    if kind:
        deliver(diagram, kind, out)
    elif not as_json:
        from wenmai.page.inspection_terminal import show_panel
        from wenmai.page.terminal import Screen

        show_panel(diagram, Screen(highlight=False), language())
    if as_json:
        boxes, arrows = (
            [asdict(part) for part in parts] for parts in (diagram.boxes, diagram.arrows)
        )
        finish(
            {"drawn": what, "boxes": boxes, "arrows": arrows, "out": str(out) if out else None},
            True,
        )


def drawn(what: str, task: str, data: str, settings: dict):
    """Of a rung where one is called so, else of the run that stands there."""
    from wenmai.catalog import RUNGS, TASKS, known_rung
    from wenmai.inspection import structure

    if what not in RUNGS and Path(what).exists():
        for name, value in (("--task", task), ("--data", data), ("--set", settings)):
            if value:
                raise Mistake(
                    "{what} is a run, which has settled its task, data and options; leave {option} out.",
                    what=what,
                    option=name,
                )
        return structure.of_run(load_run(Path(what), "cpu"))
    known_rung(what)
    rows = None
    if data:
        from wenmai.data.dataset import open_dataset

        dataset = open_dataset(data, TASKS, task or None)
        task, rows = dataset.task.name, dataset.train.pair
    return structure.of_rung(what, task, settings, rows)


def deliver(diagram, kind: str, out: Path | None) -> None:
    """Into the file, or onto standard output."""
    from wenmai.data.files.packing import packed
    from wenmai.page.panel_diagram import mermaid
    from wenmai.page.panel_pictures import picture

    name = "png" if kind == "png" else f"{language()}.svg"
    text = (
        mermaid(diagram)
        if kind == "mermaid"
        else picture(diagram, "structure", (kind,))[f"structure.{name}"]
    )
    if out is None:
        sys.stdout.write(text)
        return
    with packed(out) as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    say("written to {file}", file=out)
