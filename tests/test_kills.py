"""SIGKILL at random moments over all rungs: 20 here, 1,000 under `make soak`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def killed(processes: int, kills: int) -> list[dict]:
    script = Path(__file__).parent / "kills.py"
    started = [subprocess.Popen([sys.executable, script, "--kills", str(kills), "--seed", str(seed)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for seed in range(processes)]  # fmt: skip
    ended = [process.communicate() for process in started]
    assert not any(process.returncode for process in started), ended
    return [json.loads(out) for out, _ in ended]


def test_killed_trainings_end_as_if_nobody_had_killed_them():
    (found,) = killed(1, 20)
    assert found["kills"] == 20 and not found["wrong"], found


@pytest.mark.soak
def test_a_thousand_kills(capsys):
    found = killed(2, 500)
    with capsys.disabled():
        print("\nkills:", json.dumps(found))
    assert sum(part["kills"] for part in found) == 1000 and not any(part["wrong"] for part in found), found
