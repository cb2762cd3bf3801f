"""The runs that are served: found in their folders by name, loaded when they are first asked for, let go by memory.

A name is looked up among the names that stand in the folders, and never becomes part of a path; a link that leads out of its
folder is told of and not followed. A run that cannot be read is listed with its reason, and the others serve on."""

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.serving.refusals import Bilingual, Refused, both, not_there

SETTLED = 2_000_000_000  # nanoseconds after which a change in a folder can be told from the one before, on any file system


@dataclass
class RunFolder:
    """A run as it stands in its folder."""

    name: str
    path: Path
    stamp: tuple  # changes with every version of the run
    wrong: Message | None = None

    @property
    def names(self) -> dict[str, str]:
        """What stands in sentences instead of its paths."""
        return {str(self.path.resolve()): self.name, str(self.path): self.name}


@dataclass
class Held:
    """A run in memory."""

    run: RunFolder
    estimator: object
    size: int  # bytes
    users: int = 0
    used: float = field(default_factory=time.monotonic)


class Runs:
    def __init__(self, places: Sequence[Path], memory: int, device: str = "auto"):
        """`places`: run folders, and folders of runs; into the first of the latter go runs that are trained here."""
        self.memory, self.device = memory, device
        self.singles = [place for place in places if is_run(place)]
        self.folders = [place for place in places if not is_run(place)]
        self.held: dict[str, Held] = {}
        self.loading: dict[tuple, asyncio.Task] = {}
        self.seen: dict[
            str, tuple[RunFolder, tuple | None]
        ] = {}  # name → as it was found, and when its folders had changed
        self.descriptions: dict[tuple, dict] = {}  # (name, stamp) → what a run says of itself
        self.broken: dict[tuple, Message] = {}  # (name, stamp) → why it could not be loaded
        self.thread = ThreadPoolExecutor(1, "wenmai-loading")

    # Which there are

    def all(self) -> dict[str, RunFolder]:
        known: dict[str, RunFolder] = {}
        for folder in self.folders:
            try:
                inside = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in inside:
                if not entry.name.startswith(".") and entry.is_dir() and entry.name not in known:
                    path = folder / entry.name
                    if (
                        is_run(path)
                        or (path / "training").is_dir()
                        or (path / "manifest.json").exists()
                    ):
                        known[entry.name] = run_folder_at(entry.name, path, folder)
        for path in self.singles:
            name = path.resolve().name
            known.setdefault(name, run_folder_at(name, path, path.resolve().parent))
        return known

    def find(self, name: str) -> RunFolder:
        """As `all` has it; of a run that was found before, and whose folders nobody has touched since, only its files are looked
        at again."""
        run, seen = self.seen.get(name, (None, None))
        if run is None or seen != touched(run) or run.stamp != stamp_of(run.path):
            run = self.all().get(name)
            self.seen.pop(name, None)
            if (
                run is not None
                and (seen := touched(run)) is not None
                and time.time_ns() - max(seen) > SETTLED
            ):
                self.seen[name] = (run, seen)
        if run is None:
            raise not_there(
                Message(
                    "there is no run {name}; GET /v1/runs lists those that there are.",
                    name=short(name),
                )
            )
        return run

    def about(self, run: RunFolder) -> dict:
        """What a run says of itself; of a damaged one the reason. It may take long: all its checksums are compared."""
        key = (run.name, run.stamp)
        if key not in self.descriptions:
            if len(self.descriptions) > 4096:
                self.descriptions.clear()
            self.descriptions[key] = description_of(run)
        why = self.broken.get(key)
        description = (
            self.descriptions[key]
            if why is None
            else (self.descriptions[key] | {"state": "damaged", "reason": both(why, run.names)})
        )
        held = self.held.get(run.name)
        return description | {"loaded": held is not None and held.run.stamp == run.stamp}

    # In memory

    @asynccontextmanager
    async def use(self, name: str) -> AsyncIterator[Held]:
        held = await self.hold(self.find(name))
        held.users += 1
        try:
            yield held
        finally:
            held.users, held.used = held.users - 1, time.monotonic()

    async def hold(self, run: RunFolder) -> Held:
        held, key = self.held.get(run.name), (run.name, run.stamp)
        if held is not None and held.run.stamp == run.stamp:
            return held
        if key in self.broken:
            raise unusable(run, self.broken[key])
        if key not in self.loading:
            self.loading[key] = asyncio.create_task(self.load(run))
            self.loading[key].add_done_callback(
                lambda task: (self.loading.pop(key, None), task.cancelled() or task.exception())
            )
        return await asyncio.shield(self.loading[key])  # others wait for it too

    async def load(self, run: RunFolder) -> Held:
        size = weight(run.path)
        self.make_room(run, size)
        try:
            if run.wrong is not None:
                raise Mistake(run.wrong)
            estimator = await asyncio.get_running_loop().run_in_executor(
                self.thread, load, run.path, self.device
            )
            set_aside()
        except (Mistake, OSError, MemoryError) as error:
            why = (
                error.message
                if isinstance(error, Mistake)
                else Message("{name} cannot be read.", name=run.name)
            )
            if not isinstance(error, MemoryError):
                self.broken[run.name, run.stamp] = why
            raise unusable(run, why) from None
        self.held[run.name] = held = Held(run, estimator, size)
        return held

    def make_room(self, run: RunFolder, size: int) -> None:
        """Lets those go that were not used for the longest time, and are not in use."""
        if size > self.memory:
            raise Refused(
                503,
                "no_room",
                Message(
                    "{name} takes {size:,} bytes of memory, and runs may take {most:,} together.",
                    name=run.name,
                    size=size,
                    most=self.memory,
                ),
                60.0,
            )
        self.held.pop(run.name, None)  # of another version: who uses it has it still
        for name, held in sorted(self.held.items(), key=lambda item: item[1].used):
            if self.size + size <= self.memory:
                return
            if not held.users:
                del self.held[name]
        if self.size + size > self.memory:
            raise Refused(
                503,
                "no_room",
                Message("all of the memory for runs is in use; try again in a moment."),
                2.0,
            )

    @property
    def size(self) -> int:
        return sum(held.size for held in self.held.values())

    def close(self) -> None:
        self.thread.shutdown(wait=False, cancel_futures=True)


