"""Checkpoints: what it takes to go on with a training that was stopped, by whatever stopped it.

    RUN/training/start/       arguments.json (the command), inputs.json (what was learned of the inputs)
    RUN/training/000000123/   state.json and arrays.safetensors after 123 updates; the last two are kept
    RUN/training/kept-000000123/   the weights alone, where train --keep asks for some on the way; they stay with the run

Each is a folder that is there whole or not at all. They are written when a plan is made, then when so much time has passed
that writing them costs under a fiftieth of it, and when training is asked to stop."""

import shutil
import time
from contextlib import contextmanager
from pathlib import Path

from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase
from wenmai.locale.theirs import Theirs
from wenmai.training import folders
from wenmai.training.distributed import Team
from wenmai.training.progress import Progress, Snapshot
from wenmai.training.run_folder import (
    CHECKPOINT,
    KEPT_WEIGHTS,
    understood,
    unfinished,
    weights_of,
    write_arrays,
    write_json,
)

KEPT = 2
PATHS = ("embedding",)  # options that may name a file
OFTEN = 20.0  # seconds between two, at the least
SHARE = 75  # times as long as writing one took


class Checkpoints:
    def __init__(self, run: Path, team: Team | None = None):
        self.folder, self.cost, self.last, self.team = run / "training", 0.0, None, team or Team()
        self.damaged: list[Path] = []

    def begin(self, arguments: dict) -> None:
        """A new training: what an older one left is removed."""
        self.arguments = arguments
        self.remove()

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self, estimator, progress: Progress, asked: bool) -> None:
        """To be called for every Progress, in all processes; the first of them writes when it is time."""
        if progress.snapshot is None:
            return
        writes = self.team.rank == 0
        if writes and not unfinished(self.folder.parent):
            folders.write(self.folder / "start", lambda part: self._start(part, estimator))
        now = time.monotonic()
        due = self.last is None or now - self.last > max(OFTEN, SHARE * self.cost)
        if not self.team.broadcast(due or asked or bool(progress.plan)):  # a plan, before it acts
            return
        snapshot = progress.snapshot()
        if not writes:
            return
        number = 1 + max((int(path.name) for path in self.all()), default=0)
        folders.write(self.folder / f"{number:09d}", lambda part: self._fill(part, snapshot))
        intact = [folder for folder in self.all() if folder not in self.damaged]
        for old in [*self.damaged, *intact[:-KEPT]]:  # a damaged one is none of the last two
            shutil.rmtree(old, ignore_errors=True)
        self.last, self.cost = time.monotonic(), time.monotonic() - now

    def keep_weights(self, estimator, progress: Progress) -> None:
        """To be called for every Progress: of so many as are asked for, one is due when its share of the updates is made. A
        learning rate that is being tried is not the training yet."""
        count, done = self.arguments.get("keep") or 0, len(self.kept_weights())
        if progress.note or done >= count or progress.step < done / count * progress.steps:
            return
        weights = weights_of(estimator.model_)
        if weights is None:  # not there yet
            return
        name = f"kept-{progress.step:09d}"
        folders.write(
            self.folder / name, lambda part: write_arrays(part / "weights.safetensors", weights)
        )

    def kept_weights(self) -> dict[str, Path]:
        """By the name that each has in the run folder."""
        entries = sorted(self.folder.iterdir()) if self.folder.is_dir() else ()
        return {
            f"{path.name}.safetensors": path / "weights.safetensors"
            for path in entries
            if KEPT_WEIGHTS.fullmatch(path.name)
        }

    def _start(self, part: Path, estimator) -> None:
        write_json(part / "arguments.json", self.arguments)
        write_json(part / "inputs.json", estimator.inputs_.to_json())

    def _fill(self, part: Path, snapshot: Snapshot) -> None:
        write_json(part / "state.json", snapshot.facts)
        write_arrays(part / "arrays.safetensors", snapshot.arrays)

    def all(self) -> list[Path]:
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(path for path in paths if CHECKPOINT.fullmatch(path.name) and path.is_dir())

    def resume(self) -> tuple[dict, Snapshot, list[str]]:
        """The arguments of the training, the last whole checkpoint, and a sentence on every damaged one that was passed over."""
        from safetensors.numpy import load_file

        if not unfinished(self.folder.parent):
            raise Mistake(
                "{folder} holds no training that was stopped; start one with wenmai train RUNG DATA.",
                folder=self.folder.parent,
            )
        folders.check(self.folder / "start", "arguments.json", "inputs.json")
        with understood(self.folder / "start" / "arguments.json") as path:
            self.arguments = object_in(path)
        with understood(self.folder / "start" / "inputs.json") as path:
            inputs = take.json_in(path)
            kinds_of_input.from_json(inputs)
        notes = []
        for left in filter(
            folders.is_half_written, self.folder.glob(".*.part.*")
        ):  # by one that was killed meanwhile
            shutil.rmtree(left, ignore_errors=True)
        for folder in reversed(self.all()):
            try:
                folders.check(folder, "state.json", "arrays.safetensors")
                with understood(folder / "state.json") as path:
                    facts = object_in(path)
                with understood(folder / "arrays.safetensors") as path:
                    return self.arguments, Snapshot(load_file(path), facts, inputs), notes
            except (Mistake, OSError) as damage:
                message = damage.message if isinstance(damage, Mistake) else Theirs(damage)
                notes.append(
                    Message(
                        "{folder} is damaged ({reason}); the checkpoint before it is used.",
                        folder=folder,
                        reason=message.values.get("reason", message),
                    )
                )  # without what to do
                self.damaged.append(folder)
        return self.arguments, Snapshot({}, {}, inputs), notes


@contextmanager
def as_it_was_kept(run: Path):
    """Inside, a training goes on from a checkpoint: what does not fit it is told."""
    try:
        yield
    except take.Unfit as error:
        raise Mistake(
            "{folder}: the last checkpoint is not as it was written ({error}); remove it, and the one before is used, "
            "or start anew with wenmai train.",
            folder=run / "training",
            error=error.message,
        ) from None


def check_arguments(known: dict) -> None:
    """The words of a command are of the kinds that a command line gives; Unfit otherwise. What they say is judged as it is there.
    Older ones lack some."""
    for name in ("rung", "source", "device"):
        take.text(known, name)
    for name in ("target", "valid", "test", "task", "delimiter", "from"):
        take.maybe_text(known, name)
    for name in ("unseen", "skip_bad"):
        take.flag({name: False} | known, name)
    for name in ("max_line", "max_rows", "keep"):
        take.integer({name: 0} | known, name)
    settings = take.of_kind(known, "settings", dict, phrase("saved", "an object"))
    for name, one in settings.items():
        if not isinstance(one, (str, int, float)) or (name in PATHS and not isinstance(one, str)):
            raise take.unfit(name, one, phrase("saved", "a text"))
    if known.get("columns") is not None:
        take.columns(known)
    if take.number(known, "minutes") < 0:
        raise take.unfit("minutes", known["minutes"], phrase("saved", "a number"))
    take.integer(known, "seed", 0, (1 << 63) - 1)
    take.integer(known, "processes", 1, 1 << 20)
    take.of_kind(known, "fingerprint", dict, phrase("saved", "an object"))


def object_in(path: Path) -> dict:
    known = take.json_in(path)
    if not isinstance(known, dict):
        raise take.Unfit("found {value}, expected an object", value=take.summary(known))
    return known
