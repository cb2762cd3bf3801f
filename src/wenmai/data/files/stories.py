"""Reading comprehension as two collections keep it: the stories of bAbI (Weston et al. 2016) and the questions of C3 (Sun et al.
2020).

bAbI    1 Mary got the milk there.          lines are numbered, and a story begins with 1
        2 What is Mary carrying?  milk  1   a question, its answer, and the lines that say it, with tabs between them
C3      [[paragraphs], [{"question": …, "choice": [ … ], "answer": …}], id]
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from wenmai.data.files.columns import Format
from wenmai.data.files.opening import TextFile
from wenmai.errors import Mistake
from wenmai.locale import Message

NUMBERED = re.compile(r"(\d+) (.*\S)\s*")
ASKED = re.compile(r"\d+ .*\S\s*\t\s*[^\t]*\S\s*\t\s*[\d ]+")
STORY = ["story", "question", "answer"]
KEYS = frozenset(("question", "choice", "answer"))  # of a question of C3
CHOICE = ["id", "context", "question", "choices", "answer"]


def is_babi(file: TextFile) -> bool:
    """Whether it begins as a story does, and asks something."""
    lines = file.first_lines(200)
    begins = bool(lines) and lines[0].startswith("1 ") and all(map(NUMBERED.fullmatch, lines[:20]))
    return begins and any(map(ASKED.fullmatch, lines))


def babi(file: TextFile) -> Format:
    return rows_of(
        lambda: questions_of_stories(file),
        STORY,
        [*file.notes, Message("bAbI: one row a question.")],
    )


def questions_of_stories(file: TextFile) -> Iterator[tuple[int, tuple]]:
    story: list[str] = []
    with file.open() as text:
        for number, line in enumerate(text, 1):
            numbered = NUMBERED.fullmatch(line.rstrip("\r\n"))
            if numbered is None:
                if line.isspace():
                    continue
                raise Mistake(
                    "{file}, line {line}: found {value!r}, expected a number and a sentence, as in bAbI's stories.",
                    file=file.source,
                    line=number,
                    value=line.strip()[:40],
                )
            if numbered[1] == "1":
                story = []
            sentence, *answer = numbered[2].split("\t")
            if not answer:
                story.append(sentence.strip())
                continue
            yield number, (" ".join(story), sentence.strip(), answer[0].strip())


def is_c3(first: object) -> bool:
    """Whether the first element of a list is [paragraphs, questions, id]."""
    return (
        isinstance(first, list)
        and len(first) == 3
        and all(isinstance(part, list) for part in first[:2])
    )


def c3(file: TextFile, elements: Callable[[], Iterator[object]]) -> Format:
    form = rows_of(
        lambda: questions_with_choices(file, elements),
        CHOICE,
        [*file.notes, Message("C3: one row a question.")],
    )
    return form._replace(asked=True)


def questions_with_choices(
    file: TextFile, elements: Callable[[], Iterator[object]]
) -> Iterator[tuple[int, tuple]]:
    done = 0
    for number, element in enumerate(elements(), 1):
        paragraphs, questions, name = element if is_c3(element) else ([None], [], "")
        asked = all(isinstance(one, dict) and one.keys() >= KEYS for one in questions)
        if not asked or not all(isinstance(text, str) for text in paragraphs):
            raise Mistake(
                '{file}, record {number}: found something else than [paragraphs, [{{"question": …, "choice": […], '
                '"answer": …}}], id], as in C3; correct it.',
                file=file.source,
                number=number,
            )
        for one in questions:
            done += 1
            yield (
                done,
                (str(name), "\n".join(paragraphs), one["question"], one["choice"], one["answer"]),
            )


def rows_of(
    rows: Callable[[], Iterator[tuple[int, tuple]]], names: list[str], notes: list
) -> Format:
    def stream(size: int, positions: list[int]):
        numbered = rows()
        while block := list(islice(numbered, size)):
            yield (
                [[row[position] for _, row in block] for position in positions],
                [number for number, _ in block],
            )

    return Format(names, notes, stream)
