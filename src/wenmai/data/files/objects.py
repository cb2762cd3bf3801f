"""JSON → rows: an object a line, one list of objects, or the questions of SQuAD (Rajpurkar et al. 2016).

Whatever the shape of the file, only the objects that are being read are held.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TextIO

import numpy as np

from wenmai.data.files.bounds import LONGEST
from wenmai.data.files.columns import Format, uncollected
from wenmai.data.files.opening import TextFile
from wenmai.data.files.stories import c3, is_c3
from wenmai.errors import Mistake
from wenmai.locale import Listed, Message, phrase
from wenmai.locale.theirs import Theirs

BLOCK = 1 << 16  # characters read at a time
FIRST = 100  # objects whose keys are the columns
DEEPEST = 8  # objects inside of objects that are looked into
SPACE = re.compile(r"[ \t\n\r]*")
PIECE = '"paragraphs"', '"qas"', '"context"'
# An object whose plain fields, if any, come before a list named "data".
ARTICLES = re.compile(r'\s*\{(\s*"[^"\\]*"\s*:\s*("([^"\\]|\\.)*"|[^\s",:{}\[\]]+)\s*,)*\s*"data"\s*:\s*\[')
QUESTION = ["id", "context", "question", "answer", "answers", "answer_start", "answer_starts"]


def objects(file: TextFile) -> Format:
    """JSON by its look: SQuAD, a list, or lines."""
    if ARTICLES.match(file.sample) and (any(map(file.sample.__contains__, PIECE)) or not _is_whole(file.first_lines(1)[0])):
        return _squad(file)
    as_list = file.sample.lstrip().startswith("[")
    if as_list and is_c3(next(_elements(file), None)):
        return c3(file, lambda: _elements(file))
    place = phrase("place", "record") if as_list else phrase("place", "line")

    def rows(lenient: bool = False) -> Iterator[tuple[int, dict]]:
        for number, row in enumerate(_elements(file), 1) if as_list else _lines(file, lenient):
            row = {} if lenient and not isinstance(row, dict) else row
            if not isinstance(row, dict):
                kind = type(row).__name__
                raise Mistake('{file}, {place} {number}: found a JSON {type}, expected an object such as {{"text": "…", "label": '
                              '"…"}}; rewrite the file so.', file=file.source, place=place, number=number, type=kind)  # fmt: skip
            yield number, row

    first = next(rows(), None)
    if first is None:
        raise Mistake("{file} is empty: found a list without objects, expected at least one.", file=file.source)
    keys = list(dict.fromkeys(key for _, row in chain([first], islice(rows(True), 1, FIRST)) for key in row))
    if not first[1]:
        raise Mistake('{file}, {place} {number}: found an object without keys, expected some, as in {{"text": "…"}}.',
                      file=file.source, place=place, number=first[0])  # fmt: skip

    inner = list(_inner(first[1]))

    def stream(size: int, positions: list[int], lenient: bool = False):
        numbered = rows(lenient)
        paths = [[keys[position]] if position < len(keys) else inner[position - len(keys)] for position in positions]
        while block := _block(numbered, size):
            columns = [[_value(row, path) for _, row in block] for path in paths]
            yield columns, np.array([number for number, _ in block], np.int64)

    note = Message("JSON: one list of objects.") if as_list else Message("JSON: one object a line.")
    return Format([*keys, *map(".".join, inner)], [*file.notes, note], stream, lenient=partial(stream, lenient=True),
                  inner=len(inner))  # fmt: skip


def _inner(row: dict, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of what stands inside of objects: review.body."""
    for key, value in row.items() if len(above) < DEEPEST else ():
        if isinstance(value, dict):
            yield from _inner(value, (*above, key))
        elif above:
            yield (*above, key)


def _value(row: object, path: Sequence[str]) -> object:
    """None where there is nothing."""
    for key in path:
        row = row.get(key) if isinstance(row, dict) else None
    return row


def _block(rows: Iterator, size: int) -> list:
    with uncollected():
        return list(islice(rows, size))


