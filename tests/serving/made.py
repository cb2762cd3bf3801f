"""Small runs to serve, trained in a moment: one of every kind of input, a damaged one, one that was not finished, and links."""

import json
import os
import random
import shutil
from pathlib import Path

import numpy as np

import wenmai
from wenmai import (
    Answerer,
    Classifier,
    Composer,
    LanguageModel,
    Regressor,
    Tagger,
    Transcriber,
    Translator,
)

GOOD, BAD = ["good", "great", "lovely"], ["bad", "dull", "awful"]
FILLING = ["the", "film", "was", "a", "story", "of", "actors", "and", "music"]


def reviews(count: int = 60) -> tuple[list[str], list[str]]:
    chance, texts, labels = random.Random(0), [], []
    for number in range(count):
        words = [*chance.sample(FILLING, 4), *chance.sample(GOOD if number % 2 else BAD, 2)]
        chance.shuffle(words)
        texts.append(" ".join(words))
        labels.append("pos" if number % 2 else "neg")
    return texts, labels


def table(count: int = 60) -> str:
    return "text,label\n" + "".join(f"{text},{label}\n" for text, label in zip(*reviews(count)))


def report(runs: dict[str, str]) -> dict:
    """What compare writes, as far as the lab reads it: rung → its run."""
    wrong = [
        {
            "input": "a dull film of awful music",
            "expected": "neg",
            "answer": "pos",
            "probability": 0.6,
        }
    ]
    compared = [
        {
            "rung": rung,
            "run": f"/somebody/at/home/runs/{run}",
            "failed": None,
            "interval": [0.7, 0.95],
            "scores": {"test": {"accuracy": 0.9 - 0.1 * at}},
            "seconds": 2.0 * 10**at,
            "parameters": 100 * at,
            "bytes": 5000,
            "latency_ms": {"p50": 0.4},
            "curve": [
                {"step": step, "seconds": step, "train_loss": 1.0, "score": 0.1 * step}
                for step in range(1, 6)
            ],
            "worst": wrong if at else [],
        }
        for at, (rung, run) in enumerate(runs.items())
    ]
    return {
        "wenmai": "0",
        "data": "films",
        "task": "classify",
        "metric": "accuracy",
        "higher_is_better": True,
        "rungs": compared,
        "created": "2026-01-01T00:00:00",
        "baseline": {"scores": {"test": {"accuracy": 0.5}}},
        "recommendation": {
            "rung": "softmax",
            "reason": "softmax is enough.",
            "reason_zh": "softmax 就够了。",
        },
    }


def reports_in(folder: Path) -> None:
    """One that is whole, and such as nobody should stumble over."""
    whole = report(
        {"softmax": "reviews-softmax", "gru": "reviews-gru", "transformer": "reviews-transformer"}
    )
    texts = {
        "films": json.dumps(whole),
        "no-json": "{",
        "another": json.dumps({"title": "a report of somebody's"}),
        "bent": json.dumps(
            whole
            | {
                "rungs": [
                    {"rung": "gru", "scores": 3, "curve": "none", "worst": [3], "interval": "x"}
                ]
            }
        ),
    }
    for name, text in texts.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "report.json").write_text(text)
    (folder / "link").mkdir()
    os.symlink(folder / "films" / "report.json", folder / "link" / "report.json")


def runs_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    texts, labels = reviews()
    small = {"embed": 8, "hidden": 8, "epochs": 2}
    blocks = {"width": 16, "layers": 2, "heads": 2, "epochs": 1}
    Classifier("softmax").fit(texts, labels).save(folder / "reviews-softmax")
    Classifier("gru", **small).fit(texts, labels).save(
        folder / "reviews-gru", data="reviews.csv", scores={"valid": {"accuracy": 1.0}}, seconds=1.0
    )
    Classifier("transformer", **blocks).fit(texts, labels).save(folder / "reviews-transformer")
    Classifier("softmax").fit(np.random.default_rng(0).normal(size=(40, 3)), ["a", "b"] * 20).save(
        folder / "numbers-softmax"
    )
    images = np.random.default_rng(0).integers(0, 255, (20, 6, 6), dtype=np.uint8)
    Classifier("mlp", hidden=4, epochs=1).fit(images, ["x", "y"] * 10).save(folder / "images-mlp")
    noises = wenmai.sounds(
        [(np.random.default_rng(row).normal(size=2000) / 9, 8000) for row in range(20)]
    )
    Classifier("cnn", filters=4, epochs=1).fit(noises, ["x", "y"] * 10).save(folder / "sounds-cnn")
    Transcriber("lstm", embed=8, hidden=8, epochs=1).fit(noises, ["a b", "c"] * 10).save(
        folder / "said-lstm"
    )
    Classifier("mlp", hidden=4, epochs=1).fit(list(zip(texts, texts)), labels).save(
        folder / "pairs-mlp"
    )
    rows = [text.split() for text in texts]
    tags = [
        ["noun" if word in ("film", "story", "music") else "other" for word in row] for row in rows
    ]
    Tagger("perceptron").fit(rows, tags).save(folder / "tags-perceptron")
    Regressor("linear").fit(np.arange(40.0)[:, None], np.arange(40.0) * 2).save(
        folder / "line-linear"
    )
    Translator("seq2seq", **small).fit(texts[:20], [text.upper() for text in texts[:20]]).save(
        folder / "upper-seq2seq"
    )
    Composer("gru", **small).fit(labels, texts).save(folder / "names-gru")
    context = "the film was good. it was seen by many."
    Answerer("attention", **small).fit([(context, "how was the film?")] * 24, ["good"] * 24).save(
        folder / "questions-attention"
    )
    LanguageModel("ngram", order=3).fit(texts).save(folder / "corpus-ngram")
    LanguageModel("lstm", **small).fit(texts).save(folder / "corpus-lstm")
    LanguageModel("gpt", context=12, **blocks).fit(texts).save(folder / "corpus-gpt")
    shutil.copytree(folder / "reviews-gru", folder / "damaged")
    weights = folder / "damaged" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-40])
    (folder / "no-json").mkdir()
    (folder / "no-json" / "run.json").write_text("{")
    (folder / "notes.txt").write_text("no run")
    outside = folder.parent / "outside"
    shutil.copytree(folder / "reviews-softmax", outside / "secret")
    os.symlink(outside / "secret", folder / "leads-out")
    shutil.copytree(folder / "reviews-softmax", folder / "holds-a-link")
    (folder / "holds-a-link" / "run.json").unlink()
    os.symlink(outside / "secret" / "run.json", folder / "holds-a-link" / "run.json")
    reports_in(folder.parent / "reports")
    return folder
