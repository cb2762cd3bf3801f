"""What trust costs: the share of training that checkpoints take, and how much slower --deterministic makes a GPU.

    python benchmarks/trust.py [DATA] [--minutes 1.5] [--turns 3]

Checkpoints: `wenmai train` as users start it, with the clock around everything that keeps it; settings are the defaults.
--deterministic: the same steps with and without it, taking turns; only where there is a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
import turns

from wenmai.catalog import TASKS
from wenmai.cli import training as runs
from wenmai.data.dataset import open_dataset
from wenmai.estimators import ESTIMATORS
from wenmai.training.checkpoints import Checkpoints

RUNGS = {"mlp": {}, "cnn": {}, "lstm": {}, "transformer": {"width": 256, "heads": 4}}
STEPS = 300


def cost_of_checkpoints(data: str, rung: str, options: dict, minutes: float) -> None:
    spent, written, keep = [], [], Checkpoints.keep

    def timed(self, estimator, progress, asked):
        began, before = time.perf_counter(), self.last
        keep(self, estimator, progress, asked)
        spent.append(time.perf_counter() - began)
        written.append(self.last != before)

    Checkpoints.keep = timed
    try:
        with tempfile.TemporaryDirectory() as folder:
            arguments = {
                "rung": rung,
                "source": data,
                "valid": "0.1",
                "test": None,
                "task": None,
                "columns": None,
                "unseen": False,
                "minutes": minutes,
                "seed": 0,
                "device": "auto",
                "settings": options,
            }
            result = runs.begin(arguments, Path(folder) / "run", lambda *_: None, lambda _: None)
    finally:
        Checkpoints.keep = keep
    share = sum(spent) / result["seconds"]
    print(
        f"{rung:12} {result['seconds']:6.1f} s  {sum(written):3} checkpoints  {sum(spent):6.2f} s  {share:.2%}",
        flush=True,
    )


def cost_of_determinism(opened, rung: str, options: dict, turns: int) -> None:
    def seconds(deterministic: bool) -> float:
        model = ESTIMATORS[opened.task.name](
            rung, steps=STEPS, evaluations=1, deterministic=deterministic, **options
        )
        marks = [
            progress.seconds
            for progress in model.training(
                *opened.train.pair, (opened.valid.inputs[:64], opened.valid.targets[:64])
            )
        ]
        torch.cuda.synchronize()
        return marks[-1] - marks[0]

    seconds(False), seconds(True)
    ratios = []
    for turn in range(turns):
        order = (False, True) if turn % 2 == 0 else (True, False)
        took = {which: seconds(which) for which in order}
        ratios.append(took[True] / took[False])
    between = f"{statistics.median(ratios):.2f}× the time ({min(ratios):.2f}–{max(ratios):.2f})"
    print(f"{rung:12} {between}, {STEPS} steps in {took[True]:.2f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("data", nargs="?", default="languages")
    parser.add_argument("--minutes", type=float, default=1.5)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    if given.minutes:
        print("checkpoints: seconds of training, how many, seconds they took, share")
        for rung, options in RUNGS.items():
            cost_of_checkpoints(given.data, rung, options, given.minutes)
    if torch.cuda.is_available():
        print("--deterministic against without it")
        opened = open_dataset(given.data, TASKS, valid="0.1")
        for rung, options in RUNGS.items():
            cost_of_determinism(opened, rung, options, given.turns)
    turns.finish({}, None)