def _is_whole(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(file: TextFile, lenient: bool = False) -> Iterator[tuple[int, object]]:
    with file.open() as text:
        for number, line in enumerate(text, 1):
            if not line.isspace():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    if lenient:
                        yield number, None
                        continue
                    raise Mistake("{file}, line {line}: found something that is not JSON ({json}), expected one whole object a "
                                  "line; correct the line.", file=file.source, line=number,
                                  json=_reason(error)) from None  # fmt: skip


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return Message("{reason}, column {column}", reason=Theirs(error.msg), column=error.colno)
    return Theirs(str(error).split(";")[0])


def _elements(file: TextFile) -> Iterator[object]:
    with file.open(lines=False) as text:
        document = _Document(text, file.source)
        yield from document.elements()
        document.end()


class _Document:
    """One JSON document, its parts decoded as they are asked for."""

    def __init__(self, text: TextIO, source: str):
        self.text, self.source, self.decoder = text, source, json.JSONDecoder()
        self.buffer, self.at, self.line = "", 0, 1  # the line where the buffer begins

    def elements(self) -> Iterator[object]:
        """Of the list that comes next."""
        self.mark("[")
        if self.ahead() == "]":
            self.at += 1
            return
        while True:
            yield self.value()
            if self.mark(",]") == "]":
                return

    def value(self) -> object:
        self.ahead()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.at)
                if end == len(self.buffer) and self.more():  # 12 may turn out to be 123
                    continue
                self.at = end
                return value
            except json.JSONDecodeError as error:
                # A value that goes on in the next block breaks near the end of this one, or is an open string.
                cut = error.msg.startswith("Unterminated") or error.pos > len(self.buffer) - 16
                if not (cut and self.more()):
                    raise self.broken(Theirs(error.msg), error.pos) from None
            except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists thousands deep
                raise self.broken(_reason(error), self.at) from None

    def mark(self, marks: str) -> str:
        """Goes past the mark that comes next, if it is one of these."""
        character = self.ahead()
        if not character or character not in marks:
            raise self.broken(Message("expecting {marks}", marks=Listed(marks, Message(" or "))), self.at)
        self.at += 1
        return character

    def end(self) -> None:
        if self.ahead():
            raise self.broken(Message("something after its end"), self.at)

    def ahead(self) -> str:
        """The next character that is no space; "" at the end."""
        passed = 0
        while True:
            start, self.at = self.at, SPACE.match(self.buffer, self.at).end()
            passed += self.at - start
            if passed > LONGEST:
                raise self.broken(Message("more than {most:,} spaces", most=LONGEST), self.at)
            if self.at < len(self.buffer) or not self.more():
                return self.buffer[self.at : self.at + 1]

    def more(self) -> bool:
        """Takes another block, at least as long as what is left, so that long values are not tried too often."""
        left = self.buffer[self.at :]
        if len(left) > LONGEST:
            raise self.broken(Message("a value of more than {most:,} characters", most=LONGEST), self.at)
        block = self.text.read(max(BLOCK, len(left)))
        if block:
            self.line += self.buffer.count("\n", 0, self.at)
            self.buffer, self.at = left + block, 0
        return bool(block)

    def broken(self, what: str, at: int) -> Mistake:
        line = self.line + self.buffer.count("\n", 0, at)
        return Mistake("{file}, line {line}: found something that is not JSON ({json}); expected one list of objects, or one "
                       "object a line; correct it.", file=self.source, line=line, json=what)  # fmt: skip


# SQuAD


def _squad(file: TextFile) -> Format:
    def stream(size: int, positions: list[int]):
        questions, done = _questions(file), 0
        while block := _block(questions, size):
            yield [[row[position] for row in block] for position in positions], range(done + 1, done + 1 + len(block))
            done += len(block)

    if next(_questions(file), None) is None:
        raise Mistake("{file} is empty: found no questions in its paragraphs, expected at least one.", file=file.source)
    return Format(QUESTION, [*file.notes, Message("SQuAD: one row a question.")], stream)


def _articles(file: TextFile) -> Iterator[object]:
    with file.open(lines=False) as text:
        document = _Document(text, file.source)
        document.mark("{")
        while True:
            key = document.value()
            document.mark(":")
            if key == "data":
                yield from document.elements()
            else:
                document.value()
            if document.mark(",}") == "}":
                return document.end()


def _questions(file: TextFile) -> Iterator[tuple]:
    """(id, context, question, answer, answers, answer_start, answer_starts), as QUESTION says; one that is_impossible
    has no answers, whatever stands there."""

    def part(parent: object, where: str, key: str, kind: type | tuple, called: str):
        value = parent.get(key) if isinstance(parent, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            name = type(value).__name__
            what = Message('no "{key}"', key=key) if value is None else Message('a {type} as "{key}"', type=name, key=key)
            raise Mistake("{file}, {at}: found {squad}, expected {called} there, as in SQuAD; correct it.", file=file.source,
                          at=where, squad=what, called=called)  # fmt: skip
        return value

    a_list, a_text = phrase("called", "a list"), phrase("called", "a text")
    for a, article in enumerate(_articles(file)):
        for p, paragraph in enumerate(part(article, f"data[{a}]", "paragraphs", list, a_list)):
            where = f"data[{a}].paragraphs[{p}]"
            context = part(paragraph, where, "context", str, a_text)
            for q, question in enumerate(part(paragraph, where, "qas", list, a_list)):
                where = f"data[{a}].paragraphs[{p}].qas[{q}]"
                asked, name = part(question, where, "question", str, a_text), str(part(question, where, "id", (str, int), a_text))
                known = question.get("answers") is not None and question.get("is_impossible") is not True
                given = part(question, where, "answers", list, a_list) if known else []
                answers = [part(one, f"{where}.answers[{i}]", "text", str, a_text) for i, one in enumerate(given)]
                start = part(given[0], f"{where}.answers[0]", "answer_start", int, phrase("called", "a number")) if given else -1
                starts = [start, *(one.get("answer_start", -1) for one in given[1:])][: len(given)]
                yield name, context, asked, answers[0] if answers else "", answers, start, starts
