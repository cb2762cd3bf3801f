"""Answers out of a text: the qualities that are asked for, each a command; a line of JSON for each fold or rung.

    python benchmarks/answers.py squad --encoder minilm [--fold K]           SQuAD's dev file, 5 folds by article
    python benchmarks/answers.py squad --rung attention|transformer|baseline the same from scratch, or without a model
    python benchmarks/answers.py cmrc --encoder FOLDER                       trial and half of dev; the other half is test
    python benchmarks/answers.py c3 --encoder FOLDER                         d and m together
    python benchmarks/answers.py babi [--rung attention]                     20 tasks by one model, each task apart
    python benchmarks/answers.py report --out FILE                           the lines of a file as a table
    … [--try "learning_rate=1e-4 epochs=3"]… [--set key=value]… [--seed 0] [--device cuda] [--out FILE] [--few N]

`--try` may be repeated: each is learned with, the best on valid is kept, and test is scored by that one alone. Valid is a tenth
of what is learned from, cut by article or paragraph; of C3 its own dev part. `--encoder`: a run, a checkpoint or minilm;
`--few N` takes N questions, to try the command itself. Folds and rungs may run side by side: lines of a file are added at once.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tarfile
import time
from collections import Counter
from pathlib import Path

import corpora
import numpy as np

from wenmai import load
from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.estimators import ESTIMATORS
from wenmai.exchange.hugging_face import checkpoint, is_checkpoint, place_of
from wenmai.tasks.measuring.baselines import likest_choice, likest_sentence, naive_bayes

KEYS = "text", "answer_start"  # of answers
FOLDS = 5
Rows = list[tuple]  # (input, target)


# Data


def articles(path: Path) -> list[Rows]:
    """The questions of every article: ((context, question), answers) each. Of CMRC's, one has no words, and is left out."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    found = []
    for article in json.loads(text)["data"]:
        asked = [
            (paragraph["context"], one)
            for paragraph in article["paragraphs"]
            for one in paragraph["qas"]
        ]
        found.append(
            [
                (
                    (context, one["question"]),
                    {key: [answer[key] for answer in one["answers"]] for key in KEYS},
                )
                for context, one in asked
                if any(map(str.isalnum, one["question"]))
            ]
        )
    return found


def halves(groups: list, share: float, seed: int) -> tuple[list, list]:
    """(what is left, a share of the groups), rows of both."""
    order = np.random.default_rng(seed).permutation(len(groups))
    held = set(order[: max(1, round(share * len(groups)))].tolist())
    return (
        [row for number in range(len(groups)) if number not in held for row in groups[number]],
        [row for number in sorted(held) for row in groups[number]],
    )


def squad(asked, fold: int) -> dict[str, Rows]:
    groups = articles(asked.data / "squad" / "dev-v1.1.json.xz")
    order = np.random.default_rng(0).permutation(len(groups))
    held = order[fold::FOLDS].tolist()
    train, valid = halves([groups[number] for number in order if number not in held], 0.1, 0)
    return {
        "train": train,
        "valid": valid,
        "test": [row for number in held for row in groups[number]],
    }


def cmrc(asked, fold: int) -> dict[str, Rows]:
    trial, dev = (
        articles(asked.data / "cmrc2018" / f"cmrc2018_{part}.json.xz") for part in ("trial", "dev")
    )
    known, test = halves(dev, 0.5, 0)
    by_context: dict[str, list] = {}
    for row in [*(row for group in trial for row in group), *known]:
        by_context.setdefault(row[0][0], []).append(row)
    held = {row[0][0] for row in test}
    train, valid = halves(
        [rows for context, rows in by_context.items() if context not in held], 0.1, 0
    )
    return {"train": train, "valid": valid, "test": test}


def c3(asked, fold: int) -> dict[str, Rows]:
    parts = {}
    for part, name in (("train", "train"), ("valid", "dev"), ("test", "test")):
        rows = [
            open_dataset(
                str(asked.data / "c3" / f"c3-{kind}-{name}.json.xz"), TASKS, "choose"
            ).train
            for kind in "dm"
        ]
        parts[part] = [pair for one in rows for pair in zip(*one.pair)]
    return parts


