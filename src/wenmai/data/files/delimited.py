"""CSV, TSV and plain text → columns, a block of lines at a time.

Blocks are taken apart by functions that run in C and make no list a row; a block that is out of the ordinary (a quote in the
middle of a cell, blank lines, a row of another width) goes through the slower code beside them.
"""

import csv
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice
from typing import TextIO

import numpy as np

from wenmai.data.files.bounds import LONGEST
from wenmai.data.files.columns import Format, has_header, listed, tidy, uncollected
from wenmai.data.files.opening import TextFile
from wenmai.errors import Mistake, Notice
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs

GAP = "\0"  # stands where a piece in quotes was taken out; text_file lets no such character through at the beginning
MARKS = {
    ",": Message("a comma"),
    ";": Message("a semicolon"),
    "\t": Message("a tab"),
    "|": Message("a bar"),
}
# A cell in quotes that begins a line or stands behind a tab, with a line end, a tab or a doubled quote inside.
EXCEL = re.compile(
    r'(?:^|\t)"(?:[^"\t\r\n]|"")*(?:[\t\r\n]|"")(?:[^"]|"")*"(?=[\t\r\n]|$)', re.MULTILINE
)
SEPARATOR = re.compile(r"(sep=[^\w\s\"]|sep=\t)\"?\r?\n", re.IGNORECASE)
Block = tuple[list[list[str]], Sequence[int]]  # columns, and the line of each row


def commas(file: TextFile, columns: dict[str, str] | None, seen: Collection[str] = ()) -> Format:
    """CSV; a delimiter other than the comma is found out: the one by which all rows of the beginning are equally wide."""
    rows = {mark: _widths(file, mark) for mark in MARKS}
    mark = next(
        (mark for mark in MARKS if rows[mark] and len(set(rows[mark])) == 1 < rows[mark][0]), None
    )
    # a file that is broken somewhere is told where, by the delimiter of its first row
    mark = mark or max(MARKS, key=lambda mark: rows[mark][:1] or [0])
    return table(file, columns, mark, True, seen)


def tabs(file: TextFile, columns: dict[str, str] | None, seen: Collection[str] = ()) -> Format:
    """TSV; a quote is data, and a row is a line, unless cells are quoted as Excel does, with a line end, a tab or a doubled quote
    inside. Without a header, a line may lack columns at its end that nobody asks for."""
    return table(file, columns, "\t", _quoted(file, "\t"), seen)


def plain(file: TextFile) -> Format:
    return Format(
        ["text"],
        [*file.notes, Message("Plain text: one row a line.")],
        _stream(file, None, 1),
        plain=file,
    )


def tabbed(file: TextFile) -> bool:
    """Whether all of the first lines, or rows where cells are quoted, hold the same number of tabs, at least one."""
    counts = {line.count("\t") for line in file.first_lines()}
    return (len(counts) == 1 and counts != {0}) or _quoted(file, "\t")


def _widths(file: TextFile, mark: str) -> list[int]:
    """Of the rows at the beginning, up to one that is no CSV or that the sample cuts in two."""
    lines, widths = file.sample.splitlines(keepends=True), []
    reader = csv.reader(
        lines[:-1] if file.cut and len(lines) > 1 else lines, delimiter=mark, strict=True
    )
    try:
        widths.extend(map(len, filter(None, islice(reader, 100))))
    except csv.Error as error:
        if "end of data" not in str(error):
            return widths and [*widths, 0]
    return widths


def _quoted(file: TextFile, mark: str) -> bool:
    """Whether cells are in quotes, as a line end, a mark or a doubled quote inside of one shows, and rows are equally wide."""
    if not EXCEL.search(file.sample):
        return False
    widths = _widths(file, mark)
    return len(set(widths)) == 1 < widths[0]


def lines_of(file: TextFile, size: int) -> Iterator[list[str]]:
    """All lines, empty ones too, without their ends."""
    with file.open() as text:
        while lines := list(islice(text, size)):
            yield list(map(_bare, lines))


def table(
    file: TextFile,
    columns: dict[str, str] | None,
    mark: str,
    quotes: bool,
    seen: Collection[str] = (),
) -> Format:
    csv.field_size_limit(LONGEST)
    if separator := SEPARATOR.match(
        file.sample
    ):  # which would be taken for a row, and the header for another
        raise Mistake(
            "{file} begins with the line {line}, which tells Excel the delimiter and is no part of the table; remove "
            "this line.",
            file=file.source,
            line=separator[1].strip(),
        )
    first, *below = _beginning(file, mark, quotes)
    header = has_header(first, below, columns, seen)
    if header and not below:
        raise Mistake(
            "{file} holds a header and no rows; expected at least one row below it.",
            file=file.source,
        )
    names = first if header else [str(position) for position in range(len(first))]
    shown = listed(tidy(names), 100)
    notes = [
        *file.notes,
        Message("The delimiter is {mark}.", mark=MARKS.get(mark, mark)),
        Message("The first line is a header: {names}.", names=shown)
        if header
        else Message("There is no header; the columns are {names}.", names=shown),
    ]
    stream, lenient = (
        _stream(file, mark, len(first), quotes, header, lenient) for lenient in (False, True)
    )
    return Format(names, notes, stream, lenient=lenient)


