"""SIGKILL at random moments over all rungs: 20 here, 1,000 under `make soak`."""

import json
import subprocess
import sys
from pathlib import Path

import kills
import pytest

from wenmai.catalog import RUNGS, TASKS
from wenmai.data.dataset import open_dataset


def killed(processes: int, count: int) -> list[dict]:
    script = Path(__file__).parent / "kills.py"
    started = [
        subprocess.Popen(
            [sys.executable, script, "--kills", str(count), "--seed", str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(processes)
    ]
    ended = [process.communicate() for process in started]
    assert not any(process.returncode for process in started), ended
    return [json.loads(out) for out, _ in ended]


def test_every_rung_and_task_has_its_case(tmp_path):
    kills.write_data(tmp_path)
    for task, file in kills.FILE.items():
        open_dataset(str(tmp_path / file), TASKS, task, valid="0.1").check()
    made = kills.cases()
    assert {case[:2] for case in made} == {
        (rung.name, task) for rung in RUNGS.values() for task in rung.tasks
    }
    assert all(Path(kills.command(case, tmp_path, tmp_path / "run")[2]).is_file() for case in made)


@pytest.mark.slow
def test_killed_trainings_end_as_if_nobody_had_killed_them():
    (found,) = killed(1, 20)
    assert found["kills"] == 20 and not found["wrong"], found


@pytest.mark.soak
def test_a_thousand_kills(capsys):
    found = killed(2, 500)
    with capsys.disabled():
        print("\nkills:", json.dumps(found))
    assert sum(part["kills"] for part in found) == 1000 and not any(
        part["wrong"] for part in found
    ), found
