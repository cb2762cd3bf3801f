"""Documents: running text in which blank lines part one document from the next.

In a file they stand one after another; of texts that are given each is a document, or several."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

from wenmai.data.files.corpus import Corpus, lines_in
from wenmai.data.values import checked

BLANK = re.compile(rb"\n[ \t\r\f\v]*\n\s*")
REACH = 1 << 16  # bytes in which the next blank line is looked for; then sixteen times as many, and so on


class Documents(Corpus):
    """A part that is cut off begins with a document; where there is only one, with a line."""

    @classmethod
    def of(cls, texts, source: str = "the text") -> Self:
        if isinstance(texts, Corpus):
            return texts if isinstance(texts, cls) else cls(texts.source, texts.read, texts.start, texts.end, texts.path)
        return super().of(texts, source) if isinstance(texts, (str, Path)) else cls.each(checked(texts), source)

    @classmethod
    def each(cls, texts: Iterable[str], source: str) -> Self:
        """Of which every one is a document."""
        return cls.joined((text.strip("\n") + "\n" for text in texts), source)

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
            for found in BLANK.finditer(self.read(low, min(self.end, low + reach))):
                if at <= low + found.end() < min(self.end, low + reach):
                    return low + found.end()
            if low + reach >= self.end:
                return self.end
            reach *= 16

    def last_document(self, at: int) -> int:
        """Where the last document before this place begins."""
        reach = REACH
        while True:
            low = max(self.start, at - reach)
            ends = [low + found.end() for found in BLANK.finditer(self.read(low, at)) if low + found.end() < at]
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
