"""Writers and readers of one place at once: 100 saves and loads here, 100,000 under `make soak`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wenmai
from wenmai.estimators import Classifier
from wenmai.training import folders


def in_turns(count: int) -> dict:
    script = Path(__file__).parent / "turns.py"
    ran = subprocess.run(
        [sys.executable, script, "--count", str(count)], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.slow
def test_two_models_saved_in_turns_are_never_mixed():
    found = in_turns(100)
    assert found["saves"] == found["loads"] == 100 and not found["wrong"], found


@pytest.mark.soak
def test_a_hundred_thousand_saves_and_loads(capsys):
    found = in_turns(100_000)
    with capsys.disabled():
        print("\nturns:", json.dumps(found))
    assert found["saves"] == found["loads"] == 100_000 and not found["wrong"], found


@pytest.fixture(scope="module")
def model():
    return Classifier("softmax", epochs=1).fit(np.eye(4), ["a", "b", "a", "b"])


def test_another_version_that_comes_while_one_is_read(tmp_path, model):
    run, read = model.save(tmp_path / "run"), []

    def read_slowly(folder):
        read.append(json.loads((folder / "manifest.json").read_text())["version"])
        if len(read) == 1:
            model.save(run)  # the same to the last bit, and yet another
        return read[-1]

    assert folders.one_version(run, read_slowly) == read[-1] and len(set(read)) == 2


def test_what_a_kill_left_beside_its_place_is_read_there_and_stays(tmp_path, model):
    """No folder stands between two renames; who reads writes nothing, so that a writer finds all as it was."""
    run = model.save(tmp_path / "run")
    for left in (".run.part.0123456789ab", ".run.old.0123456789ab/was"):
        (tmp_path / left).parent.mkdir(exist_ok=True)
        run.rename(tmp_path / left)
        before = sorted(tmp_path.rglob("*"))
        assert wenmai.load(run).predict(np.eye(4)).tolist() == model.predict(np.eye(4)).tolist()
        assert sorted(tmp_path.rglob("*")) == before and not run.exists()
        (tmp_path / left).rename(run)


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_files_follow_the_umask(tmp_path, model, umask):
    before = os.umask(umask)
    try:
        run = model.save(tmp_path / "run")
    finally:
        os.umask(before)
    assert run.stat().st_mode & 0o777 == 0o777 & ~umask
    assert {path.name: path.stat().st_mode & 0o777 for path in run.iterdir()} == {
        path.name: 0o666 & ~umask for path in run.iterdir()
    }
