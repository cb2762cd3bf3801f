"""Running text: lines of UTF-8 that follow one another, in memory or in a file, read a block of whole lines at a time.

A language model reads these bytes; nothing here makes a Python object of every line. Parts are cut by position: what comes
later is held out.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Self

from wenmai.data.examples.stored import LARGE, Spool, StoredTexts
from wenmai.data.files.opening import TextFile, compression, find, mixed, text_file
from wenmai.data.values import checked
from wenmai.errors import Mistake

BLOCK = 1 << 24  # bytes that are read at once
LONGEST_LINE = 1 << 28  # bytes: memory holds a line whole
END = b"\n"


class Corpus:
    """Bytes `start` … `end` of what `read(start, end)` gives; `path` is the file that holds them as they are, if one does."""

    def __init__(
        self,
        source: str,
        read: Callable[[int, int], bytes],
        start: int,
        end: int,
        path: Path | None = None,
    ):
        self.source, self.read, self.start, self.end, self.path = source, read, start, end, path

    @classmethod
    def of(cls, texts, source: str = "the text") -> Self:
        """What a user holds: a text, or texts, of which each is a line or several."""
        if isinstance(texts, Corpus):
            return texts
        if isinstance(texts, Path):
            return cls.file(text_file(find(texts), texts))
        texts = checked([texts] if isinstance(texts, str) else texts)
        return cls.joined((text.removesuffix("\n") for text in texts), source)

    @classmethod
    def joined(cls, texts: Iterable[str], source: str) -> Self:
        """In memory, or in a file without a name once it has grown too large for that."""
        return cls.collected((text.encode("utf-8", "replace") + END for text in texts), source)

    @classmethod
    def collected(cls, pieces: Iterable[bytes], source: str) -> Self:
        held, size, spool = [], 0, None
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size > LARGE:
                spool = spool or Spool()
                spool.append(b"".join(held))
                held, size = [], 0
        if spool is None:
            data = b"".join(held)
            return cls(source, lambda start, end: data[start:end], 0, len(data))
        spool.append(b"".join(held))
        return cls(source, spool.block, 0, spool.file.tell())

    @classmethod
    def file(cls, file: TextFile) -> Self:
        """Lines of plain text; a file that is packed or in another encoding than UTF-8 is brought into it first."""
        if compression(file.path) or file.encoding not in ("utf-8", "utf-8-sig"):
            with file.open() as text:
                return cls.collected(
                    (
                        block.encode("utf-8", "replace")
                        for block in iter(lambda: text.read(1 << 20), "")
                    ),
                    file.source,
                )

        def read(start: int, end: int) -> bytes:
            with open(file.path, "rb") as handle:
                handle.seek(start)
                return handle.read(end - start)

        mark = 3 if file.encoding == "utf-8-sig" else 0
        return cls(file.source, read, mark, os.path.getsize(file.path), None if mark else file.path)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.end - self.start

    @cached_property
    def lines(self) -> int:
        ended = sum(block.count(END) for block in self.blocks())
        return ended + (self.size > 0 and self.read(self.end - 1, self.end) != END)

    def __len__(self) -> int:
        return self.lines

    def blocks(self, size: int = BLOCK) -> Iterator[bytes]:
        """All of it, whole lines at a time; the last of them may lack its end."""
        at = self.start
        while at < self.end:
            block = self.read(at, min(at + size, self.end))
            while at + len(block) < self.end and END not in block:
                if len(block) >= LONGEST_LINE:
                    raise endless(self.source)
                more = self.read(at + len(block), min(self.end, at + 2 * len(block) + 1))
                if not more:
                    raise Mistake(
                        "{file} has become shorter while it was read; leave it alone, and start again.",
                        file=self.source,
                    )
                block += more
            if at + len(block) < self.end:
                block = block[: block.rindex(END) + 1]
            yield block
            at += len(block)

    def texts(self) -> list[str] | StoredTexts:
        """Its lines as texts, without their ends."""
        if self.size <= LARGE:
            return [line for block in self.blocks() for line in lines_in(block)]
        return StoredTexts.of(lines_in(block) for block in self.blocks(1 << 22))

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks(1 << 20):
            yield from lines_in(block)

    def parts(self, shares: list[float]) -> list[Self]:
        """What the shares leave, and a part for each, one after another, cut at ends of lines."""
        ends = [self.end]
        for share in reversed(shares):
            ends.insert(0, self.cut(ends[0], round(share * self.size)) if share else ends[0])
        starts = [self.start, *ends[:-1]]
        return [
            type(self)(
                self.source, self.read, start, end, self.path if len(set(ends)) == 1 else None
            )
            for start, end in zip(starts, ends)
        ]

    def cut(self, end: int, size: int) -> int:
        """Where a part of about so many bytes begins that ends here."""
        return self.after_line(end - size)

    def after_line(self, at: int) -> int:
        """The first place from here on where a line begins."""
        while self.start < at < self.end:
            block = self.read(at - 1, min(self.end, at + (1 << 16)))
            if END in block:
                return at + block.index(END)
            at = min(self.end, at + (1 << 16))
        return max(self.start, min(at, self.end))

    def check(self) -> None:
        """It is text, and there is some."""
        line, any_text = 0, False
        for block in self.blocks():
            try:
                block.decode("utf-8")
            except UnicodeDecodeError as error:
                line += block[: error.start].count(END) + 1
                raise mixed(self.source, line, "utf-8") from None
            line += block.count(END)
            any_text = any_text or not block.isspace()
        if not any_text:
            raise Mistake("{file} is empty; expected at least one line of text.", file=self.source)


def endless(source: str) -> Mistake:
    return Mistake(
        "{file}: found a line of more than {most:,} bytes, expected shorter ones; break it into several.",
        file=source,
        most=LONGEST_LINE,
    )


def lines_in(block: bytes) -> list[str]:
    lines = block.decode("utf-8", "replace").split("\n")
    return [line.rstrip("\r") for line in (lines[:-1] if not lines[-1] else lines)]
