"""How the threads that share torch's work wait for one another: awake, or asleep while their cores are taken.

Awake is fastest on a quiet machine, by about a tenth of a training. Beside another program it halves a training, or worse: who
waits awake holds the core that the awaited one lacks. libgomp has a rule for that: where its threads are more than the cores, all
sleep at once. So while threads of ours are put off their cores again and again, a team that does nothing is kept, and they are.

    put off, times a second and thread: quiet, awake 50, asleep 20; beside another program, awake 150, asleep 3,000
"""

import atexit
import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread

import torch

SPIN_COUNT = (
    "10000"  # as wenmai/__init__.py sets it, who may not load torch; another is the user's own
)
PERIOD = 0.25  # seconds, from one look to the next
OFTEN = 100  # times a second and thread that a thread was put off its core
CALM = 8  # periods in a row in which none was, after which they wait awake again


def watch() -> None:
    """From now on, where that changes anything: where the threads are libgomp's, can all have cores, and the user has not said
    how they wait."""
    threads, settled = (
        torch.get_num_threads(),
        os.environ.get("GOMP_SPINCOUNT") != SPIN_COUNT or "OMP_WAIT_POLICY" in os.environ,
    )
    if not settled and 1 < threads <= cores() and libgomp() is not None:
        with suppress(RuntimeError):  # who may not have another thread goes on without
            watched(threads)


@cache
def watched(threads: int) -> None:
    over = Event()
    watcher = Thread(
        target=follow, args=(put_off(threads, over),), name="wenmai-watch", daemon=True
    )
    watcher.start()
    atexit.register(
        lambda: (over.set(), watcher.join())
    )  # so that none is in C when the interpreter goes


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        after_in_child=watched.cache_clear
    )  # a child has none of its parent's threads


def put_off(threads: int, over: Event) -> Iterator[float]:
    """How often a second and thread one was put off its core, every period anew, until it is over."""
    from resource import RUSAGE_SELF, getrusage

    before, began = getrusage(RUSAGE_SELF).ru_nivcsw, time.monotonic()
    while not over.wait(PERIOD):
        now, ended = getrusage(RUSAGE_SELF).ru_nivcsw, time.monotonic()
        yield (now - before) / (ended - began) / threads
        before, began = now, ended


def follow(rates: Iterator[float]) -> None:
    team, calm = None, 0
    for rate in rates:
        calm = 0 if rate > OFTEN else calm + 1
        if team is None and calm == 0:
            with suppress(RuntimeError):
                team = IdleTeam(cores() + 1)
        elif team is not None and calm >= CALM:
            team = team.end()


class IdleTeam:
    """So many threads of libgomp that have nothing to do. They belong to a thread of their own, and go with it."""

    def __init__(self, size: int):
        check_room(size)
        self.there, self.over = Event(), Event()
        self.keeper = Thread(target=self.keep, args=(size,), name="wenmai-idle", daemon=True)
        self.keeper.start()
        self.there.wait()

    def keep(self, size: int) -> None:
        library = libgomp()
        library.GOMP_parallel(library.omp_get_thread_num, None, size, 0)  # any work makes them
        self.there.set()
        self.over.wait()

    def end(self) -> None:
        self.over.set()
        self.keeper.join()


def check_room(threads: int) -> None:
    """RuntimeError where so many cannot be had: libgomp would end the process."""
    over, started = Event(), []
    try:
        for _ in range(threads):
            started.append(Thread(target=over.wait, daemon=True))
            started[-1].start()
    except RuntimeError:
        started.pop()
        raise
    finally:
        over.set()
        for thread in started:
            thread.join()


def cores() -> int:
    """As libgomp counts them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


@cache
def libgomp() -> ctypes.CDLL | None:
    """The one that torch has loaded; other packages may have brought another."""
    with suppress(OSError):
        loaded = {
            line.split()[-1]
            for line in Path("/proc/self/maps").read_text().splitlines()
            if "libgomp" in line
        }
        own = {path for path in loaded if "torch" in path}
        for path in own or loaded:
            return ctypes.CDLL(path)
    return None
