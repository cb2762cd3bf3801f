"""Pairs: a text and what it becomes, in two columns of one file or in two aligned files, line by line.

Two files are named with a comma between them, train.en,train.de, wherever one may be named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from wenmai.data.files import delimited
from wenmai.data.files.columns import Format, listed
from wenmai.data.files.opening import text_file
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase

if TYPE_CHECKING:
    from wenmai.data.files.readers import Chunk, Table

SIDES = ("source", "target")
IN_WORDS = {"source": phrase("side", "source"), "target": phrase("side", "target")}
CONTROL = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]"
)  # and half characters; not tabs and ends of lines


def two_files(source: str) -> tuple[str, str] | None:
    """The names in train.en,train.de; None where there is one name only, be it one with a comma in it."""
    if "," not in source or Path(source).exists():
        return None
    cuts = [
        (source[:at].strip(), source[at + 1 :].strip())
        for at, mark in enumerate(source)
        if mark == ","
    ]
    there = [names for names in cuts if all(map(os.path.exists, names))]
    return there[0] if there else cuts[0] if len(cuts) == 1 and all(cuts[0]) else None


def aligned(path: Path, source: str, other: Path, target: str) -> Format:
    """Two files, a row a line. Empty lines are kept, so that the lines stay side by side."""
    for file, name in ((path, source), (other, target)):
        if file.is_dir():
            raise Mistake(
                "{file} is a folder; expected two text files with as many lines; give a file.",
                file=name,
            )
    first, second = text_file(path, source), text_file(other, target)

    def stream(size: int, positions: list[int]):
        done = [0, 0]
        for blocks in zip_longest(
            delimited.lines_of(first, size), delimited.lines_of(second, size), fillvalue=[]
        ):
            lines = range(done[0] + 1, done[0] + 1 + len(blocks[0]))
            done = [before + len(block) for before, block in zip(done, blocks)]
            if len(blocks[0]) == len(
                blocks[1]
            ):  # at the first difference one of them is at its end; the other is counted
                yield [blocks[position] for position in positions], lines
        if done[0] != done[1]:
            longer = source if done[0] > done[1] else target
            raise Mistake(
                "{file} has {lines} lines and {other} has {others}: from line {line} on, {longer} stands alone; "
                "expected as many, each line beside its translation; add or remove lines.",
                file=source,
                lines=done[0],
                other=target,
                others=done[1],
                line=min(done) + 1,
                longer=longer,
            )

    notes = [
        *first.notes,
        *(Message("{file}: {note}", file=target, note=note) for note in second.notes),
        Message("Two aligned files: one row a line."),
    ]
    return Format(list(SIDES), notes, stream)


def named(table: Table) -> Table:
    """To translate, two columns without names are source and target, and the lines of a plain text are sources, empty ones too:
    what is written stays beside what was read."""
    names = {("0", "1"): SIDES, ("text",): SIDES[:1]}.get(tuple(table.names))
    if names is None:
        return table

    def stream(rows: int) -> Iterator[Chunk]:
        before = 0  # lines
        for chunk in table.chunks(rows):
            chunk, before = (
                with_empty_lines(chunk, before) if table.plain else chunk,
                chunk.lines[-1],
            )
            yield replace(chunk, columns=dict(zip(names, chunk.columns.values())))

    return replace(
        table, names=list(names), stream=stream, own=dict(zip(names, table.own.values()))
    )


def with_empty_lines(chunk: Chunk, before: int) -> Chunk:
    """Those too that were left out, from line `before` + 1 to its last."""
    lines, texts = (
        range(before + 1, chunk.lines[-1] + 1),
        dict(zip(chunk.lines, chunk.columns["text"])),
    )
    return replace(chunk, columns={"text": [texts.get(line, "") for line in lines]}, lines=lines)


def checked(table: Table) -> Table:
    """The same rows to learn from, or to be judged by: both sides are there, with text in every row."""
    if table.names == ["source"] and table.plain:
        name = table.source
        raise Mistake(
            "{file} is one text, and to translate takes two sides; give the file whose lines belong to it too, as in "
            "{name},OTHER, or a file with the columns source and target.",
            file=name,
            name=name,
        )
    if not set(SIDES) <= set(table.names):
        raise Mistake(
            "{file} has the columns {names}, expected source and target; name them with --columns "
            "source=NAME,target=NAME.",
            file=table.source,
            names=listed(table.names),
        )

    def stream(rows: int) -> Iterator[Chunk]:
        for chunk in table.chunks(rows):
            for side in SIDES:
                check_side(
                    chunk.columns[side],
                    chunk.lines,
                    side,
                    table.files.get(side, table.source),
                    bool(table.files),
                )
            yield chunk

    return replace(table, stream=stream)


def check_side(texts: Sequence, lines: Sequence[int], side: str, file: str, two: bool) -> None:
    for text, line in zip(texts, lines):
        if not isinstance(text, str):  # a number, or what the task refuses
            continue
        if not text.strip():
            do = (
                Message("drop line {line} of both files", line=line)
                if two
                else Message("drop the row")
            )
            raise Mistake(
                "{file}, line {line}: the {side} is empty; give both sides a text, or {side_do}.",
                file=file,
                line=line,
                side=IN_WORDS[side],
                side_do=do,
            )
        if not text.isprintable() and (control := CONTROL.search(text)):
            raise Mistake(
                '{file}, line {line}: found the control character "{letter}" in the {side}, expected nothing but text; '
                "take it out, or drop the row.",
                file=file,
                line=line,
                letter=control[0],
                side=IN_WORDS[side],
            )
