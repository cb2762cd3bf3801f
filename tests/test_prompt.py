"""At the prompt: help, version, runs and info, completion, phases, what goes where."""

import io
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer.main
from rich.console import Console
from rich.progress import Progress as RichProgress

from wenmai.catalog import RUNGS
from wenmai.cli import completion
from wenmai.cli.commands import COMMANDS, EXAMPLES, app
from wenmai.data.builtin import BUILTIN
from wenmai.estimators import ESTIMATORS, Classifier
from wenmai.explanations import EXPLANATIONS, explained
from wenmai.locale import Message
from wenmai.page import terminal
from wenmai.training.progress import Progress

TEXTS, LABELS = ["a good film", "a bad film"] * 12, ["pos", "neg"] * 12


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder with a file, a run, a damaged one, and a training that was not finished."""
    place = tmp_path_factory.mktemp("shelf")
    (place / "films.csv").write_text(
        "text,label\n" + "".join(f"{t} {n},{y}\n" for n, (t, y) in enumerate(zip(TEXTS, LABELS)))
    )
    scores = {"valid": {"accuracy": 0.5}, "test": {"accuracy": 0.75}}
    model = Classifier("softmax").fit(TEXTS, LABELS)
    model.columns_ = {"text": "review", "label": "label"}
    model.save(place / "runs" / "films-softmax", data="/data/films.csv", scores=scores, seconds=1.5)
    (place / "runs" / "damaged").mkdir()
    (place / "runs" / "damaged" / "run.json").write_text("{")
    (place / "runs" / "stopped" / "training" / "start").mkdir(parents=True)
    return place


@pytest.fixture(autouse=True)
def here(shelf, monkeypatch):
    monkeypatch.chdir(shelf)


# Help


def test_wenmai_alone_helps(wenmai_cli):
    alone = wenmai_cli()
    assert alone.status == 0 and alone.err == "" and alone.out == wenmai_cli("--help").out


def test_help_has_every_command_in_a_group_and_examples(wenmai_cli, monkeypatch):
    help = wenmai_cli("--help").out
    names = [name for named in COMMANDS.values() for name in named]
    assert [
        line.split()[0]
        for line in help.splitlines()
        if line[:2] == "  " and line.strip().split()[0] in names
    ] == names
    assert (
        help.index("Commands to look around:")
        < help.index("Commands to use a run:")
        < help.index("Examples:")
    )
    assert "..." not in help.partition("\n")[2]  # no sentence is cut off
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    help = wenmai_cli("predict", "--help").out
    assert "例子：" in help and "[必填]" in help and "Examples" not in help


def test_every_example_is_a_command_with_options_that_it_has():
    command = typer.main.get_command(app)
    for name, examples in EXAMPLES.items():
        for example in examples:
            program, asked, *arguments = shlex.split(example.partition(" <")[0])
            assert program == "wenmai" and name in ("", asked)
            command.commands[asked].make_context(asked, arguments)  # raises where one does not fit


def test_version(wenmai_cli):
    import wenmai

    ran = wenmai_cli("--version")
    assert (ran.status, ran.out) == (0, f"wenmai {wenmai.__version__}\n")


def test_every_option_of_every_rung_is_explained_and_nothing_else_is():
    used = set()
    for rung in RUNGS.values():
        for task in rung.tasks:
            for name in set(ESTIMATORS[task](rung.name).get_params()) - {"rung"}:
                assert explained(name, rung.name), (
                    f"{rung.name}, {task}: {name} is not explained (explanations.py)"
                )
                used.add(f"{rung.name}__{name}" if f"{rung.name}__{name}" in EXPLANATIONS else name)
    assert not EXPLANATIONS.keys() - used


def test_a_rung_explains_its_options(wenmai_cli, monkeypatch):
    monkeypatch.setattr(terminal.console, "width", 200, raising=False)
    assert (
        "hidden" in (out := wenmai_cli("rungs", "lstm").out)
        and EXPLANATIONS["hidden"].english[:30] in out
    )
    assert explained("smoothing", "ngram") != explained("smoothing", "seq2seq")
    known = json.loads(wenmai_cli("rungs", "ngram", "--json").out)["options"]["smoothing"]
    assert known["about"] == EXPLANATIONS["ngram__smoothing"].english and known[
        "about_zh"
    ].startswith("怎样")


# Runs


def test_runs_lists_what_is_kept(wenmai_cli):
    known = {row["run"]: row for row in json.loads(wenmai_cli("runs", "--json").out)["runs"]}
    assert {name: row["state"] for name, row in known.items()} == {
        "runs/films-softmax": "finished",
        "runs/damaged": "damaged",
        "runs/stopped": "unfinished",
    }
    row = known["runs/films-softmax"]
    assert (row["task"], row["rung"], row["data"], row["scores"]["test"]) == (
        "classify",
        "softmax",
        "/data/films.csv",
        {"accuracy": 0.75},
    )
    assert row["bytes"] > 1000
    out = wenmai_cli("runs").out
    assert (
        "accuracy 0.7500" in out
        and "films.csv" in out
        and "wenmai train --resume runs/stopped" in " ".join(out.split())
    )


def test_runs_loads_no_torch():
    code = "import sys; sys.argv = ['wenmai', 'runs']; from wenmai.cli import main; main(); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "False"


def test_a_folder_without_runs_says_so(wenmai_cli, tmp_path):
    ran = wenmai_cli("runs", tmp_path)
    assert ran.status == 0 and "holds no runs; wenmai train makes one" in " ".join(ran.out.split())


def test_info_tells_all_of_a_run(wenmai_cli):
    out = wenmai_cli("info", "runs/films-softmax").out
    for part in (
        "the rung softmax, to classify",
        "/data/films.csv",
        "text=review",
        "test: accuracy 0.7500",
        "1.5 s",
        "on disk",
        "wenmai predict runs/films-softmax",
        "wenmai evaluate runs/films-softmax",
        "wenmai compare /data/films.csv --with runs/films-softmax",
    ):
        assert part in out, part
    assert (
        json.loads(wenmai_cli("info", "runs/films-softmax", "--json").out)["columns"]["text"]
        == "review"
    )
    damaged = wenmai_cli("info", "runs/damaged")
    assert damaged.status == 2 and "run.json" in damaged.err and damaged.err.count("\n") == 1


# What goes where


def test_scores_are_the_result(wenmai_cli):
    ran = wenmai_cli("train", "softmax", "films.csv", "--out", "runs/quiet", "--quiet")
    assert ran.status == 0 and ran.err == "" and ran.out.startswith("valid: accuracy ")
    ran = wenmai_cli("evaluate", "runs/quiet", "films.csv")
    assert (
        ran.out.startswith("test: accuracy ")
        and len(wenmai_cli("evaluate", "runs/quiet", "films.csv", "--json").out.splitlines()) == 1
    )
    assert (
        "kept in runs/quiet"
        in wenmai_cli("train", "softmax", "films.csv", "--out", "runs/quiet").err
    )  # for one command only


def test_predict_reads_standard_input(wenmai_cli, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("a good film\r\na bad film\n"))
    ran = wenmai_cli("predict", "runs/films-softmax", "-")
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["pos", "neg"]


def test_predict_shows_the_most_probable_labels(wenmai_cli):
    ran = wenmai_cli("predict", "runs/films-softmax", "a good film", "--top", "2")
    assert [part.split()[0] for part in ran.out.split("\t")] == ["pos", "neg"]
    best = json.loads(
        wenmai_cli("predict", "runs/films-softmax", "a good film", "--top", "1", "--json").out
    )["answers"][0]["best"]
    assert len(best) == 1 and best[0]["label"] == "pos"
    wenmai_cli(
        "predict",
        "runs/films-softmax",
        "--file",
        "films.csv",
        "--top",
        "2",
        "--out",
        "answers.jsonl",
    )
    assert all(
        len(json.loads(line)["best"]) == 2
        for line in Path("answers.jsonl").read_text("utf-8").splitlines()
    )


def test_chinese_words_and_marks_name_columns(wenmai_cli):
    for columns in ("文本=text,标签=label", "text＝text，label＝label", "text=text，label=label"):
        ran = wenmai_cli(
            "train", "softmax", "films.csv", "--columns", columns, "--out", "runs/columns"
        )
        assert ran.status == 0, ran.err


# Completion


def test_completion_knows_rungs_runs_and_data(monkeypatch):
    assert completion.rung_names() == list(RUNGS)
    assert completion.rungs("ls") == ["lstm"]
    assert "runs/films-softmax" in completion.runs("")
    assert (
        completion.runs("runs/fi") == ["runs/films-softmax"] and completion.runs("nowhere/x") == []
    )
    assert completion.data("lan") == ["languages"] and completion.data("fil") == ["films.csv"]
    assert set(BUILTIN) <= set(completion.data("")) and "runs/" in completion.data("")


def test_the_shell_is_answered():
    environment = {
        "_WENMAI_COMPLETE": "complete_bash",
        "COMP_WORDS": "wenmai train ls",
        "COMP_CWORD": "2",
        "LC_ALL": "C.UTF-8",
    }
    code = "import sys; sys.argv = ['wenmai']; from wenmai.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment
    )
    assert ran.stdout.split() == ["lstm"], ran


# Phases


def step(at: int, score: float | None = None, seconds: float = 0.0, note: str = "") -> Progress:
    return Progress(at, 100, 0.0, 0.0, 0.0, seconds, score, note)


@pytest.fixture
def drawn():
    with RichProgress(console=Console(file=io.StringIO())) as progress:
        yield terminal.Bars(progress)


def test_a_phase_is_shown_at_once_and_the_number_has_a_name(drawn):
    drawn("gru", Message("reading"), None)
    assert drawn.line == "gru: reading"
    drawn.metric = "accuracy"
    drawn("gru", Message("training"), step(25, 0.75, seconds=40.0))
    assert drawn.line == "gru: training, about 2 min left, 25%, accuracy 0.7500"
    drawn("gru", Message("training"), step(50, seconds=60.0))
    assert (
        drawn.line == "gru: training, about 60 s left, 50%, accuracy 0.7500"
    )  # the last score stays


def test_the_place_and_the_time_of_all(drawn):
    drawn.place, drawn.end = (
        Message("{number} of {count}", number=3, count=14),
        time.monotonic() + 125,
    )
    drawn("gru", Message("training"), step(0))
    assert drawn.line.startswith("gru: training 3 of 14, about 2 min left")
    drawn("lstm", Message("training"), step(0))
    assert str(drawn.progress.tasks[0].fields["stage"]) == "training"  # what is over says no time


def test_a_bar_that_has_only_shown_a_phase_goes(drawn):
    drawn("films.csv", Message("reading"), None)
    drawn("gru", Message("training"), step(1))
    assert [task.description for task in drawn.progress.tasks] == ["gru"]


def test_without_a_terminal_a_line_comes_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "EVERY", 0.02)
    with terminal.bars() as draw:
        draw("gru", Message("reading"), None)
        time.sleep(0.3)
    err = capsys.readouterr().err
    assert "gru: reading\n" in err
    with terminal.bars(quiet=True) as draw:
        draw("gru", Message("reading"), None)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
