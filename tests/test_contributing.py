"""The worked example of CONTRIBUTING.md is code that works: the file is made, the row is added, the rung trains."""

import re
import sys
import types
from pathlib import Path

from wenmai.catalog import RUNGS, Rung
from wenmai.estimators import Classifier


def test_the_worked_example_is_a_rung(monkeypatch):
    file, row = re.findall(r"```python\n(.*?)```", Path("CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)[:2]
    average = types.ModuleType("wenmai.models.average")
    monkeypatch.setitem(sys.modules, average.__name__, average)
    exec(file, average.__dict__)
    rung = eval(row, {"Rung": Rung, "average": average})
    monkeypatch.setitem(RUNGS, rung.name, rung)
    texts, labels = ["good fine film here", "bad poor film here"] * 20, ["pos", "neg"] * 20
    model = Classifier(rung.name, embed=8, epochs=30, tokenizer="words").fit(texts, labels)
    assert model.score(texts, labels) == 1.0


def test_a_rung_that_counts_is_a_row_too(monkeypatch):
    """No gradients, no network: naive Bayes over tokens, with what ARCHITECTURE.md asks of such a rung and no more."""
    import numpy as np

    from wenmai.training.progress import Progress

    class Counts:
        has_probabilities = True

        def __init__(self, inputs, head, delta):
            self.shape, self.delta = (inputs.vocabulary, head.classes), delta

        def learn(self, train, judge, seed, minutes=None, resume=None, where=str, *, passes: int = 1):
            self.table = np.full(self.shape, self.delta)
            np.add.at(self.table, (train.inputs.flat, np.repeat(train.targets, train.inputs.lengths)), 1)
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

    monkeypatch.setitem(RUNGS, "bayes", Rung("bayes", bayes, ("classify",), "", "", train=Counts.learn))
    texts, labels = ["good fine film here", "bad poor film here"] * 20, ["pos", "neg"] * 20
    model = Classifier("bayes", delta=0.5, tokenizer="words").fit(texts, labels)
    assert model.score(texts, labels) == 1.0
    np.testing.assert_allclose(model.predict_proba(texts[:2]).sum(1), 1)