def stories(asked, part: str) -> dict[str, Rows]:
    folder = asked.made / "babi"
    if not folder.exists():
        with tarfile.open(asked.data / "babi" / "en.tar.xz") as packed:
            packed.extractall(folder, filter="data")
    files = sorted(
        (folder / "en").glob(f"qa*_{part}.txt"), key=lambda path: int(path.name[2:].split("_")[0])
    )
    return {
        path.name.rsplit("_", 1)[0]: list(zip(*open_dataset(str(path), TASKS, "reply").train.pair))
        for path in files
    }


def babi(asked, fold: int) -> dict[str, Rows]:
    """The last stories of every task are valid."""
    parts = {"train": [], "valid": []}
    for rows in stories(asked, "train").values():
        cut = len(rows) - len(rows) // 10
        while rows[cut][0][0].startswith(rows[cut - 1][0][0]):  # a story stays whole
            cut -= 1
        parts["train"] += rows[:cut]
        parts["valid"] += rows[cut:]
    return parts | {"test": [row for rows in stories(asked, "test").values() for row in rows]}


# Learning and scoring


def columns(rows: Rows) -> tuple[list, list]:
    return [row for row, _ in rows], [answer for _, answer in rows]


def started(encoder: str):
    """What is begun with: a run, or a checkpoint."""
    if not encoder:
        return None
    return checkpoint(encoder) if is_checkpoint(place_of(encoder)) else load(encoder)


def options_of(pairs: list[str]) -> dict:
    return dict(pair.split("=", 1) for pair in pairs)


def learned(task: str, parts: dict[str, Rows], asked, more: dict) -> tuple:
    """(the model that is best on valid, its settings, valid scores of all that were tried)"""
    best, tried = None, []
    metric = TASKS[task].metric
    for settings in asked.settings or [""]:
        began = time.perf_counter()
        options = more | options_of(asked.set) | options_of(settings.split())
        model = ESTIMATORS[task](asked.rung, seed=asked.seed, device=asked.device, **options)
        model.fit(
            *columns(parts["train"]), valid=columns(parts["valid"]), start=started(asked.encoder)
        )
        scores = dict(model.evaluate(*columns(parts["valid"]), **FAST.get(task, {})))
        tried.append(
            {
                "settings": settings,
                "valid": scores,
                "seconds": round(time.perf_counter() - began, 1),
            }
        )
        print(json.dumps(tried[-1]), flush=True)
        if best is None or scores[metric] > best[2]:
            best = model, settings, scores[metric]
    return best[0], best[1], tried


FAST = {"reply": {"beam": 1}}


def without_a_model(task: str, parts: dict[str, Rows]) -> dict:
    kind = TASKS[task]()
    kind.learn(kind.prepare(*columns(parts["train"]))[1])
    *_, answer = (likest_choice if task == "choose" else likest_sentence)(kind, None, None)
    scores = {}
    for part in ("valid", "test"):
        rows, right = kind.prepare(*columns(parts[part]))
        scores[part] = kind.scores(answer(rows, right), kind.encode(right))
    return scores


