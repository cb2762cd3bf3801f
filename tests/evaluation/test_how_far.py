"""How far a rung got is told, and what had too little time is not judged; more of it goes to that alone."""

import json
from types import SimpleNamespace

import pytest

from wenmai.evaluation.how_far import has_more, state_of, undecided, weigh
from wenmai.evaluation.unfinished import Unfinished
from wenmai.training.progress import Progress


def trained(*scores, updates=1000, epochs=20.0, sign=1, steps=None):
    progress = [
        Progress(updates * (at + 1) // len(scores), steps or updates, epochs, 1.0, 0.1, 1.0, score)
        for at, score in enumerate(scores)
    ]
    return SimpleNamespace(
        progress_=progress, options={}, task_=SimpleNamespace(higher_is_better=sign > 0)
    )


@pytest.mark.parametrize(
    ("model", "state"),
    [
        (trained(0.5, 0.7, 0.72, 0.75), "rising"),  # ended by the clock
        (trained(0.4, 0.5, 0.7, 0.7), "short"),  # flat at its end, where the rate was zero
        (trained(0.5, 0.52), "rising"),
        (trained(0.5, 0.502), "converged"),
        (trained(0.5, 0.7, 0.8, 0.803, epochs=60), "converged"),  # all of its epochs
        (trained(0.5, 0.7, 0.8, 0.803, epochs=9), "short"),
        (
            trained(0.5, 0.8, 0.81, 0.811, 0.809, 0.811, steps=5000),
            "converged",
        ),  # stopped by itself
        (trained(0.8), "short"),
        (trained(0.8, 0.8, updates=5, epochs=1), "short"),
        (trained(0.8, 0.8, updates=60, epochs=30), "converged"),  # of few rows
        (trained(0.8, 0.8, updates=2000, epochs=0.3), "converged"),  # of many
    ],
)
def test_how_far_it_got(model, state):
    assert state_of(model, network=True) == state


@pytest.mark.parametrize("asked", [9, "9"])  # a command line gives text
def test_epochs_that_were_asked_for_are_all_there_is(asked):
    model = trained(0.5, 0.7, 0.8, 0.803, epochs=9.0)
    model.options["epochs"] = asked
    assert state_of(model, network=True) == "converged"


def test_a_rung_that_counts_has_read_all_there_is():
    assert state_of(trained(0.8, updates=1), network=False) == "converged"
    assert state_of(trained(90.0, 60.0, sign=-1), network=False) == "rising"  # a perplexity


def test_what_has_epochs_left():
    assert (
        has_more(trained(0.5, 0.7))
        and has_more(trained(0.5, 0.7, steps=5000))
        and not has_more(trained(0.5, 0.7, epochs=60))
    )


def side_by_side(baseline: float | None, **rungs) -> dict[str, str]:
    """What is said of how far each got, of (error on valid, state, whether it has epochs left)"""
    rows = [
        {
            "rung": rung,
            "failed": None,
            "scores": {"valid": {"wer": score}},
            "state": state,
            "has_more": more,
        }
        for rung, (score, state, more) in rungs.items()
    ]
    rows.append({"rung": "gpt", "failed": "no memory", "scores": {"test": {}}})
    weigh(rows, None if baseline is None else {"scores": {"valid": {"wer": baseline}}}, "wer", -1)
    return {row["rung"]: row.get("state") for row in rows if not row["failed"]}


def test_what_is_ahead_of_all_that_had_time_is_judged():
    found = side_by_side(
        0.9, cnn=(0.05, "short", True), rnn=(0.6, "short", True), lstm=(0.5, "converged", True)
    )
    assert found == {"cnn": "rising", "rnn": "short", "lstm": "converged"}
    found = side_by_side(
        0.9, cnn=(0.05, "short", True), gru=(0.95, "short", True)
    )  # none had time: the baseline is the mark
    assert found == {"cnn": "rising", "gru": "short"}
    assert side_by_side(None, cnn=(0.05, "short", True)) == {"cnn": "rising"}


def test_what_knows_no_more_than_the_baseline_has_not_converged():
    rungs = {
        "gru": (1.0, "converged", True),
        "rnn": (1.0, "converged", False),
        "transformer": (0.99, "rising", True),
    }
    found = side_by_side(0.9, cnn=(0.05, "short", True), **rungs)
    assert found == {"cnn": "rising", "gru": "short", "rnn": "converged", "transformer": "rising"}
    found = side_by_side(0.9, **rungs)  # where nothing is to be learned, they are at their end
    assert found == {"gru": "converged", "rnn": "converged", "transformer": "rising"}


def test_the_command_that_settles_it(tmp_path):
    rows = [
        {"rung": "gru", "state": "short"},
        {"rung": "cnn", "state": "rising"},
        {"rung": "mlp", "state": "converged"},
    ]
    assert undecided(rows[2:], 3.0, Unfinished(tmp_path)) == []
    short, rising, command = undecided(rows, 3.0, Unfinished(tmp_path))
    assert "gru" in short and "cnn" not in short and "cnn" in rising
    assert command.endswith(f"wenmai compare --resume {tmp_path} --minutes 8")


@pytest.fixture
def films(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{'good' if n % 2 else 'bad'} film number {n},{'pos' if n % 2 else 'neg'}\n"
        for n in range(80)
    ]
    (tmp_path / "films.csv").write_text("text,label\n" + "".join(lines))
    return tmp_path / "films.csv"


@pytest.mark.slow
def test_more_minutes_go_to_the_undecided_alone(wenmai_cli, films, tmp_path):
    given = ["--rungs", "softmax,mlp", "--set", "hidden=8", "--set", "embed=8", "--set", "epochs=1"]
    ran = wenmai_cli("compare", films, "--minutes", "0.05", *given)
    report = json.loads((tmp_path / "reports/films/report.json").read_text())
    rows = {row["rung"]: row for row in report["rungs"]}
    assert (
        rows["mlp"]["state"] == "short"
        and rows["softmax"]["state"] != "short"
        and rows["mlp"]["updates"] < 100
    )
    assert [row["rung"] for row in report["rungs"]][-1] == "mlp" and report["recommendation"][
        "rung"
    ] == "softmax"
    assert "too short" in ran.out and "compare --resume reports/films --minutes 1" in " ".join(
        ran.out.split()
    )
    softmax, mlp = (tmp_path / f"runs/films-{name}/manifest.json" for name in ("softmax", "mlp"))
    before = softmax.read_bytes(), mlp.stat().st_mtime_ns
    ran = wenmai_cli(
        "compare", "--resume", "reports/films", "--minutes", "0.1", "--json"
    )  # more than was asked for at first
    assert ran.status == 0, ran.err
    found = {row["rung"]: row for row in json.loads(ran.out.splitlines()[-1])["rungs"]}
    assert (
        found["softmax"] == rows["softmax"]
        and softmax.read_bytes() == before[0]
        and mlp.stat().st_mtime_ns > before[1]
    )
    assert (
        wenmai_cli("compare", films, "--minutes", "0.05", "--rungs", "softmax").status == 0
    )  # begins anew, unhindered
    assert not (tmp_path / "reports/films/decided").exists()
    assert "holds no comparison" in wenmai_cli("compare", "--resume", "reports/films").err
