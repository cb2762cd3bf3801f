"""Training for a client: `wenmai train` in a process of its own, which the server watches.

The server stays responsive, a crash there is told here, and a browser that is closed stops nothing: progress is kept by the
server and told to whoever asks, from its beginning. One trains at a time; others wait in line. What is cancelled, or under way
when the server ends, is stopped as Ctrl-C stops it, with a checkpoint to go on from.
"""

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.serving.limits import Limits
from wenmai.serving.refusals import Bilingual, Refused, both, busy, not_there

EVENTS = 5_000  # of a training that are kept
PATIENCE = 20.0  # seconds that a process has to stop in
ENDED = ("finished", "failed", "cancelled")
NOT_HERE = (
    "embedding",
    "engine",
    "memory",
    "device",
    "parallel",
    "threads",
)  # options that name files, or are the server's own


@dataclass(eq=False)
class Training:
    id: str
    run: str
    rung: str
    data: str
    arguments: list[str]
    folder: tempfile.TemporaryDirectory
    state: str = "waiting"
    events: list[dict] = field(default_factory=list)
    scores: dict = field(default_factory=dict)
    reason: dict | None = None
    process: asyncio.subprocess.Process | None = None
    asked_to_stop: bool = False
    began: float = field(default_factory=time.time)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def about(self) -> dict:
        last = next((event for event in reversed(self.events) if "progress" in event), None)
        return {
            "id": self.id,
            "run": self.run,
            "rung": self.rung,
            "data": self.data,
            "state": self.state,
            "scores": self.scores,
            "reason": self.reason,
            "began": self.began,
            "progress": last,
        }

    def tell(self, event: dict | None = None) -> None:
        if event is not None and len(self.events) < EVENTS:
            self.events.append(event)
        self.changed.set()
        self.changed = asyncio.Event()


