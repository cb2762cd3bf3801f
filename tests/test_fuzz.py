"""Files with something wrong in them are read or refused in a sentence: some hundred of every kind here, a million in all under
`make soak`. How they are made and judged: fuzzing.py."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault(
    "WENMAI_FUZZ_SECONDS", "20"
)  # whether it ends, not how fast: that is for fuzzing.py by itself
for package in ("resource", "zstandard", "pyarrow", "jieba"):
    pytest.importorskip(package)
fuzzing = pytest.importorskip("fuzzing")
from wenmai.errors import Mistake  # noqa: E402 (after what may be absent)

TARGETS = fuzzing.TARGETS


def check(found: dict, inputs: int) -> None:
    assert not found["failures"], fuzzing.told(found["failures"])
    assert sum(figures["inputs"] for figures in found["targets"].values()) == inputs
    for name, figures in found["targets"].items():
        assert (
            figures["inputs"] >= 100
            and figures["inputs"] == figures["answered"] + figures["refused"]
        ), name
    assert found["targets"].keys() == TARGETS.keys() and found["grown"] <= fuzzing.MEMORY


@pytest.mark.slow
def test_damage_is_answered_or_refused_in_a_sentence():
    check(fuzzing.fuzz(20_000), 20_000)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "number"), [("parquet", 20_000_421), ("arpa", 20_006_685)])
def test_what_once_broke(target, number):
    """Statistics of a column that pyarrow does not survive being asked for; an n-gram that breaks off within a word."""
    found = fuzzing.fuzz(1, start=number, names=[target])
    assert not found["failures"] and found["targets"][target]["refused"] == 1, found


BROKE = {
    "pictures": 30_203_309,
    "matrices": 30_204_350,
    "checkpoint-bert": 30_200_662,
    "sounds": 30_200_296,
    "txt": 33_003_712,
    "run-bert": 33_005_084,
}


@pytest.mark.parametrize(("target", "number"), BROKE.items())
def test_what_once_was_no_sentence(target, number, tmp_path):
    """A table of 40,000 columns (it took seconds), a matrix that NumPy itself fails at, a plan that is null, a path that is too
    long for any file, ten bytes that were an .xz and passed for text, five thousand letters that were said back."""
    doing = fuzzing.Work(target, tmp_path)
    doing.warm()
    assert doing.attempt(number) == "refused"


@pytest.mark.soak
@pytest.mark.parametrize("million", range(1, 6))
def test_a_million_times(capsys, million, monkeypatch):
    monkeypatch.setenv("WENMAI_FUZZ_SECONDS", "1")  # on a quiet machine
    found = fuzzing.fuzz(1_000_000, workers=2, start=million * 1_000_000)
    with capsys.disabled():
        print("\n" + fuzzing.table(found))
    check(found, 1_000_000)


# The harness sees what it has to see.


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["csv", "idx", "tokenizer-bpe", "tokenizer-unigram", "run-linear", "run-mlp"]
)
def test_an_input_is_a_function_of_target_and_number(name):
    numbers = random.Random(0).sample(range(10**6), 20)
    first, second = (
        [fuzzing.damage(name, number, TARGETS[name].seeds()) for number in numbers]
        for _ in range(2)
    )
    assert first == second and len({one.data for one in first}) > 15


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("", "not one line"),
        ("a.csv is\nbroken", "not one line"),
        ("a.csv is \x1b[31mred", "terminal"),
        ("a.csv " + "x" * 3000, "characters long"),
        ("a.csv: <wenmai.data.Thing object at 0x7f>", "inside"),
        ("b.csv is broken", "does not name the file"),
    ],
)
def test_a_sentence_that_is_none(sentence, why):
    with pytest.raises(fuzzing.Failure, match=why):
        fuzzing.check_sentence(sentence, {"a.csv"})


def pretended(monkeypatch, folder, attempt, **more):
    """The work of a target that has one file, and what is done with it."""
    seed = fuzzing.Seed({"a.txt": b"whole"}, {"a.txt": "text"}, "a.txt", **more)
    monkeypatch.setitem(TARGETS, "pretended", fuzzing.Target(lambda: [seed], attempt, 1))
    return fuzzing.Work("pretended", folder)


def test_what_is_neither_answered_nor_refused(monkeypatch, tmp_path):
    def attempt(place, seed):
        raise KeyError("oh")

    verdict, failure, _ = fuzzing.attempted(pretended(monkeypatch, tmp_path, attempt), 1)
    assert not verdict and failure.startswith("KeyError: 'oh' at test_fuzz.py")


def test_what_is_refused(monkeypatch, tmp_path):
    def attempt(place, seed):
        raise Mistake(f"{place / 'a.txt'} is broken; mend it.")

    verdict, failure, _ = fuzzing.attempted(pretended(monkeypatch, tmp_path, attempt), 1)
    assert verdict == "refused" and not failure


def test_damage_that_a_checksum_tells_is_not_to_be_missed(monkeypatch, tmp_path):
    work = pretended(
        monkeypatch,
        tmp_path,
        lambda place, seed: (place / "a.txt").read_text("latin-1"),
        sums=("a.txt",),
    )
    work.warm()
    failures = [fuzzing.attempted(work, number)[1] for number in range(50)]
    assert any("as if it were whole" in failure for failure in failures)


CULPRIT = """
import ctypes, json, sys, fuzzing

def attempt(place, seed):
    if len((place / "a.txt").read_bytes()) % 9 == 0:
        DO

fuzzing.TARGETS = {"only": fuzzing.Target(lambda: [fuzzing.Seed({"a.txt": b"whole"}, {"a.txt": "text"})], attempt, 1)}
fuzzing.SECONDS, fuzzing.__file__ = 0.2, __file__
if "--worker" in sys.argv:
    fuzzing.main()
else:
    print(json.dumps(fuzzing.fuzz(60, workers=2)))
"""


@pytest.mark.parametrize(
    ("does", "seen"),
    [
        ("ctypes.string_at(0)", "the worker died (-11)"),
        ("print('hello')", "something was printed"),
        ("bytes(1 << 40)", "MemoryError"),
        ("while True: pass", "TooSlow"),
    ],
)
def test_a_worker_that_dies_prints_swells_or_hangs(does, seen, tmp_path):
    script = tmp_path / "culprit.py"
    script.write_text(CULPRIT.replace("DO", does))
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    ran = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["targets"]["only"]["inputs"] == 60
    assert found["failures"] and all(seen in failure["failure"] for failure in found["failures"])
