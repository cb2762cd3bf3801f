"""Stops trainings and comparisons at random moments, goes on with them, and compares how they end with how they would have ended.

    python tests/kills.py --kills 20 --seed 0        prints one line of JSON: kills, by rung, where they fell, what differed

Every training is a `wenmai train` of its own process, forked from this one, which has loaded torch already. It is killed with
SIGKILL, anywhere or in a PLACE where there is more to lose, or asked to stop by SIGTERM or Ctrl-C, gone on with by `wenmai
train --resume`, stopped again, and so on; then its folder is compared with that of a training that nobody disturbed: weights to
the last bit, scores, every line of progress, nothing left beside them. Every tenth is a `wenmai compare` instead, of which every
rung has to come to the same scores, and none that was done is trained again.
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
import threading
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import soundfile

from wenmai.catalog import RUNGS
from wenmai.cli import training
from wenmai.cli.commands import main
from wenmai.estimators import ESTIMATORS
from wenmai.evaluation import compare
from wenmai.training import checkpoints, folders, loop, run_folder

SMALL = {
    "hidden": 16,
    "embed": 8,
    "width": 16,
    "heads": 2,
    "filters": 8,
    "steps": 60,
    "epochs": 12,
    "evaluations": 6,
    "batch_tokens": 256,
}
VARIANTS = [
    {},
    {"dropout": 0.5},
    {"search": "true"},
    {"patience": 1},
    {"precision": "bf16"},
    {"optimizer": "sgd"},
    {"averaged": "false"},
    {"solver": "gradient"},
    {"crf": "true"},
    {"bidirectional": "true"},
]
FILE = {
    "classify": "films.csv",
    "tag": "tags.conll",
    "regress": "numbers.csv",
    "generate": "text.txt",
    "compose": "films.csv",
    "translate": "pairs.tsv",
    "pretrain": "documents.txt",
    "answer": "questions.csv",
    "choose": "choices.csv",
    "reply": "questions.csv",
    "transcribe": "said.csv",
}


PLACES = {
    "loading": (training, "dataset_for"),
    "scoring": (loop.Training, "evaluated"),
    "saving": (run_folder, "save"),
    "final evaluation": (training, "final_scores"),
    "replacing": (folders, "replace"),
}
IN_COMPARE = {
    "a rung": (compare, "one_rung"),
    "measuring": (compare, "measured"),
    "summary": (compare, "summary"),
}
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
SHORT = 0.05  # seconds after a place was come to


class Blow(NamedTuple):
    owner: object  # of what is struck
    name: str
    call: int
    seconds: float  # after it was called
    number: int  # of the signal

    def prepare(self) -> None:
        whole, seen = getattr(self.owner, self.name), []

        def struck(*arguments, **more):
            seen.append(1)
            if len(seen) == self.call:
                threading.Timer(self.seconds, os.kill, (os.getpid(), self.number)).start()
            return whole(*arguments, **more)

        setattr(self.owner, self.name, struck)


def blow(chance: random.Random, places: dict) -> tuple[str, Blow]:
    name = chance.choice(list(places))
    return name, Blow(
        *places[name], chance.choice([1, 1, 2, 3]), chance.uniform(0, SHORT), chance.choice(SIGNALS)
    )


def write_data(place: Path) -> None:
    generator = np.random.default_rng(0)
    words = {"pos": ["good", "warm", "fine"], "neg": ["bad", "cold", "dull"]}
    films = "".join(
        f"{' '.join(generator.choice([*words[label], 'a', 'film', 'the'], 6))} {n},{label}\n"
        for n, label in enumerate(["pos", "neg"] * 150)
    )
    (place / "films.csv").write_text("text,label\n" + films)
    known = [*words["pos"], *words["neg"]]
    (place / "text.txt").write_text(
        "".join(f"{' '.join(generator.choice(known, 7))}\n" for _ in range(300))
    )
    lines = [
        " ".join(generator.choice(known, 7)) + ("\n" if n % 4 == 3 else "") for n in range(300)
    ]
    (place / "documents.txt").write_text("\n".join(lines) + "\n")
    pairs = "".join(
        f"{' '.join(row)} {n}\t{' '.join(row[::-1])}\n"
        for n, row in enumerate(generator.choice(known, (200, 3)))
    )
    (place / "pairs.tsv").write_text("source\ttarget\n" + pairs)
    tags = "".join(
        f"the\tO\n{generator.choice(words['pos'])}\tB-A\nend{n}\tI-A\n.\tO\n\n" for n in range(150)
    )
    (place / "tags.conll").write_text(tags)
    asked = "".join(
        f"{' '.join(row)} {n},which {row[0]}?,{row[1]}\n"
        for n, row in enumerate(generator.choice(known, (200, 4)))
    )
    (place / "questions.csv").write_text("context,question,answer\n" + asked)
    rows = enumerate(generator.choice(known, (200, 4)))
    chosen = "".join(f"{' '.join(row)} {n},which?,{row[0]}|no,{row[0]}\n" for n, row in rows)
    (place / "choices.csv").write_text("context,question,choices,answer\n" + chosen)
    x = generator.normal(size=(300, 3))
    lines = (f"{a:.4f},{b:.4f},{c:.4f},{1 / (1 + np.exp(-a + b)):.6f}\n" for a, b, c in x)
    (place / "numbers.csv").write_text("a,b,c,target\n" + "".join(lines))
    rows = generator.choice(known, (300, 5))
    rated = (
        f"{' '.join(row)} {n},{sum(word in words['pos'] for word in row)}\n"
        for n, row in enumerate(rows)
    )
    (place / "rated.csv").write_text("text,target\n" + "".join(rated))
    said = []
    for n, letters in enumerate(generator.choice(list("abc"), (40, 2))):  # a tone for a letter
        tones = [np.sin(np.arange(800) * 0.2 * (1 + "abc".index(letter))) for letter in letters]
        samples = np.concatenate(tones) + 0.01 * generator.normal(size=1600)
        soundfile.write(place / f"{n}.wav", 0.3 * samples, 8000)
        said.append(f"{n}.wav,{''.join(letters)}\n")
    (place / "said.csv").write_text("audio,text\n" + "".join(said))


def file_for(rung: str, task: str) -> str:
    return "rated.csv" if task == "regress" and "numbers" not in RUNGS[rung].reads else FILE[task]


def cases() -> list[tuple[str, str, dict]]:
    """Every row × task of the catalog, with every variant that it knows."""
    found = []
    for rung in RUNGS.values():
        for task in rung.tasks:
            known = ESTIMATORS[task](rung.name).get_params()
            found += [
                (rung.name, task, variant)
                for variant in VARIANTS
                if variant.keys() <= known.keys() and (rung.tunes or "search" not in variant)
            ]
    return found


def command(case: tuple[str, str, dict], place: Path, out: Path) -> list[str]:
    rung, task, variant = case
    known = ESTIMATORS[task](rung).get_params()
    file = file_for(rung, task)
    idle = {"embed"} if file == "numbers.csv" else set()  # of numbers
    options = {
        name: value for name, value in SMALL.items() if name in known and name not in idle
    } | variant
    settings = [word for name, value in options.items() for word in ("--set", f"{name}={value}")]
    return ["train", rung, str(place / file), "--task", task, "--out", str(out), *settings]


def start(words: list[str], often: bool, log: Path, blow: Blow | None = None) -> int:
    """A `wenmai …` of its own; returns its process number."""
    child = os.fork()
    if child:
        return child
    if blow:
        blow.prepare()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1), os.dup2(file, 2)
    # after every step, so that most kills fall into the writing of one; or now and then
    loop.HEARTBEAT, checkpoints.OFTEN, checkpoints.SHARE = (
        (-1.0, -1.0, 0) if often else (0.02, 0.05, 0)
    )
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


def warm_up(place: Path) -> None:
    """What every training would load by itself (what an optimizer brings with it alone takes two seconds of the processor), and
    compile, is loaded once: kills fall into training, not into imports."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        for case in (
            ("mlp", "classify", {}),
            ("softmax", "classify", {}),
            ("perceptron", "tag", {}),
            ("ngram", "generate", {}),
        ):
            sys.argv = ["wenmai", *command(case, place, place / "warm")]
            try:
                main()
            except SystemExit as end:
                assert not end.code, case
            shutil.rmtree(place / "warm")


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
    lines = [
        json.loads(line) | {"seconds": 0}
        for line in (run / "progress.jsonl").read_text().splitlines()
    ]
    names = sorted(path.name for path in run.iterdir())
    return (
        (run / "weights.safetensors").read_bytes(),
        about["scores"],
        about["options"],
        lines,
        names,
    )


