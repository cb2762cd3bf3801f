"""Counting what is larger than a machine: sorted runs on Spark, merged there by ranges of the last word.

The text is read twice. First every stretch of it numbers its own words; taken up in the order of the text, they get the numbers
that reading it all at once would give. Then every partition counts what it has (counts.py) and cuts the run at the same last
words. All n-grams that end with the same word stand together, with all that they end with; so each range of last words is
merged by itself (merging.py), and the levels are these ranges end to end. What travels are arrays, a row a stretch.
"""

from __future__ import annotations

import json
import warnings
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wenmai.data.files.opening import find
from wenmai.data.text.vocabulary import BEGIN, Growing, Vocabulary
from wenmai.errors import Mistake
from wenmai.models.ngram.counts import Level, counted
from wenmai.models.ngram.merging import NOTHING, Column, Tree, merged
from wenmai.models.ngram.spark_session import session

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

PIECE = 1 << 22  # bytes of text that are read at once
RUN = 1 << 22  # tokens of a run
RANGE = 1 << 27  # bytes of all runs that one range of last words has, more or less


def count_on_spark(
    paths: Path | str | list[Path | str],
    order: int,
    master: str | None = None,
    folder: Path | None = None,
) -> tuple[Vocabulary, list[Level]]:
    """(the words in the order in which they appear, the levels), as `Growing.read` and `count` give them. A path is a file or a
    folder of files, .gz and .bz2 among them, or an address that Spark knows. The levels are files in this folder, as arrays."""
    names = [address(path) for path in (paths if isinstance(paths, list) else [paths])]
    with session(master) as spark:
        text = lines(spark, names)
        vocabulary, counts = words(text, folder)
        ranges = max(
            2 * spark.sparkContext.defaultParallelism,
            int(counts.sum()) * 12 * (order - 1) // RANGE + 1,
        )
        cuts = np.searchsorted(np.cumsum(counts), np.linspace(0, counts.sum(), ranges + 1)[1:-1])
        cuts = np.unique([0, *cuts, len(counts)])
        tree = Tree(counts, folder)
        if order > 1:
            put_together(
                tree,
                fetched(ranges_of(text, vocabulary, cuts, order)),
                order,
                len(cuts) - 1,
                folder,
            )
    return vocabulary, tree.levels


def address(path: Path | str) -> str:
    """Of a file here, as Spark wants it: whole, with no sign that stands for others."""
    if isinstance(path, str) and "://" in path:
        return path
    path = find(path).absolute()
    if path.suffix.lower() in (".xz", ".zst", ".zip", ".7z", ".tar", ".tgz"):
        raise Mistake(
            "{file} is packed in a way that Spark does not read; expected text, .gz or .bz2; unpack it first.",
            file=path,
        )
    return "file://" + "".join(f"\\{sign}" if sign in "\\{}[]*?" else sign for sign in str(path))


