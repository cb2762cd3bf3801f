"""Commands that look at what is kept: runs, info."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from wenmai.cli import completion
from wenmai.cli.arguments import AsJson, Run
from wenmai.cli.output import finish
from wenmai.errors import Mistake, typed
from wenmai.locale import language


def runs(
    folder: Annotated[
        Path, typer.Argument(help="Where they stand.", autocompletion=completion.runs)
    ] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """List the runs of a folder: what each does, its data, its score, its size."""
    from wenmai.cli import overview

    if folder.is_file():
        raise Mistake(
            "{folder} is a file, where a folder of runs is expected; wenmai runs without a name looks into runs/.",
            folder=folder,
        )
    if not folder.is_dir():
        raise Mistake(
            "{folder} is not there; wenmai train and wenmai compare keep their runs in runs/, where they are started.",
            folder=folder,
        )
    if (folder / "run.json").is_file():
        raise Mistake(
            "{folder} is a run itself; say wenmai info {place}.", folder=folder, place=typed(folder)
        )
    known = [
        kept_in(path)
        for path in folder.iterdir()
        if (path / "run.json").is_file() or (path / "training").is_dir()
    ]
    finish(overview.runs(folder, sorted(known, key=lambda run: run["when"]), language()), as_json)


def info(run: Run, as_json: AsJson = False) -> None:
    """Tell all of a run: what it is, when and from what it was trained, its scores, its size, and what to do with it."""
    from wenmai.catalog import TASKS, rung_named
    from wenmai.cli import overview
    from wenmai.data.storage import saved as take
    from wenmai.training import run_folder

    about = run_folder.read(run).about
    with run_folder.understood(run / "run.json"):
        task = TASKS[take.one_of(take.value(about, "task"), "name", tuple(TASKS))].from_json(
            about["task"]
        )
        rung, columns = rung_named(take.text(about, "rung"), task.name), take.columns(about)
    known = kept_in(run) | {"columns": columns, "about": rung.about, "about_zh": rung.about_zh}
    data, place = typed(known["data"] or "DATA"), typed(run)
    known["next"] = [
        f"wenmai {task.profile.next_command.format(run=place)}",
        f"wenmai evaluate {place} DATA",
        f"wenmai compare {data} --with {place}",
    ]
    finish(overview.run(known, language()), as_json)


def kept_in(folder: Path) -> dict:
    """What a run folder says of itself, as far as it can be read; a training that was not finished says how to go on."""
    about = {}
    place = next(
        (path for path in (folder / "run.json", folder / "training") if path.exists()), folder
    )
    when = datetime.fromtimestamp(place.stat().st_mtime).isoformat(sep=" ", timespec="minutes")
    try:
        about = json.loads((folder / "run.json").read_text("utf-8"))
        about = about if isinstance(about, dict) else {}
    except (OSError, ValueError, RecursionError):
        pass
    known = {
        name: about.get(name) for name in ("rung", "data", "options", "scores", "seconds", "wenmai")
    }
    task = about["task"].get("name") if isinstance(about.get("task"), dict) else None
    state = "finished" if about else "unfinished" if (folder / "training").is_dir() else "damaged"
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"run": str(folder), "task": task, **known, "bytes": size, "when": when, "state": state}
