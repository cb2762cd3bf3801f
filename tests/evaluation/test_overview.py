"""What `wenmai data FILE` shows, for every kind of inputs and targets, in English and Chinese, and as JSON."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from wenmai.catalog import TASKS
from wenmai.cli import overview
from wenmai.data.builtin import BUILTIN
from wenmai.data.dataset import Dataset, Part
from wenmai.data.examples.sequences import Sequences
from wenmai.data.files.readers import Chunk, Table


def part(inputs, targets):
    return Part(inputs, targets, "reviews.csv", range(1, len(inputs) + 1))


def seen(inputs, targets, lang="en", task="classify", **others):
    """The JSON, and what is drawn on a terminal."""
    parts = part(inputs, targets), others.get("valid"), others.get("test")
    data = Dataset("reviews", TASKS[task](), *parts, others.get("notes", []))
    return drawn(overview.data_set(data, lang))


def drawn(made):
    terminal = Console(file=io.StringIO(), width=200)
    kept, overview.console = overview.console, terminal
    try:
        made.show()
    finally:
        overview.console = kept
    return json.loads(json.dumps(made.json, ensure_ascii=False)), terminal.file.getvalue()


def words(text):
    return re.sub(" +", " ", text)


def test_texts_and_labels():
    inputs = [
        "这本书很好。",
        "This is the worst of them.",
        "还不错，推荐这本。",
        "[bold]it is what it is",
    ]
    known, text = seen(
        inputs,
        ["good", "bad", "good", "[red]"],
        notes=["2 rows repeat"],
        valid=part(["x"], ["good"]),
        test=part(["y", "z"], ["bad", "bad"]),
    )
    assert (
        known["source"] == "reviews.csv"
        and known["task"] == "classify"
        and known["rows"] == 4
        and known["inputs"] == "texts"
    )
    assert known["parts"] == {"train": 4, "valid": 1, "test": 2}
    assert known["characters"] == {"shortest": 6, "median": 15, "longest": 26}
    assert known["languages"] == {"zh": 0.5, "en": 0.5}
    assert known["classes"] == {"good": 2, "bad": 1, "[red]": 1} and known["notes"] == [
        "2 rows repeat"
    ]
    assert (
        known["first"][0] == {"input": "这本书很好。", "target": "good"}
        and len(known["first"]) == 3
    )
    assert "task classify, 4 rows, texts" in text and "parts: train 4, valid 1, test 2" in text
    assert (
        "languages: zh 50.0%, en 50.0%" in text
        and "2 rows repeat" in text
        and "'这本书很好。' → good" in text
    )
    assert "good 2 50.0%" in words(text) and "[red] 1 25.0%" in words(
        text
    )  # a label is never taken for markup


def test_chinese_words():
    known, text = seen(["这本书很好。"] * 3, ["good"] * 3, "zh", valid=part(["这"], ["good"]))
    assert (
        "任务 classify，3 行，输入为文本" in text
        and "划分：训练 3，验证 1" in text
        and "长度（字符）：最短 6" in text
    )
    assert "语言：zh 100.0%" in text and "类别" in text and "占比" in text
    assert known["inputs"] == "texts" and list(known["parts"]) == [
        "train",
        "valid",
    ]  # JSON is the same in every language


def test_columns_where_the_dataset_knows_them():
    data = Dataset("reviews", TASKS["classify"](), part(["a", "b"], ["x", "y"]), None, None)
    assert overview.data_set(data, "en").json["columns"] == []
    data.columns = ["text", "label", "stars"]
    known, text = drawn(overview.data_set(data, "en"))
    assert known["columns"] == ["text", "label", "stars"] and "columns: text, label, stars" in text


def test_pairs():
    known, text = seen([("the cat", "is a cat"), ("the dog", "is a dog")], ["yes", "no"])
    assert (
        known["inputs"] == "pairs of texts"
        and known["characters"]["longest"] == 15
        and known["languages"] == {"en": 1.0}
    )
    assert "pairs of texts" in text


def test_numbers_and_images():
    known, text = seen(np.arange(12.0).reshape(3, 4), ["a", "b", "b"])
    assert (
        known["inputs"] == "numbers 4"
        and known["languages"] == {}
        and "languages" not in text
        and "length" not in text
    )
    assert seen(np.zeros((2, 8, 8), np.uint8), ["0", "1"])[0]["inputs"] == "images 8 × 8"
    assert "图像 8 × 8 × 3" in seen(np.zeros((2, 8, 8, 3), np.uint8), ["0", "1"], "zh")[1]


def test_tags_that_mark_spans():
    tokens = [["Anna", "lives", "in", "New", "York"], list("江泽民在北京"), ["yes"]]
    tags = [
        ["B-PER", "O", "O", "B-LOC", "I-LOC"],
        ["B-PER", "I-PER", "I-PER", "O", "B-LOC", "I-LOC"],
        ["O"],
    ]
    known, text = seen(tokens, tags, task="tag")
    assert known["inputs"] == "tokens" and known["tokens"] == {
        "shortest": 1,
        "median": 5,
        "longest": 6,
    }
    assert (
        known["spans"] == {"PER": 2, "LOC": 2}
        and known["tags"]["O"] == 4
        and "classes" not in known
    )
    assert known["first"][0]["target"] == tags[0]
    assert (
        "→ PER Anna; LOC New York" in text
        and "→ PER 江泽民; LOC 北京" in text
        and "PER 2 50.0%" in words(text)
    )
    assert "片段类型" in seen(tokens, tags, "zh", "tag")[1]
    assert seen(tokens, [["O"] * len(row) for row in tokens], task="tag")[0]["spans"] == {}


@pytest.mark.parametrize(
    "tags", [["S-LOC", "O", "B-PER", "E-PER"], ["I-LOC", "O", "I-PER", "I-PER"]]
)
def test_other_schemes(tags):
    assert seen([list("abcd")] * 2, [tags] * 2, task="tag")[0]["spans"] == {"LOC": 2, "PER": 2}


def test_tags_that_mark_no_spans():
    known, text = seen(
        [["the", "cat"], ["a", "dog", "barks"]],
        [["DET", "NOUN"], ["DET", "NOUN", "VERB"]],
        task="tag",
    )
    assert known["tags"] == {"DET": 2, "NOUN": 2, "VERB": 1} and "spans" not in known
    assert "→ DET NOUN VERB" in text and "DET 2 40.0%" in words(text)


@pytest.mark.parametrize(
    "targets", [np.array([-1.0, 2.0, 5.0]), [-1.0, 2.0, 5.0], np.array([[-1.0], [2.0], [5.0]])]
)
def test_one_number(targets):
    known, text = seen(np.arange(3.0)[:, None], targets, task="regress")
    assert known["targets"] == [{"least": -1.0, "mean": 2.0, "most": 5.0}] and "-1 2 5" in words(
        text
    )


def test_several_numbers():
    known, text = seen(
        np.arange(2.0)[:, None], np.array([[1.0, 10.0], [3.0, 30.0]]), task="regress"
    )
    assert [column["mean"] for column in known["targets"]] == [2.0, 20.0] and known["first"][1][
        "target"
    ] == [3.0, 30.0]
    assert "2 10 20 30" in words(text)


@pytest.mark.parametrize("kind", [list, lambda rows: Sequences.of(rows, np.float64)])
def test_sequences_of_numbers(kind):
    inputs, targets = (
        [np.array([[3.0], [5.0]]), np.array([[1.0]])],
        [np.array([3.0, 8.0]), np.array([1.0])],
    )
    known, text = seen(kind(inputs), kind(targets), task="regress")
    assert known["inputs"] == "sequences of numbers 1" and known["steps"] == {
        "shortest": 1,
        "median": 1,
        "longest": 2,
    }
    assert known["targets"] == [{"least": 1.0, "mean": 4.0, "most": 8.0}] and known["first"][0][
        "target"
    ] == [3.0, 8.0]
    assert "→ 3 8" in text and "length in steps: shortest 1" in text and known["languages"] == {}


def test_many_classes_are_cut_on_the_terminal_only():
    labels = [f"label {number}" for number in range(100)]
    known, text = seen(["text"] * 100, labels)
    assert len(known["classes"]) == 100 and text.count("label") < 40 and "… 70 70" in words(text)


def table(chunks, notes=("UTF-8.",)):
    return Table("poems.jsonl", list(chunks[0].columns), list(notes), lambda rows: iter(chunks))


def test_a_table_without_a_task():
    chunks = [
        Chunk(
            {
                "title": ["[b]Moon", "Sea"],
                "lines": [["a", "b"], ["c"]],
                "year": np.array([701, 702]),
            },
            [1, 2],
        ),
        Chunk({"title": ["Hill\n" * 50], "lines": [[]], "year": np.array([703])}, [3]),
    ]
    known, text = drawn(overview.table(table(chunks), "these columns say no task yet", "en"))
    assert (
        known["rows"] == 3
        and known["columns"] == ["title", "lines", "year"]
        and known["task"] is None
    )
    assert known["source"] == "poems.jsonl" and known["notes"] == [
        "UTF-8.",
        "these columns say no task yet",
    ]
    assert known["first"] == [
        {"title": "[b]Moon", "lines": "['a', 'b']", "year": 701},
        {"title": "Sea", "lines": "['c']", "year": 702},
        {"title": ("Hill " * 12)[:59] + "…", "lines": "[]", "year": 703},
    ]
    assert (
        "poems.jsonl: 3 rows" in text
        and "these columns say no task yet" in text
        and "title [b]Moon Sea" in words(text)
    )
    assert "poems.jsonl：3 行" in drawn(overview.table(table(chunks), "", "zh"))[1]


def test_a_table_of_long_cells():
    chunk = Chunk({"text": ["x " * 500], "image": np.zeros((1, 28, 28)), "nothing": [None]}, [1])
    first = overview.table(table([chunk]), "no task", "en").json["first"][0]
    assert len(first["text"]) == 60 and first["image"] == "[28 × 28]" and first["nothing"] is None


def test_a_table_of_many_columns():
    chunk = Chunk({f"c{number}": [number] for number in range(100)}, [1])
    known, text = drawn(overview.table(table([chunk]), "no task", "en"))
    assert len(known["columns"]) == 100 and "c11, and 88 more" in text and "c50" not in text


def test_everything_said_is_said_in_chinese():
    source = Path(overview.__file__).read_text(encoding="utf-8")
    said = re.findall(r'grid\(lang((?:, "[^"]+")+)', source)
    assert said and all(
        word in overview.WORDS for words in said for word in re.findall('"([^"]+)"', words)
    )


def test_builtin_sets():
    made = overview.builtin_sets(BUILTIN.values(), "zh")
    assert {"ner-zh", "running-sum"} <= {row["name"] for row in made.json["builtin"]}
    assert all(row["about"] and row["about_zh"] for row in made.json["builtin"])
    assert "人民日报" in drawn(made)[1]


@pytest.mark.parametrize("command", ["data", "probe"])
def test_a_list_loads_no_torch(command):
    """What only lists names comes at once."""
    code = f"import sys; sys.argv = ['wenmai', '{command}']; from wenmai.cli import main; main(); print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "False"