def _beginning(file: TextFile, mark: str, quotes: bool, most: int = 100) -> list[list[str]]:
    """The first rows, up to one that cannot be read: that one is reported when its turn comes."""
    first_rows, heights = [], []
    try:
        with file.open(newline="" if quotes else "\n") as text:
            split = (line.split(mark) for line in map(_bare, text) if line)
            rows = csv.reader(text, delimiter=mark, strict=True) if quotes else split
            first_rows.extend(
                islice(_filled(rows, heights), most)
            )  # extend keeps the rows that come before an error
    except Mistake:
        if len(first_rows) < 2:  # the header at the most
            raise
    except csv.Error as error:
        if len(first_rows) < 2:
            raise _broken(file.source, 1 + sum(heights), str(error)) from None
    return first_rows


def _filled(rows: Iterator[list[str]], heights: list[int]) -> Iterator[list[str]]:
    """Without blank lines; `heights` takes the lines of each row, blank ones too."""
    for row in rows:
        heights.append(1 + sum(map(_breaks, row)))
        if row:
            yield row


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _stream(
    file: TextFile,
    mark: str | None,
    width: int,
    quotes: bool = False,
    header: bool = False,
    lenient: bool = False,
):
    def stream(size: int, positions: list[int]):
        number, skip = 1, header  # the line that comes next; whether the header is yet to come
        least, short = (
            width if header else 1 + max(positions, default=0),
            [],
        )  # columns of a line; lines that have no more
        with file.open(newline="" if quotes else "\n") as text:
            held: list[str] = []  # the lines of a row that goes on
            while lines := held + list(islice(text, (1 if skip else size) - len(held))):
                held, block = [], "".join(lines)
                with uncollected():
                    if quotes and '"' in block:
                        if held := _open_row(lines, block):
                            block = "".join(lines[: -len(held)])
                        columns, where = _unquoted(
                            block, len(lines) - len(held), mark, width, number
                        )
                    else:
                        columns, where = (
                            _regular(block, mark, width),
                            range(number, number + len(lines)),
                        )
                    after = number + len(lines) - len(held)
                    if columns is None and quotes:
                        held, (columns, where, after) = (
                            [],
                            _rows(lines, text, mark, width, number, file.source, lenient),
                        )
                    elif columns is None:
                        columns, where = _irregular(
                            lines, mark, width, least, number, file.source, short, lenient
                        )
                number = after
                if len(where) and not skip:
                    yield [columns[position] for position in positions], where
                skip = skip and not len(where)
        if short:
            note = Message(
                "{file}: {count} lines lack columns that the first row has, the first of them line {line}; those "
                "asked for are there, so they are kept: look whether a tab is missing",
                file=file.source,
                count=len(short),
                line=short[0],
            )
            warnings.warn(Notice(note), stacklevel=2)

    return stream


def _regular(block: str, mark: str | None, width: int) -> list[list[str]] | None:
    """Columns of lines that all hold `width` cells, and no quotes; None if one is otherwise, or blank."""
    if "\r" in block:
        block = block.replace("\r\n", "\n")
        if "\r" in block:
            return None
    if not block.endswith("\n"):
        block += "\n"
    count = block.count("\n")
    if mark is None:
        cells, last = [], block
    else:
        cells = block.replace("\n", "\n" + mark).split(
            mark
        )  # the end of a line stays at the end of its last cell
        last = "".join(cells[width - 1 :: width])
    # As many line ends as lines among the last cells: then every line ends where its row does.
    if last.count("\n") != count or (cells and len(cells) != count * width + 1):
        return None
    final = last.split("\n")
    final.pop()
    if width == 1 and "" in final:
        return None
    return [*(cells[position:-1:width] for position in range(width - 1)), final]


def _open_row(lines: list[str], block: str) -> list[str]:
    """The last lines, if a quote opens in them and does not close: their row goes on. Quotes come in twos."""
    at = len(lines)
    if block.count('"') % 2:
        at -= 1
        while at and lines[at].count('"') % 2 == 0:
            at -= 1
    return lines[at:]


