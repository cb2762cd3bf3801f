"""However a command ends, nothing of the user's is lost, its status says how, and a sentence says how to go on."""

import ctypes
import json
import os
import resource
import signal
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from wenmai.cli import answers
from wenmai.embeddings import Embedder
from wenmai.estimator import Estimator
from wenmai.evaluation import compare as comparing
from wenmai.language_model import LanguageModel
from wenmai.models.ngram.classifier import NgramClassifier
from wenmai.training import loop, run_folder
from wenmai.training.interrupts import interrupts, uninterrupted

SMALL = [
    word
    for option in ("hidden=8", "embed=8", "steps=12", "evaluations=3")
    for word in ("--set", option)
]
SMALL += ["--test", "0.1", "--device", "cpu"]


def rows(count: int = 80) -> str:
    lines = (
        f"a {'good' if n % 2 else 'bad'} film {n},{'pos' if n % 2 else 'neg'}\n"
        for n in range(count)
    )
    return "text,label\n" + "".join(lines)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "films.csv").write_text(rows())
    (tmp_path / "text.txt").write_text(
        "".join(f"the {'good' if n % 2 else 'bad'} film of {n} people\n" for n in range(200))
    )
    return tmp_path


@contextmanager
def signalled(owner, name: str, number: int = signal.SIGINT, call: int = 1):
    """Inside, so many calls of the method are interrupted: the `call`th, from the inside."""
    whole, seen = getattr(owner, name), [0]

    def interrupted(*arguments, **more):
        seen[0] += 1
        if seen[0] == call:
            signal.raise_signal(number)
        return whole(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, interrupted)
        yield


