"""What a comparison says of a rung: its interval, its latency, its size, whether it was still improving, and that what one seed
has found out about the learning rate serves the others."""

import shlex
import time
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pytest

from wenmai.catalog import TASKS
from wenmai.data.dataset import open_dataset
from wenmai.errors import Mistake
from wenmai.estimator import Estimator
from wenmai.evaluation import compare as comparing
from wenmai.tasks import metrics
from wenmai.tasks.measuring.rows import p50_and_p99
from wenmai.tasks.metrics import (
    Drawn,
    bundled,
    bundles,
    confidence_interval,
    draws,
    metric_named,
    resampled,
    with_luck,
)
from wenmai.training.progress import Progress


@pytest.fixture
def compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def compare(
        rows: int = 120, noise: float = 0.25, rungs=("softmax",), test: str = "0.5", **more
    ) -> dict:
        rng = np.random.default_rng(0)
        labels = ["pos" if n % 2 else "neg" for n in range(rows)]
        right = [["bad", "good"][label == "pos"] for label in labels]
        words = [word if rng.random() > noise else rng.choice(["good", "bad"]) for word in right]
        lines = [
            f"{word} film number {n},{label}\n"
            for n, (word, label) in enumerate(zip(words, labels))
        ]
        (tmp_path / "data.csv").write_text("text,label\n" + "".join(lines), encoding="utf-8")
        data = open_dataset("data.csv", TASKS, valid="0.1", test=test)
        steps = comparing.compare(
            data, 0.02, list(rungs), device="cpu", out=tmp_path / "runs", **more
        )
        try:
            while True:
                next(steps)
        except StopIteration as end:
            assert all(row["failed"] is None for row in end.value["rungs"])
            return end.value

    return compare


def test_the_interval_is_that_of_95_percent_and_of_all_rows(compared):
    """An accuracy p of n rows lies within 1.96 √(p(1 − p)/n) of it: of a quarter of the rows it would be twice as wide, and one
    of 90% is narrower by a sixth."""
    report = compared(rows=1600, noise=0.5)
    (row,) = report["rungs"]
    accuracy, count = row["scores"]["test"]["accuracy"], report["rows"]["test"]
    half = 1.96 * sqrt(accuracy * (1 - accuracy) / count)
    low, high = row["interval"]
    assert 0.6 < accuracy < 0.9 and count == 800
    assert (high - low) / 2 == pytest.approx(half, rel=0.08) and (low + high) / 2 == pytest.approx(
        accuracy, abs=half / 10
    )


def bootstrap(above, below, samples=2000):
    """Of a metric that is a ratio of two sums, as accuracy is."""
    return resampled(np.column_stack([above, below]), metric_named("accuracy"), samples)


def test_what_is_drawn_again_is_drawn_by_rows_and_the_same_for_every_rung():
    """So that two rungs are compared row by row: of two that differ in three rows of 300, the difference hardly varies."""
    rng = np.random.default_rng(0)
    right = (rng.random(300) < 0.7).astype(float)
    other = right.copy()
    other[np.flatnonzero(right)[:3]] = 0
    one = bootstrap(right, np.ones(300))
    draws.cache_clear()  # as in another process, where a comparison goes on
    two = bootstrap(other, np.ones(300))
    assert np.std(one - two) < 0.3 * np.std(one) and (one - two).min() >= 0
    assert np.mean(one) == pytest.approx(right.mean(), abs=0.005) and np.std(one) == pytest.approx(
        sqrt(0.21 / 300), rel=0.1
    )
    assert confidence_interval(np.arange(1001.0)) == pytest.approx([25, 975])


def test_a_large_test_part_is_drawn_in_bundles_that_leave_nothing_out():
    above = np.random.default_rng(0).random(25_000)
    table = bundled([above, np.full(25_000, 2.0)])
    assert len(table) == 2000 and table.sum(0) == pytest.approx([above.sum(), 50_000])
    samples = resampled(table, metric_named("accuracy"))
    assert np.mean(samples) == pytest.approx(above.mean() / 2, rel=0.01)
    assert np.std(samples) == pytest.approx(above.std() / 2 / sqrt(25_000), rel=0.15)


def test_a_metric_without_anything_below_is_nothing():
    assert bootstrap(np.zeros(3), np.zeros(3), samples=5).tolist() == [0.0] * 5


def test_latency_is_the_median_and_what_one_in_a_hundred_exceeds():
    assert p50_and_p99(list(range(101))) == {"p50": 50.0, "p99": 99.0}
    assert p50_and_p99([1.0, 1.0, 1.0, 100.0])["p50"] == 1.0


def test_the_size_is_that_of_all_files_it_takes_to_answer(compared, tmp_path):
    (row,) = compared()["rungs"]
    files = {file.name: file.stat().st_size for file in (tmp_path / row["run"]).iterdir()}
    assert {"run.json", "inputs.json", "weights.safetensors", "progress.jsonl"} <= files.keys()
    assert (
        row["bytes"]
        == sum(files.values()) - files["progress.jsonl"]
        > files["weights.safetensors"] + files["run.json"]
    )