def unbegun(log: Path) -> bool:
    return any(
        said in log.read_text() for said in ("is not there", "holds no training that was stopped")
    )


def stopped(child: int, blow: Blow, log: Path) -> tuple[int, bool]:
    """(how it ended, whether that is what the blow should come to)"""
    status, number = ended(child), blow.number
    honest = status in (-number, 128 + number) and (
        number == signal.SIGKILL or status == -number or "stopped" in log.read_text()
    )
    return status, honest


def one_training(case, place: Path, chance: random.Random, kills: int) -> tuple[Counter, list[str]]:
    """(where kills fell, what differed) of one case, stopped until there were so many or it came to its end."""
    whole, run, log = place / "whole", place / "run", place / "log"
    for folder in (whole, run):
        shutil.rmtree(folder, ignore_errors=True)
    often, began = chance.random() < 0.5, time.monotonic()
    if ended(start(command(case, place, whole), often, log)) != 0:
        return Counter(), [f"{case}: {log.read_text()[-400:]}"]
    seconds, fell, words = time.monotonic() - began, Counter(), command(case, place, run)
    for _ in range(4 * kills + 4):
        killed = fell.total()
        if killed < kills and chance.random() < 0.5:
            where, struck = blow(chance, PLACES)
            status, honest = stopped(start(words, often, log, struck), struck, log)
            if honest:
                fell[where] += 1
                if "all was done" in log.read_text():
                    break
                if struck.number != signal.SIGKILL and "go on with" not in log.read_text():
                    continue  # the same command, as it says
        else:
            child = start(words, often, log)
            status = ended(child, chance.uniform(0, 1.1 * seconds) if killed < kills else None)
            honest = status is None
            if honest:
                os.kill(child, signal.SIGKILL)
                ended(child)
                fell["anywhere"] += 1
        if honest:
            pass
        elif status == 0:
            break
        elif status == 2 and words[1] == "--resume" and unbegun(log):
            if (run / "run.json").exists():
                break  # it was killed when all was done; what it left beside is swept away now
            words = command(case, place, run)  # it had not begun
            continue
        else:
            return fell, [f"{case} after {dict(fell)}, status {status}: {log.read_text()[-400:]}"]
        words = ["train", "--resume", str(run)]
    else:
        return fell, [f"{case}: does not come to its end, {log.read_text()[-400:]}"]
    names = ("weights", "scores", "options", "progress", "files")
    wrong = [name for name, one, other in zip(names, told(run), told(whole)) if one != other]
    left = left_in(place)
    return fell, [
        f"{case} after {dict(fell)}: {wrong} differ, {left} are left"
    ] if wrong or left else []


