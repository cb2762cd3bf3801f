"""Estimators: what scikit-learn asks of them, whatever users hold their data in, and what an import may cost."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

import wenmai
from wenmai.catalog import RUNGS, rungs_for
from wenmai.errors import Mistake
from wenmai.estimators import Classifier, Regressor, Tagger, load
from wenmai.tasks.measuring.rows import worst
from wenmai.training.checkpoints import Checkpoints
from wenmai.training.progress import Progress, Snapshot

ROOT = Path(__file__).parents[1]
TEXTS = [
    f"{word} thing number {n}" for n in range(10) for word in ("a good", "the bad", "some odd")
]
LABELS = ["good", "bad", "odd"] * 10
SMALL = {"hidden": 8, "embed": 8, "steps": 60, "validation": 0.0, "learning_rate": 0.03}


def trained(rung="softmax", inputs=TEXTS, labels=LABELS, **options):
    return Classifier(rung, **options).fit(inputs, labels)


# scikit-learn


@pytest.mark.parametrize("rung", RUNGS)
def test_clone_keeps_every_option(rung):
    known = Classifier(rung).get_params()
    options = {"seed": 7, "lowercase": False, "validation": 0.2, "learning_rate": 0.5}
    options |= {"hidden": 9} if "hidden" in known else {}
    first = Classifier(rung, **options)
    second = clone(first)
    assert second is not first and second.get_params() == first.get_params() == known | options
    assert not hasattr(second, "model_")


def test_a_clone_learns_the_same():
    first = trained("mlp", **SMALL)
    second = clone(first).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(first.predict_proba(TEXTS), second.predict_proba(TEXTS))


def test_get_and_set_params():
    estimator = Classifier("gru", hidden=8)
    assert estimator.get_params()["hidden"] == 8 and estimator.get_params()["layers"] == 1
    assert estimator.set_params(hidden=16, epochs=2) is estimator
    assert estimator.get_params()["hidden"] == 16 and estimator.get_params()["epochs"] == 2
    assert repr(estimator) == "Classifier('gru', hidden=16, epochs=2)"
    with pytest.raises(Mistake, match='unknown option "hiden"; did you mean hidden'):
        estimator.set_params(hiden=3)
    with pytest.raises(Mistake, match="hidden='wide': expected a whole number"):
        estimator.set_params(hidden="wide")
    assert estimator.set_params(rung="lstm").get_params()["rung"] == "lstm"


def test_what_init_is_given_is_refused_by_fit_not_before():
    Classifier("no-such-rung", nonsense=1).get_params()
    with pytest.raises(Mistake, match='unknown rung "grru"; did you mean gru'):
        trained("grru")


def test_it_is_a_classifier_fitted_or_not():
    estimator = Classifier("softmax")
    assert is_classifier(estimator)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    check_is_fitted(estimator.fit(TEXTS, LABELS))
    for ask in ("predict", "predict_proba", "answers", "save"):
        with pytest.raises(Mistake, match="has not been trained; call fit first"):
            getattr(Classifier("softmax"), ask)(TEXTS)


def test_pipelines():
    reverse = FunctionTransformer(lambda texts: [text[::-1] for text in texts])
    pipeline = make_pipeline(reverse, Classifier("softmax")).fit(TEXTS, LABELS)
    assert pipeline.score(TEXTS, LABELS) == 1.0 and pipeline.predict(["a good one"]).tolist() == [
        "good"
    ]
    pipeline.set_params(classifier__epochs=3)
    assert pipeline.get_params()["classifier__epochs"] == 3
    numbers = np.random.default_rng(0).normal(np.repeat([[0.0], [5.0]], 20, 0), 1, (40, 3))
    labels = [0] * 20 + [1] * 20
    assert (
        make_pipeline(StandardScaler(), Classifier("logistic"))
        .fit(numbers, labels)
        .score(numbers, labels)
        > 0.95
    )


@pytest.mark.parametrize("rung", ["softmax", "mlp"])
def test_cross_validation(rung):
    estimator = Classifier(
        rung, **(SMALL | {"hidden": 32, "dropout": 0.0} if rung == "mlp" else {})
    )
    assert cross_val_score(estimator, TEXTS, LABELS, cv=3).tolist() == [1.0] * 3
    assert cross_val_score(estimator, TEXTS, LABELS, cv=3, scoring="neg_log_loss").min() > -0.7
    assert cross_val_predict(estimator, TEXTS, LABELS, cv=3).tolist() == LABELS


def test_grid_search_over_lists_of_texts():
    search = GridSearchCV(
        Classifier("softmax"),
        {"ngrams": [1, 2], "learning_rate": [0.0, 0.3]},
        cv=3,
        error_score="raise",
    )
    search.fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0 and search.best_params_["learning_rate"] == 0.3
    assert search.predict(["the bad one"]).tolist() == ["bad"]


def test_grid_search_over_rungs():
    search = GridSearchCV(
        Classifier("softmax", seed=3),
        {"rung": ["perceptron", "softmax", "cnn"]},
        cv=3,
        error_score="raise",
    )
    assert search.fit(TEXTS, LABELS).best_score_ == 1.0
    assert (
        len(search.cv_results_["params"]) == 3
        and np.isfinite(search.cv_results_["mean_test_score"]).all()
    )
    estimator = clone(Classifier("softmax", seed=3, ngrams=1)).set_params(rung="mlp")
    assert estimator.get_params()["seed"] == 3
    with pytest.raises(
        Mistake, match='unknown option "ngrams"'
    ):  # which was asked for, and an mlp has none
        estimator.fit(TEXTS, LABELS)


TABLE = np.random.default_rng(0).normal(size=(60, 3))
SUMS = TABLE @ [1.0, 2.0, 3.0]
TOKENS = [["the", f"thing{n}", "is", ["here", "there"][n % 2]] for n in range(60)]
TAGS = [["O", "B-THING", "O", ["B-NEAR", "B-FAR"][n % 2]] for n in range(60)]


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("kind", [Tagger, Regressor])
def test_clone_keeps_every_option_of_every_task(kind, rung):
    if kind.task_name in RUNGS[rung].tasks:
        options = {"seed": 7, "validation": 0.2} | (
            {"crf": True} if kind is Tagger else {"horizon": 3}
        )
        first = kind(rung, **options)
        assert clone(first).get_params() == first.get_params() == kind(rung).get_params() | options


def test_regressors_are_scikit_learns_too():
    assert is_regressor(Regressor("linear")) and not is_classifier(Regressor("linear"))
    assert not is_regressor(Tagger("softmax")) and not is_classifier(Tagger("softmax"))
    assert cross_val_score(Regressor("linear"), TABLE, SUMS, cv=3).min() > 0.9999
    assert (
        cross_val_score(
            Regressor("linear"), TABLE, SUMS, cv=3, scoring="neg_mean_squared_error"
        ).min()
        > -1e-3
    )
    search = GridSearchCV(
        Regressor("linear"), {"solver": ["closed", "gradient"]}, cv=3, error_score="raise"
    ).fit(TABLE, SUMS)
    assert search.best_score_ > 0.9999
    pipeline = make_pipeline(StandardScaler(), Regressor("linear")).fit(TABLE, SUMS)
    np.testing.assert_allclose(pipeline.predict(TABLE), SUMS, atol=1e-3)


def test_taggers_in_cross_validation():
    assert cross_val_score(Tagger("perceptron"), TOKENS, TAGS, cv=3).tolist() == [1.0] * 3
    search = GridSearchCV(Tagger("softmax"), {"window": [1, 2]}, cv=3, error_score="raise").fit(
        TOKENS, TAGS
    )
    assert search.best_score_ == 1.0 and search.predict([["is", "here"]])[0][1] == "B-NEAR"


# Answers


@pytest.mark.each_value
@pytest.mark.parametrize(
    "rung", [rung.name for rung in rungs_for("classify") if rung.name != "perceptron"]
)
def test_probabilities_stand_in_the_order_of_the_classes(rung):
    known = Classifier(rung).get_params()
    estimator = trained(rung, **{name: value for name, value in SMALL.items() if name in known})
    assert estimator.classes_.tolist() == ["bad", "good", "odd"]
    probabilities = estimator.predict_proba(TEXTS)
    assert probabilities.shape == (30, 3) and (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(1), 1, atol=1e-5)
    assert estimator.classes_[probabilities.argmax(1)].tolist() == estimator.predict(TEXTS).tolist()
    answers = estimator.answers(TEXTS)
    assert [answer["label"] for answer in answers] == estimator.predict(TEXTS).tolist()
    np.testing.assert_allclose(
        [answer["probability"] for answer in answers], probabilities.max(1), atol=1e-5
    )


def test_the_perceptron_has_no_probabilities():
    estimator = trained("perceptron")
    assert estimator.answers(["a good one"]) == [{"label": "good"}]
    with pytest.raises(
        Mistake,
        match="perceptron answers without probabilities here; to classify or tag, softmax has them",
    ):
        estimator.predict_proba(TEXTS)


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

    generator = np.random.default_rng(0)
    labels = generator.choice(["bad", "good", "odd"], 200, p=[0.7, 0.2, 0.1]).tolist()
    texts = [
        f"{generator.choice(['x', label])} {generator.choice(['y', label])} z w" for label in labels
    ]
    estimator = trained("softmax", texts, labels, epochs=2)
    answers = estimator.predict(texts)
    scores = estimator.evaluate(texts, labels)
    assert 0.3 < scores["accuracy"] < 1
    theirs = {
        "accuracy": accuracy_score(labels, answers),
        "macro_f1": f1_score(labels, answers, average="macro"),
    }
    assert scores == pytest.approx(theirs)
    assert estimator.score(texts, labels) == scores["accuracy"]
    outputs = np.log(estimator.predict_proba(texts))
    decided = outputs.argmax(1)
    confusion = estimator.task_.confusion(decided, estimator.task_.encode(labels))
    assert confusion["counts"] == confusion_matrix(labels, answers).tolist() and confusion[
        "classes"
    ] == ["bad", "good", "odd"]
    examples = estimator.examples(texts, labels)
    missed = estimator.task_.missed(outputs, decided, examples.targets)
    np.testing.assert_array_equal(missed > 0, decided != examples.targets)
    found = worst(estimator, examples, missed, texts, most=5)
    assert len(found) == 5 and all(row["answer"] != row["expected"] for row in found)
    assert found[0]["probability"] >= found[-1]["probability"]


# Whatever users hold their data in


class Column:
    """As a column or table of pandas or polars, whose iteration promises nothing."""

    def __init__(self, values):
        self.values = np.array(values, object)

    def to_numpy(self):
        return self.values

    def __iter__(self):
        return iter(["these", "are", "names"])

    def __len__(self):
        return len(self.values)


@pytest.mark.parametrize(
    "labels",
    [[1, 0, 2] * 10, np.array([1, 0, 2] * 10), [True, False, False] * 10, [1.5, -1.0, 3.0] * 10],
    ids=["ints", "array", "bools", "floats"],
)
def test_labels_of_every_kind(labels, tmp_path):
    estimator = trained(labels=labels)
    assert estimator.predict(TEXTS).tolist() == list(labels)
    assert estimator.score(TEXTS, labels) == 1.0
    loaded = wenmai.load(estimator.save(tmp_path / "run"))
    assert (
        loaded.predict(TEXTS).tolist() == list(labels)
        and loaded.classes_.dtype == estimator.classes_.dtype
    )


@pytest.mark.parametrize(
    "hold",
    [list, tuple, np.array, lambda values: np.array(values, object), Column, iter],
    ids=["list", "tuple", "array", "objects", "column", "iterator"],
)
def test_texts_held_in_anything(hold):
    wanted = trained()
    estimator = trained(inputs=hold(TEXTS), labels=hold(LABELS))
    np.testing.assert_array_equal(estimator.predict_proba(hold(TEXTS)), wanted.predict_proba(TEXTS))
    assert estimator.score(hold(TEXTS), hold(LABELS)) == 1.0


@pytest.mark.parametrize(
    "hold",
    [list, np.array, lambda pairs: [list(pair) for pair in pairs], Column],
    ids=["tuples", "array", "lists", "column"],
)
def test_pairs_held_in_anything(hold):
    pairs = [("x y", "x y") if n % 2 else ("x y", "z w") for n in range(30)]
    labels = ["same" if n % 2 else "other" for n in range(30)]
    estimator = trained(inputs=hold(pairs), labels=labels)
    assert estimator.inputs_.pairs and estimator.predict(hold(pairs)).tolist() == labels


@pytest.mark.parametrize(
    "hold",
    [np.array, list, lambda rows: [list(row) for row in rows], Column],
    ids=["array", "arrays", "lists", "column"],
)
def test_numbers_held_in_anything(hold):
    rows = np.random.default_rng(0).normal(np.repeat([[0.0], [5.0]], 15, 0), 1, (30, 3))
    estimator = trained("logistic", hold(rows), [0] * 15 + [1] * 15)
    assert (
        estimator.inputs_.kind == "numbers"
        and estimator.score(hold(rows), [0] * 15 + [1] * 15) > 0.9
    )


@pytest.mark.parametrize(
    "hold",
    [list, lambda rows: np.array([*map(tuple, rows)]), lambda rows: np.array([*rows])[..., None]],
    ids=["lists", "array", "frames"],
)
def test_sequences_that_happen_to_be_equally_long(hold):
    steps = [[float(n), 2.0] if n % 3 else [3.0, n, 1.0] for n in range(30)]
    for estimator in (
        Regressor("linear").fit(steps, [sum(row) / len(row) for row in steps]),
        Classifier("gru", hidden=4, embed=4, steps=3).fit(
            steps, ["few" if n % 3 else "many" for n in range(30)]
        ),
    ):
        alone = [estimator.predict([row, [1.0]])[0] for row in ([1.0, 2.0], [5.0, 2.0])]
        assert list(estimator.predict(hold([[1.0, 2.0], [5.0, 2.0]]))) == alone
        assert len(estimator.predict([])) == 0
        with pytest.raises(
            Mistake, match="expected sequences of numbers, 1 a step, found 'a text'"
        ):
            estimator.predict(["a text"])


@pytest.mark.parametrize(
    "hold",
    [
        list,
        lambda rows: [tuple(row) for row in rows],
        np.array,
        lambda rows: np.array(rows, object),
    ],
    ids=["lists", "tuples", "array", "objects"],
)
def test_tokens_and_tags_held_in_anything(hold):
    estimator = Tagger("perceptron").fit(hold(TOKENS), hold(TAGS))
    assert (
        estimator.predict(hold(TOKENS)) == TAGS and estimator.score(hold(TOKENS), hold(TAGS)) == 1.0
    )


def test_the_row_that_is_wrong_is_named_as_the_user_counts_it():
    """Though a tenth of the rows was held out before it was found."""
    targets = SUMS.tolist()
    for row in range(0, 60, 7):
        wrong = [*targets[:row], float("nan"), *targets[row + 1 :]]
        with pytest.raises(Mistake, match=rf"row {row + 1}: found the target nan"):
            Regressor("linear").fit(TABLE, wrong)


def test_what_does_not_fit_the_model_is_refused():
    texts, pairs = trained(), trained(inputs=[(text, "b") for text in TEXTS])
    numbers = trained(inputs=np.arange(90.0).reshape(30, 3))
    images = trained(inputs=np.random.default_rng(0).integers(0, 255, (30, 4, 4)))
    for estimator, wrong, says in [
        (texts, [3], "input 1: expected a text, found int"),
        (texts, [None], "expected a text, found NoneType"),
        (texts, [("a", "b")], "expected a text, found tuple"),
        (texts, np.zeros((2, 3)), "expected a text"),
        (pairs, ["a"], "reads pairs"),
        (pairs, [("a", "b", "c")], "reads pairs"),
        (pairs, [("a", 3)], "expected a text"),
        (numbers, np.zeros((2, 4)), "expected rows of 3 numbers"),
        (numbers, ["a text"], "numbers"),
        (numbers, [[1, 2, float("nan")]], "row 1, column 3: found nan"),
        (numbers, np.zeros(3), "expected rows of 3 numbers"),
        (images, np.zeros((2, 5, 4)), r"expected images of shape \(4, 4\)"),
        (images, ["a text"], "images"),
    ]:
        with pytest.raises(Mistake, match=says):
            estimator.predict(wrong)


def test_what_cannot_be_learned_from_is_refused():
    for inputs, labels, says in [
        (TEXTS, LABELS[:-1], "found 30 inputs and 29 targets"),
        ([], [], "there are no rows"),
        (TEXTS, ["a"] * 30, r"found one class only \(a\) in"),
        ([1, 2], ["a", "b"], "expected a text, found int"),
        (np.full((30, 2), np.nan), LABELS, "found nan, expected a finite number"),
    ]:
        with pytest.raises(Mistake, match=says):
            trained(inputs=inputs, labels=labels)
    with pytest.raises(
        Mistake, match="the label 'new' is not among the trained ones: bad, good, odd"
    ):
        trained().evaluate(["a text"], ["new"])
    with pytest.raises(Mistake, match="the label 'new' is not among the trained ones"):
        Classifier("softmax").fit(TEXTS, LABELS, valid=(["x"], ["new"]))


# Inputs by choice


@pytest.mark.parametrize("rung", ["mlp", "cnn", "gru", "transformer"])
def test_one_hot_vectors(rung, tmp_path):
    known = Classifier(rung).get_params()
    options = {name: value for name, value in (SMALL | {"width": 8}).items() if name in known}
    estimator = trained(rung, embedding="one-hot", **options)
    assert not any("table" in name for name in estimator.model_.input.state_dict())
    assert estimator.score(TEXTS, LABELS) > 0.6
    loaded = wenmai.load(estimator.save(tmp_path / "run"))
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), estimator.predict_proba(TEXTS))


@pytest.mark.parametrize("rung", ["mlp", "gru", "transformer"])
def test_vectors_from_a_file(rung, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text(
        "good 1 0 0 0 0\nbad 0 1 0 0 0\nodd 0 0 1 0 0\nexcellent 1 0 0 0 0.1\n", encoding="utf-8"
    )
    known = Classifier(rung).get_params()
    options = {
        name: value
        for name, value in (SMALL | {"width": 8, "dropout": 0.0}).items()
        if name in known
    }
    estimator = trained(rung, embedding=str(path), **options)
    table = estimator.model_.input.table.weight.detach().numpy()
    tokens = estimator.inputs_.tokenizer.tokens
    assert table.shape == (len(tokens), 5)
    # Vectors are brought to one deviation, and all else about them is kept in the words that are in no text.
    kept = table[tokens.index("excellent")]
    np.testing.assert_allclose(kept / kept[0], [1, 0, 0, 0, 0.1], atol=1e-6)
    assert table[tokens.index("good")][1:].any()  # a word of the texts was learned further
    path.unlink()
    loaded = wenmai.load(
        estimator.save(tmp_path / "run")
    )  # the weights hold the vectors; the file is not needed
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), estimator.predict_proba(TEXTS))


def test_texts_are_read_up_to_their_longest():
    estimator = trained("gru", **SMALL, max_length=3)
    start, whole = (
        estimator.predict_proba(["a good thing"]),
        estimator.predict_proba(["a good thing number 1 bad bad bad"]),
    )
    np.testing.assert_allclose(start, whole, atol=1e-6)


def test_a_search_of_the_learning_rate_tries_three():
    estimator = trained("mlp", hidden=8, embed=8, steps=30, search=True)
    rates = [tried["learning_rate"] for tried in estimator.rates_tried_]
    assert rates == pytest.approx([4e-3 / 3, 4e-3, 12e-3])
    assert estimator.progress_[-1].steps == int(30 * 0.85)
    again = trained("mlp", hidden=8, embed=8, steps=30, search=True)
    np.testing.assert_array_equal(estimator.predict_proba(TEXTS), again.predict_proba(TEXTS))


def test_an_old_run_is_replaced_and_other_folders_are_not(tmp_path):
    first, second = trained("softmax"), trained("perceptron")
    first.save(tmp_path / "run")
    assert wenmai.load(second.save(tmp_path / "run")).rung == "perceptron"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(
        Mistake, match="which is no part of a run, and is left as it is; choose another --out"
    ):
        first.save(tmp_path / "mine")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["mine", "run"]
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    "beside",
    [
        "training/thesis.txt",
        "run.json",
        "manifest.json",
        "training/000000001/thesis.txt",
        "training/start/thesis.txt",
        "training/.start.part.x.txt",
    ],
)
def test_a_folder_that_looks_like_a_run_is_left_as_it_is(tmp_path, beside, wenmai_cli):
    mine = tmp_path / "mine"
    (mine / beside).parent.mkdir(parents=True)
    for name in ("thesis.txt", beside):
        (mine / name).write_text('{"files": {"thesis.txt": 1}, "format": 2}')
    with pytest.raises(Mistake, match="which is no part of a run, and is left as it is"):
        trained("softmax").save(mine)
    ran = wenmai_cli("train", "softmax", "iris", "--out", str(mine))
    assert ran.status == 2 and "no part of a run" in ran.err
    assert (mine / "thesis.txt").exists() and (mine / beside).exists()


def test_what_stands_beside_a_run_is_not_replaced_with_it(tmp_path):
    run = trained("softmax").save(tmp_path / "run")
    (run / "notes.txt").write_text("my own")
    with pytest.raises(Mistake, match=r"holds notes\.txt, which is no part of a run"):
        trained("perceptron").save(run)
    assert wenmai.load(run).rung == "softmax"


def test_a_training_that_was_stopped_is_not_replaced(tmp_path, wenmai_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{'good' if n % 2 else 'bad'} film number {n},{'pos' if n % 2 else 'neg'}\n"
        for n in range(60)
    ]
    (tmp_path / "films.csv").write_text("text,label\n" + "".join(rows))
    kept = Checkpoints(tmp_path / "runs" / "films-gru")
    kept.begin({"source": "films.csv"})
    estimator = trained("gru", **SMALL)
    kept.keep(
        estimator,
        Progress(1, 2, 0.1, 0.1, 0.1, 1.0, snapshot=lambda: Snapshot({"a": np.zeros(3)}, {})),
        True,
    )
    before = sorted(path.relative_to(tmp_path) for path in kept.folder.rglob("*"))
    for command in ("compare films.csv --rungs gru --minutes 0.02", "train gru films.csv"):
        ran = wenmai_cli(*command.split())
        assert ran.status == 2 and "holds a training that was not finished" in ran.err, ran.err
    with pytest.raises(Mistake, match="holds a training that was not finished"):
        estimator.save(tmp_path / "runs" / "films-gru")
    assert sorted(path.relative_to(tmp_path) for path in kept.folder.rglob("*")) == before


@pytest.mark.parametrize("rung", ["softmax", "mlp"])
def test_half_characters_can_be_kept(rung, tmp_path):
    texts = [f"{text} \ud800" for text in TEXTS]
    for tokenizer in ("words", "characters"):
        estimator = trained(
            rung, texts, [f"{label}\udfff" for label in LABELS], tokenizer=tokenizer, epochs=1
        )
        loaded = wenmai.load(estimator.save(tmp_path / tokenizer))
        np.testing.assert_array_equal(loaded.predict_proba(texts), estimator.predict_proba(texts))
        assert loaded.classes_.tolist() == estimator.classes_.tolist()


# What an import may cost, and which way it may point


def python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True
    ).stdout


HEAVY = "{'torch', 'sklearn', 'numba', 'numpy', 'matplotlib', 'tokenizers'}"


@pytest.mark.slow
def test_import_wenmai_loads_nothing_heavy():
    assert (
        python("-c", f"import sys, wenmai; print(sorted({HEAVY} & set(sys.modules)))").strip()
        == "[]"
    )
    assert (
        python(
            "-c", "import sys, wenmai; dir(wenmai), wenmai.Mistake; print('torch' in sys.modules)"
        ).strip()
        == "False"
    )
    assert (
        python(
            "-c", "import sys, wenmai; wenmai.Classifier; print('sklearn' in sys.modules)"
        ).strip()
        == "False"
    )
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        wenmai.nonsense  # noqa: B018


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["compare", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    script = f"""
import sys
sys.argv = ["wenmai", *{arguments}]
from wenmai.cli.commands import main
try:
    main()
