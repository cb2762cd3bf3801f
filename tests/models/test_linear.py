"""The linear rungs and their features: against scikit-learn, and against the textbook in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.features import Ngrams, Rows
from wenmai.estimators import Classifier

FEW = settings(max_examples=40, deadline=None)
texts = st.lists(st.lists(st.integers(1, 6), max_size=9), min_size=1, max_size=8).filter(any)


def dense(rows: Rows) -> np.ndarray:
    table = np.zeros((len(rows), rows.width), np.float32)
    for row in range(len(rows)):
        for k in range(rows.starts[row], rows.starts[row + 1]):
            assert table[row, rows.columns[k]] == 0  # no column stands twice in a row
            table[row, rows.columns[k]] = rows.values[k]
    return table


def words(row, edges):
    """Tokens as scikit-learn takes them; with edges, one mark before the first and after the last."""
    return ["|", *map(str, row), "|"] if edges else list(map(str, row))


def in_order(rows, longest, edges) -> list[str]:
    """Every n-gram in the order of its first appearance, which is the order of our columns."""
    found = {}
    for row in (words(row, edges) for row in rows):
        for first in range(len(row)):
            for end in range(first + 1, min(first + longest, len(row)) + 1):
                found.setdefault(" ".join(row[first:end]), None)
    return list(found)


@FEW
@given(
    known=texts,
    new=texts,
    longest=st.integers(1, 4),
    weighting=st.sampled_from(["tf-idf", "counts"]),
    edges=st.booleans(),
    fewest=st.integers(1, 2),
)
def test_features_are_those_of_scikit_learn(known, new, longest, weighting, edges, fewest):
    kind = TfidfVectorizer if weighting == "tf-idf" else CountVectorizer
    theirs = kind(
        analyzer="word",
        tokenizer=lambda row: words(row, edges),
        preprocessor=lambda row: row,
        token_pattern=None,
        ngram_range=(1, longest),
        min_df=fewest,
    )
    ours = Ngrams.learn(Sequences.of(known), longest, weighting, edges, fewest)
    try:
        theirs.fit(known)
    except ValueError:  # no n-gram stands in two rows
        assert len(ours.inverse) == 0 and not dense(ours.rows(Sequences.of(known))).any()
        return
    column = [
        theirs.vocabulary_[gram]
        for gram in in_order(known, longest, edges)
        if gram in theirs.vocabulary_
    ]
    for rows in (known, new):
        wanted = theirs.transform(rows).toarray()[:, column]
        np.testing.assert_allclose(
            dense(ours.rows(Sequences.of(rows))), wanted, atol=1e-6, rtol=1e-6
        )
    again = Ngrams.from_state(ours.state(), longest, weighting, edges)
    np.testing.assert_array_equal(
        dense(again.rows(Sequences.of(new))), dense(ours.rows(Sequences.of(new)))
    )


def test_many_ngrams_are_kept_apart():
    """More than the dictionary begins with, so that it grows."""
    generator = np.random.default_rng(0)
    rows = [generator.integers(6, 40_000, 60) for _ in range(1500)]
    ours = Ngrams.learn(Sequences.of(rows), 2, "counts", False)
    grams = {
        gram
        for row in rows
        for n in (1, 2)
        for gram in zip(*(row[at:].tolist() for at in range(n)))
    }
    assert len(ours.inverse) == len(grams) > 2**16
    found = ours.rows(Sequences.of(rows))
    assert found.values.sum() == sum(2 * len(row) - 1 for row in rows)
    assert len(np.unique(found.columns)) == len(grams)


def test_the_two_texts_of_a_pair_are_told_apart():
    pairs = Sequences(
        np.array([7, 2, 8, 8, 2, 7], np.int32),
        np.array([0, 3, 6]),
        {"segment": np.array([0, 0, 1, 0, 0, 1])},
    )
    table = dense(Ngrams.learn(pairs, 1, "counts", False).rows(pairs))
    assert table.tolist() == [[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]]


@FEW
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**31))
def test_dense_rows_and_their_parts(count, width, seed):
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(count, width)).astype(np.float32) * generator.integers(
        0, 2, (count, width)
    )
    rows = Rows.of_dense(table)
    np.testing.assert_array_equal(dense(rows), table)
    some = generator.integers(0, count, 4)
    np.testing.assert_array_equal(dense(rows.take(some)), table[some])


# What the rungs make of their features


def reviews(rows, seed):
    """Texts whose label shows in the words with some chance, as in life: no rung can get all of them."""
    generator = np.random.default_rng(seed)
    common = [f"w{n}" for n in range(60)]
    lean = {label: generator.choice(common, 12, replace=False) for label in "abc"}
    labels = generator.choice(list("abc"), rows).tolist()
    return [
        " ".join(np.r_[generator.choice(common, 14), generator.choice(lean[label], 3)])
        for label in labels
    ], labels


def test_softmax_is_as_good_as_scikit_learn():
    inputs, labels = reviews(900, seed=3)
    train, test = (inputs[:600], labels[:600]), (inputs[600:], labels[600:])
    theirs = (
        make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=1000))
        .fit(*train)
        .score(*test)
    )
    ours = Classifier("softmax", validation=0.0).fit(*train).score(*test)
    assert 0.5 < theirs < 0.99  # so that the set can tell them apart
    assert ours >= theirs - 0.02


def averaged_perceptron(table, targets, classes, epochs, seed, bias=True, averaged=True):
    """Freund & Schapire 1999 in plain Python; the mean is taken over the weights after every step."""
    width, generator = len(table[0]), np.random.default_rng(seed)
    w, total = ([[0.0] * (width + 1) for _ in range(classes)] for _ in range(2))
    steps = 0
    for _ in range(epochs):
        for row in generator.permutation(len(table)):
            x = [*table[row], 1.0 if bias else 0.0]
            z = [sum(a * b for a, b in zip(weights, x)) for weights in w]
            answer = z.index(max(z))
            if answer != targets[row]:
                w[targets[row]] = [a + b for a, b in zip(w[targets[row]], x)]
                w[answer] = [a - b for a, b in zip(w[answer], x)]
            total = [[a + b for a, b in zip(sums, weights)] for sums, weights in zip(total, w)]
            steps += 1
    return np.array([[a / steps for a in sums] for sums in total] if averaged else w)


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_the_perceptron_is_the_textbooks(bias, averaged):
    inputs, labels = reviews(40, seed=1)
    ours = Classifier(
        "perceptron",
        weighting="counts",
        ngrams=1,
        bias=bias,
        averaged=averaged,
        epochs=4,
        seed=5,
        validation=0.0,
    )
    ours.fit(inputs, labels)
    table = dense(ours.model_.z.rows(ours.inputs_.encode(inputs))).tolist()
    wanted = averaged_perceptron(table, ours.task_.encode(labels), 3, 4, 5, bias, averaged)
    np.testing.assert_allclose(ours.model_.z.weights, wanted[:, :-1].T, atol=1e-5)
    np.testing.assert_allclose(ours.model_.z.offsets, wanted[:, -1], atol=1e-5)
    assert (ours.model_.z.weights != 0).mean() > 0.2
    with pytest.raises(ValueError, match="without probabilities"):
        ours.predict_proba(inputs)


def numbers(classes, rows=60):
    generator = np.random.default_rng(2)
    targets = generator.integers(0, classes, rows)
    return generator.normal(targets[:, None] * np.ones(4), 1.0), targets


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("k", "z0"), [(1.0, 0.0), (2.5, 0.0), (1.0, 0.7), (0.5, 1.5)])
def test_logistic_is_its_curve(classes, k, z0):
    inputs, targets = numbers(classes)
    model = Classifier("logistic", k=k, z0=z0, validation=0.0, epochs=5).fit(inputs, targets)
    weights, offsets = model.model_.z.weights.astype(float), model.model_.z.offsets.astype(float)
    assert weights.shape == (4, 1 if classes == 2 else 3)
    z = model.inputs_.encode(inputs).astype(float) @ weights + offsets
    p = np.array([[1 / (1 + math.exp(-k * (value - z0))) for value in row] for row in z])
    p = np.concatenate([1 - p, p], 1) if classes == 2 else p / p.sum(1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(inputs), p, atol=1e-5)
    assert model.score(inputs, targets) > 0.6


def test_a_midpoint_may_be_negative():
    inputs, targets = numbers(2)
    assert (
        Classifier("logistic", z0=-1.5, validation=0.0).fit(inputs, targets).score(inputs, targets)
        > 0.6
    )


def test_a_curve_moved_by_z0_is_learned_around():
    """z₀ is an offset that the bias can undo: probabilities stay where they were, nearly."""
    inputs, targets = numbers(2)
    same = {"validation": 0.0, "epochs": 200, "decay": 0.0}
    plain = Classifier("logistic", **same).fit(inputs, targets)
    moved = Classifier("logistic", z0=1.5, **same).fit(inputs, targets)
    assert np.abs(plain.predict_proba(inputs) - moved.predict_proba(inputs)).max() < 0.05
    assert moved.model_.z.offsets[0] - plain.model_.z.offsets[0] == pytest.approx(1.5, abs=0.25)


@pytest.mark.parametrize("rung", ["perceptron", "logistic", "softmax"])
def test_without_bias_the_offsets_stay_0(rung):
    inputs, targets = numbers(3)
    assert not Classifier(rung, bias=False).fit(inputs + 4, targets).model_.z.offsets.any()
    assert Classifier(rung, bias=True).fit(inputs + 4, targets).model_.z.offsets.any()


def test_decay_pulls_towards_0():
    inputs, targets = numbers(2)
    free, pulled = (
        Classifier("softmax", decay=decay, epochs=30).fit(inputs, targets).model_.z.weights
        for decay in (0.0, 50.0)
    )
    assert 0 < np.linalg.norm(pulled) < 0.7 * np.linalg.norm(free)


def test_one_step_of_softmax_is_the_gradient():
    """From 0 every class has p = 1/C; the step of feature j is η·e·x_j / √(Σe²/C · x_j²), which is η·e/√(Σe²/C) · sign(x_j)."""
    inputs = np.array([[1.0, -2.0], [-1.0, 2.0]])
    model = (
        Classifier("softmax", epochs=1, learning_rate=0.1, decay=0.0, validation=0.0)
        .fit(inputs, ["a", "b"])
        .model_
    )
    first, second = (0, 1) if np.random.default_rng(0).permutation(2)[0] == 0 else (1, 0)
    eta, x = [0.1, 0.05], np.array([[1.0, -1.0], [-1.0, 1.0]])
    w, b, seen, seen_b = np.zeros((2, 2)), np.zeros(2), np.zeros(2), 0.0
    for step, row in enumerate((first, second)):
        z = x[row] @ w + b
        e = np.exp(z) / np.exp(z).sum() - np.eye(2)[row]
        seen, seen_b = seen + (e @ e) / 2 * x[row] ** 2, seen_b + (e @ e) / 2
        w -= eta[step] * np.outer(x[row] / np.sqrt(seen), e)
        b -= eta[step] * e / np.sqrt(seen_b)
    np.testing.assert_allclose(model.z.weights, w, atol=1e-5)
    np.testing.assert_allclose(model.z.offsets, b, atol=1e-5)


def test_a_row_without_known_features_has_the_answer_of_the_offsets():
    inputs, labels = reviews(60, seed=0)
    model = Classifier("softmax").fit(inputs, labels)
    outputs = model.outputs(Examples(model.inputs_.encode(["never seen", ""])))
    offsets = model.model_.z.offsets.astype(float)
    np.testing.assert_allclose(outputs, [offsets - np.log(np.exp(offsets).sum())] * 2, atol=1e-5)


@pytest.mark.parametrize("rung", ["perceptron", "logistic", "softmax"])
def test_balance_lets_a_rare_class_be_heard(rung):
    """Where the classes overlap, the common one wins unless they are balanced."""
    generator = np.random.default_rng(0)
    inputs = np.concatenate([generator.normal(0, 1, (950, 1)), generator.normal(1.5, 1, (50, 1))])
    targets = ["common"] * 950 + ["rare"] * 50
    recall = {}
    for balance in (False, True):
        model = Classifier(rung, balance=balance, validation=0.0, epochs=20).fit(inputs, targets)
        recall[balance] = (model.predict(inputs)[950:] == "rare").mean()
    assert recall[True] > recall[False] + 0.2