def judged(task: str, parts: dict[str, Rows], asked, told: dict) -> None:
    """Learned from train, stopped and chosen by valid, scored on test; without a model where the rung is baseline."""
    if asked.few:
        parts = {
            name: rows[:: max(1, len(rows) // asked.few)][: asked.few]
            for name, rows in parts.items()
        }
    began = time.perf_counter()
    if asked.rung == "baseline":
        found = without_a_model(task, parts)
    else:
        model, settings, tried = learned(task, parts, asked, MORE.get(asked.what, {}))
        found = {
            "settings": settings,
            "tried": tried,
            "parameters": model.model_.parameters_count(),
        }
        found["valid"] = next(one["valid"] for one in tried if one["settings"] == settings)
        found["test"] = dict(model.evaluate(*columns(parts["test"]), **FAST.get(task, {})))
        if asked.what == "babi":
            found |= by_task(model, asked)
    told = told | {
        "rung": asked.rung,
        "encoder": asked.encoder,
        "seed": asked.seed,
        "set": asked.set,
        "rows": {name: len(rows) for name, rows in parts.items()},
        **found,
        "seconds": round(time.perf_counter() - began, 1),
    }
    line = json.dumps(told, ensure_ascii=False)
    print(line, flush=True)
    if asked.out:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        with asked.out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


MORE = {"babi": {"max_length": 1400}}


def by_task(model, asked) -> dict:
    """Of every task the share that is right, the mean of these, and what a bag of words, and always the same answer, come to."""
    learned_from, tests = stories(asked, "train"), stories(asked, "test")
    if asked.few:
        tests = {name: rows[: asked.few] for name, rows in tests.items()}
    tasks = {
        name: model.evaluate(*columns(rows), beam=1)["exact_match"] for name, rows in tests.items()
    }
    bag = bag_of_words(learned_from, tests)
    usual = {
        name: Counter(columns(rows)[1]).most_common(1)[0][0] for name, rows in learned_from.items()
    }
    same = {
        name: float(np.mean([answer == usual[name] for _, answer in rows]))
        for name, rows in tests.items()
    }
    found = {"tasks": tasks, "bag of words": bag, "usual answer of the task": same}
    return found | {
        "mean": {name: float(np.mean(list(each.values()))) for name, each in found.items()}
    }


def bag_of_words(learned_from: dict[str, Rows], tests: dict[str, Rows]) -> dict[str, float]:
    """One bag for all tasks."""
    say = naive_bayes(*columns([row for rows in learned_from.values() for row in rows]))
    each = {name: columns(rows) for name, rows in tests.items()}
    return {
        name: float(np.mean([one == other for one, other in zip(say(inputs), answers)]))
        for name, (inputs, answers) in each.items()
    }


# A table of what was found


def report(asked) -> None:
    """Folds of one rung and encoder are joined by their rows."""
    groups: dict[tuple, list] = {}
    for line in asked.out.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        groups.setdefault((one["data"], one["rung"], one["encoder"]), []).append(one)
    print(
        "| data | rung | starts from | folds | test | valid | settings | seconds |\n|"
        + " --- |" * 8
    )
    for (data, rung, encoder), lines in groups.items():
        last = {one["fold"]: one for one in lines}  # of a fold that ran twice, the last
        shown = []
        for part in ("test", "valid"):
            weights = [one["rows"][part] for one in last.values()]
            names = next(iter(last.values()))[part]
            shown.append(
                ", ".join(
                    f"{name} {np.average([one[part][name] for one in last.values()], weights=weights):.4f}"
                    for name in names
                )
            )
        settings = "; ".join(
            dict.fromkeys(
                " ".join([*one.get("set", ()), one.get("settings", "")]) for one in last.values()
            )
        )
        seconds = sum(one["seconds"] for one in last.values())
        print(
            f"| {data} | {rung} | {encoder or '–'} | {len(last)} | {' | '.join(shown)} | {settings} | {seconds:.0f} |"
        )
        for one in last.values():
            if "tasks" in one:
                print(json.dumps({name: one[name] for name in ("mean", "tasks", "bag of words")}))


SETS = {
    "squad": (squad, "answer", "bert"),
    "cmrc": (cmrc, "answer", "bert"),
    "c3": (c3, "choose", "bert"),
    "babi": (babi, "reply", "attention"),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*SETS, "report"])
    parser.add_argument(
        "--data", type=Path, help="the folder of data sets; else WENMAI_DATA, else ../shared/data"
    )
    parser.add_argument("--rung", default="")
    parser.add_argument("--encoder", default="", help="a run, a checkpoint's folder, or minilm")
    parser.add_argument("--try", dest="settings", action="append", default=[], metavar="SETTINGS")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument(
        "--fold", type=int, choices=range(FOLDS), help="of SQuAD; else all, one after another"
    )
    parser.add_argument("--out", type=Path, help="a file to which lines are added")
    parser.add_argument(
        "--made", type=Path, default=Path("runs"), help="where archives are unpacked"
    )
    parser.add_argument("--device", default="auto")
    for name, usual in (("seed", 0), ("few", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    if asked.what == "report":
        return report(asked)
    asked.data = corpora.folder_of(asked.data)
    parts, task, rung = SETS[asked.what]
    asked.rung = asked.rung or rung
    for fold in range(FOLDS) if asked.what == "squad" and asked.fold is None else [asked.fold or 0]:
        judged(task, parts(asked, fold), asked, {"data": asked.what, "fold": fold})


if __name__ == "__main__":
    main()
