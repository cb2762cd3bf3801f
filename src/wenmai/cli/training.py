"""One `wenmai train`, from its arguments to its run folder; kept on the way, so that it can be stopped and gone on with.

Under torchrun every process comes through here; the first of them speaks, and writes the folder."""

import os
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from pathlib import Path

from wenmai.catalog import TASKS, rung_named
from wenmai.data.dataset import Dataset, open_dataset
from wenmai.data.files.pairs import two_files
from wenmai.errors import Mistake, Stopped
from wenmai.estimators import ESTIMATORS
from wenmai.locale import Message
from wenmai.training import folders, run_folder
from wenmai.training.checkpoints import Checkpoints, interrupts
from wenmai.training.distributed import Team, companions, team
from wenmai.training.progress import Diverged, Snapshot
from wenmai.training.updater import repeatable

HELD_OUT = "0.1"  # of the rows, to judge training by, unless the user says otherwise


def begin(arguments: dict, out: Path | None, draw: Callable, say: Callable) -> dict:
    with companions():
        dataset, together = dataset_for(arguments), team()
        folder = out or Path("runs") / f"{dataset.name.replace(':', '-')}-{arguments['rung']}"
        # torchrun starts the same command again when a process was lost
        if together.broadcast(run_folder.unfinished(folder)) and int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)):
            return go_on(folder, draw, say)
        with written_by_first(folder, together):
            kept = Checkpoints(folder, together)
            if together.rank == 0:
                run_folder.check_place(folder)
                if arguments.get("from") and Path(arguments["from"]).resolve() == folder.resolve():
                    raise Mistake("{run} is the run that this training starts from, and would be replaced by it; choose another "
                                  "--out.", run=folder)  # fmt: skip
                kept.begin(absolute(arguments) | {"fingerprint": dataset.fingerprint(), "processes": together.size})
            return carry_out(arguments, dataset, folder, kept, None, together, draw, say)


def go_on(folder: Path, draw: Callable, say: Callable) -> dict:
    with companions():
        together = team()
        if folder.is_file():
            raise Mistake("{file} is a file; --resume takes the run folder of a training that was stopped.", file=folder)
        with written_by_first(folder, together):
            if not folder.is_dir():
                raise Mistake("{folder} is not there; --resume takes the run folder of a training that was stopped.",
                              folder=folder)  # fmt: skip
            kept = Checkpoints(folder, together)
            arguments, snapshot, notes = together.broadcast(kept.resume() if together.rank == 0 else None)
            kept.arguments = arguments
            for note in notes if together.rank == 0 else ():
                say(note)
            if arguments["processes"] != together.size:
                before = arguments["processes"]
                raise Mistake("{folder} was trained by {before} processes, and there are {now} now; go on with {command}.",
                              folder=folder, before=before, now=together.size, command=resuming(folder, before))  # fmt: skip
            dataset = dataset_for(arguments)
            if dataset.fingerprint() != arguments["fingerprint"]:
                raise Mistake("{data} is not the data that {folder} was trained on: its rows have changed; put the old data "
                              "back, or start anew with wenmai train.", data=arguments["source"], folder=folder)  # fmt: skip
            if together.rank == 0:
                say("going on after {done} updates or passes",
                    done=snapshot.facts.get("step") or snapshot.facts.get("epochs") or 0)  # fmt: skip
            return carry_out(arguments, dataset, folder, kept, snapshot, together, draw, say)


@contextmanager
def written_by_first(folder: Path, together: Team):
    """Alone or the first, this process owns the folder; the others wait until it does."""
    if together.rank:
        together.broadcast(None)
        yield
        return
    with folders.only_one(folder):
        together.broadcast(None)
        yield


def resuming(folder: Path, processes: int) -> str:
    """The command that goes on."""
    many = f"torchrun --nproc-per-node {processes} -m " if processes > 1 else ""
    return f"{many}wenmai train --resume {folder}"


def dataset_for(arguments: dict) -> Dataset:
    def held_out_by(valid: str | None) -> Dataset:
        return open_dataset(arguments["source"], TASKS, arguments["task"], arguments["columns"], valid, arguments["test"],
                            arguments["seed"], arguments["unseen"], arguments["settings"], arguments.get("target"))  # fmt: skip

    dataset = held_out_by(arguments["valid"] or HELD_OUT)
    with dataset.train.named():
        rung = rung_named(arguments["rung"], dataset.task.name)
    if dataset.task.running_text and not arguments["valid"] and not rung.tunes:
        dataset = held_out_by(None)  # it learns from all of the text
    dataset.check()
    return dataset


def absolute(arguments: dict) -> dict:
    """Paths as they are from anywhere."""

    def everywhere(given: str) -> str:
        files = two_files(given) or (given,)
        return ",".join(str(Path(file).resolve()) for file in files) if all(Path(file).exists() for file in files) else given

    names = ("source", "target", "valid", "test", "from")
    return arguments | {name: everywhere(arguments[name]) for name in names if arguments.get(name)}


def carry_out(arguments: dict, dataset: Dataset, folder: Path, kept: Checkpoints, snapshot: Snapshot | None, together: Team,
              draw, say) -> dict:  # fmt: skip
    rung, options = arguments["rung"], ({} if dataset.valid else {"validation": 0.0}) | arguments["settings"]
    options |= {"seed": arguments["seed"], "device": arguments["device"]}
    options |= {"minutes": arguments["minutes"]} if arguments["minutes"] else {}
    estimator, speaks = ESTIMATORS[dataset.task.name](rung, **options), together.rank == 0
    began, warnings = time.perf_counter(), []
    # what cannot be kept on the way is stopped at once
    with interrupts() if rung_named(rung, dataset.task.name).tunes else nullcontext([]) as asked:
        held = dataset.valid.pair if dataset.valid else None
        try:
            start = arguments.get("from")
            for progress in estimator.training(*dataset.train.pair, held, dataset.train.where, snapshot, start=start):
                stop = together.any(asked)
                if speaks:
                    draw(rung, progress.note or Message("training"), progress)
                if speaks and progress.warning:
                    say(progress.warning)
                    warnings.append(progress.warning)
                kept.keep(estimator, progress, stop)
                if stop and progress.snapshot:
                    raise Stopped("stopped after {steps:,} updates and kept; go on with: {command}", steps=progress.step,
                                  command=resuming(folder, together.size))  # fmt: skip
        except Diverged:  # there is nothing to go on with
            if speaks:
                kept.remove()
            raise
    seconds = time.perf_counter() - began
    if not speaks:
        return {}
    parts = {"valid": dataset.valid, "test": dataset.test}
    with repeatable(bool(arguments["settings"].get("deterministic"))):
        scores = {name: estimator.evaluate(*part.pair, part.where) for name, part in parts.items() if part}
    about = {"data": arguments["source"], "fingerprint": dataset.fingerprint(), "scores": scores, "seconds": seconds}
    run_folder.save(estimator, folder, about, training=True)
    if dataset.task.running_text and not scores:
        say("learned from all of the text; for a perplexity, hold some of it out with --valid 0.1, or give --valid FILE")
    noted = list(scores.values())[-1].notes if scores else []  # of the last part
    for note in dict.fromkeys(dataset.notes + estimator.notes_ + noted):
        if note not in warnings:
            say(note)
    unit = dataset.task.profile.unit(estimator.inputs_)
    return {"run": str(folder), "task": dataset.task.name, "rung": rung, "scores": scores, **({"unit": unit} if unit else {}),
            "seconds": round(seconds, 2)}  # fmt: skip