def left_in(place: Path) -> list[str]:
    names = [
        path.name
        for path in place.iterdir()
        if path.name not in ("whole", "run", "log", "rated.csv", *FILE.values())
    ]
    return [name for name in names if not name.endswith((".lock", ".wav"))]


COMPARED = {
    "classify": (
        "softmax,perceptron,mlp",
        ("steps=20", "epochs=4", "hidden=8", "batch_tokens=256"),
    ),
    "regress": ("linear,mlp", ("steps=20", "hidden=8", "batch_tokens=256")),
}


def one_comparison(place: Path, chance: random.Random, kills: int) -> tuple[Counter, list[str]]:
    """(where kills fell, what differed) of one `wenmai compare`; its runs lie beside its report."""
    task, log, fell, before = chance.choice(list(COMPARED)), place / "log", Counter(), {}
    rungs, settings = COMPARED[task]
    settings = [word for setting in settings for word in ("--set", setting)]
    begin = [
        "compare",
        str(place / FILE[task]),
        "--minutes",
        "1",
        "--rungs",
        rungs,
        *settings,
        "--out",
        "report",
    ]
    for name in ("whole", "run"):
        shutil.rmtree(place / name, ignore_errors=True)
        (place / name).mkdir()
    try:
        os.chdir(place / "whole")
        if ended(start(begin, False, log)) != 0:
            return fell, [f"compare {task}: {log.read_text()[-400:]}"]
        os.chdir(place / "run")
        words = begin
        for _ in range(4 * kills + 4):
            where, struck = blow(chance, PLACES | IN_COMPARE)
            status, honest = stopped(
                start(words, False, log, struck if fell.total() < kills else None), struck, log
            )
            kept = {
                path.parent.name: path.read_bytes() for path in Path("runs").glob("*/manifest.json")
            }
            if again := [name for name, manifest in before.items() if kept.get(name) != manifest]:
                return fell, [f"compare {task} after {dict(fell)}: {again} were trained again"]
            done = [path.parent.name for path in Path("report/unfinished").glob("[a-z]*/row.json")]
            before = {
                name: manifest for name, manifest in kept.items() if name.split("-")[-1] in done
            }
            if honest:
                fell[f"compare: {where}"] += 1
            elif status == 0:
                break
            else:
                return fell, [
                    f"compare {task} after {dict(fell)}, status {status}: {log.read_text()[-400:]}"
                ]
            unfinished = Path("report/unfinished/start").is_dir()
            if Path("report/report.json").exists() and not unfinished:
                break
            words = ["compare", "--resume", "report"] if unfinished else begin
        else:
            return fell, [f"compare {task}: does not come to its end, {log.read_text()[-400:]}"]
        one, other = (compared(place / name / "report") for name in ("whole", "run"))
        left = [name for name in left_in(place / "run") if name not in ("runs", "report")]
        return fell, [
            f"compare {task} after {dict(fell)}: {one} became {other}, {left} are left"
        ] if one != other or left else []
    finally:
        os.chdir(place)


