"""predict --engine spark: the same answers as one process, row for row and in order, whatever a row holds."""

import csv
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import made
import numpy as np
import pytest

import wenmai
from wenmai.cli import answers
from wenmai.cli.given import table_for
from wenmai.errors import Mistake
from wenmai.locale import Listed, Message, phrase, plural
from wenmai.serving import spark

TEXTS, LABELS = made.reviews(40)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """One for all, as it takes seconds to start."""
    if not shutil.which("java"):
        pytest.skip("there is no Java here")
    for package in ("pyspark", "pandas", "pyarrow"):
        pytest.importorskip(package)
    from wenmai.models.ngram.spark_session import session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("spark")))
        patch.setenv("OMP_NUM_THREADS", "1")
        with session("local[2]") as running:
            yield running


def runs(name: str, folder: Path):
    """(the run, a file for it): of every kind of column that goes out in its own way."""
    small = {"embed": 8, "hidden": 8, "epochs": 1}
    if name == "texts":
        estimator, file = wenmai.Classifier("gru", **small).fit(TEXTS, LABELS), folder / "new.csv"
        with open(file, "w", newline="") as lines:
            table = csv.writer(lines)
            table.writerows(
                [
                    ["id", "text", "label"],
                    *([row, f'{text} "{row}",\n好', "?"] for row, text in enumerate(TEXTS)),
                ]
            )
    elif name == "numbers":
        import pyarrow
        from pyarrow import parquet

        values = np.random.default_rng(0).normal(size=(40, 3))
        estimator, file = wenmai.Classifier("softmax").fit(values, LABELS), folder / "new.parquet"
        parquet.write_table(
            pyarrow.table({"a": values[:, 0], "b": values[:, 1], "c": np.arange(40)}), file
        )
    elif name == "images":
        from PIL import Image

        images = np.random.default_rng(0).integers(0, 255, (40, 6, 6), dtype=np.uint8)
        estimator, file = (
            wenmai.Classifier("mlp", hidden=4, epochs=1).fit(images, LABELS),
            folder / "new.tsv",
        )
        for row, pixels in enumerate(images):
            Image.fromarray(pixels).save(folder / f"{row}.png")
        file.write_text("image\n" + "".join(f"{row}.png\n" for row in range(40)))
    else:  # some of its texts are blank, and some have words that it has never seen: there are notes
        estimator, file = (
            wenmai.Translator("seq2seq", **small).fit(TEXTS, [text.upper() for text in TEXTS]),
            folder / "new.jsonl",
        )
        file.write_text(
            "".join(
                json.dumps({"source": "" if row % 7 == 3 else text + " x" * (row % 3)}) + "\n"
                for row, text in enumerate(TEXTS)
            )
        )
    estimator.save(folder / "run")
    return wenmai.load(folder / "run"), file


@pytest.mark.slow
@pytest.mark.parametrize("name", ["texts", "numbers", "images", "translate"])
def test_spark_answers_as_one_process_row_for_row(session, tmp_path, monkeypatch, name):
    estimator, file = runs(name, tmp_path)
    monkeypatch.setattr(answers, "CHUNK", 7)
    monkeypatch.setattr(spark, "TASKS", 2)  # several waves of several chunks
    told = {}
    for engine, answered in (
        ("local", None),
        ("spark", partial(spark.answered, tmp_path / "run", "cpu")),
    ):
        table = table_for(estimator, str(file), "", predict=True)
        with pytest.warns() if name == "translate" else pytest.MonkeyPatch.context() as notes:
            answers.answer_file(estimator, table, tmp_path / f"{engine}.csv", answered=answered)
        told[engine] = [str(note.message) for note in notes] if name == "translate" else []
    local, other = ((tmp_path / f"{engine}.csv").read_text() for engine in ("local", "spark"))
    assert other == local and told["spark"] == told["local"]
    assert len(list(csv.reader(local.splitlines(keepends=True)))) == 41


