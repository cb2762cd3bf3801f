"""regress: scores and straight lines as scikit-learn has them, curves, one number a step, and series in time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

import wenmai
from wenmai.data.builtin import BUILTIN
from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.files.readers import read
from wenmai.errors import Mistake
from wenmai.estimators import Regressor
from wenmai.tasks.metrics import bundled, metric_named
from wenmai.tasks.regress import Regress

FEW = settings(max_examples=50, deadline=None)
WHOLE = {"validation": 0.0}  # nothing is held out


def table(rows=120, columns=4, outputs=1, noise=0.1, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(
        generator.normal(size=columns) * 3, generator.uniform(0.5, 20, columns), (rows, columns)
    )
    y = x @ generator.normal(size=(columns, outputs)) + generator.normal(size=outputs) * 5
    y += noise * generator.normal(size=y.shape)
    return x, y.squeeze(1) if outputs == 1 else y


# Scores


@FEW
@given(st.integers(2, 30), st.integers(1, 3), st.integers(0, 99), st.booleans())
def test_scores_are_those_of_scikit_learn(rows, columns, seed, ragged):
    generator = np.random.default_rng(seed)
    wanted, found = generator.normal(5, 3, (rows, columns)), generator.normal(5, 3, (rows, columns))
    task = Regress()
    offsets = offsets_of(
        np.diff(np.sort(generator.integers(0, rows + 1, 4)), prepend=0, append=rows)
    )
    hold = (lambda values: Sequences(values, offsets)) if ragged else (lambda values: values)
    task.learn(hold(wanted))
    targets, decided = task.encode(hold(wanted)), hold(found)
    scores = task.scores(decided, targets)
    theirs = {
        "mse": mean_squared_error(wanted, found),
        "r2": r2_score(wanted, found, multioutput="variance_weighted"),
        "mae": mean_absolute_error(wanted, found),
    }
    assert scores == pytest.approx(theirs)
    above, below = task.score_terms(decided, targets)
    assert len(above) == len(below) == (len(offsets) - 1 if ragged else rows)
    assert above.sum() / below.sum() == pytest.approx(scores["r2"])
    for metric in task.metrics:
        terms = bundled(task.score_terms(decided, targets, metric))
        assert metric_named(metric).formula(terms.sum(0)) == pytest.approx(scores[metric])


def test_scores_of_targets_that_do_not_vary():
    task = Regress()
    task.learn(np.full(3, 7.0))
    same = np.full((3, 1), 7.0)
    assert task.scores(same, task.encode([7, 7, 7])) == {"mse": 0.0, "r2": 1.0, "mae": 0.0}
    assert task.scores(same + 1, task.encode([7, 7, 7])) == {"mse": 1.0, "r2": 0.0, "mae": 1.0}


def test_the_worst_rows_are_those_farthest_off():
    task = Regress()
    task.learn(np.arange(4.0))
    found, wanted = np.array([[0.0], [5.0], [2.5], [3.0]]), task.encode(np.arange(4.0))
    assert task.missed(None, found, wanted).tolist() == [0.0, 16.0, 0.25, 0.0]
    rows = task.mistakes(None, found[1:3], wanted[1:3], np.eye(4)[1:3])
    told = [(row["expected"], row["answer"], row["input"]) for row in rows]
    assert told == [("1", "5", "0, 1, 0, 0"), ("2", "2.5", "0, 0, 1, 0")]
    assert task.confusion(None, None) is None


# Straight lines


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("columns", ["plain", "collinear", "constant", "more than rows"])
def test_linear_is_the_least_squares(columns, outputs):
    x, y = table(outputs=outputs)
    if columns == "collinear":
        x = np.concatenate([x, x[:, :2], 2 * x[:, :1] - x[:, 1:2] + 3], 1)
    elif columns == "constant":
        x = np.concatenate([x, np.full((len(x), 2), 4.0)], 1)
    elif columns == "more than rows":
        x, y = np.random.default_rng(1).normal(size=(20, 30)), y[:20]
    estimator = Regressor("linear", **WHOLE).fit(x, y)
    theirs = LinearRegression().fit(x, y)
    np.testing.assert_allclose(
        estimator.predict(x), theirs.predict(x), atol=1e-4 * np.std(y), rtol=1e-5
    )
    assert estimator.score(x, y) == pytest.approx(
        r2_score(y, theirs.predict(x), multioutput="variance_weighted"), abs=1e-6
    )
    if columns != "more than rows":  # of many solutions any will do on rows never seen
        new = table(seed=7)[0]
        new = (
            np.concatenate([new, new[:, :2], 2 * new[:, :1] - new[:, 1:2] + 3], 1)
            if columns == "collinear"
            else new
        )
        new = (
            np.concatenate([new, np.full((len(new), 2), 4.0)], 1) if columns == "constant" else new
        )
        np.testing.assert_allclose(
            estimator.predict(new), theirs.predict(new), atol=1e-4 * np.std(y), rtol=1e-4
        )


def test_gradients_come_close_to_the_solution():
    x, y = table(200, noise=1.0)
    solved, descended = (
        Regressor("linear", solver=solver, **WHOLE).fit(x, y) for solver in ("closed", "gradient")
    )
    np.testing.assert_allclose(descended.predict(x), solved.predict(x), atol=0.02 * np.std(y))
    assert len(solved.progress_) == 1 and len(descended.progress_) > 1


def test_the_line_is_two_x():
    chunk = BUILTIN["line"].load()
    task = Regress()
    estimator = Regressor("linear").fit(
        task.inputs_of(chunk, "line"), task.targets_of(chunk, "line")
    )
    np.testing.assert_allclose(estimator.predict([[21], [-3.5], [0]]), [42, -7, 0], atol=1e-3)
    assert estimator.answers([[21]])[0]["target"] == pytest.approx(42, abs=1e-3)


def test_text_in_number_out():
    generator = np.random.default_rng(0)
    worth = {"good": 2.0, "fine": 1.0, "bad": -2.0, "poor": -1.0, "film": 0.0, "the": 0.0}
    texts = [" ".join(generator.choice([*worth], generator.integers(1, 9))) for _ in range(200)]
    stars = [sum(worth[word] for word in text.split()) for text in texts]
    estimator = Regressor("linear", ngrams=1, weighting="counts").fit(texts, stars)
    np.testing.assert_allclose(
        estimator.predict(["good good film", "bad", "the poor film"]), [4, -2, -1], atol=0.05
    )
    network = Regressor("mlp", hidden=16, embed=16, steps=300, learning_rate=0.01, dropout=0.0).fit(
        texts, stars
    )
    assert network.score(texts, stars) > 0.5  # the mean of the words forgets how many there are


# The logistic curve


def curve(x, L=5.0, k=2.0, z0=0.5):
    return L / (1 + np.exp(-k * (0.7 * x[:, 0] - 1.2 * x[:, 1] + 0.3 - z0)))


def test_logistic_finds_the_curve_that_was_drawn():
    x = np.random.default_rng(0).normal(size=(200, 2))
    estimator = Regressor("logistic", L=5, k=2, z0=0.5, **WHOLE).fit(x, curve(x))
    assert estimator.score(x, curve(x)) > 0.9999
    new = np.random.default_rng(1).normal(size=(50, 2)) * 2
    np.testing.assert_allclose(estimator.predict(new), curve(new), atol=0.02)
    answers = estimator.predict(np.array([[20.0, 0], [-20.0, 0]]))
    assert answers[0] == pytest.approx(5) and answers[1] == pytest.approx(0, abs=1e-6)
    straight = Regressor("linear", **WHOLE).fit(x, curve(x))
    assert straight.score(x, curve(x)) < estimator.score(x, curve(x))


@pytest.mark.parametrize("wrong", [5.0, 5.5, 0.0, -1.0])
def test_a_target_that_the_curve_does_not_reach(wrong):
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = curve(x)
    y[17] = wrong
    with pytest.raises(
        Mistake,
        match=rf"row 18: found the target {wrong:g}, expected one between 0 and L = 5.*larger L",
    ):
        Regressor("logistic", L=5, **WHOLE).fit(x, y)


# Several numbers a row, and one a step


def test_several_targets_a_row(tmp_path):
    x, y = table(outputs=3)
    estimator = Regressor("linear").fit(x, y)
    assert estimator.predict(x).shape == (120, 3) and estimator.score(x, y) > 0.99
    assert np.allclose(estimator.answers(x[:1])[0]["targets"], y[0], atol=1.0)
    assert wenmai.load(estimator.save(tmp_path / "run")).answers(x[:5]) == estimator.answers(x[:5])
    with pytest.raises(Mistake, match="found 1 targets a row, expected 3 as in training"):
        estimator.evaluate(x, y[:, 0])


def test_one_target_a_step():
    """The running sum: what a window of frames cannot hold, a state can."""
    generator = np.random.default_rng(0)
    inputs = [
        generator.integers(0, 9, size).astype(float) for size in generator.integers(2, 9, 150)
    ]
    targets = [np.cumsum(row) for row in inputs]
    options = {"hidden": 16, "embed": 8, "steps": 250, "learning_rate": 0.01}
    gru, window = (
        Regressor("gru", **options).fit(inputs, targets),
        Regressor("linear").fit(inputs, targets),
    )
    assert gru.score(inputs, targets) > 0.9 > 0.6 > window.score(inputs, targets)
    answers = gru.predict([[3.0, 5.0], [1.0]])
    assert [answer.shape for answer in answers] == [(2,), (1,)]
    assert gru.answers([[3.0, 5.0], [1.0]])[0]["targets"] == pytest.approx([3, 8], abs=4)


def test_a_window_holds_what_stands_beside_a_step():
    """y_t = 2x_t − x_{t−2} + 3x_{t+2}, zeros beyond the row: a window of two on either side is enough, one is not."""
    generator = np.random.default_rng(0)
    inputs = [generator.normal(size=size) for size in generator.integers(1, 9, 60)]
    inputs = [
        row - np.mean(np.concatenate(inputs)) for row in inputs
    ]  # so that zeros beyond the row are zeros in the data
    targets = [
        2 * row - np.append([0, 0], row)[:-2] + 3 * np.append(row, [0, 0])[2:] for row in inputs
    ]
    assert (
        Regressor("linear", window=2, **WHOLE).fit(inputs, targets).score(inputs, targets) > 0.99999
    )
    assert Regressor("linear", window=1, **WHOLE).fit(inputs, targets).score(inputs, targets) < 0.6


# Series in time


@FEW
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 9), st.integers(1, 3))
def test_windows_are_those_cut_by_hand(horizon, history, more, features):
    task, rows = Regress(horizon=horizon, history=history), horizon + history + more
    x, y = np.random.default_rng(0).normal(size=(rows, features)), np.arange(rows) * 10.0
    inputs, targets = task.prepare(x, y)
    assert len(inputs) == len(targets) == more + 1
    for at in range(more + 1):
        np.testing.assert_array_equal(inputs[at], x[at : at + history])
        np.testing.assert_array_equal(targets[at], y[at + history : at + history + horizon])
    ahead, nothing = task.prepare(x)  # to forecast from: every place, the last one too
    assert nothing is None and len(ahead) == rows - history + 1
    np.testing.assert_array_equal(ahead[len(ahead) - 1], x[-history:])


def test_the_target_is_read_first_of_all(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("day,target,rain\n1,10,0.5\n2,20,0.25\n3,30,0.125\n")
    chunk = read(path).load()
    task = Regress(horizon=1, history=2)
    np.testing.assert_array_equal(
        task.inputs_of(chunk, "s"), [[10, 1, 0.5], [20, 2, 0.25], [30, 3, 0.125]]
    )
    np.testing.assert_array_equal(task.targets_of(chunk, "s"), [10, 20, 30])
    assert Regress(horizon=2).history == 12 and Regress(horizon=7).history == 21


@pytest.mark.parametrize("step", [2.0, -0.5])
def test_a_trend_goes_on(step):
    series = step * np.arange(100.0) + 5
    estimator = Regressor("linear", horizon=3, history=4).fit(series, series)
    found = estimator.predict(series[-10:])
    assert found.shape == (7, 3)
    np.testing.assert_allclose(found[-1], step * np.arange(100, 103) + 5, atol=1e-2)
    np.testing.assert_allclose(
        estimator.answers(series)[-1]["forecast"], step * np.arange(100, 103) + 5, atol=1e-2
    )


@pytest.mark.parametrize("rung", ["mlp", "gru"])
def test_networks_forecast(rung, tmp_path):
    series = np.sin(np.arange(200) / 3) * 10 + 50
    options = {"hidden": 16, "steps": 150, "learning_rate": 0.01} | (
        {"embed": 8} if rung == "gru" else {}
    )
    estimator = Regressor(rung, horizon=2, history=8, **options).fit(series, series)
    assert estimator.score(series, series) > 0.8
    loaded = wenmai.load(estimator.save(tmp_path / "run"))
    np.testing.assert_array_equal(loaded.predict(series[:30]), estimator.predict(series[:30]))


def test_nothing_of_the_held_out_end_is_learned_from():
    """Whatever the last rows are, the weights are the same."""
    series = np.random.default_rng(0).normal(size=100).cumsum()
    other = series.copy()
    other[-10:] += 1000
    first, second = (
        Regressor("linear", horizon=2, history=3).fit(values, values).model_.state()
        for values in (series, other)
    )
    assert all(np.array_equal(first[name], second[name]) for name in first)
    other[-11] += 1000  # the last row that is learned from
    third = Regressor("linear", horizon=2, history=3).fit(other, other).model_.state()
    assert not np.array_equal(first["weights"], third["weights"])


def test_of_a_short_series_enough_is_held_out_to_judge_by():
    estimator = Regressor("linear", horizon=5, history=3).fit(np.arange(25.0), np.arange(25.0))
    assert estimator.progress_[-1].score == pytest.approx(1)


# What does not fit


X, Y = table(30)


@pytest.mark.parametrize(
    ("inputs", "targets", "options", "says"),
    [
        (
            X,
            np.where(np.arange(30) == 21, np.nan, Y),
            {},
            "row 22: found the target nan, expected a finite number",
        ),
        (X, np.where(np.arange(30) == 4, -np.inf, Y), {}, "row 5: found the target -inf"),
        (X, [*Y[:9], "many", *Y[10:]], {}, "row 10: found the target 'many', expected a number"),
        (X, Y[:-1], {}, "found 30 inputs and 29 targets"),
        (
            np.where(np.isin(X, X[3, 1]), np.inf, X),
            Y,
            WHOLE,
            "row 4, column 2: found inf, expected a finite number",
        ),
        (
            [[1.0, 2.0]] * 2 + [[1.0]],
            [[1.0, 2.0], [1.0], [1.0]],
            {},
            "row 2: found 1 targets for 2 steps, expected one for each",
        ),
        ([[1.0, 2.0], [1.0, np.nan, 3.0]], [[1.0, 2.0], [1.0] * 3], {}, "row 2, step 2: found nan"),
        (
            [[1.0, 2.0], [1.0] * 3],
            [[1.0, 2.0], [1.0, np.inf, 1.0]],
            {},
            "row 2: found the target inf",
        ),
        (
            Y,
            Y,
            {"horizon": 40},
            r"rows in time .*, expected at least history \+ horizon = 120 \+ 40; give more rows",
        ),
        (
            Y,
            np.where(np.arange(30) == 21, np.nan, Y),
            {"horizon": 2, "validation": 0.0},
            "row 22: found the target nan",
        ),
        (X, Y, {"history": 4}, "history=4 goes with horizon=N"),
        (X, Y, {"horizon": -1}, "horizon=-1: expected at least 1"),
        (X, Y, {"solver": "magic"}, "solver='magic' is not one of auto, closed, gradient"),
    ],
    ids=range(13),
)
def test_what_cannot_be_learned_from_is_refused(inputs, targets, options, says):
    with pytest.raises(Mistake, match=says):
        Regressor("linear", **options).fit(inputs, targets)


def test_too_few_rows_to_forecast_from():
    estimator = Regressor("linear", horizon=2, history=6).fit(np.arange(40.0), np.arange(40.0))
    with pytest.raises(
        Mistake, match="found 5 rows in time, expected at least 6, from which the forecast is made"
    ):
        estimator.predict(np.arange(5.0))


def test_no_probabilities():
    with pytest.raises(Mistake, match="linear answers without probabilities"):
        Regressor("linear").fit(X, Y).predict_proba(X)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "a.csv",
            "x,target\n1,2\n3,nan\n",
            "a.csv, line 3: found nan in column target, expected a finite number",
        ),
        (
            "a.csv",
            "x,target\n1,2\n3,4\n-inf,4\n",
            "a.csv, line 4: found -inf in column x, expected a finite number",
        ),
        (
            "a.csv",
            "x,target\n1,2\n3,much\n",
            "a.csv, line 3: found 'much' in column target, expected a number",
        ),
        (
            "a.jsonl",
            '{"inputs": [3, 5], "targets": [3, 8]}\n{"inputs": [1], "targets": [1, 2]}\n',
            "a.jsonl, line 2: found 2 targets for 1 inputs, expected one for every step",
        ),
        (
            "a.jsonl",
            '{"inputs": [3, 5], "targets": [3, NaN]}\n',
            "a.jsonl, line 1: found nan at step 2 of targets",
        ),
        (
            "a.jsonl",
            '{"inputs": [3, "x"], "targets": [3, 8]}\n',
            r"a.jsonl, line 1: found .* in inputs, expected a list of numbers",
        ),
        (
            "a.jsonl",
            '{"inputs": [[1, 2], [3, 4]], "target": 1}\n{"inputs": [[1], [3]], "target": 1}\n',
            "a.jsonl, line 2: found 1 numbers a step in inputs, expected 2 numbers",
        ),
        (
            "a.jsonl",
            '{"inputs": [1, 2], "target": 1}\n{"inputs": [[1], [3]], "target": 1}\n',
            "a.jsonl, line 2: found 1 numbers a step in inputs, expected one number",
        ),
        (
            "a.jsonl",
            '{"x": 1, "targets": [3, 8]}\n{"x": 2, "targets": [3]}\n',
            "a.jsonl, line 2: found 1 targets, expected 2",
        ),
    ],
    ids=range(9),
)
def test_what_cannot_be_read_is_named_with_its_line(name, text, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    chunk, task = read(name).load(), Regress()
    with pytest.raises(Mistake, match=says):
        task.inputs_of(chunk, name)
        task.targets_of(chunk, name)


def test_frames_after_a_row_without_any(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"inputs": [], "target": 1}\n{"inputs": [[1, 2], [3, 4]], "target": 2}\n'
    )
    inputs = Regress().inputs_of(read(tmp_path / "a.jsonl").load(), "a.jsonl")
    assert inputs.flat.tolist() == [[1, 2], [3, 4]] and inputs.lengths.tolist() == [0, 2]


def test_one_a_step_and_one_a_row_are_told_apart():
    steps = [row for n in range(12) for row in ([1.0 * n, 2.0], [3.0 - n])]
    a_step = Regressor("linear", **WHOLE).fit(
        steps, [[2 * value for value in row] for row in steps]
    )
    a_row = Regressor("linear", **WHOLE).fit(steps, [sum(row) for row in steps])
    with pytest.raises(Mistake, match="found one target a row, expected one a step as in training"):
        a_step.evaluate(steps[:2], [3.0, 3.0])
    with pytest.raises(Mistake, match="found one target a step, expected one a row as in training"):
        a_row.evaluate(steps[:2], [[2.0, 4.0], [6.0]])
    np.testing.assert_allclose(
        np.concatenate(a_step.predict(np.array([[1.0, 2.0], [3.0, 1.0]]))), [2, 4, 6, 2], atol=1e-3
    )
