"""A training that is killed at any moment, and gone on with, ends as one that was not; folders are whole or not there."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from wenmai.errors import Mistake
from wenmai.estimators import Classifier
from wenmai.training import checkpoints, folders
from wenmai.training.checkpoints import Checkpoints
from wenmai.training.progress import Progress, Snapshot

TRAIN = "train {rung} {data} --test 0.1 --set epochs=3 --set hidden=16 --set embed=8 --set batch_tokens=256 --out {out} --json"


def start(command: str, folder) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "wenmai", *command.split()],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    rows = [
        f"{'good' if n % 2 else 'bad'} film number {n} of many,{'pos' if n % 2 else 'neg'}\n"
        for n in range(600)
    ]
    (folder / "films.csv").write_text("text,label\n" + "".join(rows))
    whole = start(TRAIN.format(rung="gru", data="films.csv", out="whole"), folder)
    began = time.perf_counter()
    _, err = whole.communicate()
    assert whole.returncode == 0, err
    return folder, time.perf_counter() - began


def weights(run) -> bytes:
    return (run / "weights.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_and_gone_on_with(place, how, tmp_path):
    folder, seconds = place
    command = TRAIN.format(rung="gru", data=folder / "films.csv", out=tmp_path / "run")
    process, wait = start(command, tmp_path), random.Random(how).uniform(0.5, 1.0) * seconds
    time.sleep(wait)
    process.send_signal(how)
    _, err = process.communicate()
    if how != signal.SIGKILL and process.returncode:
        assert process.returncode in (128 + how, -how), err
    if how != signal.SIGKILL and "and kept; go on" in err:
        assert (
            f"wenmai train --resume {tmp_path / 'run'}" in err
            and (tmp_path / "run" / "training" / "start").is_dir()
        )
    if not (tmp_path / "run" / "run.json").exists():
        again = start(f"train --resume {tmp_path / 'run'} --json", tmp_path)
        _, err = again.communicate()
        if again.returncode == 2 and (
            "holds no training that was stopped" in err or "is not there" in err
        ):
            again = start(command, tmp_path)  # it had not begun
            _, err = again.communicate()
        assert again.returncode == 0, err
    assert weights(tmp_path / "run") == weights(folder / "whole")
    scores = [
        json.loads((run / "run.json").read_text())["scores"]
        for run in (tmp_path / "run", folder / "whole")
    ]
    assert scores[0] == scores[1] and not (tmp_path / "run" / "training").exists()


def stopped(folder, monkeypatch, steps=12):
    """A run folder whose training stopped halfway, with two checkpoints."""
    monkeypatch.setattr(checkpoints, "OFTEN", -1.0)
    monkeypatch.setattr(checkpoints, "SHARE", 0)
    model = Classifier("mlp", hidden=8, embed=8, steps=steps, evaluations=steps)
    kept = Checkpoints(folder)
    kept.begin({"rung": "mlp"})
    for progress in model.training(["good film", "bad film"] * 20, ["pos", "neg"] * 20):
        kept.keep(model, progress, False)
        if progress.step == steps // 2:
            return kept
    raise AssertionError


def test_the_last_whole_checkpoint_is_used_and_the_damage_named(tmp_path, monkeypatch):
    kept = stopped(tmp_path / "run", monkeypatch)
    first, last = kept.all()
    assert Checkpoints(tmp_path / "run").resume()[1].facts["step"] == 6
    file = last / "arrays.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    arguments, snapshot, (note,) = Checkpoints(tmp_path / "run").resume()
    assert arguments == {"rung": "mlp"} and snapshot.facts["step"] == 5
    assert str(file) in note and "damaged" in note and "before it is used" in note
    (first / "state.json").unlink()
    _, snapshot, notes = Checkpoints(tmp_path / "run").resume()
    assert not snapshot.arrays and len(notes) == 2  # from the beginning, with the same inputs
    assert snapshot.inputs["kind"] == "tokens"


def test_only_the_last_two_are_kept_and_nothing_half_written(tmp_path, monkeypatch):
    kept = stopped(tmp_path / "run", monkeypatch)
    assert len(kept.all()) == 2 and sorted(p.name for p in kept.folder.iterdir()) == [
        *(p.name for p in kept.all()),
        "start",
    ]


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path, monkeypatch):
    kept = stopped(tmp_path / "run", monkeypatch)
    before = [path.name for path in kept.all()]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_arrays", full)
    later = Progress(7, 12, 1.0, 0.1, 0.1, 1.0, snapshot=lambda: Snapshot({"a": np.zeros(3)}, {}))
    with pytest.raises(Mistake, match="cannot be written"):
        kept.keep(None, later, True)
    assert [path.name for path in kept.all()] == before
    assert not list(kept.folder.glob(".*"))


@pytest.mark.slow
def test_killed_before_there_was_anything_to_go_on_with(tmp_path, wenmai_cli, place):
    (tmp_path / "run" / "training" / ".start.part.0123456789ab").mkdir(parents=True)
    ran = wenmai_cli(
        *TRAIN.format(rung="mlp", data=place[0] / "films.csv", out=tmp_path / "run").split()
    )
    assert (
        ran.status == 0
        and (tmp_path / "run" / "run.json").exists()
        and not (tmp_path / "run" / "training").exists()
    )


def test_one_writer_at_a_time(tmp_path):
    with folders.only_one(tmp_path / "run"):
        with (
            pytest.raises(Mistake, match="is being written by another process"),
            folders.only_one(tmp_path / "run"),
        ):
            pass
        code = "import sys, pathlib, wenmai.training.folders as f\nwith f.only_one(pathlib.Path(sys.argv[1])): pass"
        other = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "run"], capture_output=True, text=True
        )
        assert other.returncode and "is being written by another process" in other.stderr
    with folders.only_one(tmp_path / "run"):
        pass


@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_kill_while_a_folder_is_replaced(tmp_path, monkeypatch, moment):
    def fill(text):
        return lambda part: (part / "file").write_text(text)

    folders.write(tmp_path / "run", fill("old"))
    renames, real = [], os.rename

    class Killed(BaseException):
        pass

    def rename(self, target):
        renames.append(target)
        if len(renames) == {"before": 1, "between": 2}[moment]:
            raise Killed
        real(self, target)
        return target

    monkeypatch.setattr("pathlib.Path.rename", rename)
    monkeypatch.setattr(
        folders.shutil, "rmtree", lambda *_, **__: None
    )  # a killed process cleans nothing up
    with pytest.raises(Killed):
        folders.write(tmp_path / "run", fill("new"))
    monkeypatch.undo()
    folders.recover(tmp_path / "run")
    assert (tmp_path / "run" / "file").read_text() == {"before": "old", "between": "new"}[moment]
    folders.check(tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("arguments.json", "[1]", "found a list, expected an object"),
        ("arguments.json", "[" * 100_000, "RecursionError"),
        ("inputs.json", "{}", 'found no "kind"'),
        (
            "inputs.json",
            '{"kind": "numbers", "mean": [1, NaN], "deviation": [1, 1]}',
            '"mean" is nan',
        ),
    ],
)
def test_a_beginning_that_was_damaged_is_one_sentence(tmp_path, monkeypatch, name, text, says):
    kept = stopped(tmp_path / "run", monkeypatch)
    (kept.folder / "start" / name).write_text(text)
    with pytest.raises(Mistake, match=f"{name}: found .* bytes"):
        Checkpoints(tmp_path / "run").resume()
    sign(kept.folder / "start")
    with pytest.raises(Mistake) as caught:
        Checkpoints(tmp_path / "run").resume()
    assert str(kept.folder / "start" / name) in str(caught.value) and says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("state.json", "[1]"), ("state.json", "[" * 100_000), ("arrays.safetensors", "{}")],
)
def test_a_checkpoint_that_cannot_be_understood_is_passed_over(tmp_path, monkeypatch, name, text):
    kept = stopped(tmp_path / "run", monkeypatch)
    last = kept.all()[-1]
    (last / name).write_text(text)
    sign(last)
    _, snapshot, (note,) = Checkpoints(tmp_path / "run").resume()
    assert snapshot.facts["step"] == 5 and str(last / name) in note and "before it is used" in note
    later = Checkpoints(tmp_path / "run")
    later.resume()
    later.keep(
        None,
        Progress(7, 12, 1.0, 0.1, 0.1, 1.0, snapshot=lambda: Snapshot({"a": np.zeros(3)}, {})),
        True,
    )
    assert (
        last not in later.all() and len(later.all()) == 2
    )  # the new one, and the whole one before the damaged one


def sign(folder):
    """The manifest as if the folder had been written so."""
    files = {
        path.name: folders.checksum(path)
        for path in folder.iterdir()
        if path.name != folders.MANIFEST
    }
    (folder / folders.MANIFEST).write_text(json.dumps({"files": files}))


def test_begun_again_after_a_kill_between_two_renames(tmp_path):
    """Who writes next finishes what was left, before anything is swept away; also where a name looks like a pattern."""
    for name in ("run", "run[1]"):
        folders.write(tmp_path / name, lambda part: (part / "a.txt").write_text("new"))
        (tmp_path / name).rename(tmp_path / f".{name}.part.0123456789ab")
        with folders.only_one(tmp_path / name):
            assert (tmp_path / name / "a.txt").read_text() == "new"


@pytest.mark.slow
def test_another_number_of_processes_is_refused(tmp_path, wenmai_cli, place, monkeypatch):
    words = TRAIN.format(rung="mlp", data=place[0] / "films.csv", out=tmp_path / "run").split()
    monkeypatch.setattr(
        Checkpoints, "keep", lambda self, *_, keep=Checkpoints.keep: keep(self, *_) or _stop()
    )
    with pytest.raises(KeyError):
        wenmai_cli(*words)
    monkeypatch.undo()
    start = tmp_path / "run" / "training" / "start"
    about = json.loads((start / "arguments.json").read_text())
    folders.write(
        start,
        lambda part: [
            (part / "arguments.json").write_text(json.dumps(about | {"processes": 2})),
            (part / "inputs.json").write_text((start / "inputs.json").read_text()),
        ],
    )
    monkeypatch.setattr(sys, "argv", ["wenmai"])
    from wenmai.cli import training as runs

    with pytest.raises(
        Mistake,
        match="by 2 processes, and there are 1 now; go on with torchrun --nproc-per-node 2 -m wenmai",
    ):
        runs.go_on(tmp_path / "run", None, print)


def _stop():
    raise KeyError("stopped")