except SystemExit:
    pass
print(sorted({HEAVY} & set(sys.modules)))
"""
    shown = python("-c", script).splitlines()
    assert shown[-1] == "[]" and "Usage: wenmai" in "".join(shown)


@pytest.mark.parametrize(
    "labels", [[10**15, 10**15 + 1], [-1.5, 2.5], [False, True], ["", "文"], [1, 2**63 - 1]]
)
def test_labels_of_any_kind_come_back(labels, tmp_path):
    model = Classifier("softmax", epochs=1).fit(["a b", "c d"] * 6, labels * 6)
    again = load(model.save(tmp_path / "run"))
    assert (
        again.classes_.tolist() == model.classes_.tolist()
        and again.classes_.dtype == model.classes_.dtype
    )


def test_tokens_that_look_special_or_stand_twice_come_back(tmp_path):
    """A corpus may mark unknown words itself, and a file of vectors may name a word twice."""
    (tmp_path / "vectors.txt").write_text("see 1 2\nsee 3 4\n<unk> 5 6\n")
    rows, tags = (
        [["see", "<unk>", "<pad>"], ["a", "b", "c"]] * 6,
        [["B-X", "O", "O"], ["O", "B-X", "O"]] * 6,
    )
    for embedding in ("random", str(tmp_path / "vectors.txt")):
        model = Tagger("mlp", hidden=4, embed=4, steps=2, embedding=embedding).fit(rows, tags)
        assert load(model.save(tmp_path / "run")).predict(rows) == model.predict(rows)
    model = Classifier("mlp", hidden=4, steps=2, embedding=str(tmp_path / "vectors.txt"))
    model.fit(["see <unk> a b", "b c d e"] * 6, [0, 1] * 6)
    np.testing.assert_array_equal(
        load(model.save(tmp_path / "run")).predict(["see <unk>"]), model.predict(["see <unk>"])
    )


@pytest.mark.parametrize(("rows", "said"), [((20, 2), False), ((21, 2), True)])
def test_classes_are_uneven_from_ten_to_one_on(rows, said):
    often, rare = rows
    labels = ["often"] * often + ["rare"] * rare
    texts = [f"text {n}" for n in range(len(labels))]
    model = Classifier("softmax", epochs=1, validation=0.0).fit(texts, labels)
    notes = [note for note in model.notes_ if "the classes are uneven" in note]
    assert bool(notes) == said
    assert not said or f"often has {often} rows, rare {rare}" in notes[0]
