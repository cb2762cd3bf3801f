"""In Python: compare as an object, options in help() and in editors, what notebooks show, data as people hold it."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wenmai
from wenmai import Classifier
from wenmai.describing import options_of
from wenmai.errors import Mistake, NotTrained
from wenmai.estimators import NAMED
from wenmai.training import progress_line

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import stubs

TEXTS, LABELS = ["a good film", "a bad film"] * 12, ["pos", "neg"] * 12
FILMS = [
    f"{text} {n}" for n, text in enumerate(TEXTS * 2)
]  # each another, so that some can be held out


# compare


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    place = tmp_path_factory.mktemp("compared")
    texts = [f"{text} {n}" for n, text in enumerate(TEXTS * 3)]
    return wenmai.compare(
        {"text": texts, "label": LABELS * 3},
        minutes=0.02,
        rungs=["softmax", "perceptron"],
        runs=place / "runs",
        out=place / "report",
    )


def test_a_comparison_is_an_object(comparison):
    assert {row["rung"] for row in comparison.rows} == {
        "softmax",
        "perceptron",
    } and comparison.report["task"] == "classify"
    assert (
        comparison.recommendation["rung"] in ("softmax", "perceptron") and comparison.path.is_file()
    )
    assert comparison.load().predict(["a good film 3"]).tolist() == ["pos"]
    assert comparison.load("perceptron").rung == "perceptron"
    with pytest.raises(Mistake, match="no run of gru was kept"):
        comparison.load("gru")


def test_a_comparison_is_shown(comparison, monkeypatch):
    told, html = repr(comparison), comparison._repr_html_()
    assert (
        comparison.reason in told
        and str(comparison.path) in told
        and "softmax" in told
        and "✓" in told
    )
    assert html.count("<tr") == 3 and comparison.path.name in html and "<th>accuracy</th>" in html
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "准确率" in repr(comparison) and "<th>准确率</th>" in comparison._repr_html_()


class Frame:
    """As much of a table of pandas as is asked for."""

    def __init__(self, **columns):
        self.held, self.columns = columns, list(columns)

    def __getitem__(self, name):
        return self.held[name]

    def to_numpy(self):
        return np.array(list(zip(*self.held.values())), object)


def test_columns_in_memory_are_a_table():
    from wenmai.evaluation.comparison import in_memory

    table = in_memory(Frame(t=["a", "b"], y=["x", "y"]), {"text": "t", "label": "y"})
    (chunk,) = table.chunks()
    assert table.names == ["text", "label"] and chunk.columns == {
        "text": ["a", "b"],
        "label": ["x", "y"],
    }
    assert (
        table.source != in_memory({"text": ["a", "c"], "label": ["x", "y"]}, None).source
    )  # other rows are other data
    for wrong, says in (
        (["a"], "found list, expected a file"),
        ({"text": ["a"], "label": []}, "of different lengths"),
    ):
        with pytest.raises(Mistake, match=says):
            wenmai.compare(wrong)
    with pytest.raises(Mistake, match='no column "z"'):
        in_memory({"text": ["a"]}, {"text": "z"})


# Help and editors


@pytest.mark.parametrize("kind", NAMED.values(), ids=lambda kind: kind.__name__)
def test_help_has_every_option_with_its_meaning(kind, monkeypatch):
    text, options = kind.__doc__, options_of(kind)
    assert text.startswith(f'`{kind.__name__}("') and len(options) > 20
    for name in options:
        assert re.search(rf"^{name} : .+\n    \S", text, re.M), name
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "种子相同，结果就相同。" in kind.__doc__


def test_help_says_which_rungs_have_an_option():
    assert re.search(r"^crf : bool, default False$", wenmai.Tagger.__doc__, re.M)
    assert re.search(r"^order : int \| None, default None \(ngram\)$", Classifier.__doc__, re.M)
    assert re.search(
        r"^solver : \{auto, closed, gradient\}, default 'auto' \(linear\)$",
        wenmai.Regressor.__doc__,
        re.M,
    )


def test_the_stubs_are_those_of_the_signatures(monkeypatch):
    assert stubs.STUB.read_text("utf-8") == stubs.written(), "run make stubs"
    assert (
        stubs.union(["int", "int | None", "Literal['a | b'] | None"])
        == "int | None | Literal['a | b']"
    )
    compile(stubs.STUB.read_text("utf-8"), "stub", "exec")
    named = re.findall(r"^class (\w+)|import (\w+) as \2$", stubs.STUB.read_text("utf-8"), re.M)
    assert {one or other for one, other in named} == set(wenmai.__all__)
    assert (stubs.STUB.parent / "py.typed").exists()


def test_every_name_is_there_and_import_loads_no_torch():
    assert all(getattr(wenmai, name) for name in wenmai.__all__)
    code = "import sys, wenmai; print([m for m in ('torch', 'numpy', 'rich') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


# Not trained


def test_what_is_not_trained_says_so_as_scikit_learn_does():
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    with pytest.raises(
        NotFittedError, match="this Classifier has not been trained; call fit first"
    ):
        Classifier("softmax").predict(["a"])
    with pytest.raises(NotTrained) as caught:
        Classifier("softmax").predict_proba(["a"])
    assert isinstance(caught.value, (Mistake, AttributeError))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is NotTrained and str(again) == str(caught.value)
    with pytest.raises(NotFittedError):
        check_is_fitted(Classifier("softmax"))


@pytest.mark.slow
def test_scikit_learn_is_not_loaded_for_it():
    code = (
        "import sys; from wenmai import Classifier\ntry: Classifier('gru').predict(['a'])\nexcept ValueError as e: "
        "print(type(e).__mro__[0].__name__, 'sklearn' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "NotTrained False\n"
    )


# Notebooks


def test_an_estimator_in_a_notebook(monkeypatch):
    model = Classifier(
        "mlp", hidden=4, embed=4, steps=2, evaluations=1, tokenizer="words", widths="<b>"
    )
    assert "not trained yet" in model._repr_html_() and "&lt;b&gt;" in model._repr_html_()
    model.options.pop("widths")
    html = model.fit(FILMS, LABELS * 2)._repr_html_()
    assert (
        "<th>weights</th>" in html
        and "<th>classes</th><td>2</td>" in html
        and "best accuracy on held-out rows" in html
    )
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "已训练" in model._repr_html_() and "not trained" not in model._repr_html_()
    assert "Classifier" in Classifier("nothing")._repr_html_()


class Terminal:
    def __init__(self):
        self.written = ""

    def isatty(self):
        return True

    def write(self, text):
        self.written += text

    def flush(self):
        pass


def test_fit_shows_its_progress(monkeypatch, capsys):
    quick = {"hidden": 4, "embed": 4, "steps": 4, "evaluations": 2}
    Classifier("mlp", **quick).fit(FILMS, LABELS * 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress_line, "EVERY", 0.0)  # no terminal: lines
    Classifier("mlp", progress=True, **quick).fit(FILMS, LABELS * 2)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Classifier mlp: preparing" and re.search(
        r"update 4 of 4, accuracy \d\.\d{4}$", lines[-1]
    )
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    Classifier("mlp", progress=True, **quick).fit(FILMS, LABELS * 2)
    assert terminal.written.count("\r") == len(lines) and terminal.written.count("\n") == 1


# Data as people hold it


def test_tables_of_one_column_and_arrays_of_one():
    column, labels = np.array(TEXTS, object)[:, None], np.array(LABELS)[:, None]
    for texts in (column, Frame(text=TEXTS), np.array(TEXTS)[:, None]):
        model = Classifier("softmax").fit(texts, labels)
        assert model.predict(texts).tolist() == LABELS and model.score(texts, labels) == 1.0
    assert Classifier("softmax").fit(TEXTS, np.array([0, 1] * 12)[:, None]).predict(
        ["a bad film"]
    ).tolist() == [1]


def test_a_table_of_several_columns_is_no_text():
    with pytest.raises(
        Mistake,
        match=r'columns text, label where one column of texts is expected; choose it, as in table\["text"\]',
    ):
        Classifier("softmax").fit(Frame(text=TEXTS, label=LABELS), LABELS)


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan])
def test_a_label_that_is_missing_is_answered(missing):
    with pytest.raises(
        Mistake, match=r"^row 24: found no label \((?:nan|None)\); leave such rows out"
    ):
        Classifier("softmax").fit(TEXTS, [*LABELS[:-1], missing])
    with pytest.raises(Mistake, match=r"^row 24: found no label"):
        Classifier("softmax").fit(TEXTS, np.array([0.0, 1.0] * 11 + [0.0, np.nan]))


def test_the_most_probable_labels():
    model = Classifier("softmax").fit(TEXTS, LABELS)
    (best,) = model.predict(["a good film"], top_k=2)
    assert [one["label"] for one in best] == ["pos", "neg"] and best[0]["probability"] + best[1][
        "probability"
    ] == pytest.approx(1)
    assert len(model.predict(["a good film"], top_k=9)[0]) == 2
    assert Classifier("perceptron").fit(TEXTS, LABELS).predict(["a good film"], top_k=1) == [
        [{"label": "pos"}]
    ]
    with pytest.raises(Mistake, match="top_k=0: expected 1 or more"):
        model.predict(["a"], top_k=0)
