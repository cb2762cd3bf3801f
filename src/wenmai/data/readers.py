"""Files → rows: CSV, TSV, plain text, JSON, Parquet, idx images, a folder with one file a label.

`read` looks at the beginning of the file, says in notes what it found there, and gives a Table that streams chunks of
columns. A format is a function that returns the names of all columns and a stream(size, positions), which yields the
columns at those positions, `size` rows at a time, with the line number of each row.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np

from wenmai.data import idx
from wenmai.data.columns import has_header, parse_columns, position_of, short, tidy
from wenmai.data.files import TextFile, bare_name, extra, find, text_file
from wenmai.errors import Mistake

__all__ = ["Chunk", "Table", "parse_columns", "read"]
MARKS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}


@dataclass
class Chunk:
    columns: dict[str, Sequence]  # name → values: a list, or an array
    lines: Sequence[int]  # the line (or record) of each row in its file, from 1

    def __len__(self):
        return len(self.lines)


@dataclass
class Table:
    source: str
    names: list[str]
    notes: list[str]
    stream: Callable[[int], Iterator[Chunk]] = field(repr=False)

    def chunks(self, rows: int = 8192) -> Iterator[Chunk]:
        """Streams the file from its beginning, each time it is called."""
        return self.stream(rows)

    def load(self) -> Chunk:
        chunks = list(self.chunks())
        columns = {name: _joined([chunk.columns[name] for chunk in chunks]) for name in self.names}
        return Chunk(columns, _joined([chunk.lines for chunk in chunks]))


class Format(NamedTuple):
    names: list[str]
    notes: list[str]
    stream: Callable[[int, list[int]], Iterator[tuple[list[Sequence], Sequence[int]]]]


def read(source: str | Path, columns: dict[str, str] | None = None) -> Table:
    """A file or folder as a table; `columns` maps the words that tasks know to names or positions in the file."""
    path, source = find(source), str(source)
    suffix = PurePath(bare_name(path)).suffix
    if path.is_dir():
        found = _folder(path, source)
    elif idx.is_images(path):
        found = Format(*idx.images(path, source))
    elif suffix in (".parquet", ".pq"):
        found = _parquet(path, source)
    elif suffix in (".jsonl", ".ndjson", ".json"):
        found = _json(text_file(path, source))
    elif suffix == ".csv":
        found = _csv(text_file(path, source), columns)
    elif suffix == ".tsv":
        found = _tsv(text_file(path, source), columns)
    else:
        found = _text(text_file(path, source), columns)
    names = tidy(found.names)
    if columns:
        picked = {word: position_of(word, name, names, source) for word, name in columns.items()}
    else:
        picked = {name: position for position, name in enumerate(names)}

    def stream(rows: int) -> Iterator[Chunk]:
        for values, lines in found.stream(rows, list(picked.values())):
            yield Chunk(dict(zip(picked, values)), lines)

    return Table(source, list(picked), found.notes, stream)


def _joined(parts: list[Sequence]) -> Sequence:
    if len(parts) == 1:
        return parts[0]
    arrays = parts and all(isinstance(part, np.ndarray) for part in parts)
    return np.concatenate(parts) if arrays else list(chain.from_iterable(parts))


# Text: a row is a line, or several where CSV quotes a line break


def _rows_stream(rows: Callable[[], Iterator[tuple[int, Sequence[str]]]], width: int, source: str, skip: int = 0):
    """rows() gives (line, cells) from the beginning of the file; the stream turns them into columns."""

    def stream(size: int, positions: list[int]):
        numbered = islice(rows(), skip, None)
        while True:
            lines, block = [], []
            for line, row in islice(numbered, size):
                if len(row) != width:
                    raise Mistake(
                        f"{source}, line {line}: found {len(row)} columns, expected {width} as in the first row; "
                        "correct the line or remove it."
                    )
                lines.append(line)
                block.append(row)
            if not block:
                return
            columns = list(zip(*block))
            yield [list(columns[position]) for position in positions], lines

    return stream


def _delimited(file: TextFile, columns: dict[str, str] | None, mark: str, rows) -> Format:
    first, *below = beginning(rows)
    header = has_header(first, below, columns)
    if header and not below:
        raise Mistake(f"{file.source} holds a header and no rows; expected at least one row below it.")
    names = first if header else [str(position) for position in range(len(first))]
    shown = ", ".join(map(short, tidy(names)))
    said = f"The first line is a header: {shown}." if header else f"There is no header; the columns are {shown}."
    notes = [*file.notes, f"The delimiter is {MARKS[mark]}.", said]
    return Format(names, notes, _rows_stream(rows, len(first), file.source, skip=int(header)))


def beginning(rows, most: int = 100) -> list[Sequence[str]]:
    """The first rows, up to one that cannot be read: that one is reported when its turn comes."""
    found = []
    try:
        for _, cells in islice(rows(), most):
            found.append(cells)
    except Mistake:
        if not found:
            raise
    return found


def _csv(file: TextFile, columns: dict[str, str] | None) -> Format:
    others = [mark for mark in ";\t" if _uniform(file, mark)]
    mark = others[0] if others and "," not in file.first_lines(1)[0] else ","
    csv.field_size_limit(2**31 - 1)

    def rows():
        line = 1  # where the row begins; the reader's line_num is where it ends
        with file.open(newline="") as text:
            reader = csv.reader(text, delimiter=mark, strict=True)
            try:
                for row in reader:
                    if row:
                        yield line, row
                    line = reader.line_num + 1
            except csv.Error as error:
                open_quote = "end of data" in str(error)
                found = "a quote that opens and never closes" if open_quote else f"broken quoting ({error})"
                raise Mistake(
                    f"{file.source}, line {line}: found {found} in the row that begins here; expected a cell in quotes "
                    'to be closed before the next delimiter, and "" for a quote inside it; correct the line.'
                ) from None

    return _delimited(file, columns, mark, rows)


def _tsv(file: TextFile, columns: dict[str, str] | None) -> Format:
    def rows():
        for line, text in _lines(file):
            yield line, text.split("\t")

    return _delimited(file, columns, "\t", rows)


def _text(file: TextFile, columns: dict[str, str] | None) -> Format:
    if columns or _uniform(file, "\t"):
        return _tsv(file, columns)
    notes = [*file.notes, "Plain text: one row a line."]
    return Format(["text"], notes, _rows_stream(lambda: ((line, (t,)) for line, t in _lines(file)), 1, file.source))


def _lines(file: TextFile) -> Iterator[tuple[int, str]]:
    """Non-empty lines with their numbers."""
    with file.open() as text:
        for number, line in enumerate(text, 1):
            if line := line.rstrip("\r\n"):
                yield number, line


def _uniform(file: TextFile, mark: str) -> bool:
    """Whether every one of the first lines holds the same number of marks, at least one."""
    counts = {line.count(mark) for line in file.first_lines()}
    return len(counts) == 1 and counts != {0}


# JSON: an object a line, or one list of objects


def _json(file: TextFile) -> Format:
    listed = _listed(file) if file.sample.lstrip().startswith("[") else None
    place = "record" if listed else "line"

    def rows():
        for number, row in enumerate(listed, 1) if listed else _objects(file):
            if not isinstance(row, dict):
                raise Mistake(
                    f"{file.source}, {place} {number}: found a JSON {type(row).__name__}, expected an object "
                    'such as {"text": "…", "label": "…"}; rewrite the file so.'
                )
            yield number, row

    names = list(next(rows())[1])

    def stream(size: int, positions: list[int]):
        numbered, keys = rows(), [names[position] for position in positions]
        while block := list(islice(numbered, size)):
            lines, objects = zip(*block)
            try:
                columns = [[row[key] for row in objects] for key in keys]
            except KeyError:
                number, row, key = next((n, row, key) for n, row in block for key in keys if key not in row)
                raise Mistake(
                    f'{file.source}, {place} {number}: found {", ".join(row) or "no keys"}, expected "{key}" too, as '
                    "in the first row; add it, or leave it out with --columns."
                ) from None
            yield columns, list(lines)

    return Format(names, [*file.notes, f"JSON: one {'list of objects' if listed else 'object a line'}."], stream)


def _listed(file: TextFile) -> list:
    with file.open() as text:
        try:
            rows = json.load(text)
        except json.JSONDecodeError as error:
            raise Mistake(
                f"{file.source}, line {error.lineno}: found something that is not JSON ({error.msg}); "
                "expected one list of objects, or one object a line."
            ) from None
    if not rows:
        raise Mistake(f"{file.source} is empty: found a list without objects, expected at least one.")
    return rows


def _objects(file: TextFile) -> Iterator[tuple[int, object]]:
    for line, text in _lines(file):
        if text.strip():
            try:
                yield line, json.loads(text)
            except json.JSONDecodeError as error:
                raise Mistake(
                    f"{file.source}, line {line}: found something that is not JSON ({error.msg}, column "
                    f"{error.colno}), expected one whole object a line; correct the line."
                ) from None


# Parquet


def _parquet(path: Path, source: str) -> Format:
    arrow, parquet = extra("pyarrow", source), extra("pyarrow.parquet", source)
    try:
        with parquet.ParquetFile(path) as file:
            names, count = file.schema_arrow.names, file.metadata.num_rows
    except (arrow.ArrowException, OSError) as error:
        raise Mistake(f"{source} cannot be read as Parquet ({str(error).splitlines()[0]}); write it again.") from None
    if not count:
        raise Mistake(f"{source} is empty: found no rows, expected at least one.")

    def values(column):
        numbers = arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)
        return column.to_numpy() if numbers and not column.null_count else column.to_pylist()

    def stream(size: int, positions: list[int]):
        done = 0
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(size, columns=[names[position] for position in dict.fromkeys(positions)]):
                lines = range(done + 1, done + 1 + len(batch))
                yield [values(batch.column(names[position])) for position in positions], lines
                done += len(batch)

    return Format(names, [f"Parquet with {count} rows."], stream)


# Folders


def _folder(path: Path, source: str) -> Format:
    """idx images, or one text file a label."""
    inside = sorted(other for other in path.iterdir() if other.is_file() and not other.name.startswith("."))
    images = [other for other in inside if idx.is_images(other)]
    if images:
        train = [other for other in images if other.name.startswith("train")] if len(images) > 1 else images
        if len(train) != 1:
            raise Mistake(f"{source} holds several sets of images; give one of {', '.join(i.name for i in images)}.")
        return Format(*idx.images(train[0], str(train[0])))
    texts = {other.name.split(".")[0]: other for other in inside if bare_name(other).endswith(".txt")}
    if len(texts) < 2:
        found = ", ".join(other.name for other in inside[:5]) or "no files"
        raise Mistake(
            f"{source} is a folder with {found}; expected one .txt file a label (at least two), or idx images. "
            "Give one file instead."
        )
    files = {label: text_file(other, str(other)) for label, other in texts.items()}

    def rows():
        for label, file in files.items():
            for line, text in _lines(file):
                yield line, (text, label)

    notes = list(dict.fromkeys(chain.from_iterable(file.notes for file in files.values())))
    notes.append(f"One file a label: {', '.join(files)}.")
    return Format(["text", "label"], notes, _rows_stream(rows, 2, source))
