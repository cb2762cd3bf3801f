"""Files of vectors, written row by row, so that there may be any number of them.

.npy       a matrix of NumPy, a row a text; its head is written again with every block, so that the file is whole at any time
.parquet   a column `vector`, a list of numbers, beside the text
.txt       a word and its numbers on a line, as GloVe has them
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from wenmai.data.files.opening import extra
from wenmai.errors import Mistake

Write = Callable[[Sequence, np.ndarray], None]  # (texts, or what else was read; their vectors)


@contextmanager
def writer(file: Path, part: Path) -> Iterator[Write]:
    """For a file of this name; `part` is where it lies until it is whole."""
    kinds = {".npy": matrix, ".parquet": table}
    if file.suffix not in kinds:
        raise Mistake("--out {file}: expected a name that ends in .npy or .parquet.", file=file)
    with kinds[file.suffix](file, part) as write:
        yield write


@contextmanager
def matrix(file: Path, part: Path) -> Iterator[Write]:
    with open(part, "wb") as stream:
        rows = 0

        def announce(width: int) -> None:
            stream.seek(0)  # NumPy leaves room for more rows in what it writes there
            about = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
            np.lib.format.write_array_header_1_0(stream, about)

        def write(texts: Sequence, vectors: np.ndarray) -> None:
            nonlocal rows
            if not rows:
                announce(vectors.shape[1])
            stream.seek(0, 2)
            stream.write(np.ascontiguousarray(vectors, "<f4").tobytes())
            rows += len(vectors)
            announce(vectors.shape[1])  # when they are there: what is stopped before can be read

        yield write


@contextmanager
def table(file: Path, part: Path) -> Iterator[Write]:
    arrow, parquet, parquet_writer = extra("pyarrow", file), extra("pyarrow.parquet", file), None

    def write(texts: Sequence, vectors: np.ndarray) -> None:
        nonlocal parquet_writer
        columns = (
            {"text": arrow.array(list(texts))} if isinstance(texts[0], (str, list, tuple)) else {}
        )
        flat = arrow.array(vectors.reshape(-1).astype(np.float32))
        columns["vector"] = arrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        rows = arrow.table(columns)
        parquet_writer = parquet_writer or parquet.ParquetWriter(part, rows.schema)
        parquet_writer.write_table(rows)

    try:
        yield write
    finally:
        if parquet_writer is not None:
            parquet_writer.close()


def write_words(part: Path, words: list[str], vectors: np.ndarray) -> int:
    """As GloVe has them; how many words were left out, which have a space in them, or nothing."""
    left_out = 0
    with open(part, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
        for word, vector in zip(words, vectors.tolist()):
            if word.split() != [word]:
                left_out += 1
                continue
            stream.write(f"{word} {' '.join(f'{number:.7g}' for number in vector)}\n")
    return left_out
