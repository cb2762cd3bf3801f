"""Which column is which: what a format gives, the words that tasks know, header rows, and --columns."""

import gc
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from wenmai.data.files.languages import CALLED, HEADERS
from wenmai.errors import Mistake, alike, nearest

WORDS = (
    "text",
    "label",
    "target",
    "text_a",
    "text_b",
    "source",
    "tokens",
    "tags",
    "context",
    "question",
    "answer",
    "image",
    "audio",
)


class Format(NamedTuple):
    """A file whose format is known: the names of all its columns, what was detected, and its rows.

    stream(size, positions) reads the file from its beginning and yields the columns at those positions, at most `size`
    rows at a time, with the line (or record) of each row, from 1.
    """

    names: list[str]
    notes: list[str]
    stream: Callable[[int, list[int]], Iterator[tuple[list[Sequence], Sequence[int]]]]
    usual: dict[str, int] | None = (
        None  # word → position, where the format says more than the names do
    )
    plain: object = None  # the TextFile, where a row is just a line of it
    lenient: Callable | None = (
        None  # as `stream`, but a row that cannot be read is one of nothing but None
    )
    asked: bool = (
        False  # whether rows are questions, and counted as such: where lines end says nothing
    )
    inner: int = 0  # how many of the names, the last ones, are parts of what stands under others


@contextmanager
def uncollected() -> Iterator[None]:
    """While many rows are made the garbage collector would look through them again and again, and find none to free."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parse_columns(text: str) -> dict[str, str]:
    """'text=0,label=1' → {'text': '0', 'label': '1'}; the marks may be those of Chinese, and so may the words."""
    columns: dict[str, str] = {}
    for part in re.split(r",|，(?=[^,，=＝]*[=＝])", text):
        at = min((place for place in map(part.find, "=＝") if place >= 0), default=len(part))
        word, equals, name = (
            piece.strip() for piece in (part[:at], part[at : at + 1], part[at + 1 :])
        )
        word = CALLED.get(word, word)
        if not (word and equals and name):
            raise Mistake(
                '--columns {columns}: found "{actual}", expected word=column, as in text=0,label=1.',
                columns=text,
                actual=part.strip(),
            )
        if word in columns:
            raise Mistake(
                "--columns {columns}: {word} is given twice; give it one column.",
                columns=text,
                word=word,
            )
        columns[word] = name
    return columns


def tidy(names: Sequence[str]) -> list[str]:
    """Header cells as names: known words in lower case; an empty or repeated name gets its position as well."""
    clean: dict[str, None] = {}
    for position, name in enumerate(map(str.strip, names)):
        name = name.lower() if name.lower() in WORDS else name
        name = name if name and name not in clean else f"{name}#{position}"
        while name in clean:  # somebody called a column so
            name += f"#{position}"
        clean[name] = None
    return list(clean)


def pick(
    columns: dict[str, str] | None, names: list[str], usual: dict[str, int] | None, source: str
) -> dict[str, int]:
    """Word → position: what the user says, else what is usual in the format, else every column under its own name."""
    chosen = {
        word: position_of(word, name, names, source) for word, name in (columns or {}).items()
    }
    if usual and set(chosen) <= set(usual):
        return usual | chosen
    return chosen or {name: position for position, name in enumerate(names)}


def position_of(word: str, name: str, names: list[str], source: str) -> int:
    """Where the column is that the user calls `name`: by name, else by position, else by name in any case."""
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    folded = [known.lower() for known in names]
    if name.lower() in folded:
        return folded.index(name.lower())
    ordered = nearest(name, names[:200])
    shown = listed([f"{short(known)} ({names.index(known)})" for known in ordered])
    if not ordered or not alike(name, ordered[0]):
        raise Mistake(
            '{file} has no column "{name}"; its columns (and positions) are {names}. Say which of them is the {word}, '
            "as in --columns {word}=NAME.",
            file=source,
            name=short(name),
            names=shown,
            word=word,
        )
    first = names.index(ordered[0]) if " " in ordered[0] or len(ordered[0]) > 30 else ordered[0]
    raise Mistake(
        '{file} has no column "{name}"; its columns (and positions) are {names}. Use --columns {word}={column} or '
        "another of them.",
        file=source,
        name=short(name),
        names=shown,
        word=word,
        column=first,
    )


def has_header(
    first: list[str],
    rows: list[list[str]],
    columns: dict[str, str] | None,
    seen: Collection[str] = (),
) -> bool:
    """Whether the first row names the columns: the user or a known word says so, or a name that a run has `seen`; or it is short
    words that stand over numbers, or over a column whose few values come again and again while the word over them never does."""
    if columns and not all(name.isdecimal() for name in columns.values()):
        return True
    cells = {cell.strip().lower() for cell in first}
    if cells & {*WORDS, *(name.lower() for name in seen if not name.isdecimal())}:
        return True
    if cells & HEADERS and not any(map(is_number, cells)):
        return True
    names = all(
        0 < len(cell) <= 30 and not is_number(cell) and cell.count(" ") < 3
        for cell in map(str.strip, first)
    )
    if not names or len(first) < 2 or not rows:
        return False
    below = list(zip(*(row for row in rows if len(row) == len(first))))
    few = [
        len(set(column)) <= len(column) // 4 and word not in column
        for word, column in zip(first, below)
    ]
    over_numbers = any(map(is_number, rows[0])) and not any(" " in cell.strip() for cell in first)
    return over_numbers or (any(few) and len(rows) >= 8)


def is_number(cell: str) -> bool:
    try:
        return float(cell) == float(cell) and any(
            map(str.isdigit, cell)
        )  # neither nan nor "infinity", which are words
    except ValueError:
        return False


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names side by side, of many the first ones."""
    shown = [short(name) for name in islice(names, most + 1)]
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")


def short(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
