"""Taking turns: how everything here is measured.

A speed is only worth comparing when both sides met the same machine. So the contestants take turns, at least five times,
and the order is reversed every time; what is reported is a median and how far the turns lie apart, never one number.
A ratio is taken within each turn, where both sides ran within seconds of each other, and says how many times as fast the
first contestant was: the peer's seconds over its seconds, or its rate over the peer's.

A contestant is a function that runs once and returns numbers. Where libraries must not share a process (threads, caches,
patches), it is a `Worker`: a process that makes everything ready, waits, and runs once whenever it is told to.

In the end stands what the machine did meanwhile for others: a run is quiet where that is next to nothing, else BUSY.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

if "--contestant" in sys.argv and "wenmai" in sys.argv[sys.argv.index("--contestant") + 1]:
    import wenmai  # noqa: F401  before torch: how its threads wait is Wenmai's to say

FEWEST = 5
THREADS = 2


@dataclass(frozen=True)
class Measure:
    words: str  # as the table calls it
    better: str | None = None  # "less" or "more"; None is shown without a ratio, as an accuracy is
    digits: int = 3


@dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        return cls(median(values), min(values), max(values))

    def text(self, digits: int = 3) -> str:
        if self.least == self.most:
            return number(self.median, digits)
        return f"{number(self.median, digits)} ({number(self.least, digits)}–{number(self.most, digits)})"


Results = dict[str, list[dict[str, float]]]  # contestant → what it measured in each turn


def take_turns(contestants: dict[str, Callable[[], dict]], turns: int = FEWEST) -> Results:
    """Every contestant runs once a turn; every second turn goes the other way round."""
    results: Results = {name: [] for name in contestants}
    for turn in range(turns):
        names = list(contestants)
        for name in names if turn % 2 == 0 else reversed(names):
            print(f"\rturn {turn + 1} of {turns}: {name:40}", end="", file=sys.stderr, flush=True)
            results[name].append(contestants[name]())
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return results


def spread(results: Results, name: str, key: str) -> Spread:
    return Spread.of([turn[key] for turn in results[name]])


def ratio(results: Results, first: str, peer: str, key: str, better: str) -> Spread:
    """How many times as fast `first` was as `peer`, turn by turn."""
    pairs = [(mine[key], theirs[key]) for mine, theirs in zip(results[first], results[peer])]
    return Spread.of(
        [theirs / mine if better == "less" else mine / theirs for mine, theirs in pairs]
    )


def fastest(results: Results, family: str, key: str, better: str) -> str:
    """Of the contestants whose name begins with `family`, the one with the best median."""
    members = [name for name in results if name.split(",")[0] == family]
    return (min if better == "less" else max)(
        members, key=lambda name: spread(results, name, key).median
    )


def table(results: Results, measures: dict[str, Measure], first: str) -> str:
    """Markdown: median (least–most) of all, and the ratio of `first` to each of the others."""
    lines = [
        "| measure | contestant | median (least–most) | wenmai is so many times as fast |",
        "| --- | --- | ---: | ---: |",
    ]
    for key, measure in measures.items():
        for name in results:
            times = ""
            if measure.better and name != first:
                times = ratio(results, first, name, key, measure.better).text()
            lines.append(
                f"| {measure.words} | {name} | {spread(results, name, key).text(measure.digits)} | {times} |"
            )
    return "\n".join(lines)


def record(results: Results, measures: dict[str, Measure], first: str) -> dict:
    """The same for machines, with every single turn."""
    found = {}
    for key, measure in measures.items():
        found[key] = {"measure": measure.words, "better": measure.better, "contestants": {}}
        for name in results:
            entry = asdict(spread(results, name, key)) | {
                "turns": [turn[key] for turn in results[name]]
            }
            if measure.better and name != first:
                entry["ratio"] = asdict(ratio(results, first, name, key, measure.better))
            found[key]["contestants"][name] = entry
    return found


def number(value: float, digits: int = 3) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if digits <= 3 else f"{value:.{digits}f}"


# Processes that wait for their turn


class Worker:
    """`script --contestant name …` in a process of its own; calling it is one turn. `about` is what it said when ready."""

    def __init__(
        self,
        script: str,
        name: str,
        options: list[str],
        threads: int,
        python: str = sys.executable,
        **environment: str,
    ):
        counts = (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "NUMBA_NUM_THREADS",
            "RAYON_NUM_THREADS",
        )
        same = {count: str(threads) for count in counts}
        # A peer's threads wait as they do by themselves, or sleep early where its name says so.
        same |= {"GOMP_SPINCOUNT": "1000"} if "sleeping early" in name else {}
        command = [python, script, "--contestant", name, *options]
        pipe, environment = subprocess.PIPE, os.environ | same | environment
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment
        )
        self.about = self.hear()

    def __call__(self) -> dict:
        print("go", file=self.process.stdin, flush=True)
        return self.hear()

    def hear(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(
                f"{self.name} ended with status {self.process.wait()}; its own words stand above."
            )
        return json.loads(line)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait()


@contextmanager
def company(wanted: bool):
    """Inside, where it is wanted, another program takes what it can get of a core."""
    if not wanted:
        yield
        return
    other = subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


def race(
    script: str,
    names: list[str],
    options: list[str],
    turns: int,
    threads: int,
    pythons: dict[str, str] | None = None,
    at_once: int = 1,
) -> tuple[Results, dict[str, dict]]:
    """Each name in a process of its own; they get ready one after another, or so many `at_once`, then take turns. With what each
    said of itself. `pythons` names the interpreter of a contestant that lives in an environment of its own."""
    pythons = pythons or {}

    def ready(name: str) -> Worker:
        print(f"\rmaking ready: {name:40}", end="", file=sys.stderr, flush=True)
        return stack.enter_context(
            Worker(script, name, options, threads, pythons.get(name, sys.executable))
        )

    with ExitStack() as stack, ThreadPoolExecutor(at_once) as pool:
        workers = dict(zip(names, pool.map(ready, names)))
        return take_turns(workers, turns), {name: worker.about for name, worker in workers.items()}


def serve(ready: Callable[[], tuple[Callable[[], dict], dict]]) -> None:
    """The worker's side: `ready` returns the function of one turn, and what to say of itself."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    turn, about = ready()
    print(json.dumps(about), file=answers, flush=True)
    for _ in sys.stdin:
        print(json.dumps(turn()), file=answers, flush=True)


