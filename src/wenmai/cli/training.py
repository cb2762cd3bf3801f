"""One `wenmai train`, from its arguments to its run folder; kept on the way, so that it can be stopped and gone on with.

Under torchrun every process comes through here; the first of them speaks, and writes the folder."""

import os
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from pathlib import Path

from wenmai.catalog import known_rung, rung_named, tasks_of
from wenmai.cli.overview import metric_name
from wenmai.data.dataset import Dataset, everywhere, open_dataset
from wenmai.data.files.opening import allow
from wenmai.data.text import vectors
from wenmai.data.values import digest_of
from wenmai.errors import Mistake, Stopped, typed
from wenmai.estimators import ESTIMATORS
from wenmai.exchange import hugging_face
from wenmai.locale import Message, phrase
from wenmai.page.terminal import Bars
from wenmai.training import folders, memory, run_folder
from wenmai.training.checkpoints import PATHS, Checkpoints, as_it_was_kept, check_arguments
from wenmai.training.distributed import Team, companions, team
from wenmai.training.interrupts import interrupts, number_of
from wenmai.training.progress import Diverged, Progress, Snapshot
from wenmai.training.updater import repeatable

HELD_OUT = "0.1"  # of the rows, to judge training by, unless the user says otherwise
DECIDING = {
    "train": phrase("deciding", "its training rows"),
    "valid": phrase("deciding", "the validation rows"),
    "test": phrase("deciding", "the test rows"),
    "vectors": phrase("deciding", "the vectors of embedding="),
    "start": phrase("deciding", "the weights of the run of --from"),
}


def begin(
    arguments: dict,
    out: Path | None,
    draw: Bars,
    say: Callable,
    replace: bool = False,
    began: float | None = None,
) -> dict:
    """`replace`: also an unfinished training, and a run of another data set. `began`: when the command did, of whose minutes this
    is part."""
    began = time.perf_counter() if began is None else began
    arguments |= {"settings": absolute(arguments["settings"], PATHS)}
    if arguments.get("keep") and team().size > 1:
        raise Mistake("--keep goes with one process; start it without torchrun.")
    known_rung(arguments["rung"])  # before anything is read
    with companions():
        dataset, together = dataset_for(arguments), team()
        if dataset.guess and together.rank == 0:
            say(dataset.guess)
        folder = out or Path("runs") / f"{dataset.name.replace(':', '-')}-{arguments['rung']}"
        # torchrun starts the same command again when a process was lost
        if together.broadcast(run_folder.unfinished(folder)) and int(
            os.environ.get("TORCHELASTIC_RESTART_COUNT", 0)
        ):
            return go_on(folder, draw, say)
        with written_by_first(folder, together):
            kept = Checkpoints(folder, together)
            if together.rank == 0:
                run_folder.check_place(folder, dataset.about(), replace=replace)
                if arguments.get("from") and Path(arguments["from"]).resolve() == folder.resolve():
                    raise Mistake(
                        "{run} is the run that this training starts from, and would be replaced by it; choose another "
                        "--out.",
                        run=folder,
                    )
                kept.begin(
                    absolute(arguments)
                    | {"fingerprint": fingerprint(arguments, dataset), "processes": together.size}
                )
            return carry_out(arguments, dataset, folder, kept, None, together, draw, say, began)


def go_on(folder: Path, draw: Bars, say: Callable) -> dict:
    with companions():
        together = team()
        if folder.is_file():
            raise Mistake(
                "{file} is a file; --resume takes the run folder of a training that was stopped.",
                file=folder,
            )
        with written_by_first(folder, together):
            if not folder.is_dir():
                raise Mistake(
                    "{folder} is not there; --resume takes the run folder of a training that was stopped.",
                    folder=folder,
                )
            kept = Checkpoints(folder, together)
            known, snapshot, notes = kept.resume() if together.rank == 0 else (None, None, [])
            if known:
                with run_folder.understood(kept.folder / "start" / "arguments.json"):
                    check_arguments(known)
            arguments = kept.arguments = together.broadcast(known)
            snapshot = snapshot_of_first(snapshot, together)
            for note in notes:
                say(note)
            if arguments["processes"] != together.size:
                before = arguments["processes"]
                raise Mistake(
                    "{folder} was trained by {before} processes, and there are {now} now; go on with {command}.",
                    folder=folder,
                    before=before,
                    now=together.size,
                    command=resuming(folder, before),
                )
            dataset = dataset_for(arguments)
            for name, digest in fingerprint(arguments, dataset).items():
                if digest != arguments["fingerprint"].get(name):
                    raise Mistake(
                        "{data} is not what {folder} was trained on: {what} have changed; put the old data back, or "
                        "start anew with wenmai train.",
                        data=arguments["source"],
                        folder=folder,
                        what=DECIDING[name],
                    )
            if together.rank == 0:
                say(
                    "going on after {done} updates or passes",
                    done=snapshot.facts.get("step") or snapshot.facts.get("epochs") or 0,
                )
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