class Trainings:
    def __init__(self, folder: Path | None, limits: Limits):
        """`folder`: where runs go; None where nothing is trained."""
        self.folder, self.limits = None if folder is None else folder.resolve(), limits
        self.known: dict[str, Training] = {}
        self.line: asyncio.Queue[Training] = asyncio.Queue()
        self.task: asyncio.Task | None = None
        self.stopping = False

    def start(self) -> None:
        self.task = asyncio.create_task(self.work())

    @property
    def under_way(self) -> int:
        return sum(training.state in ("waiting", "running") for training in self.known.values())

    def check(self, asked) -> tuple[tempfile.TemporaryDirectory, str]:
        """(a folder of its own, the data in it) where all that can be checked at once is right. It reads the data, and may take
        a moment."""
        from wenmai.catalog import rung_named
        from wenmai.serving import uploads

        if self.folder is None:
            raise Refused(
                409,
                "no_training",
                Message(
                    "this server trains nothing: it was started with run folders alone, or "
                    "with --no-training."
                ),
            )
        if self.under_way >= self.limits.trainings or self.stopping:
            raise busy(60.0)
        for name in asked.options:
            if name in NOT_HERE or not name.isidentifier():
                raise Mistake(
                    "the option {name} is not to be had over the network; say it to wenmai train.",
                    name=name[:40],
                )
        holder = tempfile.TemporaryDirectory(prefix="wenmai-training-")
        try:
            with uploads.source_of(
                asked.builtin, asked.name, asked.text, asked.base64, Path(holder.name)
            ) as source:
                rung_named(
                    asked.rung,
                    uploads.preview(source, asked.task, asked.columns or None, asked.rung)["task"],
                )
                return holder, source
        except BaseException:
            holder.cleanup()
            raise

    def begin(self, asked, holder: tempfile.TemporaryDirectory, source: str) -> Training:
        """Puts it in line."""
        data = source if asked.builtin else Path(source).name
        run = self.free_name(
            f"{data.partition('.')[0].replace(':', '-').replace(' ', '-')}-{asked.rung}"
        )
        arguments = [
            "train",
            asked.rung,
            source,
            "--out",
            str(self.folder / run),
            "--minutes",
            f"{asked.minutes:g}",
            "--events",
            "--json",
            "--seed",
            str(asked.seed),
        ]
        arguments += ["--task", asked.task] if asked.task else []
        arguments += (
            ["--columns", ",".join(f"{word}={name}" for word, name in asked.columns.items())]
            if asked.columns
            else []
        )
        for name, value in asked.options.items():
            arguments += ["--set", f"{name}={value}"]
        training = Training(f"{len(self.known) + 1}", run, asked.rung, data, arguments, holder)
        self.known[training.id] = training
        self.line.put_nowait(training)
        return training

    def free_name(self, name: str) -> str:
        taken = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
        taken |= {training.run for training in self.known.values()}
        return next(
            one
            for one in (name, *(f"{name}-{number}" for number in range(2, 10_000)))
            if one not in taken
        )

    def find(self, id: str) -> Training:
        if id not in self.known:
            raise not_there(
                Message(
                    "there is no training {id}; GET /v1/train lists those of this server.",
                    id=id[:40],
                )
            )
        return self.known[id]

    def cancel(self, training: Training) -> None:
        training.asked_to_stop = True
        if training.state == "waiting":
            self.end(training, "cancelled")
        elif training.process is not None and training.process.returncode is None:
            with suppress(ProcessLookupError):
                training.process.send_signal(signal.SIGTERM)

    async def events(self, training: Training) -> AsyncIterator[dict]:
        """What was told of it so far, and what comes, until it ends."""
        at = 0
        while True:
            changed = training.changed
            for event in training.events[at:]:
                yield event
            at = len(training.events)
            if training.state in ENDED or self.stopping:
                yield {"end": training.about()}
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), 15.0)

    # Its process

    async def work(self) -> None:
        while True:
            training = await self.line.get()
            if training.state == "waiting":
                try:
                    await self.train(training)
                except Exception as error:  # it could not be started
                    self.end(
                        training,
                        "failed",
                        Message(
                            "the training could not be started ({why}).", why=type(error).__name__
                        ),
                    )

    async def train(self, training: Training) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        source = str(
            Path(__file__).parents[2]
        )  # the program that is running here, whatever is installed
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        environment = {name: value for name, value in os.environ.items() if name != "WENMAI_TOKEN"}
        environment |= {
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": path,
            "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 2) - 1)),
        }
        training.process = process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "wenmai",
            *training.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            cwd=training.folder.name,
            start_new_session=True,
            limit=1 << 24,
        )
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, process.pid, 5)  # who asks is answered first
        training.state = "running"
        training.tell()
        if training.asked_to_stop:
            self.cancel(training)
        stderr = asyncio.create_task(process.stderr.read())
        result, why = {}, None
        async for line in process.stdout:
            with suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and "stage" in event:
                    training.tell(event)
                elif isinstance(event, dict) and "mistake" in event:
                    why = Bilingual(
                        {lang: str(event["mistake"][lang])[:500] for lang in ("en", "zh")}
                    )
                elif isinstance(event, dict):
                    result = event
        status, words = await process.wait(), (await stderr).decode("utf-8", "replace")
        training.scores = result.get("scores") or {}
        if status == 0:
            self.end(training, "finished")
        elif training.asked_to_stop:
            self.end(training, "cancelled")
        elif status < 0:
            self.end(
                training,
                "failed",
                Message("its process was ended by signal {number}.", number=-status),
            )
        else:
            self.end(
                training,
                "failed",
                why or Message("its process ended with status {status}.", status=status),
            )
            if not why:
                print(words[-4000:], file=sys.stderr)

    def end(self, training: Training, state: str, why: Message | None = None) -> None:
        training.state = state
        training.reason = (
            None
            if why is None
            else both(why, {training.folder.name: ".", str(self.folder): "runs"})
        )
        training.folder.cleanup()
        training.tell()

    async def close(self) -> None:
        """What is under way is stopped, and keeps what it has learned."""
        self.stopping = True
        for training in self.known.values():
            training.tell()
            if training.state in ("waiting", "running"):
                self.cancel(training)
        until = time.monotonic() + PATIENCE
        while self.under_way and time.monotonic() < until:
            await asyncio.sleep(0.05)
        for training in self.known.values():
            if training.process is not None and training.process.returncode is None:
                training.process.kill()
        if self.task is not None:
            self.task.cancel()
