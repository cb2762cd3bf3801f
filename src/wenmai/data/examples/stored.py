"""Rows in a file instead of in memory: texts that are too many for it, and their tokens.

The file has no name and is gone when nobody holds it. Memory holds where each row begins: 8 bytes a row, and 8 more for
every choice of rows. It lies in $TMPDIR, else in /var/tmp, since /tmp is often kept in memory itself.
"""

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of, runs
from wenmai.errors import Mistake
from wenmai.locale.theirs import Theirs

LARGE = (
    1 << 25
)  # characters, and BESIDE for every text: so many are held in memory, more of them in a file
BESIDE = 100  # bytes that Python holds for a text and its label beside the characters
PIECE = 1 << 22  # as many are read at once


def size_of(texts: Sequence[str]) -> int:
    inside = texts.sizes.sum() if isinstance(texts, StoredTexts) else sum(map(len, texts))
    return int(inside) + BESIDE * len(texts)


def chunks(texts: Sequence[str], size: int = 4096) -> Iterator[list[str]]:
    """Some thousands of texts at a time, from memory or from a file."""
    return (list(texts[start : start + size]) for start in range(0, len(texts), size))


def spool_folder() -> str:
    return (
        tempfile.gettempdir()
        if os.environ.get("TMPDIR") or not os.access("/var/tmp", os.W_OK)
        else "/var/tmp"
    )


class Spool:
    """A file without a name: written at its end, read anywhere."""

    def __init__(self, folder: Path | None = None):
        self.folder = folder or spool_folder()
        try:
            self.file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115 (closed by the last line)
        except OSError as error:
            raise self.no_room(error) from None
        weakref.finalize(self, self.file.close)

    def append(self, data: bytes | memoryview) -> None:
        data = memoryview(data)
        try:
            while len(data):
                data = data[self.file.write(data) :]
        except OSError as error:
            raise self.no_room(error) from None

    def no_room(self, error: OSError) -> Mistake:
        return Mistake(
            "{folder}: {why}, while data was put there that is too large for memory; make room, or set TMPDIR to "
            "another folder.",
            folder=self.folder,
            why=Theirs(error.strerror or error),
        )

    def read(self, starts: np.ndarray, stops: np.ndarray) -> bytes:
        """These stretches, end to end. Where they lie close together, all that spans them is read at once."""
        if not len(starts):
            return b""
        first, last = int(starts.min()), int(stops.max())
        if last - first > 2 * int((stops - starts).sum()):
            return b"".join(
                [self.block(start, stop) for start, stop in zip(starts.tolist(), stops.tolist())]
            )
        block = self.block(first, last)
        if starts[0] == first and stops[-1] == last and (starts[1:] == stops[:-1]).all():
            return block
        return b"".join(
            [
                block[start:stop]
                for start, stop in zip((starts - first).tolist(), (stops - first).tolist())
            ]
        )

    def block(self, start: int, stop: int) -> bytes:
        data = os.pread(self.file.fileno(), stop - start, start)
        while len(data) < stop - start:  # the system gives 2 GB at most
            data += os.pread(self.file.fileno(), stop - start - len(data), start + len(data))
        return data


class StoredTexts(Sequence):
    """Texts, as a list of them, in a file; a slice and what is taken are other rows of the same file."""

    def __init__(self, spool: Spool, offsets: np.ndarray, rows: np.ndarray | None = None):
        self.spool, self.offsets, self.rows = spool, offsets, rows

    @classmethod
    def of(cls, chunks: Iterable[list[str]]) -> Self:
        spool, lengths = (
            Spool(),
            array("q"),
        )  # one block that grows: many small ones would leave memory in pieces
        for texts in chunks:
            encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
            lengths.extend(map(len, encoded))
            spool.append(b"".join(encoded))
        return cls(spool, offsets_of(np.frombuffer(lengths, np.int64)))

    def __len__(self) -> int:
        return len(self.offsets) - 1 if self.rows is None else len(self.rows)

    def __getitem__(self, row):
        if isinstance(row, slice):
            return self.take(np.arange(*row.indices(len(self))))
        row = range(len(self))[row]
        return self.between(row, row + 1)[0]

    def __iter__(self) -> Iterator[str]:
        for texts in self.chunks():
            yield from texts

    def chunks(self) -> Iterator[list[str]]:
        """All texts, some megabytes of them at a time."""
        for start, stop in runs(self.sizes + BESIDE, PIECE):
            yield self.between(start, stop)

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of every text."""
        return (
            np.diff(self.offsets)
            if self.rows is None
            else self.offsets[1:][self.rows] - self.offsets[:-1][self.rows]
        )

    def between(self, start: int, stop: int) -> list[str]:
        rows = np.arange(start, stop) if self.rows is None else self.rows[start:stop]
        starts, stops = self.offsets[rows], self.offsets[rows + 1]
        data, ends = self.spool.read(starts, stops), np.cumsum(stops - starts).tolist()
        return [
            data[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends)
        ]

    def take(self, rows: np.ndarray) -> Self:
        return StoredTexts(self.spool, self.offsets, rows if self.rows is None else self.rows[rows])


class StoredSequences(Sequences):
    """Rows of tokens in a file, 2 bytes each where the vocabulary allows it; what is taken of them is read into memory."""

    def __init__(self, spool: Spool, offsets: np.ndarray, kept: type):
        self.spool, self.offsets, self.kept, self.beside, self.letters = (
            spool,
            offsets,
            kept,
            {},
            None,
        )
        self.starts, self.stops = offsets[:-1], offsets[1:]

    @classmethod
    def of(cls, chunks: Iterable[Sequences], vocabulary: int) -> Self:
        spool, lengths, kept = Spool(), array("q"), np.uint16 if vocabulary <= 1 << 16 else np.int32
        for rows in chunks:
            lengths.frombytes(rows.lengths.tobytes())
            spool.append(rows.flat.astype(kept).tobytes())
        return cls(spool, offsets_of(np.frombuffer(lengths, np.int64)), kept)

    @property
    def flat(self) -> np.ndarray:
        """All of them, in memory."""
        return self.read(self.starts[:1], self.stops[-1:])

    def __getitem__(self, row):
        if isinstance(row, slice):
            return self.take(np.arange(*row.indices(len(self))))
        row = range(len(self))[row]
        return self.read(self.starts[row : row + 1], self.stops[row : row + 1])

    def read(self, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
        size = np.dtype(self.kept).itemsize
        return np.frombuffer(self.spool.read(starts * size, stops * size), self.kept).astype(
            np.int32
        )

    def beginnings(self, rows: np.ndarray, lengths: np.ndarray) -> Sequences:
        starts = self.starts[rows]
        return Sequences(self.read(starts, starts + lengths), offsets_of(lengths))

    def take(self, rows: np.ndarray) -> Sequences:
        return self.beginnings(rows, self.lengths_of(rows))

    def padded(
        self, rows: np.ndarray, longest: int, pad=0
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        beginnings = self.beginnings(rows, np.minimum(self.lengths_of(rows), longest))
        return beginnings.padded(np.arange(len(rows)), longest, pad)
