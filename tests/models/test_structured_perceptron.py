"""The structured perceptron against Collins' rule in plain Python, and the templates against strings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenmai.data.examples.sequences import Sequences
from wenmai.data.inputs.tokens import Tokens
from wenmai.data.text.templates import Templates
from wenmai.estimators import Tagger
from wenmai.layers.crf import NEVER, best_paths
from wenmai.models.perceptron import perceptron

FEW = settings(max_examples=40, deadline=None)
LETTERS = "abABz09-.中文é"


def alternating(rows=60, seed=0):
    """The first token says A or B; from there on the tags take turns, and no token says which is whose."""
    generator = np.random.default_rng(seed)
    tokens, tags = [], []
    for _ in range(rows):
        first, length = int(generator.integers(0, 2)), int(generator.integers(4, 12))
        tokens.append(["ab"[first], *["x"] * (length - 1)])
        tags.append(["AB"[(first + at) % 2] for at in range(length)])
    return tokens, tags


# What it learns


@pytest.mark.parametrize("averaged", [True, False])
def test_it_learns_what_follows_what(averaged):
    train, test = alternating(), alternating(seed=1)
    plain = Tagger("softmax").fit(*train).evaluate(*test)
    structured = Tagger("perceptron", averaged=averaged).fit(*train).evaluate(*test)
    assert plain["token_accuracy"] < 0.85 and structured["token_accuracy"] == 1.0


def test_the_same_seed_gives_the_same_weights():
    first, again, other = (
        Tagger("perceptron", seed=seed).fit(*alternating()).model_.state() for seed in (3, 3, 4)
    )
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["between"], other["between"])


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_rule_in_plain_python(averaged, bias):
    train = [["a", "b"], ["c"], [], ["b", "a", "c"]], [["X", "Y"], ["X"], [], ["Y", "Z", "X"]]
    epochs, seed = 3, 5
    model = (
        Tagger("perceptron", averaged=averaged, bias=bias, epochs=epochs, seed=seed, validation=0.0)
        .fit(*train)
        .model_
    )
    inputs = Tokens.learn(train[0], "random", 512, "auto")
    x = dense(
        Templates.learn(inputs.encode(train[0]), inputs.alphabet, 2).rows(inputs.encode(train[0]))
    )
    bounds = [0, 2, 3, 3, 6]
    tags = ["XYZ".index(tag) for row in train[1] for tag in row]
    w, b, a = np.zeros((x.shape[1], 3)), np.zeros(3), np.zeros((3, 3))
    means = [np.zeros_like(values) for values in (w, b, a)]
    generator, steps = np.random.default_rng(seed), 0
    for _ in range(epochs):
        for row in generator.permutation(4):
            here = range(bounds[row], bounds[row + 1])
            z = Sequences((x[list(here)] @ w + b).astype(np.float32), np.array([0, len(here)]))
            said = best_paths(
                z, np.zeros(3, np.float32), a.astype(np.float32), np.zeros(3, np.float32)
            ).tolist()
            right = [tags[at] for at in here]
            for t, at in enumerate(here):
                for tag, sign in ((right, 1), (said, -1)):
                    w[:, tag[t]] += sign * x[at]
                    b[tag[t]] += sign * bias
                    if t:
                        a[tag[t - 1], tag[t]] += sign
            means = [mean + values for mean, values in zip(means, (w, b, a))]
            steps += 1
    wanted = [mean / steps for mean in means] if averaged else [w, b, a]
    for found, expected in zip((model.z.weights, model.z.offsets, model.between), wanted):
        np.testing.assert_allclose(found, expected, atol=1e-4)


class Asked:
    """A request for tags of which some may not follow others."""

    classes, per_step, weights = 3, True, None
    allowed = (
        np.array([1, 0, 1], bool),
        np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]], bool),
        np.array([1, 1, 0], bool),
    )


@FEW
@given(st.integers(0, 999))
def test_what_is_forbidden_is_never_answered(seed):
    generator = np.random.default_rng(seed)
    model = perceptron(Tokens.learn([["a"]], "random", 512, "none"), Asked)
    model.between = (generator.normal(size=(3, 3)) * 100).astype(np.float32)
    begin, between, end = model.transitions()
    assert (between[~Asked.allowed[1]] < NEVER / 2).all()
    scores = Sequences(
        (generator.normal(size=(20, 3)) * 100).astype(np.float32), np.array([0, 1, 9, 20])
    )
    path = best_paths(scores, begin, between, end)
    for start, after in ((0, 1), (1, 9), (9, 20)):
        row = path[start:after]
        assert (
            Asked.allowed[0][row[0]]
            and Asked.allowed[2][row[-1]]
            and Asked.allowed[1][row[:-1], row[1:]].all()
        )


def test_spans_that_a_scheme_forbids_are_never_answered():
    """Tags drawn by chance: whatever was learned of them, each answer keeps to its scheme."""
    generator = np.random.default_rng(0)
    tokens = [[str(generator.integers(0, 9)) for _ in range(8)] for _ in range(40)]
    tags = [
        ["O", "B-P", "I-P", "O", "B-Q", "B-Q", "I-Q", "O"][at:] + ["O"] * at
        for at in generator.integers(0, 8, 40)
    ]
    tags = [row if not row[0].startswith("I") else ["O", *row[1:]] for row in tags]
    estimator = Tagger("perceptron", epochs=2, scheme="bio", write="bioes").fit(tokens, tags)
    begin, between, end = estimator.task_.head().allowed
    number = {tag: at for at, tag in enumerate(estimator.classes_)}
    answers = estimator.predict(
        [[str(n) for n in generator.integers(0, 12, 30)] for _ in range(30)]
    )
    assert len({tag for row in answers for tag in row}) > 3
    for row in answers:
        at = [number[tag] for tag in row]
        assert begin[at[0]] and end[at[-1]] and between[at[:-1], at[1:]].all()


# Templates


def dense(rows) -> np.ndarray:
    table = np.zeros((len(rows), rows.width))
    for row in range(len(rows)):
        table[row, rows.columns[rows.starts[row] : rows.starts[row + 1]]] += 1
    return table


def shape(word: str) -> str:
    marks = [
        "X"
        if c.isupper()
        else "x"
        if c.islower()
        else "0"
        if c.isdigit()
        else "文"
        if c.isalpha()
        else c
        for c in word
    ]
    return "".join(
        mark for at, mark in enumerate(marks) if marks[max(0, at - 2) : at] != [mark, mark]
    )


def described(tokens: list[str], at: int, window: int) -> list[tuple]:
    """The features of a token as the docstring of the templates lists them."""

    def w(near):
        return (
            tokens[at + near]
            if 0 <= at + near < len(tokens)
            else "<row begins>"
            if at + near < 0
            else "<row ends>"
        )

    def s(near):
        return shape(w(near)) if 0 <= at + near < len(tokens) else w(near)

    found = [(f"w{near}", w(near)) for near in range(-window, window + 1)]
    for places in ((-1, 0), (0, 1), (-1, 1), (-2, -1), (1, 2), (-1, 0, 1)):
        found.append(("w", places, *map(w, places)))
    for places in ((-1,), (0,), (1,), (-1, 0), (0, 1)):
        found.append(("s", places, *map(s, places)))
    found.append(("lower", w(0).lower()))
    found += [("first", n, w(0)[:n]) for n in range(1, 5) if len(w(0)) >= n]
    found += [("last", n, w(0)[-n:]) for n in range(1, 5) if len(w(0)) >= n]
    found += [
        ("last three", near, w(near)[-3:])
        for near in (-1, 1)
        if 0 <= at + near < len(tokens) and len(w(near)) >= 3
    ]
    return found


rows_of_tokens = st.lists(
    st.lists(st.text(LETTERS, min_size=1, max_size=6), max_size=6), min_size=1, max_size=5
)


@FEW
@given(rows_of_tokens, rows_of_tokens, st.integers(0, 4), st.integers(1, 3))
def test_features_are_those_that_the_templates_list(known, new, window, fewest):
    known = [[*LETTERS], *known]  # so that every letter is known
    inputs = Tokens.learn(known, "random", 512, "none")
    templates = Templates.learn(inputs.encode(known), inputs.alphabet, window, fewest)
    counts, column = {}, {}
    for tokens in known:
        for at in range(len(tokens)):
            for feature in described(tokens, at, window):
                counts[feature] = counts.get(feature, 0) + 1
    for rows in (known, new):
        found, place = templates.rows(inputs.encode(rows)), 0
        for tokens in rows:
            for at in range(len(tokens)):
                wanted = [
                    feature
                    for feature in described(tokens, at, window)
                    if counts.get(feature, 0) >= fewest
                ]
                here = found.columns[found.starts[place] : found.starts[place + 1]].tolist()
                assert len(here) == len(wanted)
                assert all(
                    column.setdefault(feature, at) == at for feature, at in zip(wanted, here)
                )
                place += 1
        assert place == len(found) and (found.values == 1).all()
    assert (
        len(set(column.values())) == len(column) == templates.width
    )  # a column for every feature, and the reverse


def test_tokens_that_differ_in_one_way_share_all_else():
    inputs = Tokens.learn([["Anna", "anna", "xanna", "saw", "him"]], "random", 512, "none")
    rows = [["saw", "Anna", "him"], ["saw", "anna", "him"], ["him", "Anna", "saw"]]
    encoded = inputs.encode(rows)
    found = Templates.learn(encoded, inputs.alphabet, 1).rows(encoded)
    columns = [
        set(found.columns[found.starts[at] : found.starts[at + 1]].tolist())
        for at in range(len(found))
    ]
    # Anna or anna: w0, three w0 pairs and triples of them, s0, two pairs of s, four first letters and the last four
    assert len(columns[1] - columns[4]) == len(described(rows[0], 1, 1)) - len(
        set(described(rows[0], 1, 1)) & set(described(rows[1], 1, 1))
    )
    assert (
        len(columns[1] & columns[7])
        == len(set(described(rows[0], 1, 1)) & set(described(rows[2], 1, 1)))
        > 10
    )


def test_templates_are_kept_as_arrays():
    inputs = Tokens.learn(alternating(20)[0], "random", 512, "none")
    encoded = inputs.encode(alternating(20, seed=2)[0])
    templates = Templates.learn(encoded, inputs.alphabet, 3, 2)
    state = templates.state()
    assert (
        all(isinstance(array, np.ndarray) for array in state.values())
        and 0 < len(state["template_keys"]) == templates.width
    )
    again = Templates.from_state(state, inputs.alphabet, 3)
    one, other = templates.rows(encoded), again.rows(encoded)
    np.testing.assert_array_equal(one.columns, other.columns)
    np.testing.assert_array_equal(one.starts, other.starts)


def test_more_features_than_the_first_table_holds():
    tokens = [[f"word{n}" for n in range(row * 50, row * 50 + 50)] for row in range(80)]
    inputs = Tokens.learn(tokens, "random", 512, "none")
    encoded = inputs.encode(tokens)
    templates = Templates.learn(encoded, inputs.alphabet, 2)
    rows = templates.rows(encoded)
    expected = [[described(row, at, 2) for at in range(len(row))] for row in tokens]
    assert (
        templates.width
        == len({feature for row in expected for token in row for feature in token})
        > 1 << 15
    )
    assert np.diff(rows.starts).tolist() == [
        len(token) for row in expected for token in row
    ]  # none of them is lost
