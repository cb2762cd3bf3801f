"""All that the routes of the server use: runs, batches, the writer, trainings; how they begin and end, and how long one waits.

The server listens before torch is loaded: what needs it is imported beside, and waited for by those who ask for it."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fastapi import Request

from wenmai.locale import Message
from wenmai.serving.comparisons import Comparisons
from wenmai.serving.limits import Limits
from wenmai.serving.metrics import Metrics
from wenmai.serving.refusals import Refused, busy, too_late
from wenmai.serving.runs import Runs
from wenmai.serving.training import Trainings

LATER = 2.0  # seconds


class Service:
    def __init__(
        self,
        places: Sequence[Path],
        limits: Limits | None = None,
        device: str = "auto",
        training: bool = True,
        precision: str = "float32",
        reports: Path | None = None,
    ):
        self.limits, self.metrics, self.precision = limits or Limits(), Metrics(), precision
        self.runs = Runs(places, self.limits.memory, device)
        self.trainings = Trainings(
            self.runs.folders[0] if training and self.runs.folders else None, self.limits
        )
        self.batches = self.writer = None  # until they are needed, and torch is there
        self.comparisons = Comparisons(reports)
        self.slow, self.looking = ThreadPoolExecutor(2, "wenmai-slow"), 0
        self.stopping, self.ready = False, False
        self.metrics.gauges |= {
            "wenmai_waiting": lambda: len(self.batches.waiting) if self.batches else 0,
            "wenmai_writing": lambda: self.writer.writing if self.writer else 0,
            "wenmai_runs_loaded": lambda: len(self.runs.held),
            "wenmai_runs_bytes": lambda: self.runs.size,
            "wenmai_trainings": lambda: self.trainings.under_way,
        }

    async def start(self) -> None:
        self.trainings.start()
        self.warming = asyncio.create_task(self.warm())  # while it listens already

    async def warm(self) -> None:
        """What takes long to import, before anybody asks, and the runs that were named; then what is wrong with which run."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.runs.thread, imports)
        from wenmai.serving.batching import Batches
        from wenmai.training.distributed import device_named

        self.batches = Batches(
            self.limits, self.metrics, device_named(self.runs.device), self.precision
        )
        self.batches.start()
        self.ready = True
        for path in self.runs.singles:
            with suppress(Refused):
                await self.runs.hold(self.runs.find(path.resolve().name))
        await asyncio.sleep(LATER)  # whoever asks first has the processor
        self.slow.submit(lambda: [self.runs.about(run) for run in self.runs.all().values()])

    async def warmed(self) -> None:
        """When answers can be found."""
        while not self.ready:
            if self.warming.done():
                self.warming.result()
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        self.stopping = True
        if self.writer is not None:
            await asyncio.to_thread(self.writer.close, self.limits.seconds)
        if self.batches is not None:
            await self.batches.close()
        self.warming.cancel()
        await self.trainings.close()
        self.runs.close()
        self.slow.shutdown(wait=False, cancel_futures=True)

    def writing(self):
        if self.writer is None:
            from wenmai.serving.generation import Writer

            self.writer = Writer(self.limits, self.metrics)
            self.writer.start()
        return self.writer

    async def slowly(self, work, *arguments):
        """In a thread for what may take long, and stands in nobody's way; a few wait for it."""
        if self.looking >= 16:
            raise busy(5.0)
        self.looking += 1
        cores = self.batches.cores if self.batches else 0
        future = asyncio.get_running_loop().run_in_executor(
            self.slow, on_cores, cores, work, *arguments
        )
        future.add_done_callback(lambda _: setattr(self, "looking", self.looking - 1))
        return await future

    async def in_time(self, request: Request, work, seconds: float | None = None):
        """What comes of it, unless the time is over or the client has gone: then it is given up."""
        seconds = seconds or self.limits.seconds
        task, gone = asyncio.ensure_future(work), asyncio.create_task(disconnected(request))
        try:
            done, _ = await asyncio.wait(
                (task, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if task in done:
                return task.result()
            if gone in done:
                self.metrics.count("wenmai_abandoned_total")
                raise Refused(499, "gone", Message("the client has gone."))
            raise too_late(seconds)
        finally:
            for one in (task, gone):
                one.cancel()
            with suppress(BaseException):
                await gone


def on_cores(cores: int, work: Callable, *arguments):
    """Each thread says for itself on how many torch computes; a new one has what another said last."""
    if cores:
        import torch

        torch.set_num_threads(cores)
    return work(*arguments)


def imports() -> None:
    import wenmai.estimators
    import wenmai.serving.batching
    import wenmai.serving.inputs
    import wenmai.serving.streaming  # noqa: F401


async def disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
