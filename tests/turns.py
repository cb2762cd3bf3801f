"""Saves two models in turns to one place, and to new ones, while other processes load what stands there.

    python tests/turns.py --count 1000 --seed 0        prints one line of JSON: saves, loads, refused, what went wrong

Every load must give one of the two models, whole: its labels, its weights, its answers. A save may only be refused because
another process is saving there, and none may fail because somebody reads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

from wenmai.errors import Mistake
from wenmai.estimators import Classifier, load

READERS, WRITERS, EACH = 2, 2, 20  # processes of each kind; saves to a new place before the next
X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5)


def models() -> list[Classifier]:
    return [
        Classifier("softmax", seed=seed, epochs=3).fit(
            X + seed, [f"{name}{int(row.sum())}" for row in X]
        )
        for seed, name in enumerate("ab")
    ]


def told(model: Classifier) -> tuple:
    return tuple(model.classes_.tolist()), model.predict_proba(X).tobytes(), model.inputs_.to_json()


def write(
    place: Path, both: list[Classifier], count: int, chance: random.Random, number: int
) -> dict:
    done = {"saves": 0, "refused": 0, "wrong": []}
    while done["saves"] < count:
        run = place / (
            "run" if chance.random() < 0.5 else f"first-{number}-{done['saves'] // EACH}"
        )
        try:
            both[done["saves"] % 2].save(run)
            done["saves"] += 1
        except Mistake as mistake:
            if "is being written by another process" not in mistake.english:
                done["wrong"].append(mistake.english)
                break
            done["refused"] += 1
    return done


def read(place: Path, known: list[tuple], count: int, chance: random.Random) -> dict:
    done = {"loads": 0, "missing": 0, "wrong": []}
    while done["loads"] < count and len(done["wrong"]) < 5:
        run = place / "run"
        if chance.random() < 0.3:
            run = max(place.glob("first-*"), key=lambda path: path.name, default=run)
        try:
            found = told(load(run, device="cpu"))
            if found not in known:
                done["wrong"].append(f"a mixture: {found[0]}")
            done["loads"] += 1
        except Mistake as mistake:
            if "is not a run folder" not in mistake.english or run.name == "run":
                done["wrong"].append(mistake.english)
            done["missing"] += 1
    return done


def in_turns(count: int, seed: int) -> dict:
    """`count` saves and as many loads, shared by the processes."""
    began, both = time.monotonic(), models()
    known, found = (
        [told(model) for model in both],
        {"saves": 0, "loads": 0, "refused": 0, "missing": 0, "wrong": []},
    )
    with tempfile.TemporaryDirectory() as folder:
        place, results, children = Path(folder) / "runs", Path(folder) / "results", []
        both[0].save(place / "run")
        results.mkdir()
        for number in range(READERS + WRITERS):
            if child := os.fork():
                children.append(child)
                continue
            chance, status = random.Random(f"{seed} {number}"), 1
            try:
                if number < WRITERS:
                    done = write(place, both, count // WRITERS, chance, number)
                else:
                    done = read(place, known, count // READERS, chance)
                (results / str(number)).write_text(json.dumps(done))
                status = 0
            except BaseException:
                traceback.print_exc(file=sys.stderr)
            finally:
                os._exit(status)
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        found["wrong"] += [f"a process ended with status {end}" for end in ends if end]
        for path in results.iterdir():
            for name, value in json.loads(path.read_text()).items():
                found[name] += value
        found["wrong"] += [
            f"{path.name} is left" for path in place.iterdir() if path.name.startswith(".")
        ]
    return found | {"seconds": round(time.monotonic() - began)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(in_turns(given.count, given.seed)))