def lines(spark: SparkSession, names: list[str]) -> RDD:
    """Every line as JSON: its bytes, whatever they are, in base 64, and the stretch it is from: which name, which file, where in
    it the stretch begins. Python has this ten times sooner than a row of a table."""
    from pyspark.sql import functions as F

    line, places = (
        F.concat("value", F.lit("\n")).cast("binary"),
        ("_metadata.file_path", "_metadata.file_block_start"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that Spark 5 will have it as a table
        tables = [
            spark.read.option("lineSep", "\n")
            .text(name)
            .select(line.alias("line"), F.lit(number).alias("number"), *places)
            .toJSON(use_unicode=False)
            for number, name in enumerate(names)
        ]
    return spark.sparkContext.union(tables) if len(tables) > 1 else tables[0]


def texts(rows: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """(which stretch, some megabytes of it)"""
    split = (row.split(b'"', 4) for row in rows)  # {, line, :, the bytes, what else
    for stretch, some in groupby(split, key=itemgetter(4)):
        held, size = [], 0
        for row in some:
            held.append(a2b_base64(row[3]))
            size += len(held[-1])
            if size >= PIECE:
                yield stretch, b"".join(held)
                held, size = [], 0
        yield stretch, b"".join(held)


def place(stretch: bytes) -> tuple:
    """By which stretches are sorted as the text is."""
    facts = json.loads(b"{" + stretch.lstrip(b","))
    return facts["number"], facts["file_path"], facts["file_block_start"]


def fetched(rows: RDD) -> Iterator[tuple]:
    """The rows, made by all machines at once, and then brought here one partition after the other."""
    from pyspark import StorageLevel

    rows.persist(StorageLevel.DISK_ONLY)
    try:
        rows.count()
        yield from rows.toLocalIterator()
    finally:
        rows.unpersist()


def words(text: RDD, folder: Path | None) -> tuple[Vocabulary, np.ndarray]:
    """(all words, how often each was read)"""
    pieces, kept = Column(np.uint8, folder), {}
    for stretch, *arrays in fetched(text.mapPartitions(vocabularies)):
        bounds = np.cumsum([pieces.size, *map(len, arrays)])
        for data in arrays:
            pieces.append(np.frombuffer(data, np.uint8))
        kept[place(stretch)] = bounds
    every, growing, counts = pieces.array(), Growing(), np.zeros(1 << 12, np.int64)
    for _, bounds in sorted(kept.items()):
        letters, starts, own_counts = (every[start:end] for start, end in pairwise(bounds.tolist()))
        numbers = growing.join(letters, np.frombuffer(starts.tobytes(), np.int64))
        if growing.size > len(counts):
            counts = np.concatenate([counts, np.zeros(growing.size, np.int64)])
        counts[numbers] += np.frombuffer(own_counts.tobytes(), np.int64)
    return growing.done(), counts[: growing.size].copy()


def vocabularies(rows: Iterable[bytes]) -> Iterator[tuple]:
    """Of every stretch: which it is, its words as letters and starts, and how often each was read; as bytes."""
    for stretch, pieces in groupby(texts(rows), key=itemgetter(0)):
        growing, counts = Growing(), np.zeros(0, np.int64)
        for _, text in pieces:
            piece_counts = np.bincount(growing.read(text), minlength=growing.size)
            piece_counts[: len(counts)] += counts
            counts = piece_counts
        starts = growing.starts[: growing.size + 1]
        yield (
            stretch,
            growing.letters[: starts[-1]].tobytes(),
            starts.tobytes(),
            counts.astype(np.int64).tobytes(),
        )


def ranges_of(text: RDD, vocabulary: Vocabulary, cuts: np.ndarray, order: int) -> RDD:
    """(order, range, part, first words, suffixes, counts): the merged n-grams of every range"""
    arrays = text.context.broadcast((vocabulary.letters, vocabulary.starts, vocabulary.slots))

    def runs(rows: Iterable[bytes]) -> Iterator[tuple]:
        own, held, size = Vocabulary(*arrays.value), [], 0
        for _, some in texts(rows):
            words, starts = own.numbers(some)
            held.append(np.insert(words, starts[:-1], BEGIN))
            size += len(held[-1])
            if size >= RUN:
                yield from cut_run(np.concatenate(held), cuts, order)
                held, size = [], 0
        if held:
            yield from cut_run(np.concatenate(held), cuts, order)

    shared = text.mapPartitions(runs).partitionBy(len(cuts) - 1, int)
    return shared.mapPartitionsWithIndex(
        lambda number, runs: merge_range(number, [run for _, run in runs], order)
    )


def cut_run(tokens: np.ndarray, cuts: np.ndarray, order: int) -> Iterator[tuple[int, list[bytes]]]:
    """(range of last words, rows of every order), the suffixes counted from where the range begins in the order below."""
    first, levels, bounds = np.zeros(0, np.int32), [], cuts
    for n, level in enumerate(counted(tokens, int(cuts[-1]), order, BEGIN)):
        first = first[level.context] if n else level.word
        if n:
            below, bounds = bounds, np.searchsorted(level.suffix, bounds)
            rows = np.stack([first, level.suffix, level.count.astype(np.int32)], 1)
            rows[:, 1] -= np.repeat(below[:-1] if n > 1 else 0 * cuts[:-1], np.diff(bounds)).astype(
                np.int32
            )
            levels.append((rows, bounds))
    for number in range(len(cuts) - 1):
        run = [rows[bounds[number] : bounds[number + 1]].tobytes() for rows, bounds in levels]
        if any(run):
            yield number, run


def merge_range(number: int, runs: list[list[bytes]], order: int) -> Iterator[tuple]:
    below, bases = NOTHING, [0]
    for n in range(order - 1):
        some = [np.frombuffer(run[n], np.int32).reshape(-1, 3) for run in runs]
        rows, ends = np.concatenate([NOTHING, *some]), np.cumsum([0, *map(len, some)]).tolist()
        for part, arrays in enumerate(merged(rows, ends, below, bases)):
            yield (n, number, part, *(array.tobytes() for array in arrays))
        below, bases = rows, ends


def put_together(
    tree: Tree, rows: Iterable[tuple], order: int, ranges: int, folder: Path | None
) -> None:
    """The ranges end to end, order after order."""
    pieces, kept = Column(np.uint8, folder), {}
    for n, number, part, *arrays in rows:
        kept[n, number, part] = np.cumsum([pieces.size, *map(len, arrays)]).tolist()
        for data in arrays:
            pieces.append(np.frombuffer(data, np.uint8))
    every, sizes = pieces.array(), np.zeros((order, ranges), np.int64)

    def level(n: int) -> Iterator[tuple[np.ndarray, ...]]:
        for (_, number, _), bounds in sorted(item for item in kept.items() if item[0][0] == n):
            first, suffix, count = (
                np.frombuffer(every[start:end].tobytes(), kind)
                for (start, end), kind in zip(pairwise(bounds), (np.int32, np.int32, np.int64))
            )
            yield first, suffix + np.int32(sizes[n - 1, :number].sum() if n else 0), count
            sizes[n, number] += len(first)

    for n in range(order - 1):
        tree.add(level(n))