def set_aside() -> None:
    """What is there now is not looked through for garbage any more: with torch that took 0.2 s every few seconds, and all
    requests waited. What lives through one load is looked at again in the next."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def is_run(path: Path) -> bool:
    return (path / "run.json").is_file()


def run_folder_at(name: str, path: Path, folder: Path) -> RunFolder:
    wrong, inside = None, folder.resolve()
    if path.resolve().parent != inside:
        wrong = Message(
            "{name} is a link that leads out of its folder, and is not followed.", name=name
        )
    elif any(file.is_symlink() for file in path.iterdir()):
        wrong = Message("{name} holds a link, which is not followed.", name=name)
    return RunFolder(name, path, stamp_of(path), wrong)


def stamp_of(path: Path) -> tuple:
    """Of the two files that every version of a run writes anew."""
    stamp = []
    for file in ("manifest.json", "run.json"):
        try:
            seen = os.stat(path / file)
            stamp += [seen.st_mtime_ns, seen.st_size, seen.st_ino]
        except OSError:
            stamp.append(None)
    return tuple(stamp)


def touched(run: RunFolder) -> tuple[int, int] | None:
    """When something was last added, renamed or taken away beside the run, and in it."""
    try:
        return os.lstat(run.path.parent).st_mtime_ns, os.lstat(run.path).st_mtime_ns
    except OSError:
        return None


def weight(path: Path) -> int:
    """Bytes that a run will take, about: those of its files, and some more for what answers."""
    return (2 << 20) + sum(
        file.stat().st_size
        for file in path.iterdir()
        if file.is_file() and not file.name.startswith("kept-")
    )


def load(path: Path, device: str):
    """A run that goes on with texts has written a token already: what is compiled for that is compiled then. All of it is in
    memory, an n-gram's file too: a mapped one that somebody cuts off would end the server, and with it all other runs."""
    from wenmai.data.storage.arrays import HELD
    from wenmai.estimators import load as loaded

    HELD.set(True)  # in the thread that loads
    estimator = loaded(path, device)
    if hasattr(estimator, "complete"):
        language = estimator.trained().language
        log_probs, state = language.begin(np.zeros((1, 0), np.int32))
        language.step(state, log_probs.argmax(-1).cpu())
    return estimator


