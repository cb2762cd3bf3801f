"""The command line, from a file of texts to answers and a report."""

import csv
import dataclasses
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from wenmai.catalog import RUNGS
from wenmai.data.builtin import BUILTIN

TOPICS = {"food": "soup bread cheese", "sport": "goal match team", "music": "song choir tune"}
TINY = ["--set", "hidden=8", "--set", "embed=8"]
SMALL = [*TINY, "--set", "steps=60", "--set", "learning_rate=0.02", "--set", "patience=60"]


def sentences(rows, seed=0):
    generator = np.random.default_rng(seed)
    labels = [list(TOPICS)[row % 3] for row in range(rows)]
    words = ["the", "was", "very", "long", "today"]
    return [(" ".join([*generator.choice(words, 3), generator.choice(TOPICS[label].split())]), label) for label in labels]


def write_csv(path, header, rows, mark=","):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=mark).writerows([header, *rows])
    return str(path)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test in a folder of its own, since runs/ and reports/ are made where one stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def topics(tmp_path):
    return write_csv(tmp_path / "topics.csv", ["text", "label"], sentences(200))


@pytest.fixture
def run(topics, wenmai_cli):
    """A trained softmax."""
    assert wenmai_cli("train", "softmax", topics, "--out", "run").status == 0
    return "run"


