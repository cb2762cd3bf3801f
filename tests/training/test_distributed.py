"""Two processes train what one trains. Every row × task goes through both, under torchrun, on gloo."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent


def torchrun(
    *arguments, restarts: int = 0, cwd=None, processes: int = 2
) -> subprocess.CompletedProcess:
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        str(processes),
        "--master-port",
        "0",
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        "localhost:0",
        "--max-restarts",
        str(restarts),
    ]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=environment()
    )


def environment() -> dict[str, str]:
    known = [
        Path(place).resolve()
        for place in os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if place
    ]
    return os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(map(str, [HERE.parent, *known])),
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """(outputs of one process, outputs of two), by case; the cases are those of `two_processes.py`."""
    folder = tmp_path_factory.mktemp("both")
    alone = subprocess.Popen(
        [sys.executable, HERE / "two_processes.py", folder / "alone.npz"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    together = torchrun(HERE / "two_processes.py", folder / "together.npz")
    _, said = alone.communicate()
    assert alone.returncode == 0, said
    assert together.returncode == 0, together.stderr
    return np.load(folder / "alone.npz"), np.load(folder / "together.npz")


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(both):
    alone, together = both
    assert set(alone) == set(together) and len(set(alone)) > 60
    for case in alone:
        # bert's embeddings are normed right away, so that along them there is no gradient but noise, which Adam makes steps of
        near = 1e-3 if case.startswith("bert") else 1e-5
        np.testing.assert_allclose(together[case], alone[case], atol=near, rtol=near, err_msg=case)


DATA = "text,label\n" + "".join(
    f"{'good' if n % 2 else 'bad'} film number {n},{'pos' if n % 2 else 'neg'}\n"
    for n in range(400)
)
TRAIN = "train gru films.csv --device cpu --set steps=60 --set hidden=16 --set embed=8 --set batch_tokens=128 --json --out"


@pytest.mark.slow
def test_a_killed_worker_is_started_again_and_goes_on(tmp_path):
    (tmp_path / "films.csv").write_text(DATA)
    whole = torchrun(HERE / "killed_worker.py", "never", *TRAIN.split(), "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    killed = torchrun(
        HERE / "killed_worker.py", "once", *TRAIN.split(), "run", cwd=tmp_path, restarts=1
    )
    assert killed.returncode == 0, killed.stderr
    assert "going on after" in killed.stderr and "going on after 0" not in killed.stderr
    one, other = ((tmp_path / run / "weights.safetensors").read_bytes() for run in ("run", "whole"))
    assert one == other
    scores = [json.loads(process.stdout.splitlines()[-1])["scores"] for process in (killed, whole)]
    assert scores[0] == scores[1] and len(killed.stdout.splitlines()) == 1
    assert not (tmp_path / "run" / "training").exists()


def test_a_rung_without_the_loop_says_that_it_takes_one_process(tmp_path):
    (tmp_path / "films.csv").write_text(DATA)
    ran = torchrun("-m", "wenmai", "train", "softmax", "films.csv", cwd=tmp_path)
    assert (
        ran.returncode
        and "wenmai: softmax learns in one process; start it without torchrun." in ran.stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "differ"),
    [("labels", "its training rows"), ("valid", "the validation rows"), ("seed", "the options")],
)
def test_processes_that_were_given_something_else_say_so(tmp_path, what, differ):
    """Every one of them, with a status of its own; none is aborted or waits."""
    for name in ("same", "other"):
        (tmp_path / name).mkdir()
        for file in ("films.csv", "valid.csv"):
            changed = name == "other" and file == {"labels": "films.csv", "valid": "valid.csv"}.get(
                what
            )
            text = DATA if file == "films.csv" else DATA.replace("film", "movie")
            (tmp_path / name / file).write_text(text.replace("7,pos", "7,neg") if changed else text)
    words = [
        "train",
        "gru",
        "same/films.csv",
        "--valid",
        "same/valid.csv",
        "--device",
        "cpu",
        "--set",
        "steps=4",
        "--set",
        "hidden=4",
        "--out",
        "run",
    ]
    ran = torchrun(
        HERE / "other_process.py", "seed" if what == "seed" else "rows", *words, cwd=tmp_path
    )
    sentence = (
        f"the processes that train together do not have the same: {differ} differ between them"
    )
    assert ran.returncode and ran.stderr.count(sentence) == 2, ran.stderr
    assert "exitcode  : 2 " in ran.stderr and "Signal" not in ran.stderr, ran.stderr
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.slow
def test_a_process_that_waits_for_one_that_refused_its_data_ends_when_it_is_told(tmp_path):
    """It waits in compiled code and heard no signal: torchrun had to kill it, half a minute later."""
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "films.csv").write_text(DATA)
    words = [
        "train",
        "gru",
        "same/films.csv",
        "--device",
        "cpu",
        "--set",
        "steps=4",
        "--set",
        "hidden=4",
        "--out",
        "run",
    ]
    ran = torchrun(HERE / "other_process.py", "rows", *words, cwd=tmp_path)
    assert ran.returncode and ran.stderr.count("other/films.csv is not there") == 1, ran.stderr
    assert "SIGKILL" not in ran.stderr and "SIGABRT" not in ran.stderr, ran.stderr
    assert not (tmp_path / "run").exists()