@pytest.mark.parametrize(
    ("scores", "state"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], "rising"),
        ([0.1, 0.5, 0.7, 0.8, 0.8, 0.8, 0.8, 0.8], "converged"),
        ([0.1, 0.5, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4], "converged"),
        ([0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1], "converged"),
    ],
)
def test_still_improving_means_that_the_end_brought_more(scores, state):
    """Of more being better, and of less being better."""
    for sign, of in ((1, lambda score: score), (-1, lambda score: 10 - 10 * score)):
        curve = [
            Progress(10_000 + at, 20_000, 50.0, 0.0, 0.0, 1.0, score=of(score))
            for at, score in enumerate(scores)
        ]
        trained = SimpleNamespace(
            progress_=curve,
            task_=SimpleNamespace(higher_is_better=sign > 0),
            options={"epochs": 50},
        )
        assert comparing.state_of(trained, True) == comparing.state_of(trained, False) == state


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_first_seed_finds_the_rate_and_the_others_take_it_over(compared, monkeypatch, best):
    whole, given = Estimator.training, []
    found = [
        {"learning_rate": rate, "score": 0.9 if at == best else 0.5}
        for at, rate in enumerate((0.05, 0.15, 0.45))
    ]

    def training(self, inputs, *more, **options):
        if len(inputs) > 10:  # of which some are there to compile with
            given.append(
                (
                    self.options.get("seed"),
                    self.options.get("search", False),
                    self.options.get("learning_rate"),
                )
            )
        yield from whole(self, inputs, *more, **options)
        self.rates_tried_ = found if self.options.get("search") else []

    monkeypatch.setattr(Estimator, "training", training)
    report = compared(rows=100, noise=0.5, test="0.37", seeds=3)
    (row,) = report["rungs"]
    assert report["rows"]["test"] == 37 and report["rows"]["valid"] == 10
    right = 37 * np.array(
        row["seed_scores"]
    )  # so many test rows; of ten valid rows it would be no whole number
    assert np.allclose(right, right.round()) and (right < 37).all()
    assert len(row["seed_scores"]) == 3 and row["spread"] == pytest.approx(
        np.std(row["seed_scores"], ddof=1)
    )
    rate = found[best]["learning_rate"]
    assert given[0] == (0, True, None) and given[1:3] == [(1, False, rate), (2, False, rate)]
    assert all(one[2] == rate for one in given[3:])  # with less data too


def test_the_minutes_are_shared_by_those_that_are_left(compared, monkeypatch):
    """A rung has at most its share of them; within it, what is learned with less data has an end of its own."""
    shares, ends, whole, less = [], [], comparing.one_rung, comparing.with_less_data

    def one_rung(plan, name, minutes):
        shares.append(minutes)
        return (yield from whole(plan, name, minutes))

    def with_less_data(plan, name, first, options, end):
        ends.append(end - time.perf_counter())
        return (yield from less(plan, name, first, options, end))

    monkeypatch.setattr(comparing, "one_rung", one_rung)
    monkeypatch.setattr(comparing, "with_less_data", with_less_data)
    monkeypatch.setattr(comparing, "LEAST", 0.0)
    report = compared(rungs=("softmax", "logistic", "perceptron", "ngram"))
    assert len(shares) == 4 and shares[0] <= 0.02 / 4 and max(shares) <= 0.02
    assert len(ends) == 4 and all(
        end <= 60 * share * comparing.SIZED for end, share in zip(ends, shares)
    )
    for row in report["rungs"]:
        assert (
            row["sizes"][-1]["fraction"] == 1.0
            and row["sizes"][-1]["rows"] == report["rows"]["train"]
        )


def test_before_any_is_trained_the_device_is_looked_for(compared):
    compared()
    with pytest.raises(Mistake, match="device"):
        list(
            comparing.compare(
                open_dataset("data.csv", TASKS, valid="0.1", test="0.5"),
                0.02,
                ["softmax"],
                device="abacus",
            )
        )


@pytest.mark.parametrize(("reached", "said"), [(0.5, True), (0.6, True), (0.7, False)])
def test_what_does_no_better_than_the_baseline_is_said(compared, reached, said):
    compared()
    data = open_dataset("data.csv", TASKS, valid="0.1", test="0.5")
    best, baseline = (
        {"name": "majority", "scores": {"test": {"accuracy": score}}} for score in (reached, 0.6)
    )
    assert [
        "No rung" in remark for remark in comparing.remarks(data, "accuracy", best, baseline)
    ] == [True] * said


def test_the_next_command_has_the_first_test_text_where_it_is_short(compared):
    compared()
    data = open_dataset("data.csv", TASKS, valid="0.1", test="0.5")
    for first, last in (
        ("it's a good film", "it's a good film"),
        ("two\nlines", "…"),
        (80 * "a", "…"),
        (79 * "a", 79 * "a"),
    ):
        data.test.inputs[0] = first
        assert shlex.split(comparing.next_command(data, "runs/data softmax")) == [
            "wenmai",
            "predict",
            "runs/data softmax",
            last,
        ]


