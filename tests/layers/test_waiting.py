"""Threads that wait asleep while another program wants their cores."""

import os
import threading
import time
from pathlib import Path

import pytest
import torch

from wenmai import SPIN_COUNT
from wenmai.kernels import waiting
from wenmai.kernels.waiting import CALM, OFTEN, IdleTeam, follow, put_off, watch

BUSY, QUIET = OFTEN + 1.0, OFTEN - 1.0


@pytest.fixture
def teams(monkeypatch):
    """What is begun and ended, in its order."""
    events = []

    class Team:
        def __init__(self):
            events.append("begun")

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
        ([BUSY, *[QUIET] * (CALM - 1), BUSY, *[QUIET] * (CALM - 1)], ["begun"]),  # calm is counted anew
        ([BUSY, *[QUIET] * 3 * CALM, BUSY], ["begun", "ended", "begun"]),
    ],
)
def test_a_team_is_there_while_others_take_the_cores(teams, rates, expected):
    follow(iter(rates))
    assert teams == expected


def test_who_may_not_have_another_thread_goes_on_without(monkeypatch):
    class Refused:
        def __init__(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(waiting, "IdleTeam", Refused)
    follow(iter([BUSY] * 3))


def threads_of_this_process() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def eventually(true) -> bool:
    until = time.monotonic() + 30
    while not true() and time.monotonic() < until:
        time.sleep(0.01)
    return true()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="Linux counts the threads of a process")
def test_an_idle_team_has_torchs_threads_and_goes_with_its_keeper():
    usual = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        torch.zeros(3 * waiting.GRAIN).add_(1.0)  # this thread's own team
        before = threads_of_this_process()
        team = IdleTeam()
        assert eventually(lambda: threads_of_this_process() == before + 3)
        team.end()
        assert eventually(lambda: threads_of_this_process() == before)
    finally:
        torch.set_num_threads(usual)


def test_it_is_counted_how_often_cores_were_taken(monkeypatch):
    monkeypatch.setattr(waiting, "PERIOD", 0.01)
    rates = put_off()
    assert all(next(rates) >= 0 for _ in range(3))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux says which cores a process may have")
@pytest.mark.parametrize(
    ("variables", "threads", "expected"),
    [
        ({"GOMP_SPINCOUNT": SPIN_COUNT}, 2, True),
        ({"GOMP_SPINCOUNT": SPIN_COUNT}, 1, False),  # nobody waits for anybody
        ({"GOMP_SPINCOUNT": SPIN_COUNT}, 3, False),  # more threads than cores: they sleep anyway
        ({"GOMP_SPINCOUNT": "300000"}, 2, False),  # the user's own
        ({"GOMP_SPINCOUNT": SPIN_COUNT, "OMP_WAIT_POLICY": "ACTIVE"}, 2, False),
    ],
)
def test_who_is_watched(monkeypatch, variables, threads, expected):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    watched = threading.Event()
    monkeypatch.setattr(waiting, "follow", lambda rates: watched.set())
    watch.cache_clear()
    try:
        watch()
        assert watched.wait(10 if expected else 0.05) == expected
    finally:
        watch.cache_clear()