@contextmanager
def full_disk(size: int):
    """Inside, no file grows beyond `size` bytes.

    No bytecode is written: Python does not notice that it was cut off, and later tests read it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def said(ran) -> str:
    return " ".join(ran.err.split())


def stopped_training(wenmai_cli, *more, number=signal.SIGINT):
    with signalled(loop.Training, "evaluated", number, call=2):
        return wenmai_cli("train", "mlp", "films.csv", *SMALL, "--out", "run", *more)


# Ctrl-C and SIGTERM


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("rung", ["mlp", "softmax"])
def test_in_the_final_evaluation_nothing_is_lost(wenmai_cli, place, rung, number, status):
    options = SMALL if rung == "mlp" else ["--test", "0.1"]
    assert wenmai_cli("train", rung, "films.csv", *options, "--out", "whole").status == 0
    with signalled(Estimator, "evaluate", number):
        ran = wenmai_cli("train", rung, "films.csv", *options, "--out", "run")
    assert ran.status == status and "and kept; go on with: wenmai train --resume run" in said(ran)
    with signalled(Estimator, "evaluate", number):  # and once more, when it is gone on with
        ran = wenmai_cli("train", "--resume", "run")
    assert ran.status == status and "and kept; go on with: wenmai train --resume run" in said(ran)
    with signalled(loop.Training, "update"):  # there is nothing left to learn
        ran = wenmai_cli("train", "--resume", "run")
    assert ran.status == 0, ran.err
    one, other = (json.loads((place / name / "run.json").read_text()) for name in ("run", "whole"))
    assert one["scores"] == other["scores"]
    one, other = ((place / name / "weights.safetensors").read_bytes() for name in ("run", "whole"))
    assert one == other and not (place / "run" / "training").exists()


def test_what_was_counted_is_kept_without_scores(wenmai_cli, place):
    with signalled(Estimator, "evaluate", signal.SIGTERM):
        ran = wenmai_cli("train", "ngram", "films.csv", "--out", "run")
    assert ran.status == 143
    assert (
        "what was learned is kept in run, without scores; for some: wenmai evaluate run DATA"
        in said(ran)
    )
    assert wenmai_cli("evaluate", "run", "films.csv").status == 0


def test_while_it_is_saved_it_is_saved_first(wenmai_cli, place):
    with signalled(run_folder, "write_json"):
        ran = wenmai_cli("train", "softmax", "films.csv", "--out", "run")
    assert ran.status == 130 and "stopped when all was done, and kept in run." in said(ran)
    assert wenmai_cli("predict", "run", "a good film").status == 0


def test_a_second_signal_of_another_kind_waits_too():
    """torchrun sends SIGTERM to those that Ctrl-C has reached already."""
    with interrupts() as asked:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert asked == [signal.SIGINT, signal.SIGTERM]


def test_ctrl_c_waits_for_the_end_of_an_import(tmp_path, monkeypatch):
    """An exception out of the beginning of a compiled module ends the process: 2 of 40 Ctrl-C while torch was loaded did."""
    (tmp_path / "loaded_slowly.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\n"
        "for _ in range(20): time.sleep(0.01)\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt), interrupts(at_once=True):
        import loaded_slowly

        assert loaded_slowly.whole
        for _ in range(500):
            time.sleep(0.01)
    assert sys.modules.pop("loaded_slowly").whole


def test_ctrl_c_in_an_import_that_something_whole_follows_waits_for_it_too(tmp_path, monkeypatch):
    (tmp_path / "loaded_first.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nos.getpid()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts(at_once=True):
        import loaded_first  # noqa: F401

        with uninterrupted():
            time.sleep(0.3)
            done.append("whole")
        time.sleep(5)
    assert done == ["whole"]
    sys.modules.pop("loaded_first")


def test_ctrl_c_where_nothing_can_be_raised_comes_again():
    """In a callback of compiled code, where Python writes it down and goes on."""
    callback = ctypes.CFUNCTYPE(None)(
        lambda: [os.kill(os.getpid(), signal.SIGINT), time.sleep(0.05)]
    )
    with pytest.raises(KeyboardInterrupt), interrupts(at_once=True):
        callback()
        for _ in range(500):
            time.sleep(0.01)


def test_what_cannot_be_kept_on_the_way_stops_at_once(wenmai_cli, place):
    with signalled(NgramClassifier, "learn", signal.SIGTERM):
        ran = wenmai_cli("train", "ngram", "films.csv", "--out", "run")
    assert ran.status == 143 and "stopped before its end; the same command starts anew." in said(
        ran
    )
    assert not list(place.glob("*run*")) and not list(place.glob(".run*"))


def test_while_a_run_is_loaded_and_while_a_text_is_written(wenmai_cli, place):
    assert wenmai_cli("train", "ngram", "text.txt", "--out", "run").status == 0
    with signalled(LanguageModel, "stream"):
        ran = wenmai_cli("generate", "run", "--tokens", "20")
    assert (ran.status, said(ran)) == (
        130,
        "wenmai: stopped before its end; the same command starts anew.",
    )
    import wenmai.estimators

    with signalled(wenmai.estimators, "loaded", signal.SIGTERM):
        assert wenmai_cli("generate", "run").status == 143


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
def test_while_a_file_is_answered_what_stood_there_stays(wenmai_cli, place, monkeypatch):
    monkeypatch.setattr(answers, "CHUNK", 10)
    assert wenmai_cli("train", "softmax", "films.csv", "--out", "run").status == 0
    (place / "out.jsonl").write_text("of yesterday")
    with signalled(Estimator, "answers", call=3):
        ran = wenmai_cli("predict", "run", "--file", "films.csv", "--out", "out.jsonl")
    (part,) = place.glob("out.jsonl.part.*")
    assert ran.status == 130 and f"what was answered before stands in {part.name}" in said(ran)
    assert (place / "out.jsonl").read_text() == "of yesterday" and len(
        part.read_text().splitlines()
    ) == 20


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
@pytest.mark.parametrize("name", ["out.npy", "out.parquet"])
def test_vectors_on_a_full_disk_leave_nothing_that_cannot_be_read(
    wenmai_cli, place, monkeypatch, name
):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(answers, "CHUNK", 10)
    assert wenmai_cli("train", "gru", "films.csv", "--out", "run", *SMALL).status == 0
    (place / name).write_text("of yesterday")
    with full_disk(1500):
        ran = wenmai_cli("embed", "run", "films.csv", "--out", name)
    assert (
        ran.status == 2
        and f"{name} cannot be written" in said(ran)
        and "stands in" not in said(ran)
    )
    assert (place / name).read_text() == "of yesterday" and not list(place.glob(f"{name}.part.*"))
    with signalled(Embedder, "vectors", call=3):
        ran = wenmai_cli("embed", "run", "films.csv", "--out", name)
    (part,) = place.glob(f"{name}.part.*")
    assert ran.status == 130 and f"what was answered before stands in {part.name}" in said(ran)
    read = np.load(part) if name.endswith("npy") else pyarrow_table(part)
    assert len(read) == 20 and (place / name).read_text() == "of yesterday"


def pyarrow_table(path):
    from pyarrow import parquet

    return parquet.ParquetFile(path).read()


def test_two_that_answer_into_one_file(wenmai_cli, place, monkeypatch):
    """The second writes all of it while the first is at work; what stands there is whole at any time."""
    assert wenmai_cli("train", "softmax", "films.csv", "--out", "run").status == 0
    with answers.writer(place / "out.jsonl", quiet=False) as write:
        write({"row": 1})
        with answers.writer(place / "out.jsonl", quiet=False) as other:
            other({"row": 2})
        assert (place / "out.jsonl").read_text() == '{"row": 2}\n'
    assert (place / "out.jsonl").read_text() == '{"row": 1}\n' and not list(
        place.glob("out.jsonl.*")
    )


COMPARE = ["compare", "films.csv", "--minutes", "0.1", "--rungs", "softmax,perceptron"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_comparison_shows_what_is_done_and_goes_on(wenmai_cli, place, number, status):
    with signalled(comparing, "every_seed", number, call=2):
        ran = wenmai_cli(*COMPARE, "--json")
    assert ran.status == status and "go on with: wenmai compare --resume reports/films" in said(ran)
    (row,) = json.loads(ran.out.splitlines()[-1])["rungs"]
    run = place / "runs" / "films-softmax"
    before = (run / "manifest.json").read_bytes()
    assert row["rung"] == "softmax" and row["failed"] is None
    ran = wenmai_cli(*COMPARE)
    assert (
        ran.status == 2
        and "holds a comparison that was not finished: go on with wenmai compare --resume"
        in said(ran)
    )
    ran = wenmai_cli("compare", "--resume", "reports/films", "--seeds", "3")
    assert ran.status == 2 and "leave everything else out, such as --seeds" in said(ran)
    ran = wenmai_cli("compare", "--resume", "reports/films", "--json")
    found = {row["rung"]: row for row in json.loads(ran.out.splitlines()[-1])["rungs"]}
    assert ran.status == 0 and found.keys() == {"softmax", "perceptron"} and found["softmax"] == row
    assert (run / "manifest.json").read_bytes() == before  # it was not trained again
    assert (place / "reports" / "films" / "report.html").exists() and not (
        place / "reports" / "films" / "unfinished"
    ).exists()
    assert "holds no comparison that was stopped" in said(
        wenmai_cli("compare", "--resume", "reports/films")
    )


def test_a_comparison_whose_rungs_are_all_done_is_summed_up(wenmai_cli, place):
    with signalled(comparing, "summary"):
        ran = wenmai_cli(*COMPARE, "--set", "epochs=2")
    assert ran.status == 130 and "go on with: wenmai compare --resume reports/films" in said(ran)
    ran = wenmai_cli("compare", "--resume", "reports/films", "--json")
    assert ran.status == 0, said(ran)
    assert {row["rung"] for row in json.loads(ran.out.splitlines()[-1])["rungs"]} == {
        "softmax",
        "perceptron",
    }


def test_a_comparison_of_other_rows_is_not_gone_on_with(wenmai_cli, place):
    with signalled(comparing, "every_seed", call=2):
        wenmai_cli(*COMPARE)
    (place / "films.csv").write_text(rows(82))
    ran = wenmai_cli("compare", "--resume", "reports/films")
    assert ran.status == 2 and "is not what reports/films compared: its rows have changed" in said(
        ran
    )


def test_a_comparison_that_is_stopped_before_a_rung_is_done(wenmai_cli, place):
    with signalled(comparing, "every_seed"):
        ran = wenmai_cli(*COMPARE)
    assert ran.status == 130 and not (place / "reports" / "films" / "unfinished").exists()
    assert wenmai_cli(*COMPARE).status == 0


# Full disks


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(wenmai_cli, place):
    assert stopped_training(wenmai_cli, "--set", "hidden=64").status == 130
    with full_disk(20_000):
        ran = wenmai_cli("train", "--resume", "run")
    assert ran.status == 2 and "Traceback" not in ran.err
    assert "cannot be written" in said(
        ran
    ) and "when there is room, go on with: wenmai train --resume run" in said(ran)
    assert wenmai_cli("train", "--resume", "run").status == 0


def test_a_run_that_cannot_be_written(wenmai_cli, place):
    with full_disk(20_000):
        ran = wenmai_cli("train", "mlp", "films.csv", *SMALL, "--set", "hidden=512", "--out", "run")
    assert (
        ran.status == 2 and said(ran).count("cannot be written") == 1 and "Traceback" not in ran.err
    )


@pytest.mark.filterwarnings("always::wenmai.errors.Notice")
def test_answers_that_cannot_be_written(wenmai_cli, place):
    assert wenmai_cli("train", "softmax", "films.csv", "--out", "run").status == 0
    (place / "out.jsonl").write_text("of yesterday")
    with full_disk(1000):
        ran = wenmai_cli("predict", "run", "--file", "films.csv", "--out", "out.jsonl")
    assert ran.status == 2 and "out.jsonl cannot be written" in said(ran)
    assert (place / "out.jsonl").read_text() == "of yesterday"


def test_a_comparison_whose_runs_cannot_be_written(wenmai_cli, place):
    with full_disk(1000):
        ran = wenmai_cli(*COMPARE)
    assert ran.status == 2 and "cannot be written" in said(ran)


def test_a_comparison_in_which_a_rung_fails(wenmai_cli, place):
    (place / "runs").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Estimator, "save", lambda self, *_, **__: _full())
        ran = wenmai_cli(*COMPARE)
    assert ran.status == 1 and "✗ softmax: OSError: [Errno 28] No space left on device" in " ".join(
        ran.out.split()
    )


def _full():
    raise OSError(28, "No space left on device")


# What decides the result


@pytest.mark.parametrize(
    ("file", "change", "what"),
    [
        ("films.csv", lambda text: text.replace("film 7,pos", "film 7,neg"), "its training rows"),
        ("valid.csv", lambda text: text.replace("film 7,pos", "film 7,neg"), "the validation rows"),
        ("valid.csv", lambda text: text.replace("film 7", "movie 7"), "the validation rows"),
        ("test.csv", lambda text: text.replace("film 7,pos", "film 7,neg"), "the test rows"),
        ("vectors.txt", lambda text: text.replace("0.5", "0.75"), "the vectors of embedding="),
    ],
)
def test_what_has_changed_since_is_refused(wenmai_cli, place, file, change, what):
    for name in ("valid.csv", "test.csv"):
        (place / name).write_text(rows(20).replace("a ", "another "))
    (place / "vectors.txt").write_text(
        "".join(f"{word} 0.5 0.25 {n}\n" for n, word in enumerate(["good", "bad", "film", "a"]))
    )
    ran = stopped_training(
        wenmai_cli,
        "--valid",
        "valid.csv",
        "--test",
        "test.csv",
        "--set",
        "embedding=vectors.txt",
        "--set",
        "embed=3",
    )
    assert ran.status == 130, ran.err
    before = (place / file).read_text()
    (place / file).write_text(change(before))
    ran = wenmai_cli("train", "--resume", "run")
    assert ran.status == 2 and f"is not what run was trained on: {what} have changed" in said(ran)
    (place / file).write_text(before)
    (place / "elsewhere").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place / "elsewhere")
        assert (
            wenmai_cli("train", "--resume", "../run").status == 0
        )  # a relative path of vectors, too


@pytest.mark.parametrize(
    "more", [["--seed", "3"], ["--set", "hidden=9"], ["--minutes", "2"], ["--replace"]]
)
def test_resume_stands_alone(wenmai_cli, place, more):
    stopped_training(wenmai_cli)
    ran = wenmai_cli("train", "--resume", "run", *more)
    assert (
        ran.status == 2
        and f"goes on as it was begun; leave everything else out, such as {more[0]}." in said(ran)
    )


# What is replaced


def test_what_is_replaced_only_if_said(wenmai_cli, place):
    (place / "other").mkdir()
    (place / "other" / "films.csv").write_text(rows(60))
    stopped_training(wenmai_cli)
    again = ["train", "softmax", "films.csv", "--out", "run"]
    ran = wenmai_cli(*again)
    assert (
        ran.status == 2
        and "holds a training that was not finished" in said(ran)
        and "--replace" in said(ran)
    )
    assert (
        wenmai_cli(*again, "--replace").status == 0 and wenmai_cli(*again).status == 0
    )  # the same data's run is
    other = ["train", "softmax", "other/films.csv", "--out", "run"]
    ran = wenmai_cli(*other)
    assert (
        ran.status == 2
        and f"run holds a run of other data ({place}/films.csv); replace it with --replace"
        in said(ran)
    )
    assert wenmai_cli(*other, "--replace").status == 0


@pytest.mark.slow
def test_compare_import_and_save_replace_nothing_else(wenmai_cli, place):
    from wenmai.errors import Mistake
    from wenmai.estimators import load

    (place / "other").mkdir()
    (place / "other" / "films.csv").write_text(rows(60))
    assert wenmai_cli("train", "softmax", "other/films.csv").status == 0
    before = (place / "runs" / "films-softmax" / "manifest.json").read_bytes()
    ran = wenmai_cli(*COMPARE)
    assert ran.status == 2 and "holds a run of other data" in said(ran)
    with pytest.raises(Mistake, match="holds a run of other data"):
        load("runs/films-softmax").save("runs/films-softmax")
    assert wenmai_cli("train", "ngram", "text.txt", "--out", "n").status == 0
    assert wenmai_cli("export", "n", "--out", "n.arpa").status == 0
    ran = wenmai_cli("import", "n.arpa", "--out", "runs/films-softmax")
    assert ran.status == 2 and "holds a run of other data" in said(ran)
    assert (place / "runs" / "films-softmax" / "manifest.json").read_bytes() == before
    assert wenmai_cli("import", "n.arpa", "--out", "runs/films-softmax", "--replace").status == 0
    assert wenmai_cli(*COMPARE, "--replace").status == 0
    load("runs/films-softmax").save("runs/films-softmax", replace=True)


def test_a_comparison_goes_on_from_elsewhere(wenmai_cli, place, monkeypatch):
    with signalled(comparing, "every_seed", call=2):
        wenmai_cli(*COMPARE)
    (place / "elsewhere").mkdir()
    monkeypatch.chdir(place / "elsewhere")
    assert wenmai_cli("compare", "--resume", "../reports/films").status == 0
    assert (place / "runs" / "films-perceptron" / "run.json").exists() and not list(
        (place / "elsewhere").iterdir()
    )


# What is not ours


@pytest.mark.parametrize(
    "mine",
    [
        "unfinished/thesis.txt",
        "unfinished/softmax/thesis.txt",
        "decided/thesis.txt",
        "unfinished",
        "report.html",
        "report.md",
        "report.json",
        "curves.en.svg",
        "quality.png",
    ],
)
def test_compare_leaves_what_no_comparison_wrote(wenmai_cli, place, mine):
    (place / "rep" / mine).parent.mkdir(parents=True)
    (place / "rep" / mine).write_text('{"rungs": 3}')
    ran = wenmai_cli(*COMPARE, "--out", "rep")
    assert (
        ran.status == 2
        and "which no comparison wrote, and it is left as it is; choose another --out" in said(ran)
    )
    assert (place / "rep" / mine).read_text() == '{"rungs": 3}'
    assert not list(place.glob("runs/*"))  # before anything is trained


@pytest.mark.slow
def test_compare_writes_beside_other_files_and_over_its_own_report(wenmai_cli, place):
    (place / "rep").mkdir()
    (place / "rep" / "notes.txt").write_text("mine")
    once = [*COMPARE[:-1], "softmax", "--out", "rep"]
    assert wenmai_cli(*once).status == 0 and wenmai_cli(*once).status == 0
    assert (place / "rep" / "notes.txt").read_text() == "mine"
    ran = wenmai_cli(*COMPARE, "--out", "films.csv")
    assert (
        ran.status == 2
        and "films.csv is a file, where a folder for the report is to be written" in said(ran)
    )


def test_ctrl_c_before_a_comparison_began_leaves_the_one_that_stands_there(wenmai_cli, place):
    with signalled(comparing, "every_seed", call=2):
        wenmai_cli(*COMPARE)
    with signalled(comparing, "check"):
        ran = wenmai_cli(*COMPARE[:-1], "cnn")
    assert ran.status == 130 and "the same command starts anew" in said(ran)
    assert wenmai_cli("compare", "--resume", "reports/films").status == 0


def test_ctrl_c_while_a_comparison_is_gone_on_with_leaves_it_to_go_on_with(wenmai_cli, place):
    import shutil

    with signalled(comparing, "every_seed", call=2):
        wenmai_cli(*COMPARE)
    shutil.rmtree(
        place / "reports" / "films" / "unfinished" / "softmax"
    )  # as a kill in its first rung would leave it
    with signalled(comparing, "every_seed"):
        ran = wenmai_cli("compare", "--resume", "reports/films")
    assert ran.status == 130 and "go on with: wenmai compare --resume reports/films" in said(ran)
    assert wenmai_cli("compare", "--resume", "reports/films").status == 0


def test_hidden_folders_and_files_with_a_name_much_like_ours_stay(wenmai_cli, place):
    for name in (".run.old.2023/thesis.txt", ".run.part.mine/thesis.txt", ".run.lock"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("mine")
    assert wenmai_cli("train", "softmax", "films.csv", "--out", "run").status == 0
    for name in (".run.old.2023/thesis.txt", ".run.part.mine/thesis.txt", ".run.lock"):
        assert (place / name).read_text() == "mine"


@pytest.mark.parametrize(
    "command", ["train softmax films.csv", "compare films.csv --rungs softmax --minutes 0.1"]
)
@pytest.mark.parametrize("out", ["films.csv/x", "/proc/x/y"])
def test_a_place_that_cannot_be_written_is_said(wenmai_cli, place, command, out):
    ran = wenmai_cli(*command.split(), "--out", out)
    assert (
        ran.status == 2
        and "cannot be written (" in said(ran)
        and "choose another place" in said(ran)
    )


def test_the_root_is_no_place(wenmai_cli, place):
    ran = wenmai_cli("train", "softmax", "films.csv", "--out", "/")
    assert ran.status == 2 and "which is no part of a run" in said(ran)


def test_commands_that_are_said_can_be_copied(wenmai_cli, place):
    import os
    import shlex

    for out in ("with space/中文", "-x", "a'b$c", "two\nlines"):
        ran = wenmai_cli("train", "softmax", "films.csv", f"--out={out}")
        following = ran.err.split("Next: ")[1].splitlines()[0]
        if "\n" in out:
            assert following == r"wenmai predict $'two\U0000000alines' …"  # as bash reads it
        else:
            assert os.path.samefile(shlex.split(following)[2], out) and not shlex.split(following)[
                2
            ].startswith("-")
    stopped_training(wenmai_cli)
    os.rename("run", "my run")
    for ran in (
        wenmai_cli("train", "softmax", "films.csv", "--out", "my run"),
        wenmai_cli("predict", "my run", "text"),
    ):
        assert ran.status == 2 and 'wenmai train --resume "my run"' in said(ran)


def test_a_home_that_no_shell_has_expanded(wenmai_cli, place, monkeypatch):
    monkeypatch.setenv("HOME", str(place / "home"))
    assert wenmai_cli("train", "softmax", "films.csv", "--out=~/run").status == 0
    assert (place / "home" / "run" / "run.json").exists() and not (place / "~").exists()
