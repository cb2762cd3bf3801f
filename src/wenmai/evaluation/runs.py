"""One `wenmai train`, from its arguments to its run folder; kept on the way, so that it can be stopped and gone on with."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from wenmai.catalog import TASKS, rung_named
from wenmai.data.dataset import Dataset, open_dataset
from wenmai.errors import Mistake, Stopped
from wenmai.estimator import ESTIMATORS
from wenmai.training import folders, run_folder
from wenmai.training.checkpoints import Checkpoints, interrupts
from wenmai.training.progress import Snapshot


def begin(arguments: dict, out: Path | None, draw: Callable, say: Callable) -> dict:
    opened = opened_for(arguments)
    folder = out or Path("runs") / f"{opened.name.replace(':', '-')}-{arguments['rung']}"
    run_folder.check_place(folder)
    with folders.only_one(folder):
        if (folder / "training").exists():
            raise Mistake(f"{folder} holds a training that was not finished: go on with wenmai train --resume {folder}, or "
                          "remove that folder, or choose another --out.")  # fmt: skip
        kept = Checkpoints(folder)
        kept.begin(absolute(arguments) | {"fingerprint": opened.fingerprint()})
        return carry_out(arguments, opened, folder, kept, None, draw, say)


def go_on(folder: Path, draw: Callable, say: Callable) -> dict:
    folders.recover(folder)
    if not folder.is_dir():
        raise Mistake(f"{folder} is not there; --resume takes the run folder of a training that was stopped.")
    with folders.only_one(folder):
        kept = Checkpoints(folder)
        arguments, snapshot, notes = kept.resume()
        for note in notes:
            say(note)
        opened = opened_for(arguments)
        if opened.fingerprint() != arguments["fingerprint"]:
            raise Mistake(f"{arguments['source']} is not the data that {folder} was trained on: its rows have changed; put "
                          "the old data back, or start anew with wenmai train.")  # fmt: skip
        say(f"going on after {snapshot.facts.get('step') or snapshot.facts.get('epochs') or 0} updates or passes")
        return carry_out(arguments, opened, folder, kept, snapshot, draw, say)


def opened_for(arguments: dict) -> Dataset:
    opened = open_dataset(arguments["source"], TASKS, arguments["task"], arguments["columns"], arguments["valid"],
                          arguments["test"], arguments["seed"], arguments["unseen"], arguments["settings"])  # fmt: skip
    rung_named(arguments["rung"], opened.task.name)
    opened.check()
    return opened


def absolute(arguments: dict) -> dict:
    """Paths as they are from anywhere."""
    paths = {name: str(Path(arguments[name]).resolve()) for name in ("source", "valid", "test")
             if arguments[name] and Path(arguments[name]).exists()}  # fmt: skip
    return arguments | paths


def carry_out(arguments: dict, opened: Dataset, folder: Path, kept: Checkpoints, snapshot: Snapshot | None, draw, say) -> dict:
    rung, options = arguments["rung"], ({} if opened.valid else {"validation": 0.0}) | arguments["settings"]
    options |= {"seed": arguments["seed"], "device": arguments["device"]}
    options |= {"minutes": arguments["minutes"]} if arguments["minutes"] else {}
    estimator = ESTIMATORS[opened.task.name](rung, **options)
    began = time.perf_counter()
    with interrupts() as asked:
        held = opened.valid.pair if opened.valid else None
        for progress in estimator.training(*opened.train.pair, held, opened.train.where, snapshot):
            draw(rung, progress.note or "training", progress)
            kept.keep(estimator, progress, bool(asked))
            if asked and progress.snapshot:
                raise Stopped(f"stopped after {progress.step:,} updates and kept; go on with: wenmai train --resume {folder}")
    seconds = time.perf_counter() - began
    parts = {"valid": opened.valid, "test": opened.test}
    scores = {name: estimator.evaluate(*part.pair, part.where) for name, part in parts.items() if part}
    estimator.save(folder, data=arguments["source"], fingerprint=opened.fingerprint(), scores=scores, seconds=seconds)
    for note in dict.fromkeys(opened.notes + estimator.notes_):
        say(note)
    return {"run": str(folder), "task": opened.task.name, "rung": rung, "scores": scores, "seconds": round(seconds, 2)}
