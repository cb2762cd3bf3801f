"""wenmai inspect, train --keep, and estimator.inspect."""

import json

import numpy as np
import pytest
from brought import LABELS, TEXTS, bring

import wenmai
from wenmai import Classifier

TEXT = "a truly good film"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with data and runs; `train` made them."""
    folder = tmp_path_factory.mktemp("inspect")
    bring(folder)
    return folder


@pytest.fixture
def trained(run, wenmai_cli, monkeypatch):
    monkeypatch.chdir(run)
    if not (run / "runs").exists():
        small = (
            "--set",
            "steps=12",
            "--set",
            "patience=20",
            "--set",
            "hidden=8",
            "--set",
            "embed=8",
            "--quiet",
        )
        assert wenmai_cli("train", "gru", "reviews.csv", "--keep", "3", *small).status == 0
        assert wenmai_cli("train", "lstm", "reviews.csv", *small).status == 0
        assert wenmai_cli("train", "ngram", "corpus.txt", "--quiet").status == 0
    return wenmai_cli


def test_it_shows_what_is_worth_seeing(trained):
    status, out, _ = trained("inspect", "runs/reviews-gru", TEXT)
    assert status == 0 and "Which words moved the answer" in out and "How open the gates are" in out
    assert "Switched off, one at a time" in out and "word=good" in out


def test_as_json_it_has_the_raw_numbers(trained):
    status, out, _ = trained(
        "inspect", "runs/reviews-gru", TEXT, "--show", "attribution,switches", "--json"
    )
    told = json.loads(out.splitlines()[-1])
    assert status == 0 and told["rung"] == "gru" and told["task"] == "classify"
    panels = {panel["name"]: panel for panel in told["panels"]}
    assert (
        set(panels) == {"attribution", "switches"}
        and panels["attribution"]["tokens"] == TEXT.split()
    )
    estimator = wenmai.load("runs/reviews-gru")
    before, after = (
        np.log(estimator.predict_proba([TEXT])[0]),
        np.log(estimator.predict_proba(["a truly film"])[0]),
    )
    answered = before.argmax()
    lost = np.array(panels["attribution"]["values"]["values"])[2]
    assert lost[2] == pytest.approx(before[answered] - after[answered], abs=1e-6)


def test_files_are_written(trained, run):
    status, _, err = trained(
        "inspect", "runs/reviews-gru", TEXT, "--show", "gates", "--out", "inside"
    )
    assert status == 0 and "written to inside" in err
    assert {"index.html", "inspection.json", "numbers.npz"} <= {
        path.name for path in (run / "inside").iterdir()
    }


def test_two_runs_stand_side_by_side_and_steps_one_after_the_other(trained):
    _, out, _ = trained(
        "inspect",
        "runs/reviews-gru",
        TEXT,
        "--show",
        "attribution",
        "--with",
        "runs/reviews-lstm",
        "--json",
    )
    (beside,) = json.loads(out.splitlines()[-1])["panels"]
    assert (
        beside["panel"] == "Beside"
        and beside["names"] == ["runs/reviews-gru", "runs/reviews-lstm"]
        and not beside["slider"]
    )
    _, out, _ = trained("inspect", "runs/reviews-gru", TEXT, "--steps", "--json")
    (steps,) = json.loads(out.splitlines()[-1])["panels"]
    assert steps["slider"] and len(steps["names"]) == 4 and steps["names"][-1] == "12"
    shown = [
        {panel["name"]: panel for panel in panels}["attribution"]["values"]["values"]
        for panels in steps["panels"]
    ]
    assert shown[0] != shown[2]
    status, _, err = trained("inspect", "runs/reviews-lstm", TEXT, "--steps")
    assert status == 2 and "kept no checkpoints on its way; train it again with --keep 5" in err


def test_what_was_kept_is_the_weights_on_the_way(trained, run):
    from safetensors.numpy import load_file

    files = sorted((run / "runs/reviews-gru").glob("kept-*.safetensors"))
    assert len(files) == 3 and not (run / "runs/reviews-gru/training").exists()
    first, later, last = (
        *(load_file(files[at]) for at in (0, 2)),
        load_file(run / "runs/reviews-gru/weights.safetensors"),
    )
    assert first.keys() == last.keys() and any(
        not np.array_equal(first[name], later[name]) for name in first
    )
    assert trained("predict", "runs/reviews-gru", TEXT).status == 0
    small = (
        "--set",
        "steps=12",
        "--set",
        "patience=20",
        "--set",
        "hidden=8",
        "--set",
        "embed=8",
        "--quiet",
    )
    assert trained("train", "gru", "reviews.csv", *small, "--out", "runs/again").status == 0
    again = load_file(run / "runs/again/weights.safetensors")  # keeping some changes nothing
    assert all(np.array_equal(again[name], last[name]) for name in last)


def test_a_training_that_was_stopped_keeps_what_it_had_kept(trained, run, monkeypatch):
    from wenmai.training import loop

    def stopped(*arguments, **how):
        for number, progress in enumerate(whole(*arguments, **how)):
            yield progress
            if number == 3:
                import signal

                signal.raise_signal(signal.SIGINT)

    whole = loop.train
    given = ("steps=30", "patience=20", "hidden=8", "embed=8", "evaluations=10")
    small = (*(word for pair in given for word in ("--set", pair)), "--quiet")
    with monkeypatch.context() as patch:
        patch.setattr(loop, "train", stopped)
        status = trained(
            "train", "gru", "reviews.csv", *small, "--keep", "4", "--out", "runs/stopped"
        ).status
    kept = {path.name for path in (run / "runs/stopped/training").glob("kept-*")}
    assert status == 130 and kept
    assert trained("train", "--resume", "runs/stopped").status == 0
    final = {path.stem for path in (run / "runs/stopped").glob("kept-*.safetensors")}
    assert kept <= final and len(final) == 4


def test_the_rows_nearest_to_it_are_those_it_learned_from(trained):
    status, out, _ = trained(
        "inspect",
        "runs/reviews-gru",
        TEXTS[0],
        "--show",
        "neighbours",
        "--data",
        "reviews.csv",
        "--json",
    )
    (panel,) = json.loads(out.splitlines()[-1])["panels"]
    assert status == 0 and len(panel["rows"]) == 8
    cosines = [row[1] for row in panel["rows"]]
    assert cosines == sorted(cosines, reverse=True) and all(
        row[3] in TEXTS for row in panel["rows"]
    )
    assert all(row[2] == LABELS[TEXTS.index(row[3])] for row in panel["rows"])
    status, _, err = trained(
        "inspect", "runs/reviews-gru", TEXT, "--data", "phrases.tsv", "--columns", "text=0,label=1"
    )
    assert (
        status == 2
        and "is not what runs/reviews-gru learned from: its rows have another fingerprint" in err
    )


def test_an_n_gram_tells_its_counts_with_the_text(trained):
    status, out, _ = trained(
        "inspect", "runs/corpus-ngram", "The value of the list", "--data", "corpus.txt", "--json"
    )
    panels = {panel["name"]: panel for panel in json.loads(out.splitlines()[-1])["panels"]}
    assert status == 0 and panels["features"]["rows"][2][1].endswith("The value of (300×)")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["runs/corpus-ngram", "The value", "--show", "attention"],
            "ngram has no attention to show of this; it has attribution, ",
        ),
        (["runs/reviews-gru"], "inspect needs a run and one input"),
        (
            ["runs/reviews-gru", "a", "b"],
            "inspect looks at one input at a time: found 2; put a text in quotes.",
        ),
        (["runs/reviews-gru", TEXT, "--show", "gate"], 'unknown panel "gate"; did you mean gates'),
        (["runs/reviews-gru", TEXT, "--off", "gru.0.forget=0"], 'unknown switch "gru.0.forget"'),
        (
            ["runs/reviews-gru", TEXT, "--with", "runs/corpus-ngram"],
            "side by side stand runs that read the same",
        ),
        (["runs/reviews-gru", TEXT, "--choice", "a"], "--choice goes with a run that chooses"),
        (
            ["runs/reviews-gru", TEXT, "--steps", "--off", "word=good"],
            "--steps shows one run over its checkpoints",
        ),
    ],
)
def test_what_cannot_be_shown_is_answered(trained, arguments, sentence):
    status, _, err = trained("inspect", *arguments)
    assert status == 2 and sentence in err


def test_in_python_it_shows_itself():
    estimator = Classifier("lstm", steps=2, hidden=8, embed=8).fit(TEXTS, LABELS)
    found = estimator.inspect(TEXT, "attribution,gates", off=["word=good"])
    assert [panel.name for panel in found.panels][:2] == ["attribution", "gates-lstm-0"]
    assert (
        found._repr_html_().startswith("<iframe")
        and wenmai.inspect(estimator, TEXT, "gates").panels
    )


@pytest.mark.slow
def test_nothing_that_draws_is_loaded_before_it_is_asked():
    import subprocess
    import sys

    code = "import sys, wenmai.estimators; print([n for n in sys.modules if n.startswith(('wenmai.page', 'wenmai.inspection'))])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