# What all the command lines share


def arguments(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument(
        "--turns",
        type=int,
        default=FEWEST,
        help=f"how often all take turns (at least {FEWEST} to be believed)",
    )
    parser.add_argument("--threads", type=int, default=THREADS, help="for every contestant alike")
    parser.add_argument(
        "--data", type=Path, help="the folder of data sets; else WENMAI_DATA, else ../shared/data"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write everything that was measured here"
    )
    parser.add_argument("--contestant", help=argparse.SUPPRESS)  # a process that `race` started
    return parser


# Who else was there

QUIET = 0.15  # cores that other programs may take on average, for a run to be believed


def cores_at_work() -> tuple[float, float]:
    """Seconds that all cores were at work for anyone, and that they were for this program and those it waited for."""
    own = sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    try:
        fields = [
            int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        ]
    except (OSError, ValueError):
        return own, own
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf(
        "SC_CLK_TCK"
    ), own  # all but idle and waiting for a disk


BEGAN = time.perf_counter(), os.getloadavg(), cores_at_work()


def company_kept() -> dict:
    """The load of the machine before and after, and how many cores others took meanwhile."""
    began, before, (all_then, own_then) = BEGAN
    all_now, own_now = cores_at_work()
    others = max(0.0, (all_now - all_then) - (own_now - own_then)) / max(
        1e-9, time.perf_counter() - began
    )
    return {
        "load before": list(before),
        "load after": list(os.getloadavg()),
        "cores that others took": round(others, 3),
        "cores": os.cpu_count(),
        "quiet": others < QUIET,
    }


def finish(found: dict, file: Path | None) -> None:
    kept = company_kept()
    before, after = (
        ", ".join(f"{value:.1f}" for value in kept[f"load {when}"]) for when in ("before", "after")
    )
    others = kept["cores that others took"]
    print(
        f"\n{'quiet' if kept['quiet'] else 'BUSY'}: other programs took {others:.2f} of {kept['cores']} cores; load "
        f"(1, 5, 15 minutes) {before} before and {after} after"
    )
    found = found | {"company": kept} if isinstance(found, dict) else found
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
