"""Checkpoints: what it takes to go on with a training that was stopped, by whatever stopped it.

    RUN/training/start/       arguments.json (the command), inputs.json (what was learned of the inputs)
    RUN/training/000000123/   state.json and arrays.safetensors after 123 updates; the last two are kept

Each is a folder that is there whole or not at all. They are written when the plan stands, then when so much time has passed
that writing them costs under a fiftieth of it, and when training is asked to stop."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs
from wenmai.training import folders
from wenmai.training.distributed import Team
from wenmai.training.progress import Progress, Snapshot
from wenmai.training.run_folder import understood, unfinished, write_arrays, write_json

KEPT = 2
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
        if not self.team.broadcast(due or asked):
            return
        snapshot = progress.snapshot()
        if not writes:
            return
        number = 1 + max((int(path.name) for path in self.all()), default=0)
        folders.write(self.folder / f"{number:09d}", lambda part: self._fill(part, snapshot))
        whole = [folder for folder in self.all() if folder not in self.damaged]
        for old in [*self.damaged, *whole[:-KEPT]]:  # a damaged one is none of the last two
            shutil.rmtree(old, ignore_errors=True)
        self.last, self.cost = time.monotonic(), time.monotonic() - now

    def _start(self, part: Path, estimator) -> None:
        write_json(part / "arguments.json", self.arguments)
        write_json(part / "inputs.json", estimator.inputs_.to_json())

    def _fill(self, part: Path, snapshot: Snapshot) -> None:
        write_json(part / "state.json", snapshot.facts)
        write_arrays(part / "arrays.safetensors", snapshot.arrays)

    def all(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("[0-9]*") if path.is_dir()) if self.folder.is_dir() else []

    def resume(self) -> tuple[dict, Snapshot, list[str]]:
        """The arguments of the training, the last whole checkpoint, and a sentence on every damaged one that was passed over."""
        from safetensors.numpy import load_file

        if not unfinished(self.folder.parent):
            raise Mistake("{folder} holds no training that was stopped; start one with wenmai train RUNG DATA.",
                          folder=self.folder.parent)  # fmt: skip
        folders.check(self.folder / "start", "arguments.json", "inputs.json")
        with understood(self.folder / "start" / "arguments.json") as path:
            self.arguments = object_in(path)
        with understood(self.folder / "start" / "inputs.json") as path:
            inputs = json.loads(path.read_text(encoding="utf-8"))
            kinds_of_input.from_json(inputs)
        notes = []
        for left in self.folder.glob(".*.part.*"):  # of one that was killed while it was written
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
                notes.append(Message("{folder} is damaged ({reason}); the checkpoint before it is used.", folder=folder,
                                     reason=message.values.get("reason", message)))  # without what to do # fmt: skip
                self.damaged.append(folder)
        return self.arguments, Snapshot({}, {}, inputs), notes


def object_in(path: Path) -> dict:
    known = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(known, dict):
        raise take.Unfit("found {value}, expected an object", value=take.told(known))
    return known


@contextmanager
def interrupts() -> Iterator[list]:
    """Inside, Ctrl-C and SIGTERM fill the list instead of stopping; a second time they stop at once."""
    asked: list[int] = []

    def ask(number, frame) -> None:
        if asked:
            os._exit(130)
        asked.append(number)

    names = [getattr(signal, name) for name in ("SIGINT", "SIGTERM") if hasattr(signal, name)]
    try:
        before = {name: signal.signal(name, ask) for name in names}
    except ValueError:  # not the main thread, where signals do not arrive
        before = {}
    try:
        yield asked
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
