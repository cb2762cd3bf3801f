"""Files → rows: CSV, TSV, plain text, CoNLL, JSON, SQuAD, Parquet, images, two aligned files, a folder with one file a label.

`read` looks at the beginning of the file, says in notes what it found there, and gives a Table that streams chunks of
columns. A format is a function that returns a Format: names, notes and a stream.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from pathlib import Path, PurePath

import numpy as np

from wenmai.data.files import conll, delimited, idx, images, objects, pairs
from wenmai.data.files.columns import Format, parse_columns, pick, short, tidy
from wenmai.data.files.opening import TextFile, bare_name, extra, find, readable, text_file
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs

__all__ = ["Chunk", "Table", "parse_columns", "read"]


@dataclass
class Chunk:
    columns: dict[str, Sequence]  # name → values: a list, or an array
    lines: Sequence[int]  # the line (or record) of each row in its file, from 1: a range, or an array

    def __len__(self):
        return len(self.lines)


@dataclass
class Table:
    source: str
    names: list[str]
    notes: list[str]
    stream: Callable[[int], Iterator[Chunk]] = field(repr=False)
    plain: TextFile | None = None  # where a row is just a line of a file
    files: Mapping[str, str] = field(default_factory=dict)  # column → the file that it is from, where there are two

    def chunks(self, rows: int = 8192) -> Iterator[Chunk]:
        """Streams the file from its beginning, each time it is called; at most so many rows at once."""
        return self.stream(rows)

    def load(self) -> Chunk:
        chunks = list(self.chunks())
        columns = {name: _joined([chunk.columns[name] for chunk in chunks]) for name in self.names}
        return Chunk(columns, _joined_lines([chunk.lines for chunk in chunks]))


def read(source: str | Path, columns: dict[str, str] | None = None, target: str | Path | None = None) -> Table:
    """A file or folder as a table; `columns` maps the words that tasks know to names or positions in the file.
    `target` is a second file whose lines belong to those of the first, as a text and its translation."""
    path, source = find(source), str(source)
    form = _format(path, source, columns) if target is None else pairs.aligned(path, source, find(target), str(target))
    picked = pick(columns, tidy(form.names), form.usual, source)
    notes, positions, words = form.notes, list(picked.values()), list(picked)

    values = partial(form.stream, positions=positions)
    if "image" in words:
        image_notes, values = images.decoded(values, words.index("image"), path.parent, source)
        notes = notes + image_notes

    def stream(rows: int) -> Iterator[Chunk]:
        return (Chunk(dict(zip(words, block)), lines) for block, lines in values(rows))

    files = {} if target is None else {word: (source, str(target))[position] for word, position in picked.items()}
    return Table(source, words, notes, stream, form.plain if words == ["text"] else None, files)


def _format(path: Path, source: str, columns: dict[str, str] | None) -> Format:
    """By what it is and how its name ends, else by its look."""
    suffix = PurePath(bare_name(path)).suffix
    if path.is_dir():
        return _folder(path, source)
    if idx.is_images(path):
        return idx.images(path, source)
    if suffix in (".parquet", ".pq"):
        return _parquet(path, source)
    file = text_file(path, source)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return objects.objects(file)
    if suffix == ".csv":
        return delimited.commas(file, columns)
    if suffix == ".tsv":
        return delimited.tabs(file, columns)
    if suffix in conll.ENDINGS or conll.looks_so(file, columns):
        return conll.sentences(file, columns)
    return delimited.tabs(file, columns) if columns or delimited.uniform(file, "\t") else delimited.plain(file)


def _joined(parts: list[Sequence]) -> Sequence:
    if len(parts) == 1:
        return parts[0]
    arrays = parts and all(isinstance(part, np.ndarray) for part in parts)
    return np.concatenate(parts) if arrays else list(chain.from_iterable(parts))


def _joined_lines(parts: list[Sequence[int]]) -> Sequence[int]:
    """One range if the parts are ranges that follow one another, else an array."""
    follow = all(isinstance(part, range) for part in parts) and all(a.stop == b.start for a, b in pairwise(parts))
    if follow:
        return range(parts[0].start, parts[-1].stop) if parts else range(0)
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


def _parquet(path: Path, source: str) -> Format:
    arrow, parquet = extra("pyarrow", source), extra("pyarrow.parquet", source)
    with readable(source), parquet.ParquetFile(path) as file:
        names, count = file.schema_arrow.names, file.metadata.num_rows
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise Mistake('{file}: found two columns named "{name}", expected a name for each; write it again.', file=source,
                      name=short(twice))  # fmt: skip
    if count < 1:
        raise Mistake("{file} is empty: found no rows, expected at least one.", file=source)

    def values(column):
        numbers = arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)
        return column.to_numpy() if numbers and not column.null_count else column.to_pylist()

    def stream(size: int, positions: list[int]):
        done, asked = 0, [names[position] for position in dict.fromkeys(positions)]
        with readable(source), parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(size, columns=asked):
                lines = range(done + 1, done + 1 + len(batch))
                columns = [values(batch.column(names[position])) for position in positions]
                done += len(batch)
                yield columns, lines
        if done != count:
            raise Mistake("{file} is damaged: it announces {announced} rows and holds {found}; write it again.", file=source,
                          announced=count, found=done)  # fmt: skip

    return Format(names, [Message("Parquet with {rows} rows.", rows=count)], stream)


def _folder(path: Path, source: str) -> Format:
    """idx images, or one text file a label."""
    try:
        inside = sorted(other for other in path.iterdir() if other.is_file() and not other.name.startswith("."))
    except OSError as error:
        raise Mistake("{folder} is a folder that cannot be opened ({why}); check its permissions.", folder=source,
                      why=Theirs(error.strerror)) from None  # fmt: skip
    idx_files = [other for other in inside if idx.is_images(other)]
    if idx_files:
        train = [other for other in idx_files if other.name.startswith("train")] if len(idx_files) > 1 else idx_files
        if len(train) != 1:
            raise Mistake("{folder} holds several sets of images; give one of {names}.", folder=source,
                          names=", ".join(i.name for i in idx_files))  # fmt: skip
        return idx.images(train[0], str(train[0]))
    texts = [other for other in inside if bare_name(other).endswith(".txt")]
    if len(texts) < 2:
        shown = ", ".join(other.name for other in inside[:5]) or Message("no files")
        raise Mistake("{folder} is a folder with {inside}; expected one .txt file a label (at least two), or idx images. Give "
                      "one file instead.", folder=source, inside=shown)  # fmt: skip
    files = {}
    for other in texts:
        label = other.name.split(".")[0]
        if label in files:
            raise Mistake('{file} is the second file for the label "{label}" in {folder}, expected one; remove one of them.',
                          file=other, label=label, folder=source)  # fmt: skip
        files[label] = text_file(other, str(other))

    def stream(size: int, positions: list[int]):
        for label, file in files.items():
            for (texts,), lines in delimited.plain(file).stream(size, [0]):
                columns = texts, [label] * len(texts)
                yield [columns[position] for position in positions], lines

    notes = list(dict.fromkeys(chain.from_iterable(file.notes for file in files.values())))
    notes.append(Message("One file a label: {names}.", names=", ".join(files)))
    return Format(["text", "label"], notes, stream)
