"""Workbooks: .xlsx, .xls and .ods → rows, through the package python-calamine (the extra `excel`)."""

import datetime
from collections.abc import Collection
from pathlib import Path

from wenmai.data.files.columns import Format, has_header, listed, tidy
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs


def rows(path: Path, source: str, columns: dict[str, str] | None, seen: Collection[str]) -> Format:
    """The first sheet that holds something, a row a row."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise Mistake(
            "{file} is a workbook of Excel: save it there as CSV UTF-8, or run pip install 'wenmai[excel]'.",
            file=source,
        ) from None
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            names = book.sheet_names
            held = (
                (name, book.get_sheet_by_name(name).to_python(skip_empty_area=False))
                for name in names
            )
            name, cells = next(((name, rows) for name, rows in held if rows), ("", []))
    except (calamine.CalamineError, OSError) as error:
        what = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise Mistake(
            "{file} cannot be read as a workbook of Excel ({error}); save it there as CSV UTF-8.",
            file=source,
            error=Theirs(what),
        ) from None
    filled = [(line, [_plain(cell) for cell in row]) for line, row in enumerate(cells, 1)]
    filled = [(line, row) for line, row in filled if any(cell != "" for cell in row)]
    if not filled:
        raise Mistake("{file} is empty; expected at least one row.", file=source)
    (_, first), *below = filled
    header = has_header(
        [str(cell) for cell in first],
        [[str(cell) for cell in row] for _, row in below[:100]],
        columns,
        seen,
    )
    if header and not below:
        raise Mistake(
            "{file} holds a header and no rows; expected at least one row below it.", file=source
        )
    body = below if header else filled
    own = (
        [str(cell) for cell in first]
        if header
        else [str(position) for position in range(len(first))]
    )

    def stream(size: int, positions: list[int]):
        for start in range(0, len(body), size):
            block = body[start : start + size]
            yield (
                [[row[position] for _, row in block] for position in positions],
                [line for line, _ in block],
            )

    notes = [
        Message("A workbook; its sheet {name} is read, of {names}.", names=listed(names), name=name)
    ]
    shown = listed(tidy(own), 100)
    notes.append(
        Message("The first line is a header: {names}.", names=shown)
        if header
        else Message("There is no header; the columns are {names}.", names=shown)
    )
    return Format(own, notes, stream)


def _plain(cell):
    """Texts and numbers as they are seen: 1 and not 1.0, a date as 2024-03-05."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return (
        str(cell)
        if isinstance(cell, (bool, datetime.date, datetime.time, datetime.timedelta))
        else cell
    )
