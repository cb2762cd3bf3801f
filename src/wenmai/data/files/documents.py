"""Documents: running text in which blank lines part one document from the next.

In a file they stand one after another; of texts that are given each is a document, or several; where hardly one of these has two
sentences, they are taken for the lines of one. A sentence is a line; a long line is cut at the marks that end a sentence, in
English and in Chinese."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Self

from wenmai.data.files.corpus import Corpus, lines_in
from wenmai.data.values import checked

BLANK = re.compile(rb"\n[ \t\r\f\v]*\n\s*")
LONG = 100  # characters, from which a line is taken for several sentences
MOST = 2000  # characters of a sentence: what has no marks is cut there
AFTER = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|[。！？]+[”’」』）]*")
FIRST, FEW = (
    1000,
    0.1,
)  # of the first texts that are given so few have several sentences: then they are lines
REACH = (
    1 << 16
)  # bytes in which the next blank line is looked for; then sixteen times as many, and so on


class Documents(Corpus):
    """A part that is cut off begins with a document; where there is only one, with a line."""

    @classmethod
    def of(cls, texts, source: str = "the text") -> Self:
        if isinstance(texts, Corpus):
            return (
                texts
                if isinstance(texts, cls)
                else cls(texts.source, texts.read, texts.start, texts.end, texts.path)
            )
        return (
            super().of(texts, source)
            if isinstance(texts, (str, Path))
            else cls.each(checked(texts), source)
        )

    @classmethod
    def each(cls, texts: Iterable[str], source: str) -> Self:
        """Of which every one is a document, or a line."""
        texts = iter(texts)
        first = list(islice(texts, FIRST))
        several = sum("\n" in text.strip() or len(sentences(text)) > 1 for text in first)
        end = "\n" if several > FEW * len(first) else ""
        return cls.joined((text.strip("\n") + end for text in chain(first, texts)), source)

    def cut(self, end: int, size: int) -> int:
        at = end - size
        after = self.next_document(at)
        if after < end:
            return after
        before = self.last_document(at)
        return before if before > self.start else self.after_line(at)

    def next_document(self, at: int) -> int:
        """Where the first document begins from here on; the end where none does."""
        low, reach = max(self.start, at - 2), REACH
        while True:
            for blank in BLANK.finditer(self.read(low, min(self.end, low + reach))):
                if at <= low + blank.end() < min(self.end, low + reach):
                    return low + blank.end()
            if low + reach >= self.end:
                return self.end
            reach *= 16

    def last_document(self, at: int) -> int:
        """Where the last document before this place begins."""
        reach = REACH
        while True:
            low = max(self.start, at - reach)
            ends = [
                low + blank.end()
                for blank in BLANK.finditer(self.read(low, at))
                if low + blank.end() < at
            ]
            if ends or low == self.start:
                return ends[-1] if ends else self.start
            reach *= 16

    def lines_or_gaps(self) -> Iterator[str | None]:
        """Its lines, and None between two documents."""
        open_document = gap = False
        for block in self.blocks(1 << 20):
            for line in lines_in(block):
                if line := line.strip():
                    if gap and open_document:
                        yield None
                    yield line
                    open_document, gap = True, False
                else:
                    gap = True


def sentences(line: str) -> list[str]:
    """At least one; nothing of the line is lost but spaces between two."""
    if len(line) <= LONG:
        return [line]
    sentences, start = [], 0
    for mark in AFTER.finditer(line):
        sentences.append(line[start : mark.end()].strip())
        start = mark.end()
    sentences.append(line[start:].strip())
    return [text[at : at + MOST] for text in sentences if text for at in range(0, len(text), MOST)]
