"""Answers on Spark (`predict --engine spark`): one machine's cores, or a cluster's.

    this process reads the file, chunk by chunk → a row of a DataFrame is a chunk → predict_batch_udf answers → written in order

The chunks are those that one process would answer for, so the answers are the same, row for row. What is read goes out in waves
of some megabytes: a file may be larger than memory here or there. The run goes along as an archive, which every machine unpacks
once, and every worker loads it once; wenmai has to be installed there. Chunks, answers and sentences travel as JSON.
"""

from __future__ import annotations

import base64
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wenmai.data.files.readers import Chunk
from wenmai.errors import Mistake
from wenmai.locale import Listed, Message
from wenmai.locale.messages import made
from wenmai.models.ngram.spark_session import needed, session
from wenmai.tasks.columns import answers_of
from wenmai.tasks.contract import Answers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASK = 32 << 20  # characters that Spark is given for one task; it takes no more than 128 MiB
WAVE = 128 << 20  # characters that are under way at once
TASKS = 4  # for every core in a wave, so that one that takes long is not waited for by all
KINDS = {"message": Message, "list": Listed}


def answered(
    run: Path,
    device: str,
    chunks: Iterable[Chunk],
    asked: Callable[[Chunk], Chunk],
    source: str,
    how: dict,
) -> Iterator[tuple[Chunk, Answers]]:
    """Every chunk, or part of one, with its answers, in order; `asked` makes of a chunk what the task reads."""
    for name in ("pandas", "pyarrow"):
        needed(name)
    with (
        session() as spark,
        tempfile.TemporaryDirectory(prefix="wenmai-") as folder,
        ThreadPoolExecutor(1) as thread,
    ):
        archive = packed_run(run, Path(folder))
        spark.sparkContext.addArchive(str(archive))
        answer = udf(partial(loaded, archive.name, source, how, device))
        under_way: list[tuple[list[tuple[Chunk, str]], Future]] = []
        try:
            for wave in waves(parts(chunks, asked), spark.sparkContext.defaultParallelism):
                under_way.append(
                    (wave, thread.submit(ask, spark, answer, [text for _, text in wave]))
                )
                if len(under_way) > 1:  # the next is read while one is answered
                    yield from delivered(*under_way.pop(0))
            for wave, answers in under_way:
                yield from delivered(wave, answers)
        except BaseException:  # Ctrl-C too: nobody waits for what is under way
            thread.shutdown(wait=False, cancel_futures=True)
            spark.sparkContext.cancelAllJobs()
            raise


def udf(load: Callable):
    from pyspark.ml.functions import predict_batch_udf
    from pyspark.sql.types import StringType

    return predict_batch_udf(load, return_type=StringType(), batch_size=1)


def ask(spark: SparkSession, answer, texts: list[str]) -> list[str]:
    numbered = spark.sparkContext.parallelize(list(enumerate(texts)), len(texts))
    rows = spark.createDataFrame(numbered, "number int, chunk string")
    return [
        row.answers
        for row in sorted(rows.select("number", answer("chunk").alias("answers")).collect())
    ]


def delivered(wave: list[tuple[Chunk, str]], answers: Future) -> Iterator[tuple[Chunk, Answers]]:
    for (chunk, _), text in zip(wave, answers.result()):
        reply = json.loads(text)
        if "mistake" in reply:
            raise Mistake(unpacked_message(reply["mistake"]))
        yield chunk, Answers(reply["answers"], [unpacked_message(note) for note in reply["notes"]])


# What goes out


def parts(chunks: Iterable[Chunk], asked: Callable[[Chunk], Chunk]) -> Iterator[tuple[Chunk, str]]:
    """(chunk, what is asked of it as JSON): one that is too large for a task is cut in two."""
    for chunk in chunks:
        left = [chunk]
        while left:
            part = left.pop()
            text = packed(asked(part))
            if len(text) <= TASK or len(part) < 2:
                yield part, text
                continue
            middle = len(part) // 2
            left += [rows_of(part, slice(middle, None)), rows_of(part, slice(middle))]


def rows_of(chunk: Chunk, rows: slice) -> Chunk:
    columns, beside = (
        {name: values[rows] for name, values in own.items()}
        for own in (chunk.columns, chunk.beside)
    )
    return replace(chunk, columns=columns, lines=chunk.lines[rows], beside=beside)


def waves(parts: Iterable[tuple[Chunk, str]], cores: int) -> Iterator[list[tuple[Chunk, str]]]:
    wave, size = [], 0
    for part in parts:
        wave.append(part)
        size += len(part[1])
        if size >= WAVE or len(wave) >= TASKS * cores:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave


def packed_run(run: Path, folder: Path) -> Path:
    """The run folder as an archive; a run is one folder deep."""
    archive = folder / f"{folder.name}.zip"
    with zipfile.ZipFile(archive, "w") as kept:
        for file in run.iterdir():
            if file.is_file():
                kept.write(file, file.name)
    return archive


def packed(chunk: Chunk) -> str:
    columns = {name: packed_values(values) for name, values in chunk.columns.items()}
    return json.dumps(
        {"columns": columns, "lines": np.asarray(chunk.lines).tolist(), "asked": chunk.asked},
        default=str,
    )


def packed_values(values) -> list | dict:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return {
            "type": values.dtype.str,
            "shape": values.shape,
            "base64": base64.b64encode(values.tobytes()).decode(),
        }
    return list(values)


def packed_message(message) -> dict | str | float | None:
    if not isinstance(message, Message):
        return message if isinstance(message, str | int | float | None) else str(message)
    own = dict(vars(message))
    values = {name: packed_message(value) for name, value in own.pop("values").items()}
    kind = "list" if isinstance(message, Listed) else "message"
    return {"kind": kind, "values": values} | {
        name: [packed_message(part) for part in value]
        if isinstance(value, tuple)
        else packed_message(value)
        for name, value in own.items()
    }


def unpacked_message(data):
    if not isinstance(data, dict):
        return data
    own = {
        name: tuple(map(unpacked_message, value))
        if isinstance(value, list)
        else unpacked_message(value)
        for name, value in data.items()
        if name not in ("kind", "values")
    }
    return made(
        KINDS[data["kind"]],
        {"values": {name: unpacked_message(value) for name, value in data["values"].items()}} | own,
    )


# In a worker


def loaded(archive: str, source: str, how: dict, device: str) -> Callable[[np.ndarray], np.ndarray]:
    """What answers for chunks: called once in every worker."""
    from pyspark import SparkFiles

    from wenmai.estimators import load

    estimator = load(Path(SparkFiles.get(archive)), device)

    def answer(chunks: np.ndarray) -> np.ndarray:
        return np.array(
            [answers_to(estimator, text, source, how) for text in chunks.ravel()], object
        )

    return answer


def answers_to(estimator, text: str, source: str, how: dict) -> str:
    request = json.loads(text)
    columns = {name: unpacked_values(values) for name, values in request["columns"].items()}
    try:
        answers = answers_of(
            estimator, Chunk(columns, request["lines"], asked=request["asked"]), source, how
        )
    except Mistake as mistake:
        return json.dumps({"mistake": packed_message(mistake.message)})
    notes = [packed_message(note) for note in answers.notes]
    return json.dumps({"answers": answers, "notes": notes}, default=lambda value: value.tolist())


def unpacked_values(values: list | dict) -> list | np.ndarray:
    if isinstance(values, list):
        return values
    return np.frombuffer(base64.b64decode(values["base64"]), values["type"]).reshape(
        values["shape"]
    )
