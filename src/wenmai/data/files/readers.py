"""Files → rows: CSV, TSV, plain text, CoNLL, JSON, SQuAD, Parquet, Excel, images, two aligned files, folders of labels.

`read` looks at the beginning of the file, says in notes what it found there, and gives a Table that streams chunks of
columns. A format is a function that returns a Format: names, notes and a stream.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path, PurePath

import numpy as np

from wenmai.data.files import (
    conll,
    delimited,
    folders,
    idx,
    images,
    objects,
    pairs,
    part_files,
    sheets,
    stories,
)
from wenmai.data.files.bounds import unfolded, unfolds
from wenmai.data.files.columns import Format, parse_columns, pick, short, tidy
from wenmai.data.files.opening import (
    ALLOWED,
    TextFile,
    bare_name,
    extra,
    find,
    is_idx,
    is_workbook,
    readable,
    text_file,
)
from wenmai.errors import Mistake
from wenmai.locale import Message

__all__ = ["Chunk", "Table", "parse_columns", "read"]


@dataclass
class Chunk:
    columns: dict[str, Sequence]  # name → values: a list, or an array
    lines: Sequence[
        int
    ]  # the line (or record) of each row in its file, from 1: a range, or an array
    beside: dict[str, Sequence] = field(
        default_factory=dict
    )  # columns that are not read, where somebody asks for them
    asked: bool = False  # whether `lines` count questions

    def __len__(self):
        return len(self.lines)


@dataclass
class Table:
    source: str
    names: list[str]
    notes: list[str]
    stream: Callable[[int], Iterator[Chunk]] = field(repr=False)
    plain: TextFile | None = None  # where a row is just a line of a file
    files: Mapping[str, str] = field(
        default_factory=dict
    )  # column → the file that it is from, where there are two
    own: Mapping[str, str] = field(default_factory=dict)  # column → its name in the file
    every: Sequence[str] = ()  # the names of all columns of the file
    choose: Callable[..., "Table"] | None = field(
        default=None, repr=False
    )  # {word: name in the file}, beside, lenient → a table
    held: Mapping[str, Callable[[], "Table"]] = field(
        default_factory=dict, repr=False
    )  # valid, test, where there are such parts

    def chunks(self, rows: int = 8192) -> Iterator[Chunk]:
        """Streams the file from its beginning, each time it is called; at most so many rows at once."""
        return self.stream(rows)

    def load(self) -> Chunk:
        chunks = list(self.chunks())
        columns = {name: _joined([chunk.columns[name] for chunk in chunks]) for name in self.names}
        return Chunk(
            columns,
            _joined_lines([chunk.lines for chunk in chunks]),
            asked=any(chunk.asked for chunk in chunks),
        )


def read(
    source: str | Path,
    columns: dict[str, str] | None = None,
    target: str | Path | None = None,
    delimiter: str | None = None,
    seen: Collection[str] = (),
    running: bool = False,
) -> Table:
    """A file or folder as a table; `columns` maps the words that tasks know to names or positions in the file.
    `target` is a second file whose lines belong to those of the first, as a text and its translation. `delimiter` stands between
    cells, where it is not to be found out; `seen` are names that columns had in training. `running`: a running text is wanted,
    and a .txt is one, even if it looks like rows of tokens with tags."""
    path, source = find(source), str(source)
    if target is None and path.is_dir() and (parts := part_files.parts_of(path)):
        part = {
            name: partial(_of_files, files, path, source, columns, delimiter, seen, running)
            for name, files in parts.items()
        }
        first = next(iter(part))
        return replace(part.pop(first)(), held=part)
    if target is not None:
        form = pairs.aligned(path, source, find(target), str(target))
        return _table(form, path, source, columns, (source, str(target)))
    return _table(_format(path, source, columns, delimiter, seen, running), path, source, columns)


def _of_files(
    files: list[Path], folder: Path, source: str, columns: dict[str, str] | None, *how
) -> Table:
    """Several files of a folder as one table."""
    if len(files) == 1:
        return _table(
            _format(files[0], str(files[0]), columns, *how), files[0], str(files[0]), columns
        )
    forms = [_format(file, str(file), columns, *how) for file in files]
    return _table(part_files.joined(source, files, forms), folder, source, columns)


def _table(
    form: Format, path: Path, source: str, columns: dict[str, str] | None, two: Sequence[str] = ()
) -> Table:
    """`two`: the files that the two columns are from, where there are two."""
    names = tidy(form.names)
    places = {
        name: position for position, name in reversed(list(enumerate(names)))
    }  # of equal names the first

    def table(picked: dict[str, int], beside: bool = False, lenient: bool = False) -> Table:
        words, notes = list(picked), form.notes
        outer = range(len(names) - form.inner) if beside else ()
        taken = set(picked.values())
        others = [position for position in outer if position not in taken]
        values = partial(
            (form.lenient if lenient else None) or form.stream,
            positions=[*picked.values(), *others],
        )
        if "image" in words:
            folder = path if path.is_dir() else path.parent
            image_notes, values = images.decoded(values, words.index("image"), folder, source)
            notes = notes + image_notes
        if "audio" in words:
            values = below(values, words.index("audio"), path if path.is_dir() else path.parent)

        def stream(rows: int) -> Iterator[Chunk]:
            seen = 0
            for block, lines in values(rows):
                seen += len(lines)
                if ALLOWED.rows and seen > ALLOWED.rows:
                    raise Mistake(
                        "{file}: found more than the {most:,} rows that --max-rows allows; allow more, or read less.",
                        file=source,
                        most=ALLOWED.rows,
                    )
                rest = dict(zip([names[position] for position in others], block[len(words) :]))
                yield Chunk(dict(zip(words, block)), lines, rest, form.asked)

        files = {word: two[position] for word, position in picked.items()} if two else {}
        own = {word: names[position] for word, position in picked.items()}
        return Table(
            source,
            words,
            notes,
            stream,
            form.plain if words == ["text"] else None,
            files,
            own,
            names,
            lambda columns, *how: table(
                {word: places[name] for word, name in columns.items()}, *how
            ),
        )

    return table(pick(columns, names, form.usual, source))


def below(stream: Callable, at: int, folder: Path) -> Callable:
    """The stream with paths, in its column `at`, as they are called from here: a manifest names files from where it lies."""

    def named(value):
        return (
            str(folder / Path(value).expanduser())
            if isinstance(value, str) and value.strip()
            else value
        )

    def rows(size: int) -> Iterator:
        for values, lines in stream(size):
            if len(values) > at and isinstance(values[at], (list, tuple)):
                values = [*values[:at], [named(value) for value in values[at]], *values[at + 1 :]]
            yield values, lines

    return rows


def _format(
    path: Path,
    source: str,
    columns: dict[str, str] | None,
    delimiter: str | None,
    seen: Collection[str],
    running: bool,
) -> Format:
    """By what it is and how its name ends, else by its look."""
    suffix = PurePath(bare_name(path)).suffix
    if path.is_dir():
        return folders.labels(path, source)
    if is_idx(path):
        return idx.images(path, source)
    if suffix in (".parquet", ".pq"):
        return _parquet(path, source)
    if path.name.lower().endswith((*folders.SOUNDS, *folders.PICTURES)):
        folders.refuse_single(path, source)
    if is_workbook(path):
        return sheets.rows(path, source, columns, seen)
    file = text_file(path, source)
    if delimiter:
        return delimited.table(file, columns, delimiter, True, seen)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return objects.objects(file)
    if suffix == ".csv":
        return delimited.commas(file, columns, seen)
    if suffix == ".tsv":
        return delimited.tabs(file, columns, seen)
    if stories.is_babi(file):
        return stories.babi(file)
    if suffix in conll.ENDINGS or (
        not (running and suffix == ".txt") and conll.looks_so(file, columns)
    ):
        return conll.sentences(file, columns)
    return (
        delimited.tabs(file, columns, seen)
        if columns or delimited.tabbed(file)
        else delimited.plain(file)
    )


def _joined(parts: list[Sequence]) -> Sequence:
    if len(parts) == 1:
        return parts[0]
    arrays = parts and all(isinstance(part, np.ndarray) for part in parts)
    return np.concatenate(parts) if arrays else list(chain.from_iterable(parts))


def _joined_lines(parts: list[Sequence[int]]) -> Sequence[int]:
    """One range if the parts are ranges that follow one another, else an array."""
    follow = all(isinstance(part, range) for part in parts) and all(
        a.stop == b.start for a, b in pairwise(parts)
    )
    if follow:
        return range(parts[0].start, parts[-1].stop) if parts else range(0)
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


def _parquet(path: Path, source: str) -> Format:
    arrow, parquet, compute = (
        extra(name, source) for name in ("pyarrow", "pyarrow.parquet", "pyarrow.compute")
    )

    def is_text(kind) -> bool:
        return arrow.types.is_string(kind) or arrow.types.is_large_string(kind)

    def spread(column) -> int:
        """Bytes, were every text there as often as it is named."""
        if not arrow.types.is_dictionary(column.type):
            return column.nbytes
        lengths = compute.binary_length(column.dictionary)
        return compute.sum(lengths.take(column.indices)).as_py() or 0

    with readable(source), parquet.ParquetFile(path) as file:
        names, count, most = (
            file.schema_arrow.names,
            file.metadata.num_rows,
            unfolds(path.stat().st_size),
        )
        # Asked of the group, not of its columns: a column whose statistics are damaged ends the process in pyarrow (26.0).
        unpacked = sum(
            file.metadata.row_group(number).total_byte_size
            for number in range(file.metadata.num_row_groups)
        )
        texts = [field.name for field in file.schema_arrow if is_text(field.type)]
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise Mistake(
            '{file}: found two columns named "{name}", expected a name for each; write it again.',
            file=source,
            name=short(twice),
        )
    if count < 1:
        raise Mistake("{file} is empty: found no rows, expected at least one.", file=source)

    if unpacked > most and not ALLOWED.rows:
        raise unfolded(source, most)

    def values(column):
        if arrow.types.is_dictionary(column.type):  # a text that comes again and again is held once
            known = column.dictionary.to_pylist()
            return [None if at is None else known[at] for at in column.indices.to_pylist()]
        numbers = arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)
        return column.to_numpy() if numbers and not column.null_count else column.to_pylist()

    def stream(size: int, positions: list[int]):
        done, asked = 0, [names[position] for position in dict.fromkeys(positions)]
        with (
            readable(source),
            parquet.ParquetFile(
                path, page_checksum_verification=True, read_dictionary=texts
            ) as file,
        ):
            left = most
            for batch in file.iter_batches(size, columns=asked):
                left -= sum(map(spread, batch.columns))
                if left < 0 and not ALLOWED.rows:
                    raise unfolded(source, most)
                lines = range(done + 1, done + 1 + len(batch))
                columns = [values(batch.column(names[position])) for position in positions]
                done += len(batch)
                yield columns, lines
        if done != count:
            raise Mistake(
                "{file} is damaged: it announces {announced} rows and holds {actual}; write it again.",
                file=source,
                announced=count,
                actual=done,
            )

    return Format(names, [Message("Parquet with {rows} rows.", rows=count)], stream)