def _unquoted(
    block: str, height: int, mark: str, width: int, number: int
) -> tuple[list[list[str]] | None, Sequence[int]]:
    """As _even, with quotes: every second piece between them is inside, and is a cell or a part of one.

    A cell that is nothing but such pieces, with a doubled quote between them, is what it is in CSV; where a quote stands
    otherwise, None. The block has `height` lines and begins at line `number`.
    """
    pieces = block.split('"')
    outside = GAP.join(pieces[::2])
    columns = (
        _regular(outside, mark, width)
        if len(pieces) % 2 and outside.count(GAP) == len(pieces) // 2
        else None
    )
    if not columns:
        return None, ()
    quoted = [position for position, column in enumerate(columns) if GAP in "".join(column)]
    one = len(quoted) == 1
    cells = columns[quoted[0]] if one else chain.from_iterable(zip(*columns))
    inside = iter(pieces[1::2])
    try:
        filled = [
            cell if GAP not in cell else next(inside) if cell == GAP else _doubled(inside, cell)
            for cell in cells
        ]
    except ValueError:
        return None, ()
    if one:
        columns[quoted[0]] = filled
    else:
        columns = [filled[position::width] for position in range(width)]
    count = len(columns[0])
    if height == count:
        return columns, range(number, number + count)
    heights = np.ones(count, np.int64)
    for position in quoted:
        for row in [
            row for row, cell in enumerate(columns[position]) if "\n" in cell or "\r" in cell
        ]:
            heights[row] += _breaks(columns[position][row])
    return columns, _beginnings(number, heights)


def _doubled(inside: Iterator[str], cell: str) -> str:
    if cell.strip(GAP):
        raise ValueError("a quote in the middle of a cell")
    return '"'.join(islice(inside, len(cell)))


def _breaks(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _beginnings(number: int, heights: Sequence[int]) -> np.ndarray:
    """The line where each row begins, if the first begins at `number` and each has so many lines."""
    return number + np.cumsum(np.append(0, heights), dtype=np.int64)[:-1]


def _irregular(
    lines: list[str],
    mark: str | None,
    width: int,
    least: int,
    number: int,
    source: str,
    short: list[int],
    lenient: bool,
) -> Block:
    """Without quotes: blank lines are left out, a line of another width is a Mistake. One that has the `least` columns which are
    asked for is filled up, and noted in `short`."""
    kept = [(line, cells) for line, cells in enumerate(map(_bare, lines), number) if cells]
    where = np.array([line for line, _ in kept], np.int64)
    rows = [cells.split(mark) if mark else [cells] for _, cells in kept]
    for line, row in zip(where.tolist(), rows):
        if least <= len(row) < width:
            row += [""] * (width - len(row))
            short.append(line)
    _of_width(rows, where, width, source, lenient)
    return _columns(rows, width), where


def _rows(
    lines: list[str], text: TextIO, mark: str, width: int, number: int, source: str, lenient: bool
):
    """As many rows as there are lines, by the csv module; where a row goes on, more lines are taken from the text.
    Gives columns, the line where each row begins, and the line after the last one."""
    rows, broken = [], None
    try:
        rows.extend(islice(csv.reader(chain(lines, text), delimiter=mark, strict=True), len(lines)))
    except csv.Error as error:  # extend keeps the rows that come before it
        broken = str(error)
    heights = [1 + sum(map(_breaks, row)) for row in rows]
    where, after = _beginnings(number, heights), number + sum(heights)
    if 0 in set(map(len, rows)):
        where = np.array([line for line, row in zip(where, rows) if row], np.int64)
        rows = [row for row in rows if row]
    _of_width(rows, where, width, source, lenient)
    if broken:
        raise _broken(source, after, broken)
    return _columns(rows, width), where, after


def _broken(source: str, line: int, error: str) -> Mistake:
    quoting = Message("broken quoting ({reason})", reason=Theirs(error))
    if "end of data" in error or "field limit" in error:
        quoting = Message("a quote that opens and never closes")
    return Mistake(
        "{file}, line {line}: found {quoting} in the row that begins here; expected a cell in quotes to be closed "
        'before the next delimiter, and "" for a quote inside it; correct the line.',
        file=source,
        line=line,
        quoting=quoting,
    )


def _of_width(
    rows: list[list[str]], where: Sequence[int], width: int, source: str, lenient: bool
) -> None:
    if lenient:
        rows[:] = [row if len(row) == width else [None] * width for row in rows]
    if set(map(len, rows)) - {width}:
        line, cells = next((line, len(row)) for line, row in zip(where, rows) if len(row) != width)
        raise Mistake(
            "{file}, line {line}: found {actual} columns, expected {expected} as in the first row; correct the line "
            "or remove it.",
            file=source,
            line=line,
            actual=cells,
            expected=width,
        )


def _columns(rows: list[list[str]], width: int) -> list[list[str]]:
    return list(map(list, zip(*rows))) if rows else [[] for _ in range(width)]
