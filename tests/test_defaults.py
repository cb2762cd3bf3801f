"""What is built with the defaults is what is saved: every row × task of the catalog, sizes not given, one update, loaded in a new
process that knows nothing of the data."""

import json
import subprocess
import sys

import numpy as np
import pytest
from test_contract import KIND, ROWS, long_and_short, made

from wenmai.catalog import rungs_for
from wenmai.estimators import ESTIMATORS, LanguageModel

TEXT = 300_000  # tokens: sizes follow from a text's length only where it is long
LOADING = """
import json, sys, numpy, wenmai
for line in sys.stdin:
    run, verb, inputs = json.loads(line)
    if isinstance(inputs[0], dict) and "samples" in inputs[0]:
        inputs = wenmai.sounds([(numpy.array(one["samples"]), one["rate"]) for one in inputs])
    answered = getattr(wenmai.load(run), verb)(inputs)
    print(json.dumps(float(answered) if verb == "log_prob" else answered))
"""


def samples_of(clip) -> dict:
    return {"samples": np.concatenate(list(clip.blocks())).tolist(), "rate": clip.rate}


def in_a_new_process(asked: list[tuple]) -> list:
    """What each run, opened there, answers."""
    said = "\n".join(
        json.dumps([str(run), verb, inputs], default=samples_of) for run, verb, inputs in asked
    )
    ran = subprocess.run(
        [sys.executable, "-c", LOADING],
        input=said,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def one_update(rung: str, task: str):
    steps = {"steps": 1} if "steps" in ESTIMATORS[task](rung).get_params() else {}
    return ESTIMATORS[task](rung, validation=0.0, **steps)


@pytest.mark.slow
def test_every_rung_and_task_with_its_defaults(tmp_path):
    asked, here = [], []
    for rung, task in ROWS:
        inputs = [row for row in long_and_short(KIND[task], task) if row][:4]
        model = one_update(rung, task).fit(*made(KIND[task], task=task))
        asked.append((model.save(tmp_path / f"{rung}-{task}"), "answers", inputs))
        here.append(json.loads(json.dumps(model.answers(inputs))))
    assert in_a_new_process(asked) == here


def test_every_rung_that_is_pretrained_with_its_defaults(tmp_path):
    asked, here, pairs = [], [], [["the ice", "is cold"], ["", "a drum"]]
    documents = ["\n".join(rows) for rows in np.array_split(made("texts", 60)[0], 12)]
    for rung in rungs_for("pretrain"):
        model = one_update(rung.name, "pretrain").fit(documents)
        run = model.save(tmp_path / rung.name)
        asked += [
            (run, "answers", pairs),
            (run, "fill", "the [MASK] is"),
            (run, "evaluate", documents),
        ]
        here += [model.answers(pairs), model.fill("the [MASK] is"), model.evaluate(documents)]
    assert in_a_new_process(asked) == here


@pytest.fixture(scope="module")
def long_text():
    words = np.random.default_rng(0).zipf(1.5, TEXT - TEXT // 10) % 500
    return [" ".join(f"w{word}" for word in line) for line in np.array_split(words, TEXT // 10)]


@pytest.mark.slow
def test_every_rung_that_writes_with_its_defaults_for_a_long_text(long_text, tmp_path):
    asked, here = [], []
    for rung in rungs_for("generate"):
        model: LanguageModel = one_update(rung.name, "generate").fit(long_text)
        asked.append((model.save(tmp_path / rung.name), "log_prob", "w1 w2 w3 never"))
        here.append(model.log_prob("w1 w2 w3 never"))
    assert in_a_new_process(asked) == here
