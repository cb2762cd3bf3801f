"""What is measured of rows that have an answer each, on a clock that only the model moves; precision and recall as scikit-learn
has them."""

from types import SimpleNamespace

import numpy as np
import pytest

from wenmai.data.parts import Part
from wenmai.estimators import Classifier
from wenmai.tasks.measuring import rows

TEXTS, LABELS = (
    ["a good film", "a bad film", "good", "so bad", "fine", "poor"] * 4,
    ["pos", "neg"] * 12,
)


class Clock:
    """Stands still but for what is said to take its time."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(rows, "time", made)
    return made


def asked(clock, seconds, history=None, count=7):
    """An estimator that notes what it is asked, each time of which takes so many seconds; and the part to ask it of."""
    seen = []

    def predict(inputs):
        seen.append(list(inputs))
        clock.now += seconds[min(len(seen), len(seconds)) - 1]

    return (
        SimpleNamespace(task_=SimpleNamespace(history=history), predict=predict),
        Inputs(range(count)),
        seen,
    )


class Inputs(SimpleNamespace):
    def __init__(self, values):
        super().__init__(inputs=list(values))

    def __len__(self):
        return len(self.inputs)


def test_latency_is_of_one_row_at_a_time_row_after_row_after_one_that_is_not_counted(clock):
    estimator, part, seen = asked(clock, [9.0, *(n / 1000 for n in range(1, 10_000))])
    found = rows.latency(estimator, part)
    assert seen[0] == [0] and seen[1:9] == [[n % 7] for n in range(8)]
    milliseconds = list(
        range(1, len(seen))
    )  # the first, which took 9 s, is none of them, and counts towards the time
    assert found == {
        "p50": pytest.approx(np.quantile(milliseconds, 0.5)),
        "p99": pytest.approx(np.quantile(milliseconds, 0.99)),
    }
    assert len(milliseconds) == 20


@pytest.mark.parametrize(("each", "times"), [(0.5, 20), (1 / 64, 63), (1 / 4096, 200)])
def test_latency_is_measured_for_a_second_of_20_rows_at_least_and_200_at_most(clock, each, times):
    """Where the first took as long as each of the others."""
    estimator, part, seen = asked(clock, [each])
    rows.latency(estimator, part)
    assert len(seen) == times + 1


def test_a_forecast_is_asked_of_as_many_rows_as_it_looks_back_on(clock):
    estimator, part, seen = asked(clock, [0.5], history=3)
    rows.latency(estimator, part)
    assert seen[:7] == [[0, 1, 2], [0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [0, 1, 2]]


@pytest.fixture(scope="module")
def model():
    return Classifier("softmax", epochs=1, device="cpu", validation=0.0).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("seconds", "rate"),
    [((0.5, 0.25, 0.125), 4), ((0.5, 1.0, 9.0), 1), ((0.5, 1.5), 4 / 3), ((2.0,), 0.5)],
)
def test_predictions_a_second_are_the_median_of_three_or_of_what_fits_into_two_seconds(
    model, clock, monkeypatch, seconds, rate
):
    taken, streamed = iter(seconds), model.streamed
    test = Part(TEXTS[:6], LABELS[:6], "a.csv", range(2, 99))

    def slow_streamed(examples):
        clock.now += next(taken)
        return streamed(examples)

    monkeypatch.setattr(model, "streamed", slow_streamed)
    monkeypatch.setattr(
        model, "predict", lambda inputs: setattr(clock, "now", clock.now + next(taken))
    )
    monkeypatch.setattr(rows, "latency", lambda *_: {})
    shown, terms = rows.measure_rows(model, SimpleNamespace(test=test), "accuracy")
    assert shown["predictions_per_second"] == pytest.approx(6 * rate) and next(taken, None) is None
    assert len(terms) == 6 and terms.sum(0)[1] == 6
    assert shown["scores"]["test"]["accuracy"] == pytest.approx(terms.sum(0)[0] / 6)


def test_precision_recall_and_f1_are_those_of_scikit_learn(model):
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(0)
    right, said = draw.integers(0, 4, 60), draw.integers(0, 3, 60)  # the last class is never said
    confusion = {
        "classes": list("abcd"),
        "counts": metrics.confusion_matrix(right, said, labels=range(4)).tolist(),
    }
    found = rows.class_scores(model.task_, confusion, None, None)
    theirs = metrics.precision_recall_fscore_support(right, said, labels=range(4), zero_division=0)
    for key, expected in zip(("precision", "recall", "f1", "support"), theirs):
        np.testing.assert_allclose([one[key] for one in found], expected, atol=1e-12)
    assert [one["class"] for one in found] == list("abcd")
    assert rows.class_scores(model.task_, None, None, None) is None
    (nowhere,) = rows.ratios(["a"], np.array([0]), np.array([0]), np.array([0]))
    assert nowhere == {"class": "a", "precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}
    (once,) = rows.ratios(["a"], np.array([1]), np.array([1]), np.array([1]))
    assert once == {"class": "a", "precision": 1.0, "recall": 1.0, "f1": 1.0, "support": 1}


def test_the_worst_come_first_and_what_is_right_is_no_mistake(model):
    examples = model.examples(TEXTS[:6], LABELS[:6], str)
    shown = rows.worst(model, examples, np.array([0.0, 0.3, 0.9, 0.0, 0.3, 0.1]), TEXTS[:6])
    assert [one["input"] for one in shown] == [TEXTS[2], TEXTS[1], TEXTS[4], TEXTS[5]]
    assert [one["input"] for one in rows.worst(model, examples, np.arange(6.0), TEXTS[:6], 2)] == [
        TEXTS[5],
        TEXTS[4],
    ]
    assert len(rows.worst(model, model.examples(TEXTS, LABELS, str), np.ones(24), TEXTS)) == 10


def test_rows_are_bundled_only_where_they_lie_over_one_another(model):
    part = Part(TEXTS[:5], LABELS[:5], "a.csv", range(2, 99))
    each = rows.row_terms(model, model.task_, part, "accuracy")
    assert len(each) == 5
    above, below = model.task_.score_terms(np.zeros(6, int), np.zeros(6, int), "accuracy")
    task = SimpleNamespace(score_terms=lambda *_: (above, below), horizon=3)
    assert rows.terms_of(task, None, None, "accuracy").tolist() == [[3, 3], [3, 3]]
