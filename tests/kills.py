"""Kills trainings at random moments, goes on with them, and compares how they end with how they would have ended.

    python tests/kills.py --kills 20 --seed 0        prints one line of JSON: kills, trainings, by rung, what differed

Every training is a `wenmai train` of its own process, forked from this one, which has loaded torch already. It is killed with
SIGKILL, gone on with by `wenmai train --resume`, killed again, and so on; then its folder is compared with that of a training
that nobody disturbed: weights to the last bit, scores, every line of progress, nothing left beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

from wenmai.catalog import RUNGS
from wenmai.cli.commands import main
from wenmai.estimators import ESTIMATORS
from wenmai.training import checkpoints, folders, loop

SMALL = {"hidden": 16, "embed": 8, "width": 16, "heads": 2, "filters": 8, "steps": 60, "epochs": 12, "evaluations": 6,
         "batch_tokens": 256}  # fmt: skip
VARIANTS = [{}, {"dropout": 0.5}, {"search": "true"}, {"patience": 1}, {"precision": "bf16"}, {"optimizer": "sgd"},
            {"averaged": "false"}, {"solver": "gradient"}, {"crf": "true"}, {"bidirectional": "true"}]  # fmt: skip
FILE = {"classify": "films.csv", "tag": "tags.conll", "regress": "numbers.csv", "generate": "text.txt",
        "compose": "films.csv", "translate": "pairs.tsv"}  # fmt: skip


def write_data(place: Path) -> None:
    generator = np.random.default_rng(0)
    words = {"pos": ["good", "warm", "fine"], "neg": ["bad", "cold", "dull"]}
    films = "".join(f"{' '.join(generator.choice([*words[label], 'a', 'film', 'the'], 6))} {n},{label}\n"
                    for n, label in enumerate(["pos", "neg"] * 150))  # fmt: skip
    (place / "films.csv").write_text("text,label\n" + films)
    known = [*words["pos"], *words["neg"]]
    (place / "text.txt").write_text("".join(f"{' '.join(generator.choice(known, 7))}\n" for _ in range(300)))
    pairs = "".join(f"{' '.join(row)} {n}\t{' '.join(row[::-1])}\n" for n, row in enumerate(generator.choice(known, (200, 3))))
    (place / "pairs.tsv").write_text("source\ttarget\n" + pairs)
    tags = "".join(f"the\tO\n{generator.choice(words['pos'])}\tB-A\nend{n}\tI-A\n.\tO\n\n" for n in range(150))
    (place / "tags.conll").write_text(tags)
    x = generator.normal(size=(300, 3))
    lines = (f"{a:.4f},{b:.4f},{c:.4f},{1 / (1 + np.exp(-a + b)):.6f}\n" for a, b, c in x)
    (place / "numbers.csv").write_text("a,b,c,target\n" + "".join(lines))


def cases() -> list[tuple[str, str, dict]]:
    """Every row × task of the catalog, with every variant that it knows."""
    found = []
    for rung in RUNGS.values():
        for task in rung.tasks:
            known = ESTIMATORS[task](rung.name).get_params()
            found += [(rung.name, task, variant) for variant in VARIANTS if variant.keys() <= known.keys()]
    return found


def command(case: tuple[str, str, dict], place: Path, out: Path) -> list[str]:
    rung, task, variant = case
    known = ESTIMATORS[task](rung).get_params()
    options = {name: value for name, value in SMALL.items() if name in known} | variant
    settings = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    return ["train", rung, str(place / FILE[task]), "--task", task, "--out", str(out), *settings]


def start(words: list[str], often: bool, log: Path) -> int:
    """A `wenmai …` of its own; returns its process number."""
    child = os.fork()
    if child:
        return child
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1), os.dup2(file, 2)
    # after every step, so that most kills fall into the writing of one; or now and then
    loop.HEARTBEAT, checkpoints.OFTEN, checkpoints.SHARE = (-1.0, -1.0, 0) if often else (0.02, 0.05, 0)
    sys.argv, status = ["wenmai", *words], 0
    try:
        main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        os._exit(status)


def ended(child: int, seconds: float | None = None) -> int | None:
    """How it ended, by itself within so many seconds; None if it still runs then."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        done, status = os.waitpid(child, 0 if until is None else os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            return None
        time.sleep(0.002)


def told(run: Path) -> tuple:
    """All that must be the same."""
    folders.check(run)
    about = json.loads((run / "run.json").read_text())
    lines = [json.loads(line) | {"seconds": 0} for line in (run / "progress.jsonl").read_text().splitlines()]
    names = sorted(path.name for path in run.iterdir())
    return (run / "weights.safetensors").read_bytes(), about["scores"], about["options"], lines, names


def unbegun(log: Path) -> bool:
    return any(said in log.read_text() for said in ("is not there", "holds no training that was stopped"))


def one_training(case, place: Path, chance: random.Random, kills: int) -> tuple[int, list[str]]:
    """(kills, what differed) of one case, killed until there were so many or it came to its end."""
    whole, run, log = place / "whole", place / "run", place / "log"
    for folder in (whole, run):
        shutil.rmtree(folder, ignore_errors=True)
    often, began = chance.random() < 0.5, time.monotonic()
    if ended(start(command(case, place, whole), often, log)) != 0:
        return 0, [f"{case}: {log.read_text()[-400:]}"]
    seconds, killed, words = time.monotonic() - began, 0, command(case, place, run)
    for _ in range(4 * kills + 4):
        child = start(words, often, log)
        status = ended(child, chance.uniform(0, 1.1 * seconds) if killed < kills else None)
        if status is None:
            os.kill(child, signal.SIGKILL)
            ended(child)
            killed += 1
        elif status == 0:
            break
        elif status == 2 and words[1] == "--resume" and unbegun(log):
            if (run / "run.json").exists():
                break  # it was killed when all was done; what it left beside is swept away now
            words = command(case, place, run)  # it had not begun
            continue
        else:
            return killed, [f"{case} after {killed} kills, status {status}: {log.read_text()[-400:]}"]
        words = ["train", "--resume", str(run)]
    else:
        return killed, [f"{case}: does not come to its end, {log.read_text()[-400:]}"]
    names = ("weights", "scores", "options", "progress", "files")
    wrong = [name for name, one, other in zip(names, told(run), told(whole)) if one != other]
    left = [path.name for path in place.iterdir() if path.name not in ("whole", "run", "log", *FILE.values())]
    left = [name for name in left if not name.endswith(".lock")]
    return killed, [f"{case} after {killed} kills: {wrong} differ, {left} are left"] if wrong or left else []


def kill(kills: int, seed: int) -> dict:
    chance, done, wrong, rungs, trainings = random.Random(seed), 0, [], Counter(), 0
    began, order = time.monotonic(), cases()
    chance.shuffle(order)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_data(place)
        while done < kills and len(wrong) < 10:
            case = order[trainings % len(order)]
            killed, differ = one_training(case, place, chance, min(2 if kills < 100 else 8, kills - done))
            trainings, done, wrong = trainings + 1, done + killed, wrong + differ
            rungs[case[0]] += killed
    seconds = round(time.monotonic() - began)
    return {"kills": done, "trainings": trainings, "rungs": dict(rungs), "wrong": wrong, "seconds": seconds}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(kill(given.kills, given.seed)))