def unusable(run: RunFolder, why: Message) -> Refused:
    texts = both(why, run.names)
    return Refused(409, "damaged", Bilingual(texts))


def description_of(run: RunFolder) -> dict:
    """State, task, rung, scores, sizes and learning curve of a run, as far as it can be read."""
    from wenmai.catalog import TASKS
    from wenmai.data.inputs import kinds as kinds_of_input
    from wenmai.data.storage import saved as take
    from wenmai.serving.inputs import names_of
    from wenmai.training import run_folder

    description = {
        "name": run.name,
        "state": "ready",
        "reason": None,
        "task": None,
        "rung": None,
        "reads": None,
        "fields": [],
        "columns": {},
        "labels": None,
        "metric": None,
        "higher_is_better": None,
        "scores": {},
        "seconds": None,
        "bytes": 0,
        "when": None,
        "data": None,
        "fingerprint": None,
        "progress": [],
        "verbs": [],
    }
    try:
        description["when"] = datetime.fromtimestamp(run.path.stat().st_mtime).isoformat(
            timespec="seconds"
        )
        description["bytes"] = sum(
            file.stat().st_size for file in run.path.iterdir() if file.is_file()
        )
        if run.wrong is not None:
            raise Mistake(run.wrong)
        if not is_run(run.path) and run_folder.unfinished(run.path):
            why = Message("its training was not finished.")
            return description | {"state": "unfinished", "reason": both(why)}
        saved = run_folder.read(run.path)
        with run_folder.understood(run.path / "run.json"):
            about = saved.about
            task = TASKS[take.one_of(take.value(about, "task"), "name", tuple(TASKS))].from_json(
                about["task"]
            )
            columns, rung = take.columns(about), take.text(about, "rung")
        with run_folder.understood(run.path / "inputs.json"):
            inputs = kinds_of_input.from_json(saved.inputs)
            fields = names_of(task, inputs.kind, inputs, columns)
    except (Mistake, OSError) as error:
        why = error.message if isinstance(error, Mistake) else Message("it cannot be read.")
        return description | {"state": "damaged", "reason": both(why, run.names)}
    labels = getattr(task, "classes", None)
    data = about.get("data")
    return description | {
        "task": task.name,
        "rung": rung,
        "reads": inputs.kind,
        "fields": fields,
        "columns": columns,
        "labels": None if labels is None else [str(label) for label in labels][:1000],
        "metric": task.metric,
        "higher_is_better": task.higher_is_better,
        "scores": plain_scores(about.get("scores")),
        "seconds": about.get("seconds") if isinstance(about.get("seconds"), int | float) else None,
        "data": Path(str(data)).name if data else None,
        "fingerprint": about.get("fingerprint"),
        "progress": [step.to_json() for step in saved.progress],
        "verbs": verbs_of(task),
    }


def verbs_of(task) -> list[str]:
    from wenmai.estimators import ESTIMATORS

    return [
        "predict",
        "inspect",
        *(["generate"] if hasattr(ESTIMATORS[task.name], "complete") else []),
    ]


def plain_scores(scores) -> dict:
    if not isinstance(scores, dict):
        return {}
    return {
        str(part): {
            str(name): value for name, value in own.items() if isinstance(value, int | float)
        }
        for part, own in scores.items()
        if isinstance(own, dict)
    }


def short(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"
