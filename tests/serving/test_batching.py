"""Requests answered by several workers at once: each gets its own answers in its own order, and nobody waits for a huge one."""

import asyncio
import gc
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
import torch

from wenmai.errors import Mistake
from wenmai.serving.batching import LEAST, ROWS, TURN, Batches
from wenmai.serving.limits import Limits
from wenmai.serving.metrics import Metrics
from wenmai.tasks.contract import Answers


class Slow:
    """Says every text back, after a while that differs from batch to batch."""

    def __init__(self):
        self.task_, self.inputs_ = SimpleNamespace(history=None), SimpleNamespace()
        self.batches, self.at_once, self.most = [], 0, 0
        self.lock, self.chance = threading.Lock(), random.Random(0)

    def answers(self, texts) -> Answers:
        with self.lock:
            self.batches.append((len(texts), torch.get_num_threads()))
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            wait = self.chance.choice((0.001, 0.01, 0.03))
        time.sleep(wait)
        with self.lock:
            self.at_once -= 1
        if any("bad" in text for text in texts):
            raise Mistake("one of them is bad.")
        return Answers([{"text": text} for text in texts])


def in_a_loop(coroutine):
    """In a thread of its own: a browser that other tests drive leaves a loop that runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def answered(requests: list[list[str]], workers: int = 3, threads: int = 3) -> tuple[list, Slow]:
    async def run() -> list:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            batches = Batches(Limits(), Metrics())
        finally:
            torch.set_num_threads(before)
        assert batches.workers == workers
        batches.start()
        found = await asyncio.gather(
            *(batches.answers(slow, texts, {}) for texts in requests), return_exceptions=True
        )
        await batches.close()
        return found

    slow = Slow()
    return in_a_loop(run()), slow


def test_a_request_in_pieces_comes_back_in_its_order():
    requests = [
        [f"{number}.{row}" for row in range(size)]
        for number, size in enumerate((700, 1, 40, 3, 500, 17))
    ]
    found, slow = answered(requests)
    assert [[one["text"] for one in answers] for answers in found] == requests
    assert slow.most > 1 and max(size for size, _ in slow.batches) <= ROWS


def test_what_is_answered_at_once_has_a_core_each_and_what_is_alone_has_all():
    found, slow = answered([["a"] * 3] * 30)
    assert len(found) == 30 and slow.most == 3 and {cores for _, cores in slow.batches[:2]} == {1}
    _, slow = answered([["a"] * 32])
    assert sum(size for size, _ in slow.batches) == 32
    _, slow = answered([["a"]])
    assert slow.batches == [(1, 1)]


def test_a_mistake_is_told_to_who_made_it():
    found, _ = answered([["good"], ["bad"], ["good", "good"], ["x"] * 200 + ["bad"]])
    assert isinstance(found[1], Mistake) and isinstance(found[3], Mistake)
    assert [one["text"] for one in found[2]] == ["good", "good"] and found[0] == [{"text": "good"}]


@pytest.mark.parametrize("size", [1, 100])
def test_who_is_cancelled_leaves_the_line(size):
    async def run() -> None:
        batches, slow = Batches(Limits(), Metrics()), Slow()
        batches.start()
        tasks = [asyncio.create_task(batches.answers(slow, ["a"] * size, {})) for _ in range(20)]
        await asyncio.sleep(0.002)
        for task in tasks[::2]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [len(one) if isinstance(one, list) else None for one in found[1::2]] == [size] * 10
        await batches.close()
        assert not batches.waiting

    in_a_loop(run())


@pytest.mark.parametrize(
    ("pace", "most"), [(None, ROWS), (1e-6, ROWS), (TURN / 20, 20), (1.0, LEAST)]
)
def test_a_batch_holds_what_took_a_turn_of_late(pace, most):
    async def run() -> int:
        batches, slow = Batches(Limits(), Metrics()), Slow()
        asked = asyncio.gather(
            *(batches.answers(slow, [f"{number}"], {}) for number in range(100)),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
        if pace is not None:
            batches.paces[slow] = pace
        taken = sum(stop - start for _, start, stop in batches.next_batch(batches.most()))
        asked.cancel()
        return taken

    assert in_a_loop(run()) == most


def test_pace_is_learned_and_forgotten_with_its_run():
    async def run() -> tuple[bool, int]:
        batches, slow = Batches(Limits(), Metrics()), Slow()
        batches.start()
        await batches.answers(slow, ["one", "two"], {})
        learned = 0 < batches.paces[slow] < 60
        await batches.close()
        batches.task = None
        del slow
        gc.collect()
        return learned, len(batches.paces)

    assert in_a_loop(run()) == (True, 0)