def compared(report: Path) -> dict:
    rows = json.loads((report / "report.json").read_text())["rungs"]
    return {row["rung"]: (row["failed"], row["scores"], row["seed_scores"]) for row in rows}


def kill(kills: int, seed: int) -> dict:
    chance, fell, wrong, rungs, trainings = random.Random(seed), Counter(), [], Counter(), 0
    began, order = time.monotonic(), cases()
    chance.shuffle(order)
    memory = Path(
        "/dev/shm"
    )  # a process that is killed loses nothing that it wrote, and no disk is waited for
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        place = Path(folder)
        write_data(place)
        warm_up(place)
        while fell.total() < kills and len(wrong) < 10:
            case, most = (
                order[trainings % len(order)],
                min(2 if kills < 100 else 8, kills - fell.total()),
            )
            if trainings % 10 == 9:
                case, (where, differ) = ("compare",), one_comparison(place, chance, most)
            else:
                where, differ = one_training(case, place, chance, most)
            trainings, fell, wrong = trainings + 1, fell + where, wrong + differ
            rungs[case[0]] += where.total()
    seconds = round(time.monotonic() - began)
    return {
        "kills": fell.total(),
        "trainings": trainings,
        "rungs": dict(rungs),
        "where": dict(fell),
        "wrong": wrong,
        "seconds": seconds,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(kill(given.kills, given.seed)))
