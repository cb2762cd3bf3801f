"""Files with something wrong in them are read or refused in a sentence: some thousand of every kind here, a million under
`make soak`. How they are made and judged: fuzzing.py."""

import json
import os
import random

import pytest

pytest.importorskip("resource", reason="memory is bounded by the system")
for package in ("zstandard", "pyarrow", "jieba"):
    pytest.importorskip(package)

import fuzzing
from fuzzing import TARGETS, Failure, Work, check_sentence, damage, fuzz, judged, told
from fuzzing_files import Seed

from wenmai.errors import Mistake


def whole_figures(found, inputs):
    print("\n" + fuzzing.table(found))
    assert not found["failures"], told(found["failures"])
    assert sum(figures["inputs"] for figures in found["targets"].values()) == inputs
    for name, figures in found["targets"].items():
        assert figures["inputs"] >= 100 and figures["inputs"] == figures["answered"] + figures["refused"], name
        assert figures["slowest"] <= fuzzing.SECONDS, name
    assert found["targets"].keys() == TARGETS.keys() and found["grown"] <= fuzzing.MEMORY


def test_damage_is_answered_or_refused_in_a_sentence():
    whole_figures(fuzz(20_000), 20_000)


@pytest.mark.soak
def test_a_million_times():
    inputs, start = int(os.environ.get("WENMAI_INPUTS", 1_000_000)), int(os.environ.get("WENMAI_START", 20_000_000))
    whole_figures(fuzz(inputs, workers=min(2, os.cpu_count() or 1), start=start), inputs)


# The harness sees what it has to see


@pytest.mark.parametrize("name", ["csv", "idx", "tokenizer-bpe", "run-linear"])
def test_an_input_is_a_function_of_target_and_number(name):
    numbers = random.Random(0).sample(range(10**6), 20)
    first, second = ([damage(name, number, TARGETS[name].seeds()) for number in numbers] for _ in range(2))
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
    with pytest.raises(Failure, match=why):
        check_sentence(sentence, {"a.csv"})


def pretend(monkeypatch, attempt, **more):
    """A target of one file, and what is done with it."""
    target = fuzzing.Target(lambda: [Seed({"a.txt": b"whole"}, {"a.txt": "text"}, "a.txt", **more)], attempt, 1)
    monkeypatch.setitem(TARGETS, "pretended", target)
    return target


def test_what_is_neither_answered_nor_refused(monkeypatch, tmp_path):
    def attempt(place, seed):
        raise KeyError("oh")

    pretend(monkeypatch, attempt)
    verdict, failure, _ = fuzzing.attempted(Work("pretended", tmp_path), 1)
    assert not verdict and failure.startswith("KeyError: 'oh' at test_fuzz.py")


def test_damage_that_a_checksum_tells_is_not_to_be_missed(monkeypatch, tmp_path):
    pretend(monkeypatch, lambda place, seed: (place / "a.txt").read_text("latin-1"), sums=("a.txt",))
    work = Work("pretended", tmp_path)
    work.warm()
    failures = [fuzzing.attempted(work, number)[1] for number in range(50)]
    assert any("as if it were whole" in failure for failure in failures)


def test_a_mistake_is_refused(monkeypatch, tmp_path):
    def attempt(place, seed):
        raise Mistake(f"{place / 'a.txt'} is broken; mend it.")

    target = pretend(monkeypatch, attempt)
    assert judged(target, tmp_path, target.seeds()[0])[0] == "refused"


CULPRIT = """
import ctypes, sys, fuzzing
from fuzzing_files import Seed

def attempt(place, seed):
    text = (place / "a.txt").read_bytes()
    if len(text) % 7 == 0:
        DO
fuzzing.TARGETS.clear()
fuzzing.TARGETS["only"] = fuzzing.Target(lambda: [Seed({"a.txt": b"whole"}, {"a.txt": "text"}, "a.txt")], attempt, 1)
fuzzing.__file__ = __file__
if "--worker" in sys.argv:
    fuzzing.main()
else:
    import json
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
def test_a_worker_that_dies_hangs_prints_or_swells(does, seen, tmp_path):
    import subprocess
    import sys
    from pathlib import Path

    script = tmp_path / "culprit.py"
    script.write_text(CULPRIT.replace("DO", does))
    here = str(Path(__file__).parent)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(
        [here, *filter(None, [os.environ.get("PYTHONPATH")])])})  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["targets"]["only"]["inputs"] == 60
    assert found["failures"] and all(seen in failure["failure"] for failure in found["failures"])
