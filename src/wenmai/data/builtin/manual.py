"""manual: the Python manual that ships with the interpreter, as sentences, one a line."""

import re
from collections.abc import Iterator

from wenmai.data.files.readers import Chunk

BULLET = re.compile(r"^\s*(?:[*•-]|\d+\.|\[\d+\])\s+")  # of a list, or of footnotes
CODE = re.compile(
    r"::=|>>>|^\s*[|+]|^\s*\.\.\. |[=*~^-]{4}", re.MULTILINE
)  # grammars, examples, tables, lines under headings
PROSE = re.compile(r"[A-Z].*[a-z].*[.!?:]", re.DOTALL)  # how sentences begin and end
MARKS = [
    (re.compile(r'"([^"\s][^"]*)"'), r"\1"),  # "print", as code is marked
    (re.compile(r"(?<!\w)\*{1,2}([\w()][^*]*?)\*{1,2}(?!\w)"), r"\1"),  # *emphasis*
    (re.compile(r"\s*\[\d+\]"), ""),  # where a footnote belongs
    (
        re.compile(
            r"^(?:Changed|New|Added|Deprecated since|Deprecated) (?:in )?(?:version )?\d[\d.]*[:.]\s*"
        ),
        "",
    ),
    (re.compile(r"(?<=\w)- (?=[a-z])"), "-"),  # broken at the end of a line
]
SHORT = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|viz)\.$")  # these do not end a sentence
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z_(])|(?<=[.!?]\))\s+(?=[A-Z_])")


def manual() -> Chunk:
    """Sections of it stand under several topics, so that a sentence is taken where it comes first: what is held out is then not
    what was read. Examples, grammars, tables and headings are left out, and marks of code and emphasis with them."""
    from pydoc_data.topics import topics

    rows = list(
        dict.fromkeys(sentence for topic in topics.values() for sentence in sentences(topic))
    )
    return Chunk({"text": rows}, range(1, len(rows) + 1))


def sentences(topic: str) -> Iterator[str]:
    for paragraph in paragraphs(topic):
        for mark, instead in MARKS:
            paragraph = mark.sub(instead, paragraph)
        begun = ""
        for piece in END.split(" ".join(paragraph.split())):
            begun = f"{begun} {piece}".strip()
            if not SHORT.search(begun):
                if begun.count(" ") > 1:
                    yield begun
                begun = ""
        if begun.count(" ") > 1:
            yield begun


def paragraphs(topic: str) -> Iterator[str]:
    """Those that are prose, on one line each; every item of a list is one."""
    for block in re.split(r"\n\s*\n", topic):
        if CODE.search(block):
            continue
        for item in re.split(r"\n(?=\s*[*•] )", block):
            text = " ".join(BULLET.sub("", item).split())
            if PROSE.fullmatch(text):
                yield text
