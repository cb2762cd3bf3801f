"""Small runs to serve, trained in a moment: one of every kind of input, a damaged one, one that was not finished, and links."""

import os
import random
import shutil
from pathlib import Path

import numpy as np

import wenmai
from wenmai import Answerer, Classifier, Composer, LanguageModel, Regressor, Tagger, Transcriber, Translator

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


def runs_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    texts, labels = reviews()
    small = {"embed": 8, "hidden": 8, "epochs": 2}
    blocks = {"width": 16, "layers": 2, "heads": 2, "epochs": 1}
    Classifier("softmax").fit(texts, labels).save(folder / "reviews-softmax")
    Classifier("gru", **small).fit(texts, labels).save(folder / "reviews-gru", data="reviews.csv",
                                                       scores={"valid": {"accuracy": 1.0}}, seconds=1.0)  # fmt: skip
    Classifier("transformer", **blocks).fit(texts, labels).save(folder / "reviews-transformer")
    Classifier("softmax").fit(np.random.default_rng(0).normal(size=(40, 3)), ["a", "b"] * 20).save(folder / "numbers-softmax")
    images = np.random.default_rng(0).integers(0, 255, (20, 6, 6), dtype=np.uint8)
    Classifier("mlp", hidden=4, epochs=1).fit(images, ["x", "y"] * 10).save(folder / "images-mlp")
    noises = wenmai.sounds([(np.random.default_rng(row).normal(size=2000) / 9, 8000) for row in range(20)])
    Classifier("cnn", filters=4, epochs=1).fit(noises, ["x", "y"] * 10).save(folder / "sounds-cnn")
    Transcriber("lstm", embed=8, hidden=8, epochs=1).fit(noises, ["a b", "c"] * 10).save(folder / "said-lstm")
    Classifier("mlp", hidden=4, epochs=1).fit(list(zip(texts, texts)), labels).save(folder / "pairs-mlp")
    rows = [text.split() for text in texts]
    tags = [["noun" if word in ("film", "story", "music") else "other" for word in row] for row in rows]
    Tagger("perceptron").fit(rows, tags).save(folder / "tags-perceptron")
    Regressor("linear").fit(np.arange(40.0)[:, None], np.arange(40.0) * 2).save(folder / "line-linear")
    Translator("seq2seq", **small).fit(texts[:20], [text.upper() for text in texts[:20]]).save(folder / "upper-seq2seq")
    Composer("gru", **small).fit(labels, texts).save(folder / "names-gru")
    context = "the film was good. it was seen by many."
    Answerer("attention", **small).fit([(context, "how was the film?")] * 24, ["good"] * 24).save(folder / "questions-attention")
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
    return folder
