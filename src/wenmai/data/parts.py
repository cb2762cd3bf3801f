"""Rows that belong together: all of a table, those that a task refuses left out if that is wanted."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np

from wenmai.data.examples import stored
from wenmai.data.examples.sequences import Sequences
from wenmai.data.examples.stored import StoredTexts
from wenmai.data.files import pairs
from wenmai.data.files.corpus import Corpus
from wenmai.data.files.readers import Chunk, Table
from wenmai.data.values import pick
from wenmai.errors import Mistake, Unlabelled
from wenmai.locale import Message


@dataclass
class Part:
    """Rows that belong together: inputs, targets, and where each stands, for messages."""

    inputs: list | StoredTexts | np.ndarray | Sequences | Corpus
    targets: list | None
    source: str
    lines: Sequence[int]
    notes: list[str] = field(default_factory=list)  # on rows that were left out
    groups: list[str] | None = None  # of every row, where rows have groups that are told apart
    asked: bool = False  # whether `lines` count questions

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def empty(self) -> bool:
        return not (self.inputs.size if isinstance(self.inputs, Corpus) else len(self))

    def where(self, row: int) -> str:
        return line_named(
            self.source, self.lines[row], self.groups and self.groups[row], self.asked
        )

    def take(self, rows: np.ndarray) -> Self:
        straight = isinstance(self.lines, range) and self.lines.step == 1
        lines = self.lines.start + rows if straight else np.asarray(self.lines)[rows]
        groups = self.groups and pick(self.groups, rows)
        return Part(
            pick(self.inputs, rows),
            pick(self.targets, rows),
            self.source,
            lines,
            self.notes,
            groups,
            self.asked,
        )

    def random_share(self, share: float, seed: int) -> Self:
        """So large a share of the rows, at least two, drawn by chance; they stay in their order."""
        return self.take(
            np.sort(np.random.default_rng(seed).permutation(len(self))[: self._size(share)])
        )

    def last_share(self, share: float) -> Self:
        """So large a share of the rows, at least two: the last ones."""
        return self.take(np.arange(len(self) - self._size(share), len(self)))

    def _size(self, share: float) -> int:
        return max(2, int(share * len(self)))

    @contextmanager
    def named(self) -> Iterator[None]:
        """Inside, a Mistake that says nothing of where these rows come from is told it."""
        try:
            yield
        except Mistake as mistake:
            if self.source in mistake.english:
                raise
            note = mistake.message
            for left_out in self.notes:
                note = Message("{note} Before that: {left_out}", note=note, left_out=left_out)
            raise Mistake("{file}: {note}", file=self.source, note=note) from None

    @property
    def pair(self) -> tuple:
        return self.inputs, self.targets


def line_named(file: str, line: int, group: str | None = None, asked: bool = False) -> Message:
    """Where the user finds a row; of several files that are read as one, their group says which. `asked`: it is a question."""
    row = Message("question {line}", line=line) if asked else Message("line {line}", line=line)
    if group is None or not Path(file).is_dir():
        return Message("{file}, {row}", file=file, row=row)
    return Message("{file}, {row} of {group}", file=file, row=row, group=group)


def part_of(table: Table, kind, skip_bad: bool = False) -> Part:
    """All rows of a table. One without a label is left out, and noted; one that the task refuses otherwise is a Mistake that
    counts all such rows, unless they are to be skipped."""
    table = grouped(table, kind)
    try:
        return _part(table, kind)
    except Mistake as first:
        if kind.history or table.plain is not None:  # rows that follow one another in time, or none
            raise
        sifted = Sifted(
            table, lambda chunk: _part(replace(table, stream=lambda rows: iter([chunk])), kind)
        )
        try:
            part = _part(replace(table, stream=sifted.chunks), kind)
        except Mistake:  # it is not the rows
            raise first from None
        if not sifted.bad:
            raise
        if not skip_bad and sifted.refused != {Unlabelled}:
            raise Mistake(
                "{note} Of the {rows:,} rows, {count:,} cannot be read; --skip-bad leaves such rows out.",
                note=first.message,
                rows=sifted.rows,
                count=sifted.bad,
            ) from None
        part.notes.append(sifted.note(first))
        return part


def grouped(table: Table, kind) -> Table:
    """With the column that says of which group a row is, where there is one and the task tells groups apart."""
    name = next((name for name in getattr(kind, "groups", ()) if name in table.every), None)
    if name is None or name in table.own.values():
        return table
    return table.choose({**table.own, name: name})


def groups_in(chunk: Chunk, kind) -> list[str] | None:
    """The group of every row; of a single group there is nothing to tell apart."""
    values = next(
        (chunk.columns[name] for name in getattr(kind, "groups", ()) if name in chunk.columns), ()
    )
    groups = ["–" if value is None else str(value).strip() for value in values]
    return groups if len(set(groups)) > 1 else None


class Sifted:
    """The rows of a table that whoever `reads` them does not refuse; the others are counted. `beside`: other columns go along."""

    def __init__(self, table: Table, reads: Callable[[Chunk], object], beside: bool = False):
        self.table = table.choose(dict(table.own), beside, True) if table.choose else table
        self.reads, self.rows, self.bad, self.refused, self.first = reads, 0, 0, set(), None

    def chunks(self, size: int) -> Iterator[Chunk]:
        for chunk in self.table.chunks(size):
            good = chunk
            if not self.takes(chunk):
                good = rows_of(
                    chunk, [row for row in range(len(chunk)) if self.takes(rows_of(chunk, [row]))]
                )
            self.rows, self.bad = self.rows + len(chunk), self.bad + len(chunk) - len(good)
            if len(good):
                yield good

    def takes(self, chunk: Chunk) -> bool:
        try:
            self.reads(chunk)
            return True
        except Mistake as mistake:
            if len(chunk) == 1:
                self.first = self.first or mistake
                self.refused.add(type(mistake))
            return False

    def note(self, first: Mistake) -> Message:
        return Message(
            "left out {count:,} of the {rows:,} rows, which cannot be read; the first: {note}",
            count=self.bad,
            rows=self.rows,
            note=first.message,
        )


def rows_of(chunk: Chunk, rows: list[int]) -> Chunk:
    rows = np.array(rows, np.int64)
    columns, beside = (
        {name: pick(values, rows) for name, values in own.items()}
        for own in (chunk.columns, chunk.beside)
    )
    return Chunk(columns, np.asarray(chunk.lines)[rows], beside, chunk.asked)


def _part(table: Table, kind) -> Part:
    """Texts that are too large for memory go to a file as they are read; pairs and tokens stay in it."""
    if kind.running_text:
        return Part(kind.corpus_of(table), None, table.source, ())
    if kind.two_texts:
        table = pairs.checked(table)
    texts = (
        "text" in table.names
        and "tokens" not in table.names
        and kind.texts == "tokens"
        and not kind.history
    )
    held, size, chunks = [], 0, table.chunks(1024)
    for chunk in chunks if texts else ():
        held.append(chunk)
        size += stored.size_of(kind.inputs_of(chunk, table.source))
        if size > stored.LARGE:
            return stored_part(table, kind, chain(held, chunks))
    chunk = replace(table, stream=lambda rows: iter(held)).load() if held else table.load()
    if not len(chunk):
        raise Mistake(
            "{file} has no rows; expected at least one below its header.", file=table.source
        )
    return Part(
        kind.inputs_of(chunk, table.source),
        kind.targets_of(chunk, table.source),
        table.source,
        chunk.lines,
        groups=groups_in(chunk, kind),
        asked=chunk.asked,
    )


def stored_part(table: Table, kind, chunks: Iterator[Chunk]) -> Part:
    labels, numbers, places, same = [], [], [], {}

    def texts() -> Iterator[list[str]]:
        for chunk in chunks:
            targets = kind.targets_of(chunk, table.source)
            if isinstance(targets, np.ndarray):
                numbers.append(targets)
            else:  # one object for every distinct label, however many rows have it
                labels.extend(map(same.setdefault, targets, targets))
            places.append(Chunk({}, chunk.lines))
            yield kind.inputs_of(chunk, table.source)

    inputs = StoredTexts.of(texts())
    lines = Table(table.source, [], [], lambda rows: iter(places)).load().lines
    return Part(inputs, np.concatenate(numbers) if numbers else labels, table.source, lines)
