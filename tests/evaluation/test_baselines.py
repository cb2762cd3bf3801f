"""What can be had without a model, of every task: its numbers, its place on the leaderboard, and what is said of it."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from sklearn.metrics import precision_recall_fscore_support

from wenmai import Classifier, Composer, LanguageModel
from wenmai.catalog import TASKS
from wenmai.data.dataset import Dataset, open_dataset
from wenmai.data.parts import Part
from wenmai.evaluation.compare import compare, remarks
from wenmai.evaluation.report import markdown
from wenmai.page.leaderboard import leaderboard, ranked
from wenmai.page.report_page import page
from wenmai.tasks.measuring.rows import measure_rows
from wenmai.tasks.metrics import metric_named


def part_of(inputs, targets) -> Part:
    return Part(inputs, targets, "rows", range(1, len(inputs) + 1))


def found(task, train, test, metric=None, loaded=None, **settings):
    kind = TASKS[task](**settings)
    data = Dataset("rows", kind, part_of(*train), part_of(*test), part_of(*test))
    one = kind.profile.baseline(data, metric or kind.metric, loaded)
    how = metric_named(metric or kind.metric)
    if kind.metric in one.scores:
        shown = how.shown(how.formula(one.terms["test"].sum(0)))
        assert shown == pytest.approx(
            one.scores[metric or kind.metric]
        )  # the terms are those of the score
    return one


def test_of_classes_the_most_frequent():
    one = found(
        "classify", (["a"] * 5, ["x", "y", "y", "x", "y"]), (["a"] * 4, ["y", "x", "x", "x"])
    )
    assert (one.name, one.scores["accuracy"]) == (
        "majority",
        0.25,
    ) and "Always answers y" in one.about.english
    assert found(
        "classify", (["a"] * 3, ["x", "y", "y"]), (["a"] * 2, ["y", "x"]), "macro_f1"
    ).scores["macro_f1"] == pytest.approx(1 / 3)


def test_of_tags_the_usual_one_of_each_token():
    train = [["a", "b"], ["a", "c"]], [["X", "Y"], ["X", "X"]]
    one = found(
        "tag", train, ([["a", "b", "new"]], [["X", "Y", "Y"]]), "token_accuracy", scheme="plain"
    )
    assert one.name == "usual-tag" and one.scores["token_accuracy"] == pytest.approx(2 / 3)


def test_of_numbers_the_mean_and_of_a_series_the_last():
    numbers = np.arange(4.0)[:, None], np.array([1.0, 2.0, 3.0, 6.0])
    one = found("regress", numbers, (np.zeros((2, 1)), np.array([2.0, 4.0])))
    assert (
        one.name == "mean"
        and one.scores["mse"] == pytest.approx((1 + 1) / 2)
        and one.scores["r2"] == 0.0
    )
    rising = np.arange(30.0)
    one = found(
        "regress", (rising[:, None], rising), (rising[:, None], rising), "mae", horizon=2, history=3
    )
    assert one.name == "last-value" and one.scores["mae"] == pytest.approx(1.5)


def test_of_texts_how_often_a_token_occurs():
    model = LanguageModel("ngram", order=2).fit(["a a b"] * 30)
    data = open_text(["a a b"] * 30, ["a b"])
    one = data.task.profile.baseline(data, "perplexity", lambda: model)
    counts = np.zeros(len(model.inputs_)) + 1
    counts[[model.inputs_.number("a"), model.inputs_.number("b"), model.inputs_.special.end]] += (
        60,
        30,
        30,
    )
    log_probs = np.log(counts / counts.sum())
    at = [model.inputs_.number("a"), model.inputs_.number("b"), model.inputs_.special.end]
    assert one.name == "unigram" and one.scores["perplexity"] == pytest.approx(
        np.exp(-log_probs[at].mean())
    )
    assert one.scores["perplexity"] > model.perplexity(["a b"])
    composer = Composer("gru", hidden=4, embed=4, steps=2).fit(["x", "y"] * 10, ["ab", "ba"] * 10)
    data = Dataset(
        "rows", TASKS["compose"](), *(part_of(["x", "y"] * 10, ["ab", "ba"] * 10) for _ in range(3))
    )
    for metric in ("perplexity", "exact_match"):
        one = data.task.profile.baseline(data, metric, lambda: composer)
        how = metric_named(metric)
        assert one.scores[metric] == pytest.approx(how.shown(how.formula(one.terms["test"].sum(0))))
    assert one.scores["exact_match"] == 0.5


def open_text(train: list[str], test: list[str]) -> Dataset:
    from wenmai.data.files.corpus import Corpus

    parts = [Part(Corpus.of(texts), None, "text", ()) for texts in (train, test, test)]
    return Dataset("text", TASKS["generate"](), *parts)


def test_of_translations_the_source_and_of_summaries_its_beginning():
    rows = ["one two three", "four five six"], ["one two three", "six five four"]
    one = found("translate", rows, rows, summarise=False)
    assert one.name == "copy" and one.scores["exact_match"] == 0.5
    rows = ["one two three four"] * 2, ["one two"] * 2
    one = found("translate", rows, rows, summarise=True)
    assert one.name == "lead" and one.scores["rouge_l"] == 1.0


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uneven")
    rows = [
        f"{'good' if row % 10 else 'bad'} thing {row},{'yes' if row % 10 else 'no'}"
        for row in range(200)
    ]
    (folder / "rows.csv").write_text("text,label\n" + "\n".join(rows))
    data = open_dataset(str(folder / "rows.csv"), TASKS, valid="0.2", test="0.2")
    steps = compare(data, 0.05, ["perceptron", "softmax"], out=folder / "runs", metric="macro_f1")
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_the_baseline_stands_on_every_leaderboard_and_is_never_recommended(report):
    base = report["baseline"]
    assert (
        base["rung"] == "majority"
        and base["scores"]["test"]["accuracy"] > 0.8
        and base["scores"]["test"]["macro_f1"] < 0.5
    )
    assert report["metric"] == "macro_f1" and report["recommendation"]["rung"] != "majority"
    assert [row["rung"] for row in report["rungs"]] != ["majority"] and ranked(report)[-1] == (
        None,
        base,
    )
    Console(file=(out := StringIO()), width=140).print(leaderboard(report, "en", 140))
    assert "majority (baseline)" in out.getvalue()
    text, html = markdown(report, {}), page(report, {})
    assert (
        "*majority (baseline)*" in text and "多数类（基线）" in text and 'class="baseline"' in html
    )
    assert (
        base["about_zh"] in html
        and f'<code translate="no">{report["recommendation"]["next"].split()[0]}' in html
    )


def test_where_one_class_is_nearly_all_accuracy_says_little(report):
    task = TASKS["classify"]()
    data = Dataset("rows", task, *[part_of(["a"], ["x"])] * 3)
    rows = [
        {"scores": {"test": {"accuracy": score, "macro_f1": score}}, "name": "majority"}
        for score in (0.97, 0.95)
    ]
    assert "--metric macro_f1" in next(remarks(data, "accuracy", *rows)).english and not list(
        remarks(data, "macro_f1", *rows)
    )
    assert "No rung does better" in next(remarks(data, "macro_f1", rows[1], rows[0])).english


def test_precision_and_recall_class_by_class(report):
    for row in report["rungs"]:
        assert [one["class"] for one in row["per_class"]] == ["no", "yes"] and all(
            one["support"] for one in row["per_class"]
        )
    texts, labels = (
        ["red a", "red b", "blue a", "blue c", "green"] * 8,
        ["r", "r", "b", "g", "g"] * 8,
    )
    model = Classifier("softmax", epochs=1, ngrams=1).fit(texts, labels)
    part = part_of(texts, labels)
    shown, _ = measure_rows(model, Dataset("rows", model.task_, part, part, part), "accuracy")
    theirs = precision_recall_fscore_support(labels, model.predict(texts), zero_division=0)
    ours = [
        [one[key] for one in shown["per_class"]] for key in ("precision", "recall", "f1", "support")
    ]
    assert ours == [pytest.approx(column.tolist()) for column in theirs]
    assert "Class by class" in markdown(report, {}) and "逐类" in page(report, {})