def snapshot_of_first(snapshot: Snapshot | None, together: Team) -> Snapshot:
    """Its arrays are no JSON, and travel as they are."""
    facts, inputs = together.broadcast(snapshot and (snapshot.facts, snapshot.inputs))
    return Snapshot(together.broadcast_arrays(snapshot.arrays if snapshot else {}), facts, inputs)


def resuming(folder: Path, processes: int) -> str:
    """The command that goes on."""
    many = f"torchrun --nproc-per-node {processes} -m " if processes > 1 else ""
    return f"{many}wenmai train --resume {typed(folder)}"


def dataset_for(arguments: dict) -> Dataset:
    allow(arguments.get("max_line"), arguments.get("max_rows"))

    def held_out_by(valid: str | None) -> Dataset:
        return open_dataset(
            arguments["source"],
            tasks_of(arguments["rung"]),
            arguments["task"],
            arguments["columns"],
            valid,
            arguments["test"],
            arguments["seed"],
            arguments["unseen"],
            arguments["settings"],
            arguments.get("target"),
            arguments.get("delimiter"),
            arguments.get("skip_bad", False),
        )

    dataset = held_out_by(arguments["valid"] or HELD_OUT)
    with dataset.train.named():
        rung = rung_named(arguments["rung"], dataset.task.name)
    if dataset.task.running_text and not arguments["valid"] and not rung.tunes:
        dataset = held_out_by(None)  # it learns from all of the text
    dataset.check()
    return dataset


def absolute(
    arguments: dict, names: tuple[str, ...] = ("source", "target", "valid", "test", "from")
) -> dict:
    """Paths as they are from anywhere."""
    return arguments | {name: everywhere(arguments[name]) for name in names if arguments.get(name)}


def fingerprint(arguments: dict, dataset: Dataset) -> dict[str, str]:
    """Of all that decides the result and can change between two starts."""
    files = [
        Path(file)
        for file in (arguments["settings"].get(name) for name in PATHS)
        if file and Path(file).is_file()
    ]
    for file in files:
        vectors.check_beginning(file)  # before all of it is read
    files = [str(folders.checksum(file)) for file in files]
    place = Path(arguments["from"]) if arguments.get("from") else None
    checkpoint = place is not None and hugging_face.is_checkpoint(
        place
    )  # what is neither is refused when it is loaded
    start = hugging_face.checksums(place) if checkpoint else place and folders.manifest_in(place)
    return dataset.fingerprints() | {"vectors": digest_of(files), "start": digest_of([start])}


