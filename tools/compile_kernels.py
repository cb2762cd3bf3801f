"""Fills Numba's cache in one process, so that the processes of a test run find it warm.

python tools/compile_kernels.py      about a minute on an empty cache, seconds on a warm one
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np

from wenmai import Classifier, LanguageModel, Regressor, Tagger, Translator, load

WORDS = ["good", "bad", "long", "short"]
TEXTS = [f"a {word} film, number {n}: 文字 and so on" for n in range(12) for word in WORDS]
LABELS = [n % 2 for n in range(len(TEXTS))]
TOKENS = [text.split() for text in TEXTS]
TAGS = [["O", "B-A", *["O"] * (len(row) - 2)] for row in TOKENS]
SMALL = {"steps": 2, "width": 16, "heads": 2, "layers": 1, "precision": "float32"}


def main() -> None:
    for rung in ("perceptron", "logistic", "softmax"):
        Classifier(rung, epochs=1).fit(TEXTS, LABELS).predict(TEXTS)
        Classifier(rung, epochs=1).fit(np.eye(12), LABELS[:12]).predict(np.eye(12))
    Regressor("linear", epochs=1).fit(TEXTS, [float(label) for label in LABELS]).predict(TEXTS)
    Classifier("ngram").fit(TEXTS, LABELS).predict(TEXTS)
    for rung, options in (("perceptron", {}), ("softmax", {}), ("softmax", {"crf": True})):
        Tagger(rung, epochs=1, **options).fit(TOKENS, TAGS).predict(TOKENS)
    for tokenizer in ("bpe", "unigram", "words", "characters"):
        Classifier("mlp", steps=2, hidden=8, tokenizer=tokenizer).fit(TEXTS, LABELS).predict(TEXTS)
    with tempfile.TemporaryDirectory() as folder:
        for layout in ("fast", "small"):
            for smoothing in ("modified-kneser-ney", "katz", "add-delta"):
                model = LanguageModel("ngram", layout=layout, smoothing=smoothing).fit(TEXTS)
                load(model.save(Path(folder) / layout / smoothing)).perplexity(TEXTS)
            model.generate("a", tokens=4)
            LanguageModel("ngram", layout=layout, prune="0 1", threshold=1e-3).fit(TEXTS)
    for rung in ("transformer", "bert"):
        Classifier(rung, **SMALL).fit(TEXTS, LABELS).predict(TEXTS)
    model = LanguageModel("gpt", context=16, **SMALL).fit(TEXTS)
    model.generate("a", tokens=4)
    model.perplexity(TEXTS)
    model = Translator("transformer", **SMALL).fit(TEXTS, TEXTS)
    for beam in (1, 3):
        model.translate(TEXTS[:4], beam=beam)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
