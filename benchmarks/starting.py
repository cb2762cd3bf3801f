"""What a language model brings to a classifier: the same rung from scratch and from a run that learned its texts without labels.

    python benchmarks/starting.py DATA sst2|chnsenticorp lstm|gpt SEED [--device cuda] [--same]

On the training texts of the set (no labels) a language model is trained; then 1,000 labelled rows, and all of them, are learned
two ways: by the rung's own defaults from scratch, and from the run; with --same also by the language model's very network from
scratch. The learning rate is chosen on valid, for every way and size apart; test is looked at once. A line of JSON for each.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import lzma
import time
from pathlib import Path

import numpy as np

from wenmai import Classifier, LanguageModel
from wenmai.catalog import Build

RATES = (1e-3, 3e-3)
SIZES = {"lstm": {"hidden": 256}, "gpt": {"width": 256, "layers": 4}}  # of the language model


def rows_of(data: Path, name: str, part: str) -> list[tuple[str, str]]:
    """(text, label); of chnsenticorp without texts that stand there twice, or in the training part."""
    if name == "sst2":
        lines = (data / "sst2" / f"{part}.tsv").read_text(encoding="utf-8").splitlines()
        return [tuple(line.rsplit("\t", 1)) for line in lines]
    path = data / "chnsenticorp" / f"{part}.tsv"
    text = (
        lzma.decompress(Path(f"{path}.xz").read_bytes()) if part == "train" else path.read_bytes()
    )
    lines = csv.reader(
        io.StringIO(text.decode("utf-8"), newline=""), delimiter="\t", quoting=csv.QUOTE_NONE
    )
    pairs = [(row[1], row[0]) for row in lines if len(row) > 1]
    return list({text: (text, label) for text, label in pairs[1:]}.values())


def started_anew(language_model: LanguageModel):
    """The language model's network with its first weights again: the same body, from scratch."""
    build, inputs = language_model.build_, language_model.inputs_
    model = Build(build.rung, build.task, build.options).model(language_model.task_, inputs, seed=1)
    return LanguageModel.assembled(
        language_model.task_, inputs, model, build=build, options=language_model.options
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("name", choices=("sst2", "chnsenticorp"))
    parser.add_argument("rung", choices=("lstm", "gpt"))
    parser.add_argument("seed", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--same", action="store_true")
    given = parser.parse_args()
    parts = {part: rows_of(given.data, given.name, part) for part in ("train", "dev", "test")}
    seen = {text for text, _ in parts["train"]}
    for part in ("dev", "test"):
        parts[part] = [row for row in parts[part] if row[0] not in seen]
        seen |= {text for text, _ in parts[part]}
    train, valid, test = (
        [list(column) for column in zip(*parts[part])] for part in ("train", "dev", "test")
    )
    same = {"seed": given.seed, "device": given.device}
    began = time.perf_counter()
    lines = [" ".join(text.split()) for text in train[0]]
    held = [" ".join(text.split()) for text in valid[0]]
    learned = LanguageModel(given.rung, epochs=15, **SIZES[given.rung], **same).fit(lines, held)
    known = {"data": given.name, "rung": given.rung, "seed": given.seed}
    print(
        json.dumps(
            {
                **known,
                "perplexity": learned.progress_[-1].score,
                "seconds": time.perf_counter() - began,
            }
        ),
        flush=True,
    )
    for size in (1000, len(train[0])):
        some = np.random.default_rng(given.seed).permutation(len(train[0]))[:size]
        texts, labels = ([column[row] for row in some] for column in train)
        ways = {"scratch": None, "from": learned} | (
            {"same network": started_anew(learned)} if given.same else {}
        )
        for way, start in ways.items():
            tried = []
            for rate in RATES:
                began = time.perf_counter()
                model = Classifier(given.rung, learning_rate=rate, epochs=15, **same)
                model.fit(texts, labels, tuple(valid), start=start)
                tried.append((model.score(*valid), rate, time.perf_counter() - began, model))
            score, rate, seconds, model = max(tried, key=lambda one: one[0])
            row = {
                "rows": size,
                "way": way,
                "rate": rate,
                "valid": score,
                "test": model.score(*test),
                "seconds": seconds,
            }
            print(json.dumps(known | row), flush=True)


if __name__ == "__main__":
    main()