@pytest.mark.slow
def test_what_is_wrong_with_a_row_is_told_by_its_line(session, tmp_path, monkeypatch):
    estimator, _ = runs("numbers", tmp_path)
    (tmp_path / "bad.csv").write_text("a,b,c\n" + "1,2,3\n" * 20 + "1,none,3\n")
    monkeypatch.setattr(answers, "CHUNK", 7)
    for answered in (None, partial(spark.answered, tmp_path / "run", "cpu")):
        table = table_for(estimator, str(tmp_path / "bad.csv"), "a=0,b=1,c=2", predict=True)
        with (
            pytest.raises(Mistake, match=r"bad\.csv, line 22") as found,
            pytest.warns(match="what was answered before"),
        ):
            answers.answer_file(estimator, table, tmp_path / "out.csv", answered=answered)
        assert "none" in str(found.value)


def test_a_chunk_that_is_too_large_is_cut(monkeypatch):
    from wenmai.data.files.readers import Chunk

    monkeypatch.setattr(spark, "TASK", 200)
    chunk = Chunk(
        {"text": [f"text {row}" * (row % 5) for row in range(50)]},
        range(2, 52),
        {"id": list(range(50))},
    )
    parts = list(spark.parts([chunk], lambda chunk: chunk))
    assert len(parts) > 4 and all(len(text) <= 200 for _, text in parts)
    assert [text for part, _ in parts for text in part.columns["text"]] == chunk.columns["text"]
    assert [line for part, _ in parts for line in part.lines] == list(chunk.lines)
    assert [one for part, _ in parts for one in part.beside["id"]] == chunk.beside["id"]


@pytest.mark.parametrize(
    "message",
    [
        Message("{file}, line {line}", file="a {b}", line=3),
        Listed(["a", Message("b {c}", c=1)]),
        phrase("kind", "rung"),
        plural("{count} minute", "{count} minutes", count=2),
        Message("{why}: {rate:.2f}", why=Listed(["x"], Message(" and ")), rate=0.5),
    ],
)
def test_a_sentence_comes_back_as_it_was(message):
    again = spark.unpacked_message(json.loads(json.dumps(spark.packed_message(message))))
    assert (
        again == message
        and again.told_in("zh") == message.told_in("zh")
        and vars(again).keys() == vars(message).keys()
    )


@pytest.mark.slow
def test_the_command_says_what_it_lacks(tmp_path, monkeypatch):
    runs("texts", tmp_path)
    environment = os.environ | {
        "PYTHONPATH": str(Path(wenmai.__file__).parents[1]),
        "LC_ALL": "C.UTF-8",
        "JAVA_HOME": "",
        "PATH": str(tmp_path),
    }

    def asked(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "wenmai", "predict", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    pytest.importorskip("pyspark")
    reply = asked("--engine", "spark", "run", "new.csv", "--out", "out.csv")
    assert (reply.returncode, reply.stderr.count("\n")) == (2, 1) and "Java" in reply.stderr
    reply = asked("--engine", "sprak", "run", "new.csv")
    assert reply.returncode == 2 and "did you mean spark?" in reply.stderr
    reply = asked("--engine", "spark", "run", "one", "two")
    assert reply.returncode == 2 and "one file" in reply.stderr
    with monkeypatch.context() as here:
        here.setitem(sys.modules, "pandas", None)
        with pytest.raises(Mistake, match=r"pandas; run pip install 'wenmai\[spark\]'"):
            next(spark.answered(tmp_path / "run", "cpu", [], lambda chunk: chunk, "new.csv", {}))


def test_ctrl_c_while_spark_starts_waits_until_it_stands_and_stops_it(monkeypatch):
    """Java that was cut off in its start lived on for ever."""
    import signal
    from types import SimpleNamespace

    from wenmai.models.ngram import spark_session

    pyspark = pytest.importorskip("pyspark.sql")
    done = []

    def started(builder):
        signal.raise_signal(signal.SIGINT)
        done.append("started")
        return SimpleNamespace(stop=lambda: done.append("stopped"))

    monkeypatch.setattr(pyspark.SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(pyspark.SparkSession.Builder, "getOrCreate", started)
    monkeypatch.setattr(spark_session.shutil, "which", lambda *_, **__: "java")
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # which a worker of the tests ignores
    try:
        with pytest.raises(KeyboardInterrupt), spark_session.session():
            done.append("used")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["started", "stopped"]