def test_rows_are_bundled_where_they_are_many_or_lie_over_one_another():
    assert (
        bundles(1).tolist() == [0]
        and bundles(3, 5).tolist() == [0, 0, 0]
        and bundles(0).tolist() == []
    )
    assert bundles(6, 2).tolist() == [0, 0, 1, 1, 2, 2] and bundles(4).tolist() == [0, 1, 2, 3]
    assert len(set(bundles(5000).tolist())) == 2000


def test_metrics_on_the_scale_on_which_they_are_shown():
    perplexity, accuracy = metric_named("perplexity"), metric_named("accuracy")
    assert perplexity.shown(np.log(7.0)) == pytest.approx(7.0) and np.isfinite(
        perplexity.shown(1e9)
    )
    assert accuracy.shown(0.5) == 0.5
    assert (
        accuracy.sign,
        perplexity.sign,
        metric_named("mae").sign,
        metric_named("bits_per_byte").sign,
    ) == (1, -1, -1, -1)


def test_a_text_without_a_probability_is_infinitely_unlikely_however_it_is_drawn():
    terms = np.array([[np.inf, 2.0], [3.0, 1.0], [1.0, 1.0]])
    assert resampled(terms, metric_named("perplexity"), 4).tolist() == [np.inf] * 4


def test_macro_f1_is_the_mean_over_the_classes_that_are_there():
    formula = metric_named("macro_f1").formula
    assert formula(np.array([1.0, 3.0, 2.0, 4.0])) == pytest.approx((1 / 2 + 3 / 4) / 2)
    assert (
        formula(np.array([1.0, 0.0, 2.0, 0.0])) == pytest.approx(1 / 2)
        and formula(np.zeros(4)) == 0.0
    )


def test_bundles_are_summed():
    table = bundled([np.arange(5.0), np.ones(5)], size=2)
    assert table.tolist() == [[3.0, 3.0], [7.0, 2.0]] and len(bundled([np.arange(5.0)])) == 5


def test_the_luck_of_the_seeds_widens_the_interval():
    samples = np.random.default_rng(0).normal(0.5, 0.01, 2000)
    sure, lucky = Drawn((0.5,), samples), Drawn((0.4, 0.6), samples, luck=0.03)
    assert (
        (sure.noisy(3) == samples).all()
        and sure.spread is None
        and lucky.spread == pytest.approx(np.sqrt(0.02))
    )
    assert (
        np.std(lucky.noisy(0)) == pytest.approx(np.hypot(0.01, 0.03), rel=0.1)
        and (lucky.noisy(0) != lucky.noisy(1)).any()
    )
    low, high = sure.interval(metric_named("accuracy"))
    assert high - low == pytest.approx(2 * 1.96 * 0.01, rel=0.1) and lucky.score == pytest.approx(
        0.5
    )


def test_seeds_lie_as_far_apart_as_a_rung_says_or_all_of_them_together():
    one, two, same = (Drawn(each, np.zeros(3)) for each in ((0.4, 0.6), (0.5, 0.51), (0.7, 0.7)))
    found = with_luck({"one": one, "two": two, "same": same})
    usual = np.sqrt((one.spread**2 + two.spread**2) / 2)
    assert found["one"].luck == pytest.approx(one.spread / sqrt(2)) and found[
        "two"
    ].luck == pytest.approx(usual / sqrt(2))
    assert found["same"].luck == 0.0


def test_formulas_by_hand():
    """A class that one row has counts as much as others; bits a byte are of log p and of spelled words; infinite stays so."""
    assert (
        metrics.mean_ratio(np.array([1.0, 0.0, 1.0, 0.0])) == 1.0
    )  # above, below; the second class is nowhere
    assert metrics.mean_ratio(np.array([1.0, 1.0, 0.0, 1.0, 2.0, 0.0])) == pytest.approx(0.75)
    assert metrics.mean_ratio(np.zeros(4)) == 0.0
    assert metrics.bits_per_byte(np.array([3.0, 7.0, 5.0, 2.0])) == pytest.approx(5 / 5 / np.log(2))
    assert metrics.bits_per_byte(np.array([3.0, 7.0, 0.5, 2.0])) == pytest.approx(5 / np.log(2))
    assert metrics.confidence_interval(np.array([2.0, np.inf, 3.0])) == [2.0, 2.0]
    counts = metrics.draws(5, 200)
    assert (counts.sum(1) == 5).all() and (counts.sum(0) > 100).all()  # every row is drawn
    sums = metrics.resampled(
        np.array([[1.0, 1.0], [np.inf, 1.0], [5.0, 1.0]]), metrics.METRICS["mse"], 4
    )
    assert sums.tolist() == [np.inf] * 4
