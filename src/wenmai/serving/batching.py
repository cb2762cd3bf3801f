"""Requests of many clients, answered together.

Whoever is free takes what waits: the inputs of the oldest request, and of others that ask the same run in the same way, up to
ROWS of them or what costs as much, and no more than took TURN seconds of late: a larger batch is hardly cheaper, and who comes
while it is computed waits for all of it. A request gives PIECE of its inputs in a turn and goes to the end of the line, so that
a huge one takes its turns like everybody. Where several ask at once, a batch waits a few milliseconds for those that are about
to come; where one client asks alone, it waits for nobody. What was given up is not begun with any more.

On a CPU there is a worker for every core, and each computes on its own core while others are at work too: threads that share one
batch wait for each other after every product, and all of them for the event loop. What waits is shared out among those who are
free. A batch that is there alone, and not small, has all cores.
"""

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import torch

from wenmai.data.examples.sequences import Sequences, joined
from wenmai.data.files.sounds import Clip, Clips
from wenmai.data.values import pick
from wenmai.errors import Mistake
from wenmai.serving.limits import Limits
from wenmai.serving.metrics import ROWS as BOUNDS
from wenmai.serving.metrics import Metrics
from wenmai.serving.refusals import busy
from wenmai.tasks.contract import Answers

ROWS = 64  # inputs of a batch
PIECE = 16  # of one request in a turn
COST = 256  # characters that cost as much as a short text
WRITTEN = 4  # times as much where a text is written for an input
WAIT = 0.002  # seconds
TURN = 0.07  # seconds that a batch may take
LEAST = 8  # inputs, however long they take
SHARED = 8  # inputs, from which it pays to share a batch out among cores


@dataclass(eq=False)
class Request:
    key: tuple  # the run's estimator, and how it is asked: what is answered together has the same
    estimator: object
    inputs: object
    how: dict
    whole: bool  # its inputs are one question: never cut, never joined
    future: asyncio.Future
    costs: list[int]
    placed: int = 0
    answered: int = 0
    parts: dict[int, Answers] = field(default_factory=dict)  # by the row that each begins with

    def __len__(self) -> int:
        return len(self.costs)

    @property
    def left(self) -> int:
        return len(self) - self.placed

    def take(self, most: int) -> tuple[int, int]:
        """From which row to which in this turn: one at least, and no more than costs so much."""
        start, cost = self.placed, 0
        while self.placed < len(self) and (
            self.placed == start or (cost + self.costs[self.placed] <= most and not self.whole)
        ):
            cost += self.costs[self.placed]
            self.placed += 1
        if self.whole:
            self.placed = len(self)
        return start, self.placed


