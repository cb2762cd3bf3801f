"""The worked examples of CONTRIBUTING.md are code that works: the file is made, the row is added, the rung or the task trains."""

import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import wenmai
from wenmai import catalog
from wenmai.catalog import RUNGS, TASKS, Rung
from wenmai.estimators import ESTIMATORS, Classifier, LanguageModel, Regressor, Tagger, estimator_of

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE, re.S)
TEXTS, LABELS = ["good fine film here", "bad poor film here"] * 20, ["pos", "neg"] * 20


@pytest.fixture
def average(monkeypatch) -> Rung:
    """The rung of the worked example: its file made, its row added."""
    file, row = EXAMPLES[:2]
    rung = eval(
        row, {"Rung": Rung, "average": module_of("wenmai.models.average", file, monkeypatch)}
    )
    monkeypatch.setitem(RUNGS, rung.name, rung)
    return rung


def module_of(name: str, text: str, monkeypatch) -> types.ModuleType:
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(text, module.__dict__)
    return module


def test_the_worked_example_is_a_rung_of_its_tasks(average):
    """It classifies, tags, regresses and writes, with one body."""
    assert set(average.tasks) == {"classify", "tag", "regress", "generate"}
    small = {"embed": 8, "epochs": 30, "learning_rate": 0.02}
    assert (
        Classifier(average.name, tokenizer="words", **small).fit(TEXTS, LABELS).score(TEXTS, LABELS)
        == 1.0
    )
    tokens = [text.split() for text in TEXTS]
    tags = [["word" if token in ("film", "here") else "mark" for token in row] for row in tokens]
    assert (
        Tagger(average.name, **small)
        .fit(tokens, tags, (tokens, tags))
        .evaluate(tokens, tags)["token_accuracy"]
        == 1.0
    )
    numbers = [float(label == "pos") for label in LABELS]
    fitted = Regressor(average.name, tokenizer="words", **small).fit(
        TEXTS, numbers, (TEXTS, numbers)
    )
    assert fitted.score(TEXTS, numbers) > 0.9
    model = LanguageModel(average.name, **small).fit(TEXTS, TEXTS)
    assert (
        model.perplexity(TEXTS) < 2
        and model.generate("good", lines=1, temperature=0).strip() == "good fine film here"
    )


def test_the_worked_example_starts_from_a_run(average, tmp_path):
    """A language model's input layer and body, in a classifier, from memory and from its folder."""
    model = LanguageModel(average.name, embed=8, epochs=5, dropout=0.0).fit(TEXTS)
    model.save(tmp_path / "texts")
    for start in (model, tmp_path / "texts"):
        begun = Classifier(average.name, epochs=30).fit(TEXTS, LABELS, start=start)
        assert begun.score(TEXTS, LABELS) == 1.0 and begun.build_.options["embed"] == 8
        assert (
            begun.start_["task"] == "generate"
            and begun.start_["loaded"] == begun.inputs_.vocabulary * 8
        )
        assert begun.start_["anew"] == 8 * 2 + 2
        begun.save(tmp_path / "reviews")
        assert wenmai.load(tmp_path / "reviews").predict(TEXTS[:2]).tolist() == LABELS[:2]


def test_a_rung_that_counts_is_a_row_too(monkeypatch):
    """No gradients, no network: naive Bayes over tokens, with what ARCHITECTURE.md asks of such a rung and no more."""
    from wenmai.training.progress import Progress

    class Counts:
        has_probabilities = True

        def __init__(self, inputs, head, delta):
            self.shape, self.delta = (inputs.vocabulary, head.classes), delta

        def learn(
            self, train, judge, seed, minutes=None, resume=None, where=str, *, passes: int = 1
        ):
            self.table = np.full(self.shape, self.delta)
            np.add.at(
                self.table, (train.inputs.flat, np.repeat(train.targets, train.inputs.lengths)), 1
            )
            yield Progress(1, passes, 1.0, 0.0, 0.0, 0.0, judge() if judge else None)

        def outputs(self, inputs):
            logs = np.log(self.table / self.table.sum(0))
            scores = np.stack([logs[inputs[row]].sum(0) for row in range(len(inputs))])
            return scores - np.log(np.exp(scores).sum(1, keepdims=True))

        def state(self):
            return {"table": self.table}

        def load(self, state):
            self.table = state["table"]

        def parameters_count(self):
            return self.table.size

    def bayes(inputs, head, *, delta: float = 1.0):
        return Counts(inputs, head, delta)

    monkeypatch.setitem(
        RUNGS, "bayes", Rung("bayes", bayes, ("classify",), "", "", train=Counts.learn)
    )
    model = Classifier("bayes", delta=0.5, tokenizer="words").fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) == 1.0
    np.testing.assert_allclose(model.predict_proba(TEXTS[:2]).sum(1), 1)


@pytest.mark.slow
def test_the_worked_example_is_a_task(monkeypatch, tmp_path, wenmai_cli):
    """From the command line, in Python, and in a comparison, by rungs that know nothing of it."""
    file, row = EXAMPLES[2:4]
    count = module_of("wenmai.tasks.count", file, monkeypatch)
    table = eval(row.partition("=")[2], vars(catalog) | vars(count))
    assert list(table) == [*TASKS, "count"]
    monkeypatch.setitem(TASKS, "count", table["count"])
    monkeypatch.setitem(ESTIMATORS, "count", estimator_of("count"))
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    texts = [
        " ".join(draw.choice(["cat", "dog", "the", "a"], draw.integers(1, 7))) for _ in range(200)
    ]
    lines = [f"{text},{text.split().count('cat')}" for text in dict.fromkeys(texts)]
    Path("counted.csv").write_text("\n".join(["text,count", *lines]))
    small = (
        "--set",
        "hidden=16",
        "--set",
        "embed=16",
        "--set",
        "steps=150",
        "--set",
        "learning_rate=0.02",
    )
    ran = wenmai_cli("train", "gru", "counted.csv", *small, "--out", "run", "--json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out.splitlines()[-1])
    assert found["task"] == "count" and found["scores"]["valid"]["exact_match"] > 0.8
    scores = json.loads(
        wenmai_cli("evaluate", "run", "counted.csv", "--json").out.splitlines()[-1]
    )["scores"]["test"]
    assert scores["exact_match"] > 0.8 and scores["mae"] < 0.2
    asked, model = ["the cat a dog", "dog the a a"], wenmai.load("run")
    answers = json.loads(wenmai_cli("predict", "run", *asked, "--json").out.splitlines()[-1])[
        "answers"
    ]
    assert answers == model.answers(asked) == [{"count": 1}, {"count": 0}]
    assert type(model).__name__ == "CountEstimator" and model.predict(asked).tolist() == [1, 0]
    assert model.evaluate(asked, [1, 0]) == {"exact_match": 1.0, "mae": 0.0}
    assert model.trace(["the cat"]).tokens == [["the", "cat"]]
    ran = wenmai_cli("compare", "counted.csv", "--minutes", "0.1", "--rungs", "mlp,gru", "--json")
    report = json.loads(ran.out.splitlines()[-1])
    assert ran.status == 0 and {row["rung"] for row in report["rungs"]} == {"mlp", "gru"}
    assert (
        not any(row.get("failed") for row in report["rungs"])
        and "exact_match" in report["rungs"][0]["scores"]["test"]
    )
