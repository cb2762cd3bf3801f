"""CoNLL: one token a line with its marks beside it, a blank line after each sentence (Tjong Kim Sang and De Meulder 2003).

    EU       NNP  I-NP  I-ORG
    rejects  VBZ  I-VP  O

CoNLL-U (universaldependencies.org/format.html) is the same with ten columns that have names, comments, and lines that are
no words: ranges such as 1-2, which are written as one and read as several, and nodes such as 1.1, which are not written.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from sys import intern

import numpy as np

from wenmai.data.files.columns import WORDS, Format, pick, uncollected
from wenmai.data.files.opening import TextFile
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase

ENDINGS = (
    ".conll",
    ".conllu",
    ".conll03",
    ".iob",
    ".iob2",
    ".bio",
    ".bmes",
    ".bioes",
    ".ner",
    ".pos",
)
UNIVERSAL = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
DOCUMENT = "-DOCSTART-"  # where a document begins, in files of 2003
NO_WORD = re.compile(r"\d+[-.]\d+")
BLANK = " \t\r\n"  # not all that str.isspace says: U+3000 and its like are tokens
LONGEST = 40  # characters of a token, where nothing but the look of a file says that it has tokens


@dataclass(frozen=True)
class Layout:
    tabs: bool  # else runs of spaces
    width: int
    universal: bool

    def cells(self, line: str) -> list[str]:
        if self.tabs:
            return line.rstrip("\r\n").split("\t")
        return [cell for cell in line.strip(BLANK).split(" ") if cell]

    def is_aside(self, line: str, cells: list[str], inside: bool) -> bool:
        """Whether it is no token. A token may begin with #, so elsewhere than in CoNLL-U a comment is a line at the
        beginning of a sentence that is not as wide as the others."""
        if self.universal:
            return line.startswith("#") or bool(NO_WORD.fullmatch(cells[0]))
        return line.startswith(DOCUMENT) or (
            line.startswith("#") and not inside and len(cells) != self.width
        )


def sentences(file: TextFile, columns: dict[str, str] | None) -> Format:
    layout = layout_of(file)
    if layout.width < 2:  # tokens that wait for their tags
        names, usual = ["tokens"], {"tokens": 0}
    elif layout.universal:
        names, usual = UNIVERSAL, {"tokens": 1, "tags": 3}
    else:
        names, usual = (
            ["tokens", *map(str, range(1, layout.width - 1)), "tags"],
            {"tokens": 0, "tags": layout.width - 1},
        )

    def stream(size: int, positions: list[int]):
        rows = _sentences(file, layout)
        while True:
            with uncollected():
                block = list(islice(rows, size))
                # The same words come again and again: each is held once.
                values = [
                    [list(map(intern, cells[position])) for _, cells in block]
                    for position in positions
                ]
            if not block:
                return
            yield values, np.array([line for line, _ in block], np.int64)

    return Format(
        names,
        [*file.notes, *_notes(file, layout, pick(columns, names, usual, file.source))],
        stream,
        usual,
    )


def _notes(file: TextFile, layout: Layout, picked: dict[str, int]) -> list[str]:
    what = (
        Message("CoNLL-U: one word a line")
        if layout.universal
        else Message("CoNLL: one token a line")
    )
    if layout.width < 2:
        notes = [Message("CoNLL: one token a line, no tags.")]
    elif {"tokens", "tags"} <= set(picked):
        at = {
            word: phrase("position", "{name}", name=UNIVERSAL[position])
            if layout.universal
            else Message("column {number}", number=position)
            for word, position in picked.items()
        }
        notes = [
            Message(
                "{format}, {width} columns; tokens are {position1}, tags {position2}.",
                format=what,
                width=layout.width,
                position1=at["tokens"],
                position2=at["tags"],
            )
        ]
    else:
        notes = [Message("{format}, {width} columns.", format=what, width=layout.width)]
    documents = sum(line.startswith(DOCUMENT) for line in file.sample_lines)
    if documents:
        notes.append(
            Message(
                "{mark} lines are dropped ({count} at the beginning of the file).",
                mark=DOCUMENT,
                count=documents,
            )
        )
    return notes


def _sentences(file: TextFile, layout: Layout) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
    """The line where each sentence begins, and its columns."""
    begin, rows = 0, []
    with file.open() as text:
        for number, line in enumerate(
            chain(text, [""]), 1
        ):  # the last sentence may lack the blank line after it
            if not line.strip(BLANK):
                if rows:
                    yield begin, list(zip(*rows))
                    rows = []
                continue
            cells = layout.cells(line)
            if layout.is_aside(line, cells, bool(rows)):
                continue
            if len(cells) != layout.width:
                raise Mistake(
                    "{file}, line {line}: found {actual} columns, expected {expected} as in the lines at the "
                    "beginning, or a blank line between sentences; correct the line.",
                    file=file.source,
                    line=number,
                    actual=len(cells),
                    expected=layout.width,
                )
            begin = begin if rows else number
            rows.append(cells)


# By the look of the file


def _tokens(file: TextFile) -> list[str]:
    lines = [
        line for line in file.sample_lines if line.strip(BLANK) and not line.startswith(DOCUMENT)
    ]
    return [line for line in lines if not line.startswith("#")] or lines


def layout_of(file: TextFile) -> Layout:
    tokens = _tokens(file)
    if not tokens:
        raise Mistake("{file} is empty: found no tokens, expected one a line.", file=file.source)
    tabs = sum("\t" in line for line in tokens) * 2 > len(tokens)
    rows = [Layout(tabs, 0, False).cells(line) for line in tokens]
    width = Counter(map(len, rows)).most_common(1)[0][0]
    universal = width == len(UNIVERSAL) and all(
        row[0].partition("-")[0].partition(".")[0].isdecimal() for row in rows
    )
    return Layout(tabs, width, universal)


def looks_so(file: TextFile, columns: dict[str, str] | None) -> bool:
    """Blank lines between groups of lines, which all have as many cells: two or more, and the first of them short.

    With spaces between them two words a line would do, as in verse, so there the last ones must be like tags: few, or
    in capitals.
    """
    if (columns and not {"tokens", "tags"} & set(columns)) or not _tokens(file):
        return False
    filled = [at for at, line in enumerate(file.sample_lines) if line.strip(BLANK)]
    steps = {second - first for first, second in pairwise(filled)}
    layout = layout_of(file)
    rows = [layout.cells(line) for line in _tokens(file)]
    if (
        1 not in steps
        or len(steps) < 2
        or layout.width < 2
        or {len(row) for row in rows} != {layout.width}
    ):
        return False
    if all(cell.strip().lower() in WORDS for cell in rows[0]) or any(
        len(row[0]) > LONGEST for row in rows
    ):
        return False
    tags = [row[-1] for row in rows]
    return (
        layout.tabs
        or len(set(tags)) * 4 <= len(tags)
        or all(tag.isascii() and tag == tag.upper() for tag in tags)
    )
