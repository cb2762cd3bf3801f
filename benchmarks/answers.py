"""Answers out of a text: the qualities that are asked for, each a command; a line of JSON for each fold, rung or task.

    python benchmarks/answers.py DATA squad [--rung bert --start minilm] [--folds 5]      SQuAD's dev file, folds by article
    python benchmarks/answers.py DATA squad --rung attention|transformer|baseline         the same from scratch, or no model
    python benchmarks/answers.py DATA cmrc [--rung bert --start FOLDER]                   trial and half of dev; the rest is test
    python benchmarks/answers.py DATA c3 [--rung bert --start FOLDER]                     d and m together
    python benchmarks/answers.py DATA babi [--rung attention] [--epochs 10]               20 tasks by one model, each task apart
    … [--set key=value …] [--seed 0] [--device cuda] [--few N]                            N: questions, to try the command itself

A tenth of what is learned from is held out, by article or paragraph: training stops by it. Settings are chosen on it alone (the
score "valid" of each line), and test is looked at once.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tarfile
import time
from pathlib import Path

import numpy as np

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.estimators import ESTIMATORS
from wenmai.exchange.hugging_face import checkpoint
from wenmai.tasks.measuring.baselines import likest_choice, likest_sentence

KEYS = "text", "answer_start"  # of answers


def articles(path: Path) -> list[list[tuple]]:
    """The questions of every article: ((context, question), answers) each. Of CMRC's, one has no words, and is left out."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    found = []
    for article in json.loads(text)["data"]:
        asked = [(paragraph["context"], one) for paragraph in article["paragraphs"] for one in paragraph["qas"]]
        found.append([((context, one["question"]), {key: [answer[key] for answer in one["answers"]] for key in KEYS})
                      for context, one in asked if any(map(str.isalnum, one["question"]))])  # fmt: skip
    return found


def halves(groups: list, share: float, seed: int) -> tuple[list, list]:
    """(what is left, a share of the groups), rows of both."""
    order = np.random.default_rng(seed).permutation(len(groups))
    held = set(order[: max(1, round(share * len(groups)))].tolist())
    return ([row for number in range(len(groups)) if number not in held for row in groups[number]],
            [row for number in sorted(held) for row in groups[number]])  # fmt: skip


def judged(task: str, parts: dict[str, list], asked, told: dict) -> None:
    """Learned from train, stopped by valid, scored on both held-out parts; without a model where the rung is baseline."""
    parts = {name: rows[: asked.few] if asked.few else rows for name, rows in parts.items()}
    inputs = {name: [row for row, _ in rows] for name, rows in parts.items()}
    targets = {name: [answer for _, answer in rows] for name, rows in parts.items()}
    began = time.perf_counter()
    if asked.rung == "baseline":
        kind = TASKS[task]()
        kind.learn(kind.prepare(inputs["train"], targets["train"])[1])
        *_, answer = (likest_choice if task == "choose" else likest_sentence)(kind, None, None)
        scores = {}
        for part in ("valid", "test"):
            rows, right = kind.prepare(inputs[part], targets[part])
            scores[part] = kind.scores(answer(rows, right), kind.encode(right))
    else:
        options = dict(pair.split("=", 1) for pair in asked.set)
        model = ESTIMATORS[task](asked.rung, seed=asked.seed, device=asked.device, **options)
        start = checkpoint(asked.start) if asked.start else None
        model.fit(inputs["train"], targets["train"], valid=(inputs["valid"], targets["valid"]), start=start)
        scores = {part: dict(model.evaluate(inputs[part], targets[part])) for part in ("valid", "test")}
    seconds = round(time.perf_counter() - began, 1)
    print(json.dumps(told | {"rung": asked.rung, "rows": {name: len(rows) for name, rows in parts.items()}, **scores,
                             "seconds": seconds}), flush=True)  # fmt: skip