class Batches:
    def __init__(
        self, limits: Limits, metrics: Metrics, device: str = "cpu", precision: str = "float32"
    ):
        self.limits, self.metrics, self.device, self.short = (
            limits,
            metrics,
            device,
            precision == "bf16",
        )
        self.waiting: deque[Request] = deque()
        self.cores = torch.get_num_threads()
        self.workers = self.cores if device == "cpu" else 1
        self.changed, self.threads = (
            asyncio.Event(),
            ThreadPoolExecutor(self.workers, "wenmai-answers"),
        )
        self.task: asyncio.Task | None = None
        self.busy: set[asyncio.Task] = set()
        self.crowded, self.rate = (
            False,
            0.05,
        )  # whether several asked at once; seconds that a batch took of late
        self.paces: WeakKeyDictionary[object, float] = (
            WeakKeyDictionary()
        )  # estimator → seconds that what costs 1 took of late

    def start(self) -> None:
        self.task = asyncio.create_task(self.work())

    async def close(self) -> None:
        """Answers what is under way, and no more."""
        while self.busy or any(not request.future.done() for request in self.waiting):
            await asyncio.sleep(0.01)
        if self.task is not None:
            self.task.cancel()
        self.threads.shutdown(wait=False, cancel_futures=True)

    async def answers(self, estimator, inputs, how: dict) -> Answers:
        """The answers to these inputs, as `estimator.answers` gives them; whoever is cancelled meanwhile leaves the line."""
        if not len(inputs):
            return Answers([])
        if (
            len(self.waiting) >= self.limits.waiting
            or sum(map(len, self.waiting)) >= self.limits.rows
        ):
            raise busy(self.rate * len(self.waiting) + 1)
        whole = bool(estimator.task_.history)
        each = (
            WRITTEN if hasattr(estimator.inputs_, "target") or hasattr(estimator, "complete") else 1
        )
        costs = [each] * len(inputs)
        if isinstance(inputs, list | Clips):
            costs = [each * (1 + size(value) // COST) for value in inputs]
        request = Request(
            (id(estimator), tuple(sorted(how.items()))),
            estimator,
            inputs,
            how,
            whole,
            asyncio.get_running_loop().create_future(),
            costs,
        )
        self.waiting.append(request)
        self.changed.set()
        try:
            return await request.future
        finally:
            request.future.cancel()

    # The line

    async def work(self) -> None:
        while True:
            while not self.waiting or len(self.busy) >= self.workers:
                self.changed.clear()
                await self.changed.wait()
            if self.crowded and sum(map(len, self.waiting)) < ROWS:
                await asyncio.sleep(WAIT)
            free = self.workers - len(self.busy)
            if batch := self.next_batch(
                min(self.most(), -(-sum(one.left for one in self.waiting) // free))
            ):
                alone = (
                    not self.busy
                    and not self.waiting
                    and sum(stop - start for _, start, stop in batch) >= SHARED
                )
                one = asyncio.create_task(self.answer(batch, self.cores if alone else 1))
                self.busy.add(one)
                one.add_done_callback(self.freed)
            batch = None  # who waits holds on to nobody's run

    def most(self) -> int:
        """What the next batch may cost. A request that is alone is cut at the same rows every time, so that its answers are the
        same to the last bit."""
        pace = self.paces.get(self.waiting[0].estimator) if len(self.waiting) > 1 else None
        return ROWS if not pace else max(LEAST, min(ROWS, int(TURN / pace)))

    def freed(self, task: asyncio.Task) -> None:
        self.busy.discard(task)
        self.changed.set()

    async def answer(self, batch: list[tuple[Request, int, int]], cores: int) -> None:
        began = time.perf_counter()
        try:
            results = await asyncio.get_running_loop().run_in_executor(
                self.threads, self.run_batch, batch, cores
            )
        except Exception as error:  # nobody is left without an answer
            results = [error] * len(batch)
        self.rate = 0.8 * self.rate + 0.2 * (time.perf_counter() - began)
        self.crowded = len(batch) > 1 or len(self.waiting) > 1
        self.metrics.observe(
            "wenmai_batch_rows", sum(stop - start for _, start, stop in batch), BOUNDS
        )
        for (request, start, stop), result in zip(batch, results):
            self.deliver(request, start, stop, result)

    def run_batch(
        self, batch: list[tuple[Request, int, int]], cores: int
    ) -> list[Answers | Exception]:
        """In a worker, on so many cores."""
        if torch.get_num_threads() != cores:  # of this thread
            torch.set_num_threads(cores)
        began, estimator = time.thread_time(), batch[0][0].estimator
        with torch.autocast(self.device.partition(":")[0], torch.bfloat16, enabled=self.short):
            answers = answered(batch)
        pace = (
            cores
            * (time.thread_time() - began)
            / sum(sum(request.costs[start:stop]) for request, start, stop in batch)
        )
        self.paces[estimator] = 0.8 * self.paces.get(estimator, pace) + 0.2 * pace
        return answers

    def next_batch(self, most: int = ROWS) -> list[tuple[Request, int, int]]:
        """(request, from which row, to which) of what is answered next, which costs so much at most. Who has rows left goes
        to the end of the line."""
        while self.waiting and self.waiting[0].future.done():
            self.waiting.popleft()
        if not self.waiting:
            return []
        first, left = self.waiting[0], most
        alike = (
            [first]
            if first.whole
            else [
                one
                for one in self.waiting
                if one.key == first.key and not one.whole and not one.future.done()
            ]
        )
        share = max(1, min(PIECE, left)) if len(alike) > 1 else left
        batch = []
        for request in alike:
            if left <= 0:
                break
            start, stop = request.take(min(share, left))
            left -= sum(request.costs[start:stop])
            batch.append((request, start, stop))
        chosen = {id(request) for request, _, _ in batch}
        others = [one for one in self.waiting if id(one) not in chosen and not one.future.done()]
        self.waiting = deque(
            others + [request for request, _, stop in batch if stop < len(request)]
        )
        return batch

    def deliver(self, request: Request, start: int, stop: int, result: Answers | Exception) -> None:
        if request.future.done():
            return
        if isinstance(result, Exception):
            request.future.set_exception(result)
            self.waiting = deque(one for one in self.waiting if one is not request)
            return
        request.parts[start] = result
        request.answered += stop - start
        if request.answered == len(request):
            each = [request.parts[row] for row in sorted(request.parts)]
            notes = list(dict.fromkeys(note for part in each for note in part.notes))
            request.future.set_result(Answers([answer for part in each for answer in part], notes))


def size(value) -> int:
    if isinstance(value, Clip):
        return int(100 * value.seconds)  # frames
    if isinstance(value, str):
        return len(value)
    return sum(map(size, value)) if isinstance(value, list | tuple) else 8


def answered(batch: list[tuple[Request, int, int]]) -> list[Answers | Exception]:
    """Of each its answers, or what is wrong with it."""
    estimator, how = batch[0][0].estimator, batch[0][0].how
    parts = [
        request.inputs
        if stop - start == len(request)
        else pick(request.inputs, np.arange(start, stop))
        for request, start, stop in batch
    ]
    if len(parts) > 1:
        try:
            all_answers = estimator.answers(put_together(parts), **how)
            if not all_answers.notes:  # which would count the texts of others too
                each = iter(all_answers)
                return [
                    Answers([next(each) for _ in range(stop - start)]) for _, start, stop in batch
                ]
        except Exception:  # of one of them: each is asked alone, and has its own
            pass
    return [alone(estimator, part, how) for part in parts]


def alone(estimator, inputs, how: dict) -> Answers | Exception:
    try:
        return estimator.answers(inputs, **how)
    except Mistake as mistake:
        return mistake
    except Exception as error:
        return error


def put_together(parts: list):
    if isinstance(parts[0], np.ndarray | Sequences):
        return joined(parts)
    each = [value for part in parts for value in part]
    return Clips(each) if isinstance(parts[0], Clips) else each