def carry_out(
    arguments: dict,
    dataset: Dataset,
    folder: Path,
    kept: Checkpoints,
    snapshot: Snapshot | None,
    together: Team,
    draw: Bars,
    say: Callable,
    start_of_command: float | None = None,
) -> dict:
    rung, options = (
        arguments["rung"],
        ({} if dataset.valid else {"validation": 0.0}) | arguments["settings"],
    )
    options |= {"seed": arguments["seed"], "device": arguments["device"]}
    options |= {"minutes": arguments["minutes"]} if arguments["minutes"] else {}
    estimator, speaks = ESTIMATORS[dataset.task.name](rung, **options), together.rank == 0
    began, warnings = time.perf_counter(), [dataset.guess]  # said already
    spent = 0.0 if start_of_command is None else began - start_of_command
    draw.metric = metric_name(dataset.task.profile.judged or dataset.task.metric)
    if speaks:
        draw(
            rung, Message("measuring speed") if arguments["minutes"] else Message("preparing"), None
        )
    last, scores, stop = None, {}, 0
    with interrupts() as asked, on_a_full_disk(folder, together), as_it_was_kept(folder):
        # what cannot be kept on the way is stopped at once
        with (
            nullcontext() if rung_named(rung, dataset.task.name).tunes else interrupts(at_once=True)
        ):
            held, start = dataset.valid.pair if dataset.valid else None, arguments.get("from")
            if start and hugging_face.is_checkpoint(Path(start)):
                start = hugging_face.checkpoint(start)
            try:
                for last in estimator.training(
                    *dataset.train.pair,
                    held,
                    dataset.train.where,
                    snapshot,
                    start=start,
                    spent=spent,
                ):
                    number = max(together.all(next(iter(asked), 0)))
                    if speaks:
                        draw(rung, last.note or Message("training"), last)
                    if speaks and last.warning:
                        say(last.warning)
                        warnings.append(last.warning)
                    if speaks:
                        kept.keep_weights(estimator, last)
                    kept.keep(estimator, last, bool(number))
                    if number and last.snapshot:
                        raise stopped(folder, together, last, number)
            except Diverged:  # there is nothing to go on with
                if speaks:
                    kept.remove()
                raise
            except KeyboardInterrupt as interrupt:
                raise Stopped("stopped before its end; the same command starts anew.").by(
                    number_of(interrupt)
                ) from None
        seconds = time.perf_counter() - began
        try:
            if asked:
                raise KeyboardInterrupt(asked[0])
            if speaks:
                draw(rung, Message("scoring"), None)
            with interrupts(at_once=True):
                scores = final_scores(estimator, dataset, arguments) if speaks else {}
        except KeyboardInterrupt as interrupt:
            stop = number_of(interrupt)
        stop = together.broadcast(stop)  # the others wait for the first, which scores alone
        if stop and last and last.snapshot:
            kept.keep(estimator, last, True)
            raise stopped(folder, together, last, stop)
        if stop and run_folder.unfinished(
            folder
        ):  # it was gone on with from its last update, which is kept still
            raise Stopped(
                "stopped while it was scored, and kept; go on with: {command}",
                command=resuming(folder, together.size),
            ).by(stop)
        if speaks:
            estimator.columns_ = dataset.columns
            about = dataset.about() | {
                "split": split_of(arguments, dataset),
                "scores": scores,
                "seconds": seconds,
            }
            run_folder.save(estimator, folder, about, training=True, kept=kept.kept_weights())
    if stop:
        raise Stopped(
            "stopped while it was scored; what was learned is kept in {run}, without scores; for some: wenmai "
            "evaluate {run} DATA",
            run=folder,
        ).by(stop)
    if asked:
        raise Stopped("stopped when all was done, and kept in {run}.", run=folder).by(asked[0])
    if not speaks:
        return {}
    draw(rung, (last and last.note) or Message("training"), None)
    if dataset.task.running_text and not scores:
        say(
            "learned from all of the text; for a perplexity, hold some of it out with --valid 0.1, or give --valid FILE"
        )
    shown = {getattr(note, "template", note) for note in estimator.notes_}
    noted = list(scores.values())[-1].notes if scores else []  # of the last part
    noted = [note for note in noted if getattr(note, "template", note) not in shown]
    for note in dict.fromkeys(dataset.notes + estimator.notes_ + noted):
        if note not in warnings:
            say(note)
    unit = dataset.task.profile.unit(estimator.inputs_)
    return {
        "run": str(folder),
        "task": dataset.task.name,
        "rung": rung,
        "scores": scores,
        **({"unit": unit} if unit else {}),
        "seconds": round(seconds, 2),
    }


def split_of(arguments: dict, dataset: Dataset) -> dict:
    """How the rows that were learned from are found in the data again."""
    valid = arguments["valid"] or (HELD_OUT if dataset.valid else None)
    names = ("test", "seed", "unseen", "target", "delimiter", "skip_bad")
    return {"valid": valid, **{name: arguments.get(name) for name in names}}


def final_scores(estimator, dataset: Dataset, arguments: dict) -> dict:
    parts = {"valid": dataset.valid, "test": dataset.test}
    with repeatable(bool(arguments["settings"].get("deterministic"))):
        return {
            name: estimator.evaluate(*part.pair, part.where) for name, part in parts.items() if part
        }


def stopped(folder: Path, together: Team, last: Progress, number: int) -> Stopped:
    return Stopped(
        "stopped after {steps:,} updates and kept; go on with: {command}",
        steps=last.step,
        command=resuming(folder, together.size),
    ).by(number)


@contextmanager
def on_a_full_disk(folder: Path, together: Team):
    """Inside, what cannot be written, or copied to be written, leaves the last checkpoint, and it is said how to go on from
    there."""
    try:
        yield
    except (folders.Unwritable, MemoryError, RuntimeError) as error:
        ended = memory.exhausted(error)
        if not run_folder.unfinished(folder) or not (
            ended or isinstance(error, folders.Unwritable)
        ):
            raise
        if ended:
            raise Mistake(
                "memory came to its end. What was kept before stands there still; when there is more of it, go on "
                "with: {command}",
                command=resuming(folder, together.size),
            ) from None
        raise Mistake(
            "{note} What was kept before stands there still; when there is room, go on with: {command}",
            note=error.message,
            command=resuming(folder, together.size),
        ) from None