def squad(asked) -> None:
    groups = articles(asked.data / "squad" / "dev-v1.1.json.xz")
    order = np.random.default_rng(0).permutation(len(groups))
    for fold in range(asked.folds):
        test = [row for number in order[fold::asked.folds] for row in groups[number]]
        rest = [groups[number] for number in order if number not in set(order[fold::asked.folds].tolist())]
        train, valid = halves(rest, 0.1, asked.seed)
        judged("answer", {"train": train, "valid": valid, "test": test}, asked, {"data": "squad", "fold": fold})


def cmrc(asked) -> None:
    trial, dev = (articles(asked.data / "cmrc2018" / f"cmrc2018_{part}.json.xz") for part in ("trial", "dev"))
    known, test = halves(dev, 0.5, 0)
    by_context: dict[str, list] = {}
    for row in [*(row for group in trial for row in group), *known]:
        by_context.setdefault(row[0][0], []).append(row)
    held = {row[0][0] for row in test}
    train, valid = halves([rows for context, rows in by_context.items() if context not in held], 0.1, asked.seed)
    judged("answer", {"train": train, "valid": valid, "test": test}, asked, {"data": "cmrc2018"})


def c3(asked) -> None:
    parts = {}
    for part, name in (("train", "train"), ("valid", "dev"), ("test", "test")):
        rows = [open_dataset(str(asked.data / "c3" / f"c3-{kind}-{name}.json.xz"), TASKS, "choose").train for kind in "dm"]
        parts[part] = [pair for one in rows for pair in zip(*one.pair)]
    judged("choose", parts, asked, {"data": "c3"})


def stories(asked, part: str) -> dict[str, list]:
    folder = asked.out / "babi"
    if not folder.exists():
        with tarfile.open(asked.data / "babi" / "en.tar.xz") as packed:
            packed.extractall(folder, filter="data")
    files = sorted((folder / "en").glob(f"qa*_{part}.txt"), key=lambda path: int(path.name[2:].split("_")[0]))
    return {path.name.rsplit("_", 1)[0]: list(zip(*open_dataset(str(path), TASKS, "reply").train.pair)) for path in files}


def babi(asked) -> None:
    train, valid, tests = [], [], stories(asked, "test")
    for name, rows in stories(asked, "train").items():
        cut = len(rows) - len(rows) // 10
        train, valid = train + rows[:cut], valid + rows[cut:]
        tests[name] = tests[name][: asked.few] if asked.few else tests[name]
    if asked.few:
        train, valid = train[:: max(1, len(train) // asked.few)], valid[:: max(1, len(valid) // asked.few)]
    options = {"epochs": asked.epochs, "max_length": 600} | dict(pair.split("=", 1) for pair in asked.set)
    began = time.perf_counter()
    model = ESTIMATORS["reply"](asked.rung, seed=asked.seed, device=asked.device, **options)
    model.fit([row for row, _ in train], [answer for _, answer in train], valid=tuple(map(list, zip(*valid))))
    scores = {name: model.evaluate([row for row, _ in rows], [answer for _, answer in rows], beam=1)["exact_match"]
              for name, rows in tests.items()}  # fmt: skip
    answers = {name: [answer for _, answer in rows] for name, rows in tests.items()}
    usual = {name: float(np.unique(each, return_counts=True)[1].max() / len(each)) for name, each in answers.items()}
    print(json.dumps({"data": "babi", "rung": asked.rung, "mean": float(np.mean(list(scores.values()))), "tasks": scores,
                      "usual answer": usual, "seconds": round(time.perf_counter() - began, 1)}), flush=True)  # fmt: skip


RUNGS = {"squad": ("bert", "minilm"), "cmrc": ("bert", ""), "c3": ("bert", ""), "babi": ("attention", "")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("what", choices=list(RUNGS))
    parser.add_argument("--rung", default="")
    parser.add_argument("--start", default=None, help="a run, a checkpoint's folder, or minilm")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--device", default="auto")
    for name, usual in (("folds", 5), ("epochs", 10), ("seed", 0), ("few", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    rung, start = RUNGS[asked.what]
    asked.start = asked.start if asked.start is not None else start if not asked.rung else ""
    asked.rung = asked.rung or rung
    {"squad": squad, "cmrc": cmrc, "c3": c3, "babi": babi}[asked.what](asked)


if __name__ == "__main__":
    main()
