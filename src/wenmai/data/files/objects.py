"""JSON → rows: an object a line or over several lines, one list of objects, by itself or inside of an object ({"data": [ … ]}),
or the questions of SQuAD (Rajpurkar et al. 2016).

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
from wenmai.data.files.columns import WORDS, Format, uncollected
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
ARTICLES = re.compile(
    r'\s*\{(\s*"[^"\\]*"\s*:\s*("([^"\\]|\\.)*"|[^\s",:{}\[\]]+)\s*,)*\s*"data"\s*:\s*\['
)
QUESTION = ["id", "context", "question", "answer", "answers", "answer_start", "answer_starts"]


def objects(file: TextFile) -> Format:
    """JSON by its look: SQuAD, a list, an object that holds one, objects over several lines, or lines."""
    if ARTICLES.match(file.sample) and any(map(file.sample.__contains__, PIECE)):
        return _squad(file)
    as_list = file.sample.lstrip().startswith("[")
    if as_list and is_c3(next(_elements(file), None)):
        return c3(file, lambda: _elements(file))
    inside, open_line = (None, False) if as_list else (_list_inside(file), _is_open(file))
    by_line = not (as_list or inside or open_line)
    place = phrase("place", "line") if by_line else phrase("place", "record")

    def records() -> Iterator[object]:
        return _elements(file) if as_list else _member(file, inside) if inside else _values(file)

    def rows(lenient: bool = False) -> Iterator[tuple[int, dict]]:
        for number, row in _lines(file, lenient) if by_line else enumerate(records(), 1):
            row = {} if lenient and not isinstance(row, dict) else row
            if not isinstance(row, dict):
                kind = type(row).__name__
                raise Mistake(
                    '{file}, {place} {number}: found a JSON {type}, expected an object such as {{"text": "…", "label": '
                    '"…"}}; rewrite the file so.',
                    file=file.source,
                    place=place,
                    number=number,
                    type=kind,
                )
            yield number, row

    first = next(rows(), None)
    if first is None:
        raise Mistake(
            "{file} is empty: found a list without objects, expected at least one.",
            file=file.source,
        )
    others = list(islice(rows(True), 1, FIRST))
    keys = list(dict.fromkeys(key for _, row in chain([first], others) for key in row))
    if not first[1]:
        raise Mistake(
            '{file}, {place} {number}: found an object without keys, expected some, as in {{"text": "…"}}.',
            file=file.source,
            place=place,
            number=first[0],
        )

    inner = list(_inner(first[1]))

    def stream(size: int, positions: list[int], lenient: bool = False):
        numbered = rows(lenient)
        paths = [
            [keys[position]] if position < len(keys) else inner[position - len(keys)]
            for position in positions
        ]
        while block := _block(numbered, size):
            columns = [[_value(row, path) for _, row in block] for path in paths]
            yield columns, np.array([number for number, _ in block], np.int64)

    if not others and _holds_columns(first[1]):
        raise Mistake(
            '{file}: found one object that holds whole columns, expected an object a row, such as {{"text": "…", '
            '"label": "…"}}; save it so (in pandas: to_json(…, orient="records", lines=True)).',
            file=file.source,
        )
    if inside:
        note = Message('JSON: the list of objects under "{key}".', key=inside)
    elif as_list:
        note = Message("JSON: one list of objects.")
    else:
        note = (
            Message("JSON: one object a line.")
            if by_line
            else Message("JSON: objects over several lines.")
        )
    return Format(
        [*keys, *map(".".join, inner)],
        [*file.notes, note],
        stream,
        lenient=partial(stream, lenient=True),
        inner=len(inner),
    )


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


def _is_alone(file: TextFile) -> bool:
    """Whether the first line is all there is."""
    return not file.cut and len(file.first_lines(2)) == 1


def _is_open(file: TextFile) -> bool:
    """Whether the first line breaks off between two parts of an object, which goes on in the next."""
    line = file.first_lines(1)[0].strip()
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return (
            "\n" in file.sample.strip()
            and error.pos >= len(line) - 1
            and not error.msg.startswith(("Unterminated", "Extra"))
        )
    except (ValueError, RecursionError):
        pass
    return False


def _list_inside(file: TextFile) -> str | None:
    """Under which key the list of objects stands, where the whole file is one object around it: {"version": 1, "data": [ … ]}. A
    row that has a list of objects beside its text is none."""
    goes_on = (
        file.cut and "\n" not in file.sample.strip()
    )  # the first line does, past the sample: a row or all of the file
    if not (goes_on or _is_alone(file) or _is_open(file)):
        return None
    lists, empty, keys = [], [], set()
    try:
        with file.open(lines=False) as text:
            document = _Document(text, file.source)
            for key in document.members():
                keys.add(key)
                if document.ahead() != "[":
                    document.value()
                elif (kinds := set(map(type, document.elements()))) <= {dict}:
                    (lists if kinds else empty).append(key)
            whole = not document.ahead()
    except Mistake:
        if _is_open(file):
            raise
        return None  # as a line it is answered for with its place
    lists = lists or [key for key in empty if key in ("data", "rows")]
    if not whole or not lists or keys & {*WORDS}:
        return None
    if len(lists) > 1:
        raise Mistake(
            "{file}: found an object with several lists of objects ({keys}), expected one; save the one that you mean "
            "as a file of its own.",
            file=file.source,
            keys=Listed(lists),
        )
    return lists[0]


def _holds_columns(row: dict) -> bool:
    """{"text": ["a", "b"], "label": ["x", "y"]}, or {"text": {"0": "a", "1": "b"}, …}, as pandas writes them."""
    values = list(row.values())
    if all(isinstance(value, dict) for value in values):
        return all(
            value and [*value] == [str(number) for number in range(len(value))] for value in values
        )
    return "text" in row and all(
        isinstance(value, list) and len(value) == len(values[0]) for value in values
    )


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
                    raise Mistake(
                        "{file}, line {line}: found something that is not JSON ({json}), expected one whole object a "
                        "line; correct the line.",
                        file=file.source,
                        line=number,
                        json=_reason(error),
                    ) from None


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return Message("{reason}, column {column}", reason=Theirs(error.msg), column=error.colno)
    return Theirs(str(error).split(";")[0])


def _elements(file: TextFile) -> Iterator[object]:
    with file.open(lines=False) as text:
        document = _Document(text, file.source)
        yield from document.elements()
        document.end()


def _values(file: TextFile) -> Iterator[object]:
    """One after the other, wherever lines end."""
    with file.open(lines=False) as text:
        document = _Document(text, file.source)
        while document.ahead():
            yield document.value()


def _member(file: TextFile, wanted: str) -> Iterator[object]:
    """The elements of the list under this key of the one object that the file is."""
    with file.open(lines=False) as text:
        document = _Document(text, file.source)
        for key in document.members():
            if key == wanted:
                yield from document.elements()
            else:
                document.value()
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

    def members(self) -> Iterator[str]:
        """The keys of the object that comes next; whoever takes one reads its value before the next."""
        self.mark("{")
        if self.ahead() == "}":
            self.at += 1
            return
        while True:
            if self.ahead() != '"':
                raise self.broken(Message("expecting {marks}", marks='"'), self.at)
            key = self.value()
            self.mark(":")
            yield key
            if self.mark(",}") == "}":
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
            except (
                ValueError,
                RecursionError,
            ) as error:  # a number of thousands of digits, lists thousands deep
                raise self.broken(_reason(error), self.at) from None

    def mark(self, marks: str) -> str:
        """Goes past the mark that comes next, if it is one of these."""
        character = self.ahead()
        if not character or character not in marks:
            raise self.broken(
                Message("expecting {marks}", marks=Listed(marks, Message(" or "))), self.at
            )
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
            raise self.broken(
                Message("a value of more than {most:,} characters", most=LONGEST), self.at
            )
        block = self.text.read(max(BLOCK, len(left)))
        if block:
            self.line += self.buffer.count("\n", 0, self.at)
            self.buffer, self.at = left + block, 0
        return bool(block)

    def broken(self, what: str, at: int) -> Mistake:
        line = self.line + self.buffer.count("\n", 0, at)
        return Mistake(
            "{file}, line {line}: found something that is not JSON ({json}); expected one list of objects, or one "
            "object a line; correct it.",
            file=self.source,
            line=line,
            json=what,
        )


# SQuAD


def _squad(file: TextFile) -> Format:
    def stream(size: int, positions: list[int]):
        questions, done = _questions(file), 0
        while block := _block(questions, size):
            yield (
                [[row[position] for row in block] for position in positions],
                range(done + 1, done + 1 + len(block)),
            )
            done += len(block)

    if next(_questions(file), None) is None:
        raise Mistake(
            "{file} is empty: found no questions in its paragraphs, expected at least one.",
            file=file.source,
        )
    return Format(
        QUESTION, [*file.notes, Message("SQuAD: one row a question.")], stream, asked=True
    )


def _questions(file: TextFile) -> Iterator[tuple]:
    """(id, context, question, answer, answers, answer_start, answer_starts), as QUESTION says; one that is_impossible
    has no answers, whatever stands there."""

    def part(parent: object, where: str, key: str, kind: type | tuple, called: str):
        value = parent.get(key) if isinstance(parent, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            name = type(value).__name__
            what = (
                Message('no "{key}"', key=key)
                if value is None
                else Message('a {type} as "{key}"', type=name, key=key)
            )
            raise Mistake(
                "{file}, {at}: found {squad}, expected {called} there, as in SQuAD; correct it.",
                file=file.source,
                at=where,
                squad=what,
                called=called,
            )
        return value

    a_list, a_text = phrase("called", "a list"), phrase("called", "a text")
    for a, article in enumerate(_member(file, "data")):
        for p, paragraph in enumerate(part(article, f"data[{a}]", "paragraphs", list, a_list)):
            where = f"data[{a}].paragraphs[{p}]"
            context = part(paragraph, where, "context", str, a_text)
            for q, question in enumerate(part(paragraph, where, "qas", list, a_list)):
                where = f"data[{a}].paragraphs[{p}].qas[{q}]"
                asked, name = (
                    part(question, where, "question", str, a_text),
                    str(part(question, where, "id", (str, int), a_text)),
                )
                known = (
                    question.get("answers") is not None
                    and question.get("is_impossible") is not True
                )
                marks = part(question, where, "answers", list, a_list) if known else []
                answers = [
                    part(one, f"{where}.answers[{i}]", "text", str, a_text)
                    for i, one in enumerate(marks)
                ]
                start = (
                    part(
                        marks[0],
                        f"{where}.answers[0]",
                        "answer_start",
                        int,
                        phrase("called", "a number"),
                    )
                    if marks
                    else -1
                )
                starts = [start, *(one.get("answer_start", -1) for one in marks[1:])][: len(marks)]
                yield name, context, asked, answers[0] if answers else "", answers, start, starts
