"""Threads that wait asleep while their cores are taken."""

import os
import resource
import subprocess
import sys
import time
from itertools import islice
from threading import Event

import pytest
import torch

from wenmai import SPIN_COUNT
from wenmai.kernels import waiting
from wenmai.kernels.waiting import (
    CALM,
    OFTEN,
    IdleTeam,
    check_room,
    follow,
    libgomp,
    put_off,
    watch,
)

BUSY, QUIET = OFTEN + 1.0, OFTEN - 1.0
LINUX = pytest.mark.skipif(libgomp() is None, reason="torch's threads are not libgomp's here")


@pytest.fixture
def teams(monkeypatch):
    """What is begun and ended, in its order."""
    events = []

    class Team:
        def __init__(self, size):
            events.append("begun")
            assert (
                size == waiting.cores() + 1
            )  # more threads than cores, however many the first team has

        def end(self):
            events.append("ended")

    monkeypatch.setattr(waiting, "IdleTeam", Team)
    return events


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([QUIET] * 3 * CALM, []),
        ([QUIET, BUSY], ["begun"]),
        ([BUSY] * 3 * CALM, ["begun"]),
        ([BUSY, *[QUIET] * (CALM - 1)], ["begun"]),
        ([BUSY, *[QUIET] * CALM], ["begun", "ended"]),
        (
            [BUSY, *[QUIET] * (CALM - 1), BUSY, *[QUIET] * (CALM - 1)],
            ["begun"],
        ),  # calm is counted anew
        ([BUSY, *[QUIET] * 3 * CALM, BUSY], ["begun", "ended", "begun"]),
    ],
)
def test_a_team_is_there_while_cores_are_taken(teams, rates, expected):
    follow(iter(rates))
    assert teams == expected


def test_who_may_not_have_another_thread_goes_on_without(monkeypatch):
    class Refused:
        def __init__(self, target, **_):
            self.started = False

        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(waiting, "Thread", Refused)
    with pytest.raises(RuntimeError):
        check_room(3)
    follow(iter([BUSY] * 3))  # without a word


TEAM = """
import sys, time
from pathlib import Path
import torch
from wenmai.kernels.waiting import IdleTeam
torch.zeros(2**20).add_(1.0)  # this thread's own team
count = lambda: len(list(Path("/proc/self/task").iterdir()))
def eventually(expected):
    until = time.monotonic() + 60
    while count() != expected and time.monotonic() < until:
        time.sleep(0.01)
    assert count() == expected, (count(), expected)
before = count()
for _ in range(2):
    team = IdleTeam(5)
    eventually(before + 5)
    team.end()
    eventually(before)
"""


@pytest.mark.slow
@LINUX
def test_an_idle_team_is_as_large_as_said_and_goes_with_its_keeper():
    """In a process of its own, whose threads are all known."""
    ran = subprocess.run([sys.executable, "-c", TEAM], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr


@LINUX
def test_the_same_is_learned_beside_an_idle_team():
    x, w = (torch.randn(300, 300, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    alone = x @ w
    team = IdleTeam(waiting.cores() + 1)
    try:
        assert torch.equal(x @ w, alone)
    finally:
        team.end()


def test_it_is_counted_how_often_threads_were_put_off(monkeypatch):
    switches, clock, over = iter([100, 700, 700]), iter([10.0, 12.0, 13.0]), Event()
    monkeypatch.setattr(waiting, "PERIOD", 0.0)
    monkeypatch.setattr(
        resource, "getrusage", lambda _: resource.struct_rusage([0.0] * 15 + [next(switches)])
    )
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    rates = put_off(3, over)
    assert list(islice(rates, 2)) == [100.0, 0.0]  # 600 in two seconds, of three threads
    over.set()
    assert next(rates, None) is None


@pytest.mark.parametrize(
    ("variables", "threads", "expected"),
    [
        ({"GOMP_SPINCOUNT": SPIN_COUNT}, 2, [2]),
        ({"GOMP_SPINCOUNT": SPIN_COUNT}, 1, []),  # nobody waits for anybody
        ({"GOMP_SPINCOUNT": SPIN_COUNT}, 3, []),  # more threads than cores: they sleep anyway
        ({"GOMP_SPINCOUNT": "300000"}, 2, []),  # the user's own
        ({"GOMP_SPINCOUNT": SPIN_COUNT, "OMP_WAIT_POLICY": "ACTIVE"}, 2, []),
    ],
)
def test_who_is_watched(monkeypatch, variables, threads, expected):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    begun = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(waiting, "libgomp", lambda: "there")
    monkeypatch.setattr(waiting, "watched", begun.append)
    watch()
    assert begun == expected


def test_what_is_set_is_what_is_watched():
    assert SPIN_COUNT == waiting.SPIN_COUNT


def test_who_may_not_be_watched_goes_on_without(monkeypatch):
    def refused(threads):
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("GOMP_SPINCOUNT", SPIN_COUNT)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(waiting, "libgomp", lambda: "there")
    monkeypatch.setattr(waiting, "watched", refused)
    watch()


EXITS = """
from wenmai.kernels import waiting
waiting.PERIOD, waiting.OFTEN = 0.001, -1.0  # a team begins at once
waiting.watched(2)
"""


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("meanwhile", ["", "import time; time.sleep(0.05)"])
def test_a_process_ends_well_with_a_team_or_while_it_begins(meanwhile):
    ran = subprocess.run(
        [sys.executable, "-c", EXITS + meanwhile], capture_output=True, text=True, timeout=300
    )
    assert (ran.returncode, ran.stderr) == (0, "")
