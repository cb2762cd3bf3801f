"""How the threads that share torch's work wait for one another: awake, or asleep while another program wants their cores.

Awake is fastest on a quiet machine, by 10 to 15% of a training. Beside another program it halves a training, or worse: who waits
awake holds the core that the awaited one lacks. libgomp has a rule for that, where more of its threads are there than cores: they
sleep at once. So while our threads are put off their cores again and again, a team that does nothing is kept, and there are more.

    put off their cores, a second and thread: quiet, awake 50, asleep 20; beside another program, awake 150, asleep 3,000
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from threading import Event, Thread

import torch

from wenmai import SPIN_COUNT

PERIOD = 0.25  # seconds, from one look to the next
OFTEN = 100  # times a second and thread that another program was given the core
CALM = 8  # periods in a row in which it was not, after which they wait awake again
GRAIN = 2**15  # numbers that torch gives to a thread at least


class IdleTeam:
    """As many threads as torch has, kept by one more; none has anything to do."""

    def __init__(self):
        self.over = Event()
        self.keeper = Thread(target=self.keep, name="wenmai-idle", daemon=True)
        self.keeper.start()

    def keep(self) -> None:
        torch.zeros(torch.get_num_threads() * GRAIN).add_(1.0)  # the team comes into being by working once
        self.over.wait()

    def end(self) -> None:
        """The team goes with the thread that it belongs to."""
        self.over.set()
        self.keeper.join()


@cache
def watch() -> None:
    """From now on, where that changes anything: on Linux, where neither the user nor the number of threads has settled it."""
    settled = os.environ.get("GOMP_SPINCOUNT") != SPIN_COUNT or "OMP_WAIT_POLICY" in os.environ
    if hasattr(os, "sched_getaffinity") and not settled and 1 < torch.get_num_threads() <= len(os.sched_getaffinity(0)):
        with suppress(RuntimeError):  # who may not have another thread goes on without
            Thread(target=follow, args=(put_off(),), name="wenmai-watch", daemon=True).start()


def put_off() -> Iterator[float]:
    """How often a second and thread another program was given the core, every period anew."""
    from resource import RUSAGE_SELF, getrusage

    before, began = getrusage(RUSAGE_SELF).ru_nivcsw, time.perf_counter()
    while True:
        time.sleep(PERIOD)
        now, ended = getrusage(RUSAGE_SELF).ru_nivcsw, time.perf_counter()
        yield (now - before) / (ended - began) / torch.get_num_threads()
        before, began = now, ended


def follow(rates: Iterator[float]) -> None:
    team, calm = None, 0
    for rate in rates:
        calm = 0 if rate > OFTEN else calm + 1
        if team is None and calm == 0:
            with suppress(RuntimeError):
                team = IdleTeam()
        elif team is not None and calm >= CALM:
            team = team.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=watch.cache_clear)  # a child has none of its parent's threads