def last_json(ran):
    """The last line, as strict JSON: no NaN, no Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    assert ran.status == 0, ran.err
    return json.loads(ran.out.splitlines()[-1], parse_constant=refuse)


# train, evaluate


@pytest.mark.parametrize("rung", ["softmax", "gru"])
def test_train_then_evaluate(wenmai_cli, topics, tmp_path, rung):
    options = SMALL if rung == "gru" else []
    ran = wenmai_cli("train", rung, topics, "--valid", "0.2", "--test", "0.1", *options, "--json")
    trained = last_json(ran)
    assert set(trained) == {"run", "task", "rung", "scores", "seconds"}
    assert (trained["run"], trained["task"], trained["rung"]) == (f"runs/topics-{rung}", "classify", rung)
    assert set(trained["scores"]) == {"valid", "test"}
    assert all(set(scores) == {"accuracy", "macro_f1"} for scores in trained["scores"].values())
    assert trained["scores"]["valid"]["accuracy"] > 0.6
    assert "valid: accuracy" in ran.err and f"kept in runs/topics-{rung}" in ran.err and "texts are cut into words" in ran.err
    assert len(ran.out.splitlines()) == 1
    files = {path.name for path in (tmp_path / trained["run"]).iterdir()}
    assert files == {"run.json", "inputs.json", "weights.safetensors", "progress.jsonl"}
    about = json.loads((tmp_path / trained["run"] / "run.json").read_text("utf-8"))
    assert about["scores"] == trained["scores"] and about["data"] == topics and len(about["fingerprint"]) == 32

    other = write_csv(tmp_path / "other.csv", ["text", "label"], sentences(60, seed=1))
    scored = last_json(wenmai_cli("evaluate", trained["run"], other, "--json"))
    assert set(scored) >= {"run", "task", "rung", "scores", "seconds"}
    assert set(scored["scores"]) == {"test"} and scored["rows"] == 60 and scored["scores"]["test"]["accuracy"] > 0.6
    assert "test: accuracy" in wenmai_cli("evaluate", trained["run"], other).err


def test_the_same_seed_trains_the_same(wenmai_cli, topics, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert wenmai_cli("train", "mlp", topics, *SMALL, "--seed", seed, "--out", name).status == 0
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in "abc"]
    assert weights[0] == weights[1] != weights[2]


def test_minutes_become_steps(wenmai_cli, topics, tmp_path):
    assert wenmai_cli("train", "mlp", topics, "--minutes", "0.01", "--set", "hidden=8", "--out", "run").status == 0
    lines = (tmp_path / "run" / "progress.jsonl").read_text("utf-8").splitlines()
    assert lines and json.loads(lines[-1])["steps"] >= 1


def test_columns_say_what_is_what(wenmai_cli, tmp_path):
    rows = [(n, label, text) for n, (text, label) in enumerate(sentences(60))]
    path = write_csv(tmp_path / "mixed.tsv", ["id", "topic", "sentence"], rows, "\t")
    trained = last_json(wenmai_cli("train", "softmax", path, "--columns", "text=sentence,label=topic", "--json"))
    by_position = last_json(wenmai_cli("evaluate", trained["run"], path, "--columns", "text=2,label=1", "--json"))
    assert by_position["rows"] == 60 and by_position["scores"]["test"]["accuracy"] > 0.9


def test_valid_and_test_may_be_files(wenmai_cli, topics, tmp_path):
    other = write_csv(tmp_path / "other.csv", ["text", "label"], sentences(30, seed=1))
    trained = last_json(wenmai_cli("train", "softmax", topics, "--valid", other, "--test", other, "--json"))
    assert trained["scores"]["valid"] == trained["scores"]["test"]


# predict


def test_predict_answers_arguments(wenmai_cli, run):
    ran = wenmai_cli("predict", run, "the soup was long", "a choir today")
    assert ran.status == 0 and [line.split("\t")[0] for line in ran.out.splitlines()] == ["food", "music"]
    assert all(0 < float(line.split("\t")[1]) <= 1 for line in ran.out.splitlines())
    found = last_json(wenmai_cli("predict", run, "the soup was long", "", "--json"))
    assert found["run"] == run and len(found["answers"]) == 2 and found["answers"][0]["label"] == "food"
    assert 0 < found["answers"][0]["probability"] <= 1


READERS = {
    ".jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    ".csv": lambda text: list(csv.DictReader(text.splitlines())),
    ".tsv": lambda text: list(csv.DictReader(text.splitlines(), delimiter="\t")),
}


@pytest.mark.parametrize("suffix", READERS)
def test_predict_answers_a_file(wenmai_cli, run, tmp_path, suffix):
    rows = sentences(50, seed=2)
    path = write_csv(tmp_path / "new.csv", ["id", "text"], [(f"no {n}", text) for n, (text, _) in enumerate(rows)])
    found = last_json(wenmai_cli("predict", run, "--file", path, "--out", f"answers{suffix}", "--json"))
    assert found == {"rows": 50, "out": f"answers{suffix}"}
    answers = READERS[suffix]((tmp_path / f"answers{suffix}").read_text("utf-8"))
    assert [(answer["id"], answer["text"]) for answer in answers] == [(f"no {n}", text) for n, (text, _) in enumerate(rows)]
    assert [answer["label"] for answer in answers] == [label for _, label in rows]
    assert all(0 < float(answer["probability"]) <= 1 for answer in answers)


def test_answers_of_a_file_go_to_standard_output_without_out(wenmai_cli, run, tmp_path):
    path = write_csv(tmp_path / "new.csv", ["text", "label"], sentences(10, seed=2))
    lines = wenmai_cli("predict", run, "--file", path).out.splitlines()
    assert [json.loads(line)["label"] for line in lines] == [label for _, label in sentences(10, seed=2)]
    found = last_json(wenmai_cli("predict", run, "--file", path, "--json"))
    assert found["rows"] == 10 and [answer["label"] for answer in found["answers"]] == [label for _, label in sentences(10)]


def test_a_long_file_is_answered_in_order(wenmai_cli, run, tmp_path):
    path = write_csv(tmp_path / "long.csv", ["text"], [(f"song {n}",) if n % 2 else (f"goal {n}",) for n in range(9000)])
    assert wenmai_cli("predict", run, "--file", path, "--out", "answers.jsonl").status == 0
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text("utf-8").splitlines()]
    assert len(answers) == 9000
    assert all(a["text"].endswith(f" {n}") and a["label"] == ("music" if n % 2 else "sport") for n, a in enumerate(answers))


def test_half_characters_in_a_file_are_answered(wenmai_cli, run, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "the \\ud800 soup"}\n', encoding="utf-8")
    assert wenmai_cli("predict", run, "--file", "new.jsonl", "--out", "answers.jsonl").status == 0
    answer = json.loads((tmp_path / "answers.jsonl").read_text("utf-8"))
    assert answer["text"] == "the \ud800 soup" and answer["label"] == "food"
    assert json.loads(wenmai_cli("predict", run, "--file", "new.jsonl").out)["label"] == "food"


def test_pairs(wenmai_cli, tmp_path):
    pairs = [("a b", "a b", "same") if n % 2 else ("a b", "c d", "other") for n in range(60)]
    path = write_csv(tmp_path / "pairs.csv", ["text_a", "text_b", "label"], pairs)
    trained = last_json(wenmai_cli("train", "mlp", path, "--valid", "", *SMALL, "--json"))
    assert last_json(wenmai_cli("evaluate", trained["run"], path, "--json"))["scores"]["test"]["accuracy"] == 1.0
    ran = wenmai_cli("predict", trained["run"], "a b", "a b", "a b", "c d")
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["same", "other"]
    assert wenmai_cli("predict", trained["run"], "--file", path, "--out", "answers.csv").status == 0
    answers = READERS[".csv"]((tmp_path / "answers.csv").read_text("utf-8"))
    assert [a["label"] for a in answers] == [label for *_, label in pairs] and answers[0]["text_b"] == "c d"


def test_numbers_and_images(wenmai_cli, tmp_path):
    trained = last_json(wenmai_cli("train", "logistic", "iris", "--test", "0.2", "--json"))
    assert trained["run"] == "runs/iris-logistic" and trained["scores"]["test"]["accuracy"] > 0.8
    ran = wenmai_cli("predict", trained["run"], "5.1,3.5,1.4,0.2", "6.7, 3.0, 5.2, 2.3")
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["setosa", "virginica"]
    path = write_csv(tmp_path / "flowers.csv", ["a", "b", "c", "d"], [(5.1, 3.5, 1.4, 0.2)])
    assert json.loads(wenmai_cli("predict", trained["run"], "--file", path).out)["label"] == "setosa"
    digits = last_json(wenmai_cli("train", "softmax", "digits", "--json"))
    assert digits["scores"]["valid"]["accuracy"] > 0.85
    assert last_json(wenmai_cli("predict", digits["run"], "--file", "digits", "--json"))["rows"] == 1797


# data, rungs


def test_data_says_what_was_understood(wenmai_cli, topics):
    shown = " ".join(wenmai_cli("data", topics).out.split())
    assert "task classify, 200 rows, texts" in shown and "food 67 33.5%" in shown and "The delimiter is a comma." in shown
    found = last_json(wenmai_cli("data", topics, "--json"))
    assert found["task"] == "classify" and found["rows"] == 200 and found["classes"] == {"food": 67, "sport": 67, "music": 66}
    assert found["inputs"] == "texts" and len(found["first"]) == 3
    assert last_json(wenmai_cli("data", "iris", "--json"))["inputs"] == "numbers 4"
    assert last_json(wenmai_cli("data", "digits", "--json"))["inputs"] == "images 8 × 8"


def test_data_alone_lists_what_is_built_in(wenmai_cli):
    assert {row["name"] for row in last_json(wenmai_cli("data", "--json"))["builtin"]} == set(BUILTIN)
    assert all(name in wenmai_cli("data").out for name in BUILTIN)


def test_rungs(wenmai_cli, monkeypatch):
    assert [row["rung"] for row in last_json(wenmai_cli("rungs", "--json"))["rungs"]] == list(RUNGS)
    assert all(name in wenmai_cli("rungs").out for name in RUNGS)
    gru = last_json(wenmai_cli("rungs", "gru", "--json"))["options"]
    assert gru["layers"] == {"default": 1, "type": "int", "of": "rung"} and gru["epochs"]["of"] == "training"
    assert "bidirectional" in wenmai_cli("rungs", "gru").out
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "逐个读入" in wenmai_cli("rungs").out.replace("\n", "")


# compare


@pytest.fixture
def compared(wenmai_cli, topics):
    def compare(*more, rungs="softmax,mlp"):
        return wenmai_cli("compare", topics, "--minutes", "0.05", "--rungs", rungs, *more)

    return compare


def test_compare(compared, wenmai_cli, run, tmp_path):
    found = last_json(compared("--with", run, *TINY, "--json"))
    assert set(found) >= {"rungs", "recommendation", "task", "data"} and found["task"] == "classify"
    assert {row["rung"] for row in found["rungs"]} == {"softmax", "mlp", "run"}
    for row in found["rungs"]:
        assert row.keys() >= {"run", "task", "rung", "scores"} and row["failed"] is None
        assert 0 <= row["scores"]["test"]["accuracy"] <= 1 and row["parameters"] > 0 and row["bytes"] > 0
        low, high = row["interval"]
        assert low <= row["scores"]["test"]["accuracy"] <= high
        if row["rung"] != "run":
            assert row["seconds"] > 0 and row["curve"] and len(row["rates_tried"]) == 3
            assert 0 <= row["scores"]["valid"]["accuracy"] <= 1
            assert wenmai_cli("predict", row["run"], "the soup").status == 0
    order = [row["scores"]["test"]["accuracy"] for row in found["rungs"]]
    assert order == sorted(order, reverse=True)
    assert found["recommendation"]["rung"] in {"softmax", "mlp", "run"} and found["recommendation"]["reason_zh"]
    written = {path.name for path in (tmp_path / "reports" / "topics").iterdir()}
    assert {"report.html", "report.json", "report.md"} <= written
    kept = json.loads((tmp_path / "reports" / "topics" / "report.json").read_text("utf-8"))
    assert [row["rung"] for row in kept["rungs"]] == [row["rung"] for row in found["rungs"]]
    assert sum(kept["rows"].values()) == 200 and kept["rows"]["train"] >= 150 and min(kept["rows"].values()) >= 10


def test_compare_shows_a_leaderboard(compared):
    ran = compared("--out", "there", rungs="softmax")
    assert ran.status == 0 and "softmax" in ran.out and "Report: there/report.html" in ran.out.replace("\n", "")


def broken(*_, **__):
    raise RuntimeError("the builder fell over")


@pytest.mark.parametrize("which", ["mlp", "softmax"])
def test_a_rung_that_fails_is_shown_and_the_others_go_on(compared, monkeypatch, tmp_path, which):
    monkeypatch.setitem(RUNGS, which, dataclasses.replace(RUNGS[which], build=broken))
    other = {"mlp": "softmax", "softmax": "mlp"}[which]
    rows = {row["rung"]: row for row in last_json(compared("--json"))["rungs"]}
    assert "the builder fell over" in rows[which]["failed"] and rows[which]["scores"]["test"] == {}
    assert rows[other]["failed"] is None and rows[other]["scores"]["test"]["accuracy"] >= 0
    assert "the builder fell over" in (tmp_path / "reports" / "topics" / "report.md").read_text("utf-8")


def test_a_run_that_fails_is_shown_too(compared, tmp_path):
    (tmp_path / "empty").mkdir()
    rows = {row["rung"]: row for row in last_json(compared("--with", "empty", "--json", rungs="softmax"))["rungs"]}
    assert "is not a run folder" in rows["empty"]["failed"] and rows["softmax"]["failed"] is None


def test_several_seeds_show_their_spread(compared):
    (row,) = last_json(compared("--seeds", "2", "--json", rungs="softmax"))["rungs"]
    assert len(row["seed_scores"]) == 2 and math.isfinite(row["spread"])


# The program itself


def program(*arguments, **more):
    command, environment = [sys.executable, "-m", "wenmai", *map(str, arguments)], os.environ | {"PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, **more)


def test_the_program(topics, tmp_path):
    trained = program("train", "softmax", topics, "--json")
    assert trained.returncode == 0 and json.loads(trained.stdout.splitlines()[-1])["rung"] == "softmax"
    answered = program("predict", "runs/topics-softmax", "the soup")
    assert answered.returncode == 0 and answered.stdout.startswith("food\t") and answered.stderr == ""
    wrong = program("predict", "runs/nothing", "the soup")
    assert wrong.returncode == 2 and wrong.stderr.startswith("wenmai: ") and wrong.stderr.count("\n") == 1


@pytest.mark.parametrize("rows", [1, 5000])  # which wait for the end of the program to be written, and which do not
def test_a_reader_that_goes_away_is_no_error(run, tmp_path, rows):
    path = write_csv(tmp_path / "new.csv", ["text"], [("the soup was long",)] * rows)
    command = [sys.executable, "-m", "wenmai", "predict", run, "--file", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 0


def test_debug_shows_where(wenmai_cli):
    from wenmai.errors import Mistake

    with pytest.raises(Mistake):
        wenmai_cli("predict", "nothing", "text", "--debug")
