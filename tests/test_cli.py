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

import wenmai
from wenmai.catalog import RUNGS, TASKS
from wenmai.data.builtin import BUILTIN
from wenmai.data.dataset import open_dataset

TOPICS = {"food": "soup bread cheese", "sport": "goal match team", "music": "song choir tune"}
TINY = ["--set", "hidden=8", "--set", "embed=8"]
UNJUDGED = [*TINY, "--set", "steps=60", "--set", "learning_rate=0.02"]  # where nothing is held out
SMALL = [*UNJUDGED, "--set", "patience=60"]


def sentences(rows, seed=0):
    generator = np.random.default_rng(seed)
    labels = [list(TOPICS)[row % 3] for row in range(rows)]
    words = ["the", "was", "very", "long", "today"]
    return [
        (" ".join([*generator.choice(words, 3), generator.choice(TOPICS[label].split())]), label)
        for label in labels
    ]


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


def last_json(ran, status=0):
    """The last line, as strict JSON: no NaN, no Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    assert ran.status == status, ran.err
    return json.loads(ran.out.splitlines()[-1], parse_constant=refuse)


# train, evaluate


@pytest.mark.parametrize("rung", ["softmax", "gru"])
def test_train_then_evaluate(wenmai_cli, topics, tmp_path, rung):
    options = SMALL if rung == "gru" else []
    ran = wenmai_cli("train", rung, topics, "--valid", "0.2", "--test", "0.1", *options, "--json")
    trained = last_json(ran)
    assert set(trained) == {"run", "task", "rung", "scores", "seconds"}
    assert (trained["run"], trained["task"], trained["rung"]) == (
        f"runs/topics-{rung}",
        "classify",
        rung,
    )
    assert set(trained["scores"]) == {"valid", "test"}
    assert all(set(scores) == {"accuracy", "macro_f1"} for scores in trained["scores"].values())
    assert trained["scores"]["valid"]["accuracy"] > 0.6
    assert (
        "valid: accuracy" in ran.err
        and f"kept in runs/topics-{rung}" in ran.err
        and "texts are cut into words" in ran.err
    )
    assert len(ran.out.splitlines()) == 1
    files = {path.name for path in (tmp_path / trained["run"]).iterdir()}
    assert files == {
        "run.json",
        "inputs.json",
        "weights.safetensors",
        "progress.jsonl",
        "manifest.json",
    }
    about = json.loads((tmp_path / trained["run"] / "run.json").read_text("utf-8"))
    assert (
        about["scores"] == trained["scores"]
        and about["data"] == topics
        and len(about["fingerprint"]) == 32
    )

    other = write_csv(tmp_path / "other.csv", ["text", "label"], sentences(60, seed=1))
    scored = last_json(wenmai_cli("evaluate", trained["run"], other, "--json"))
    assert set(scored) >= {"run", "task", "rung", "scores", "seconds"}
    assert (
        set(scored["scores"]) == {"test"}
        and scored["rows"] == 60
        and scored["scores"]["test"]["accuracy"] > 0.6
    )
    assert "test: accuracy" in wenmai_cli("evaluate", trained["run"], other).out


def test_the_same_seed_trains_the_same(wenmai_cli, topics, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert wenmai_cli("train", "mlp", topics, *SMALL, "--seed", seed, "--out", name).status == 0
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in "abc"]
    assert weights[0] == weights[1] != weights[2]


def test_minutes_become_steps(wenmai_cli, topics, tmp_path):
    assert (
        wenmai_cli(
            "train", "mlp", topics, "--minutes", "0.01", "--set", "hidden=8", "--out", "run"
        ).status
        == 0
    )
    lines = (tmp_path / "run" / "progress.jsonl").read_text("utf-8").splitlines()
    assert lines and json.loads(lines[-1])["steps"] >= 1


def test_columns_say_what_is_what(wenmai_cli, tmp_path):
    rows = [(n, label, text) for n, (text, label) in enumerate(sentences(60))]
    path = write_csv(tmp_path / "mixed.tsv", ["id", "topic", "sentence"], rows, "\t")
    trained = last_json(
        wenmai_cli("train", "softmax", path, "--columns", "text=sentence,label=topic", "--json")
    )
    by_position = last_json(
        wenmai_cli("evaluate", trained["run"], path, "--columns", "text=2,label=1", "--json")
    )
    assert by_position["rows"] == 60 and by_position["scores"]["test"]["accuracy"] > 0.9


def test_valid_and_test_may_be_files(wenmai_cli, topics, tmp_path):
    other = write_csv(tmp_path / "other.csv", ["text", "label"], sentences(30, seed=1))
    trained = last_json(
        wenmai_cli("train", "softmax", topics, "--valid", other, "--test", other, "--json")
    )
    assert trained["scores"]["valid"] == trained["scores"]["test"]


# predict


def test_predict_answers_arguments(wenmai_cli, run):
    ran = wenmai_cli("predict", run, "the soup was long", "a choir today")
    assert ran.status == 0 and [line.split("\t")[0] for line in ran.out.splitlines()] == [
        "food",
        "music",
    ]
    assert all(0 < float(line.split("\t")[1]) <= 1 for line in ran.out.splitlines())
    found = last_json(wenmai_cli("predict", run, "the soup was long", "", "--json"))
    assert (
        found["run"] == run
        and len(found["answers"]) == 2
        and found["answers"][0]["label"] == "food"
    )
    assert 0 < found["answers"][0]["probability"] <= 1


READERS = {
    ".jsonl": lambda text: [json.loads(line) for line in text.splitlines()],
    ".csv": lambda text: list(csv.DictReader(text.splitlines())),
    ".tsv": lambda text: list(csv.DictReader(text.splitlines(), delimiter="\t")),
}


@pytest.mark.parametrize("suffix", READERS)
def test_predict_answers_a_file(wenmai_cli, run, tmp_path, suffix):
    rows = sentences(50, seed=2)
    path = write_csv(
        tmp_path / "new.csv",
        ["id", "text"],
        [(f"no {n}", text) for n, (text, _) in enumerate(rows)],
    )
    found = last_json(
        wenmai_cli("predict", run, "--file", path, "--out", f"answers{suffix}", "--json")
    )
    assert found == {"rows": 50, "out": f"answers{suffix}"}
    answers = READERS[suffix]((tmp_path / f"answers{suffix}").read_text("utf-8"))
    assert [(answer["id"], answer["text"]) for answer in answers] == [
        (f"no {n}", text) for n, (text, _) in enumerate(rows)
    ]
    assert [answer["label"] for answer in answers] == [label for _, label in rows]
    assert all(0 < float(answer["probability"]) <= 1 for answer in answers)


def test_answers_of_a_file_go_to_standard_output_without_out(wenmai_cli, run, tmp_path):
    path = write_csv(tmp_path / "new.csv", ["text", "label"], sentences(10, seed=2))
    lines = wenmai_cli("predict", run, "--file", path).out.splitlines()
    assert [json.loads(line)["label"] for line in lines] == [
        label for _, label in sentences(10, seed=2)
    ]
    found = last_json(wenmai_cli("predict", run, "--file", path, "--json"))
    assert found["rows"] == 10 and [answer["label"] for answer in found["answers"]] == [
        label for _, label in sentences(10)
    ]


def test_a_long_file_is_answered_in_order(wenmai_cli, run, tmp_path):
    path = write_csv(
        tmp_path / "long.csv",
        ["text"],
        [(f"song {n}",) if n % 2 else (f"goal {n}",) for n in range(9000)],
    )
    assert wenmai_cli("predict", run, "--file", path, "--out", "answers.jsonl").status == 0
    answers = [
        json.loads(line) for line in (tmp_path / "answers.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(answers) == 9000
    assert all(
        a["text"].endswith(f" {n}") and a["label"] == ("music" if n % 2 else "sport")
        for n, a in enumerate(answers)
    )


def test_half_characters_in_a_file_are_answered(wenmai_cli, run, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "the \\ud800 soup"}\n', encoding="utf-8")
    assert wenmai_cli("predict", run, "--file", "new.jsonl", "--out", "answers.jsonl").status == 0
    answer = json.loads((tmp_path / "answers.jsonl").read_text("utf-8"))
    assert answer["text"] == "the \ud800 soup" and answer["label"] == "food"
    assert json.loads(wenmai_cli("predict", run, "--file", "new.jsonl").out)["label"] == "food"


def test_pairs(wenmai_cli, tmp_path):
    pairs = [("a b", "a b", "same") if n % 2 else ("a b", "c d", "other") for n in range(60)]
    path = write_csv(tmp_path / "pairs.csv", ["text_a", "text_b", "label"], pairs)
    trained = last_json(wenmai_cli("train", "mlp", path, "--valid", "", *UNJUDGED, "--json"))
    assert (
        last_json(wenmai_cli("evaluate", trained["run"], path, "--json"))["scores"]["test"][
            "accuracy"
        ]
        == 1.0
    )
    ran = wenmai_cli("predict", trained["run"], "a b", "a b", "a b", "c d")
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["same", "other"]
    assert wenmai_cli("predict", trained["run"], "--file", path, "--out", "answers.csv").status == 0
    answers = READERS[".csv"]((tmp_path / "answers.csv").read_text("utf-8"))
    assert [a["label"] for a in answers] == [label for *_, label in pairs] and answers[0][
        "text_b"
    ] == "c d"


def test_numbers_and_images(wenmai_cli, tmp_path):
    trained = last_json(wenmai_cli("train", "logistic", "iris", "--test", "0.2", "--json"))
    assert trained["run"] == "runs/iris-logistic" and trained["scores"]["test"]["accuracy"] > 0.8
    ran = wenmai_cli("predict", trained["run"], "5.1,3.5,1.4,0.2", "6.7, 3.0, 5.2, 2.3")
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["setosa", "virginica"]
    path = write_csv(tmp_path / "flowers.csv", ["a", "b", "c", "d"], [(5.1, 3.5, 1.4, 0.2)])
    assert (
        json.loads(wenmai_cli("predict", trained["run"], "--file", path).out)["label"] == "setosa"
    )
    digits = last_json(wenmai_cli("train", "softmax", "digits", "--json"))
    assert digits["scores"]["valid"]["accuracy"] > 0.85
    assert (
        last_json(wenmai_cli("predict", digits["run"], "--file", "digits", "--json"))["rows"]
        == 1797
    )


# tag


NAMES = {"PER": ["Ada", "Alan", "Grace"], "LOC": ["Paris", "Rome", "New York"]}


def tagged(rows=100, seed=0):
    """ "Ada saw Rome today .": tokens, and their tags in BIO."""
    generator, found = np.random.default_rng(seed), []
    for _ in range(rows):
        who, where = (
            str(generator.choice(NAMES["PER"])),
            str(generator.choice(NAMES["LOC"])).split(),
        )
        verb, when = (
            str(generator.choice(["saw", "left", "loves"])),
            str(generator.choice(["today", "again", "once", "now"])),
        )
        found.append(
            (
                [who, verb, *where, when, "."],
                ["B-PER", "O", "B-LOC", *["I-LOC"] * (len(where) - 1), "O", "O"],
            )
        )
    return found


def write_conll(path, rows):
    path.write_text(
        "".join("".join(f"{token}\t{tag}\n" for token, tag in zip(*row)) + "\n" for row in rows),
        encoding="utf-8",
    )
    return str(path)


def write_jsonl(path, rows):
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
    )
    return str(path)


@pytest.fixture
def entities(tmp_path):
    return write_conll(tmp_path / "entities.conll", tagged())


@pytest.fixture
def tagger(wenmai_cli, entities):
    assert wenmai_cli("train", "perceptron", entities, "--out", "tagger").status == 0
    return "tagger"


@pytest.mark.parametrize("name", ["entities.conll", "entities.jsonl"])
def test_train_and_evaluate_tags(wenmai_cli, tmp_path, name):
    if name.endswith("jsonl"):
        path = write_jsonl(
            tmp_path / name, [{"tokens": tokens, "tags": tags} for tokens, tags in tagged()]
        )
    else:
        path = write_conll(tmp_path / name, tagged())
    ran = wenmai_cli("train", "perceptron", path, "--test", "0.1", "--json")
    trained = last_json(ran)
    assert trained["task"] == "tag" and "tags mark spans in BIO" in ran.err
    for scores in trained["scores"].values():
        assert scores == {"span_f1": 1.0, "precision": 1.0, "recall": 1.0, "token_accuracy": 1.0}
    other = write_conll(
        tmp_path / "other.conll", tagged(20, seed=1)
    )  # the other format is read as well
    scored = last_json(wenmai_cli("evaluate", trained["run"], other, "--json"))
    assert scored["rows"] == 20 and scored["scores"]["test"]["span_f1"] == 1.0


def test_a_network_tags_with_a_crf(wenmai_cli, entities):
    options = [
        "--set",
        "crf=true",
        "--set",
        "bidirectional=true",
        "--set",
        "learning_rate=0.05",
        *SMALL[:6],
    ]
    trained = last_json(wenmai_cli("train", "gru", entities, *options, "--json"))
    assert trained["scores"]["valid"]["span_f1"] > 0.7


def test_raw_text_is_tagged(wenmai_cli, tagger):
    ran = wenmai_cli("predict", tagger, "Grace left New York now.", "Ada saw Rome .")
    assert ran.out.splitlines() == [
        "[Grace](PER) left [New York](LOC) now.",
        "[Ada](PER) saw [Rome](LOC) .",
    ]
    (answer,) = last_json(wenmai_cli("predict", tagger, "Grace left New York now.", "--json"))[
        "answers"
    ]
    assert [answer["text"][span["start"] : span["end"]] for span in answer["spans"]] == [
        "Grace",
        "New York",
    ]


def test_files_are_tagged(wenmai_cli, tagger, entities, tmp_path):
    rows = [{"id": n, "text": " ".join(tokens)} for n, (tokens, _) in enumerate(tagged(9, 2))]
    texts = write_jsonl(tmp_path / "new.jsonl", rows)
    for out in ("a.conll", "a.jsonl", "a.csv", "a.tsv"):
        assert last_json(
            wenmai_cli("predict", tagger, "--file", texts, "--out", out, "--json")
        ) == {"rows": 9, "out": out}
    expected = (tmp_path / write_conll(tmp_path / "expected.conll", tagged(9, 2))).read_text(
        "utf-8"
    )
    assert (tmp_path / "a.conll").read_text("utf-8") == expected
    for suffix, read in READERS.items():
        answers = read((tmp_path / f"a{suffix}").read_text("utf-8"))
        assert [str(answer["id"]) for answer in answers] == [str(n) for n in range(9)]
        tags = [json.loads(a["tags"]) if isinstance(a["tags"], str) else a["tags"] for a in answers]
        assert tags == [tags for _, tags in tagged(9, 2)]
    # what was tagged can be tagged again: its tags are left out, and the tokens kept
    assert wenmai_cli("predict", tagger, "--file", entities, "--out", "again.conll").status == 0
    assert (tmp_path / "again.conll").read_text("utf-8") == (tmp_path / "entities.conll").read_text(
        "utf-8"
    )


def test_tags_are_written_in_another_scheme(wenmai_cli, entities, tmp_path):
    assert (
        wenmai_cli("train", "perceptron", entities, "--set", "write=bmes", "--out", "tagger").status
        == 0
    )
    assert wenmai_cli("predict", "tagger", "--file", entities, "--out", "a.conll").status == 0
    assert {
        line.split("\t")[1][0]
        for line in (tmp_path / "a.conll").read_text("utf-8").split("\n")
        if line
    } == {*"OSBE"}


# regress


def write_numbers(path, rows=100, seed=0):
    x = np.random.default_rng(seed).normal(size=(rows, 3)).round(4)
    return write_csv(
        path, ["a", "b", "c", "target"], [(*row, round(row @ [1, 2, 3] + 4, 6)) for row in x]
    )


def test_regress_from_a_table(wenmai_cli, tmp_path):
    trained = last_json(
        wenmai_cli(
            "train", "linear", write_numbers(tmp_path / "table.csv"), "--test", "0.1", "--json"
        )
    )
    assert trained["task"] == "regress" and set(trained["scores"]["test"]) == {"mse", "r2", "mae"}
    assert trained["scores"]["test"]["r2"] > 0.9999
    other = write_numbers(tmp_path / "other.csv", 20, seed=1)
    assert (
        last_json(wenmai_cli("evaluate", trained["run"], other, "--json"))["scores"]["test"]["r2"]
        > 0.9999
    )
    ran = wenmai_cli("predict", trained["run"], "1,2,3", "-1,0,0", "-.5, -1e0,0")
    assert [float(line) for line in ran.out.splitlines()] == pytest.approx([18, 3, 1.5], abs=1e-3)
    assert wenmai_cli("predict", trained["run"], "--file", other, "--out", "a.csv").status == 0
    found, given = (
        READERS[".csv"]((tmp_path / name).read_text("utf-8")) for name in ("a.csv", "other.csv")
    )
    assert [row["a"] for row in found] == [row["a"] for row in given]
    assert [float(row["target"]) for row in found] == pytest.approx(
        [float(row["target"]) for row in given], abs=1e-3
    )


def test_the_first_regression_of_every_course(wenmai_cli):
    trained = last_json(wenmai_cli("train", "linear", "line", "--json"))
    assert float(wenmai_cli("predict", trained["run"], "21").out) == pytest.approx(42, abs=1e-3)


def test_regress_one_number_a_step(wenmai_cli, tmp_path):
    generator = np.random.default_rng(0)
    rows = [generator.integers(0, 9, generator.integers(2, 7)).tolist() for _ in range(100)]
    rows = [{"inputs": row, "targets": np.cumsum(row).tolist()} for row in rows]
    path = write_jsonl(tmp_path / "sums.jsonl", rows)
    options = [
        "--set",
        "hidden=16",
        "--set",
        "embed=8",
        "--set",
        "steps=200",
        "--set",
        "learning_rate=0.01",
    ]
    trained = last_json(wenmai_cli("train", "gru", path, *options, "--json"))
    assert trained["scores"]["valid"]["r2"] > 0.8
    (answer,) = last_json(wenmai_cli("predict", trained["run"], "3,5", "--json"))["answers"]
    assert len(answer["targets"]) == 2
    assert wenmai_cli("predict", trained["run"], "--file", path, "--out", "a.jsonl").status == 0
    answers = READERS[".jsonl"]((tmp_path / "a.jsonl").read_text("utf-8"))
    assert [answer["inputs"] for answer in answers] == [row["inputs"] for row in rows]
    assert all(len(answer["targets"]) == len(answer["inputs"]) for answer in answers)


@pytest.fixture
def series(tmp_path):
    return write_csv(
        tmp_path / "series.csv", ["day", "target"], [(day, 2 * day + 5) for day in range(150)]
    )


def test_forecast_a_series(wenmai_cli, series):
    ran = wenmai_cli("train", "linear", series, "--set", "horizon=3", "--test", "0.1", "--json")
    trained = last_json(ran)
    assert "none of them is learned from" in ran.err and "3 steps are forecast from 12" in ran.err
    assert trained["scores"]["test"]["r2"] > 0.9999
    found = last_json(wenmai_cli("predict", trained["run"], "--file", series, "--json"))
    assert found["rows"] == 1 and found["answers"][0]["forecast"] == pytest.approx(
        [305, 307, 309], abs=0.01
    )
    assert (
        last_json(wenmai_cli("evaluate", trained["run"], series, "--json"))["scores"]["test"]["r2"]
        > 0.9999
    )


# Images in a manifest


@pytest.fixture
def pictures(tmp_path):
    """Bright above or below."""
    from PIL import Image

    generator = np.random.default_rng(0)
    for n in range(40):
        pixels = generator.integers(0, 60, (6, 8)).astype(np.uint8)
        pixels[3 * (n % 2) : 3 * (n % 2) + 3] += 150
        Image.fromarray(pixels).save(tmp_path / f"{n}.png")
    return write_csv(
        tmp_path / "pictures.csv",
        ["image", "label"],
        [(f"{n}.png", ["above", "below"][n % 2]) for n in range(40)],
    )


@pytest.mark.parametrize("rung", ["softmax", "cnn"])
def test_images_in_a_manifest(wenmai_cli, pictures, tmp_path, rung):
    options = ["--set", "steps=60", "--set", "learning_rate=0.01"] if rung == "cnn" else []
    trained = last_json(wenmai_cli("train", rung, pictures, *options, "--json"))
    assert (
        last_json(wenmai_cli("evaluate", trained["run"], pictures, "--json"))["scores"]["test"][
            "accuracy"
        ]
        == 1.0
    )
    new = write_csv(tmp_path / "new.csv", ["name", "image"], [(n, f"{n}.png") for n in range(5)])
    assert wenmai_cli("predict", trained["run"], "--file", new, "--out", "a.csv").status == 0
    answers = READERS[".csv"]((tmp_path / "a.csv").read_text("utf-8"))
    assert [(a["name"], a["label"]) for a in answers] == [
        (str(n), ["above", "below"][n % 2]) for n in range(5)
    ]


# data, rungs


def test_data_says_what_was_understood(wenmai_cli, topics):
    shown = " ".join(wenmai_cli("data", topics).out.split())
    assert (
        "task classify, 200 rows, texts" in shown
        and "food 67 33.5%" in shown
        and "The delimiter is a comma." in shown
    )
    found = last_json(wenmai_cli("data", topics, "--json"))
    assert (
        found["task"] == "classify"
        and found["rows"] == 200
        and found["classes"] == {"food": 67, "sport": 67, "music": 66}
    )
    assert found["inputs"] == "texts" and len(found["first"]) == 3
    assert last_json(wenmai_cli("data", "iris", "--json"))["inputs"] == "numbers 4"
    assert last_json(wenmai_cli("data", "digits", "--json"))["inputs"] == "images 8 × 8"


def test_data_of_every_kind(wenmai_cli, entities, series, pictures, tmp_path):
    found = last_json(wenmai_cli("data", entities, "--json"))
    assert (
        found["task"] == "tag"
        and found["spans"] == {"PER": 100, "LOC": 100}
        and found["tags"]["B-PER"] == 100
    )
    assert found["tokens"]["longest"] == 6
    found = last_json(wenmai_cli("data", series, "--set", "horizon=3", "--json"))
    assert found["task"] == "regress" and found["targets"] == [
        {"least": 5, "mean": 154, "most": 303}
    ]
    sums = write_jsonl(
        tmp_path / "sums.jsonl",
        [{"inputs": [3, 5], "targets": [3, 8]}, {"inputs": [1], "targets": [1]}],
    )
    found = last_json(wenmai_cli("data", sums, "--json"))
    assert found["inputs"] == "sequences of numbers 1" and found["first"][0]["target"] == [3, 8]
    found = last_json(wenmai_cli("data", pictures, "--json"))
    assert found["inputs"] == "images 6 × 8" and found["classes"] == {"above": 20, "below": 20}
    for path in (entities, series, sums, pictures):
        assert wenmai_cli("data", path).out.strip()


def test_questions_about_a_text_are_shown(wenmai_cli, tmp_path):
    answer = {"text": "Ada", "answer_start": 0}
    paragraph = {
        "context": "Ada saw Rome.",
        "qas": [{"id": "1", "question": "Who?", "answers": [answer]}],
    }
    (tmp_path / "squad.json").write_text(
        json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]})
    )
    found = last_json(wenmai_cli("data", "squad.json", "--json"))
    assert (
        found["first"][0]["question"] == "Who?"
        and found["first"][0]["answer"] == "Ada"
        and found["task"] == "answer"
    )
    assert "Who?" in wenmai_cli("data", "squad.json").out


def test_data_alone_lists_what_is_built_in(wenmai_cli):
    assert {row["name"] for row in last_json(wenmai_cli("data", "--json"))["builtin"]} == set(
        BUILTIN
    )
    assert all(name in wenmai_cli("data").out for name in BUILTIN)


def test_rungs(wenmai_cli, monkeypatch):
    assert [row["rung"] for row in last_json(wenmai_cli("rungs", "--json"))["rungs"]] == list(RUNGS)
    assert all(name in wenmai_cli("rungs").out for name in RUNGS)
    gru = last_json(wenmai_cli("rungs", "gru", "--json"))["options"]
    about = {"about": "How many layers stand on one another.", "about_zh": "叠多少层。"}
    assert (
        gru["layers"] == {"default": 1, "type": "int", "of": "rung", **about}
        and gru["epochs"]["of"] == "training"
    )
    assert "bidirectional" in wenmai_cli("rungs", "gru").out
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "逐个读入" in wenmai_cli("rungs").out.replace("\n", "")


# compare


@pytest.fixture
def compared(wenmai_cli, topics):
    def compare(*more, rungs="softmax,mlp"):
        return wenmai_cli("compare", topics, "--minutes", "0.05", "--rungs", rungs, *more)

    return compare


def test_compare(compared, wenmai_cli, run, topics, tmp_path):
    found = last_json(compared("--with", run, *TINY, "--json"))
    data = open_dataset(topics, TASKS, valid="0.1", test="0.1")
    assert set(found) >= {"rungs", "recommendation", "task", "data"} and found["task"] == "classify"
    assert {row["rung"] for row in found["rungs"]} == {"softmax", "mlp", "run"}
    for row in found["rungs"]:
        assert row.keys() >= {"run", "task", "rung", "scores"} and row["failed"] is None
        assert row["parameters"] > 0 and row["bytes"] > 0
        low, high = row["interval"]
        assert low <= row["scores"]["test"]["accuracy"] <= high
        if row["rung"] != "run":
            assert row["seconds"] > 0 and row["curve"]
            # a network searches only where short runs have updates enough to say something of the rates
            assert len(row["rates_tried"]) in ((0, 3) if row["rung"] == "mlp" else (3,))
            assert row["scores"]["valid"]["accuracy"] == max(
                point["score"] for point in row["curve"] if point["score"]
            )
            assert wenmai_cli("predict", row["run"], "the soup").status == 0
        # what is told is what the run that was kept does on the test rows
        trained = wenmai.load(row["run"])
        assert row["scores"]["test"] == pytest.approx(trained.evaluate(*data.test.pair))
        right = trained.predict(data.test.inputs) == np.array(data.test.targets)
        assert row["scores"]["test"]["accuracy"] == pytest.approx(right.mean())
        assert row["rung"] != "softmax" or right.all()  # a word says the label
    order = [row["scores"]["test"]["accuracy"] for row in found["rungs"]]
    assert order == sorted(order, reverse=True)
    assert (
        found["recommendation"]["rung"] in {"softmax", "mlp", "run"}
        and found["recommendation"]["reason_zh"]
    )
    written = {path.name for path in (tmp_path / "reports" / "topics").iterdir()}
    assert {"report.html", "report.json", "report.md"} <= written
    kept = json.loads((tmp_path / "reports" / "topics" / "report.json").read_text("utf-8"))
    assert [row["rung"] for row in kept["rungs"]] == [row["rung"] for row in found["rungs"]]
    assert sum(kept["rows"].values()) == 200 and kept["rows"]["test"] == len(data.test)
    assert kept["rows"]["train"] >= 150 and min(kept["rows"].values()) >= 10


def test_compare_shows_a_leaderboard(compared):
    ran = compared("--out", "there", rungs="softmax")
    assert (
        ran.status == 0
        and "softmax" in ran.out
        and "Report: there/report.html" in ran.out.replace("\n", "")
    )


def broken(*_, **__):
    raise RuntimeError("the builder fell over")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["mlp", "softmax"])
def test_a_rung_that_fails_is_shown_and_the_others_go_on(compared, monkeypatch, tmp_path, which):
    monkeypatch.setitem(RUNGS, which, dataclasses.replace(RUNGS[which], build=broken))
    other = {"mlp": "softmax", "softmax": "mlp"}[which]
    rows = {row["rung"]: row for row in last_json(compared("--json"), status=1)["rungs"]}
    assert "the builder fell over" in rows[which]["failed"] and rows[which]["scores"]["test"] == {}
    assert rows[other]["failed"] is None and rows[other]["scores"]["test"]["accuracy"] >= 0
    assert "the builder fell over" in (tmp_path / "reports" / "topics" / "report.md").read_text(
        "utf-8"
    )


def test_a_run_that_fails_is_shown_too(compared, tmp_path):
    (tmp_path / "empty").mkdir()
    rows = {
        row["rung"]: row
        for row in last_json(compared("--with", "empty", "--json", rungs="softmax"), status=1)[
            "rungs"
        ]
    }
    assert "is not a run folder" in rows["empty"]["failed"] and rows["softmax"]["failed"] is None


def test_several_seeds_show_their_spread(compared):
    (row,) = last_json(compared("--seeds", "2", "--json", rungs="softmax"))["rungs"]
    assert len(row["seed_scores"]) == 2 and math.isfinite(row["spread"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "rungs", "metric"),
    [
        ("tag", "perceptron,softmax,mlp", "span_f1"),
        ("regress", "linear,mlp", "r2"),
        ("series", "linear,mlp", "r2"),
        ("images", "softmax,cnn", "accuracy"),
    ],
)
def test_compare_does_every_task(
    wenmai_cli, entities, series, pictures, tmp_path, task, rungs, metric
):
    source = {"tag": entities, "series": series, "images": pictures}.get(task) or write_numbers(
        tmp_path / "table.csv"
    )
    options = ["--set", "horizon=3"] if task == "series" else []
    found = last_json(
        wenmai_cli(
            "compare",
            source,
            "--minutes",
            "0.1",
            "--rungs",
            rungs,
            *options,
            "--out",
            "there",
            "--json",
        )
    )
    assert {row["rung"] for row in found["rungs"]} == {*rungs.split(",")}
    for row in found["rungs"]:
        assert row["failed"] is None and row["task"] == found["task"]
        low, high = row["interval"]
        assert (
            low <= row["scores"]["test"][metric] <= high <= 1 and metric in row["scores"]["valid"]
        )
        assert (
            row["latency_ms"]["p50"] > 0
            and row["predictions_per_second"] > 0
            and row["sizes"][-1]["fraction"] == 1.0
        )
        assert row["worst"] is not None and (row["confusion"] is None) == (
            found["task"] == "regress"
        )
    first = found["rungs"][0]
    assert first["scores"]["test"][metric] > 0.95 and found["recommendation"]["rung"] in rungs
    if found["task"] == "regress":
        assert first["rung"] == "linear"
    written = {path.name for path in (tmp_path / "there").iterdir()}
    assert {"report.html", "report.json", "report.md"} <= written
    kept = json.loads((tmp_path / "there" / "report.json").read_text("utf-8"))
    assert kept["metric"] == metric and kept["task"] == found["task"]
    for name in ("report.html", "report.md"):
        text = (tmp_path / "there" / name).read_text("utf-8")
        assert (
            all(rung in text for rung in rungs.split(","))
            and found["recommendation"]["reason"] in text
        )


@pytest.mark.slow
def test_a_tag_that_breaks_the_scheme_in_a_few_rows_does_not_break_compare(wenmai_cli, tmp_path):
    """One in a hundred is tolerated in all rows, so it must be in a tenth of them, where it is more than that."""
    rows = tagged()
    rows[3] = rows[3][0], ["I-PER", *rows[3][1][1:]]
    path = write_conll(tmp_path / "noisy.conll", rows)
    (row,) = last_json(
        wenmai_cli("compare", path, "--minutes", "0.05", "--rungs", "perceptron", "--json")
    )["rungs"]
    assert row["failed"] is None


# The program itself


def program(*arguments, **more):
    command, environment = (
        [sys.executable, "-m", "wenmai", *map(str, arguments)],
        os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, **more
    )


@pytest.mark.slow
def test_the_program(topics, tmp_path):
    trained = program("train", "softmax", topics, "--json")
    assert (
        trained.returncode == 0 and json.loads(trained.stdout.splitlines()[-1])["rung"] == "softmax"
    )
    answered = program("predict", "runs/topics-softmax", "the soup")
    assert (
        answered.returncode == 0 and answered.stdout.startswith("food\t") and answered.stderr == ""
    )
    wrong = program("predict", "runs/nothing", "the soup")
    assert (
        wrong.returncode == 2
        and wrong.stderr.startswith("wenmai: ")
        and wrong.stderr.count("\n") == 1
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows", [1, 5000]
)  # which wait for the end of the program to be written, and which do not
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
