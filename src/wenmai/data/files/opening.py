"""Opening files: finding them, undoing their compression, decoding their text.

What is detected goes into notes; what cannot be read is a Mistake that names the file and, inside it, the line.
"""

import codecs
import gzip
import importlib
import io
import lzma
import operator
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from wenmai.data.files.bounds import LINE, LONGEST, unfolded, unfolds
from wenmai.data.files.languages import COMMON
from wenmai.errors import Mistake, alike, nearest
from wenmai.locale import Listed, Message, phrase
from wenmai.locale.theirs import Theirs

SAMPLE = 1 << 16  # bytes looked at before a file is read
WINDOW = 1 << 28  # bytes that unpacking xz may take
SUFFIXES = (".gz", ".xz", ".zst")
MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
SPELLED = {
    "utf-8": phrase("encoding", "UTF-8"),
    "utf-8-sig": phrase("encoding", "UTF-8 with a byte order mark"),
    "gb18030": phrase("encoding", "GB18030"),
    "cp950": phrase("encoding", "Big5"),
    "cp1252": phrase("encoding", "Windows-1252"),
    **dict.fromkeys(("utf-16", "utf-16-le", "utf-16-be"), phrase("encoding", "UTF-16")),
}


@dataclass
class Allowed:
    """What the user says: so many bytes of a line (--max-line), and so many rows, however well they are packed (--max-rows)."""

    line: int = 0
    rows: int = 0


ALLOWED = Allowed()


def allow(line: int | None = 0, rows: int | None = 0) -> None:
    ALLOWED.line, ALLOWED.rows = line or 0, rows or 0


def find(source: str | Path) -> Path:
    """The path, if something is there; otherwise a Mistake that names what is there instead."""
    path = Path(source).expanduser()
    try:
        if path.is_file() or path.is_dir():
            return path
        if path.exists():
            raise Mistake(
                "{file} is a pipe or a device, and is read more than once; write it to a file first.",
                file=source,
            )
    except OSError as error:
        raise Mistake(
            "{file} cannot be opened ({why}); check the path and its permissions.",
            file=source,
            why=Theirs(error.strerror),
        ) from None
    if not path.parent.is_dir():
        raise Mistake(
            "{file} is not there, nor is its folder {folder}; check the path.",
            file=source,
            folder=path.parent,
        )
    beside = nearest(
        path.name, [other.name for other in path.parent.iterdir() if not other.name.startswith(".")]
    )
    meant = [name for name in beside if alike(path.name, name)][:3]
    instead = (
        Message("its folder holds {names}.", names=Listed(beside[:6]))
        if beside
        else Message("its folder is empty.")
    )
    instead = Message("did you mean {names}?", names=Listed(meant)) if meant else instead
    raise Mistake("{file} is not there; {instead}", file=source, instead=instead)


def bare_name(path: Path) -> str:
    """The file name in lower case, without .gz, .xz or .zst."""
    name = path.name.lower()
    return name[: name.rindex(".")] if name.endswith(SUFFIXES) else name


def is_idx(path: Path) -> bool:
    return "images" in path.name and "idx3" in path.name


def is_workbook(path: Path) -> bool:
    """Of Excel: by its name, or, where it was renamed, by its first bytes."""
    if bare_name(path).endswith((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")):
        return True
    with open(path, "rb") as file:
        return file.read(4) == b"PK\3\4" and b"xl/" in file.read(1 << 13)


def extra(module: str, source) -> object:
    """A package of the extra `formats`, imported only when a file needs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.split(".")[0]
        raise Mistake(
            "{file} needs the package {package}; run pip install wenmai[formats].",
            file=source,
            package=name,
        ) from None


def not_the_same(out: Path | None, source: Path | None) -> None:
    """What is written must not be the file that is read."""
    if out and source and out.exists() and source.exists() and out.samefile(source):
        raise Mistake("--out {file} is the file that is read; choose another.", file=out)


@contextmanager
def readable(source) -> Iterator[None]:
    """Inside, Parquet is read; what is wrong with the file becomes a Mistake."""
    arrow = extra("pyarrow", source)
    try:
        yield
    except Mistake:
        raise
    except (
        arrow.ArrowException,
        OSError,
        ValueError,
        KeyError,
        IndexError,
        OverflowError,
    ) as error:
        what = str(error).splitlines()[0] if str(error).strip() else type(error).__name__
        raise Mistake(
            "{file} cannot be read as Parquet ({error}); write it again.",
            file=source,
            error=what[:200],
        ) from None


def compression(path: Path) -> str | None:
    """By the first bytes, not by the name: files lose and gain their endings on the way."""
    try:
        with open(path, "rb") as raw:
            start = raw.read(6)
    except OSError as error:
        raise Mistake(
            "{file} cannot be opened ({why}); check its permissions.",
            file=path,
            why=Theirs(error.strerror),
        ) from None
    for (magic, name), suffix in zip(MAGIC.items(), SUFFIXES):
        if start.startswith(magic):
            return name
        if path.name.lower().endswith(suffix) and 2 * sum(map(operator.eq, start, magic)) >= len(
            magic
        ):  # half of its magic
            raise Mistake(
                "{file} is damaged at its beginning, which is nearly that of {packed}; copy or compress it again.",
                file=path,
                packed=name,
            )
    return None


@contextmanager
def unpacked(path: Path, source) -> Iterator[BinaryIO]:
    """The bytes of a file, decompressed as they are read."""
    packed = compression(path)
    try:
        with _decompressed(path, packed, source) as stream:
            yield stream
    except DAMAGE as error:
        raise Mistake(
            "{file} is damaged or cut off ({packed}: {damage}); copy or compress it again.",
            file=source,
            packed=packed,
            damage=Theirs(error),
        ) from None


def _decompressed(path: Path, packed: str | None, source) -> BinaryIO:
    if packed is None:
        return open(path, "rb")
    if packed == "gzip":
        raw = gzip.open(path, "rb")  # noqa: SIM115 (closed by _Unfolding)
    elif packed == "xz":
        raw = _Frames(
            path, partial(lzma.LZMADecompressor, memlimit=WINDOW), lzma.LZMAError, padding=b"\0"
        )
    else:
        zstandard = extra("zstandard", source)
        raw = _Frames(path, zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError)
    return io.BufferedReader(_Unfolding(raw, path, source), SAMPLE)


class _Unfolding(io.RawIOBase):
    """What comes of a packed file, as long as it is not far more than it promised."""

    def __init__(self, raw, path: Path, source):
        self.raw, self.source, self.most, self.total = raw, source, unfolds(path.stat().st_size), 0

    def readable(self):
        return True

    def readinto(self, buffer) -> int:
        size = self.raw.readinto(buffer)
        self.total += size or 0
        if self.total > self.most and not ALLOWED.rows:
            raise unfolded(self.source, self.most)
        return size

    def close(self):
        self.raw.close()
        super().close()


class _Frames(io.RawIOBase):
    """Frames of xz or zstd as one stream. It complains where a file is cut off, or goes on with no frame; Python's own do not."""

    def __init__(self, path: Path, begin: Callable, damage: type[Exception], padding: bytes = b""):
        self.raw, self.begin, self.damage = open(path, "rb"), begin, damage  # noqa: SIM115 (closed by close)
        self.padding = padding  # what may stand between frames and after them
        self.frame, self.waiting, self.ready = None, b"", memoryview(b"")

    def readable(self):
        return True

    def readinto(self, buffer) -> int:
        while not self.ready:
            block = self.waiting or self.raw.read(
                1 << 10
            )  # which may become a thousand times as much
            if not block:
                if self.frame:
                    raise EOFError("the last frame is not complete")
                return 0
            if not self.frame:
                block = block.lstrip(self.padding) if self.padding else block
                self.waiting, self.frame = b"", self.begin() if block else None
                if not block:
                    continue
            try:
                self.ready = memoryview(self.frame.decompress(block))
            except self.damage as error:
                raise EOFError(error) from None
            self.waiting = self.frame.unused_data
            if self.frame.eof:
                self.frame = None
        size = min(len(buffer), len(self.ready))
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]
        return size

    def close(self):
        self.raw.close()
        super().close()


class _Lines(io.BufferedIOBase):
    """Bytes as they come, as long as lines end."""

    def __init__(
        self, raw: BinaryIO, ends: tuple[bytes, ...], most: int, complain: Callable[[int], Mistake]
    ):
        self.raw, self.ends, self.most, self.complain = raw, ends, most, complain
        self.whole = self.open = 0  # bytes in lines that have ended, and since

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        block = self.raw.read1(size)
        end = 1 + max(map(block.rfind, self.ends))
        if end:
            self.whole, self.open = self.whole + self.open + end, 0
        self.open += len(block) - end
        if self.open > self.most:
            raise self.complain(self.whole)
        return block


@dataclass
class TextFile:
    """A text file whose compression and encoding are known."""

    path: Path
    source: str  # the path as the user gave it
    encoding: str
    notes: list[str]
    sample: str  # the beginning, to guess the format by
    cut: bool  # whether the file goes on after it

    @contextmanager
    def open(self, newline: str = "\n", lines: bool = True) -> Iterator[io.TextIOWrapper]:
        """The decoded text; inside the block, bytes that cannot be decoded become a Mistake with their line, and so does a line
        that does not end (`lines`: where lines are read)."""
        with unpacked(self.path, self.source) as raw:
            if lines:
                raw = _Lines(
                    raw, (b"\n",) if newline else (b"\n", b"\r"), self._longest(), self._endless
                )
            try:
                yield io.TextIOWrapper(raw, self.encoding, newline=newline)
            except UnicodeDecodeError:
                raise mixed(self.source, self._undecodable(), self.encoding) from None

    def _longest(self) -> int:
        return ALLOWED.line or (LONGEST if compression(self.path) else LINE)

    def _endless(self, whole: int) -> Mistake:
        number = 1
        with unpacked(self.path, self.source) as raw:
            while whole and (block := raw.read(min(whole, SAMPLE))):
                number, whole = number + block.count(b"\n"), whole - len(block)
        return Mistake(
            "{file}, line {line}: found a line of more than {most:,} bytes, expected shorter ones; break it into "
            "several, or, if it is meant, allow more with --max-line.",
            file=self.source,
            line=number,
            most=self._longest(),
        )

    def _undecodable(self) -> int:
        # The decoder reads ahead in blocks, so the line is found again.
        decoder, line = codecs.getincrementaldecoder(self.encoding)(), 1
        with unpacked(self.path, self.source) as raw:
            while block := raw.read(SAMPLE):
                try:
                    line += decoder.decode(block).count("\n")
                except UnicodeDecodeError as error:
                    return line + error.object[: error.start].decode(self.encoding, "ignore").count(
                        "\n"
                    )
        return line

    @property
    def sample_lines(self) -> list[str]:
        """Without one that the sample cuts in two."""
        lines = self.sample.split("\n")
        return lines[:-1] if self.cut and len(lines) > 1 else lines

    def first_lines(self, most: int = 100) -> list[str]:
        """Those of the sample that are not empty."""
        return [line for line in self.sample_lines if line.strip()][:most] or [self.sample]


def mixed(source, line: int, encoding: str) -> Mistake:
    return Mistake(
        "{file}, line {line}: found bytes that are not {encoding}, which the beginning of the file is; save the whole "
        "file as UTF-8.",
        file=source,
        line=line,
        encoding=SPELLED[encoding],
    )


def binary(source) -> Mistake:
    return Mistake(
        "{file} looks like a binary file, where text in UTF-8 or GB18030 was expected; give a text file, or save this "
        "one as UTF-8.",
        file=source,
    )


def text_file(path: Path, source) -> TextFile:
    """Detects compression and encoding from the beginning of the file."""
    with unpacked(path, source) as raw:
        start = raw.read(SAMPLE)
    packed, cut = compression(path), len(start) == SAMPLE

    def decoded(encoding: str) -> str | None:
        try:
            # Only a file that ends within the sample has to end with a whole character.
            return codecs.getincrementaldecoder(encoding)().decode(start, final=not cut)
        except UnicodeDecodeError:
            return None

    known = {
        encoding: text for encoding in candidates(start) if (text := decoded(encoding)) is not None
    }
    if known.keys() <= {"gb18030", "cp950"}:
        _of_one_encoding(start.split(b"\n")[: -1 if cut else None], 12 if known else 1, source)
    # of those that can read it the one that finds more common characters; the first, where they find as many
    encoding = max(known, key=lambda encoding: sum(map(known[encoding].count, COMMON)), default="")
    if (
        encoding in ("", "gb18030")
        and COMMON.isdisjoint(known.get("gb18030", ""))
        and _western(start)
    ):
        encoding, known = "cp1252", {"cp1252": start.decode("cp1252")}
    sample = known.get(encoding, "\0")
    if "\0" in sample or (encoding in ("utf-16-le", "utf-16-be") and not _sensible(sample)):
        raise binary(source)
    if not sample.strip():
        raise Mistake("{file} is empty; expected at least one line of text.", file=source)
    notes = [Message("Compressed with {packed}.", packed=packed)] * bool(packed)
    notes += [Message("The encoding is {encoding}.", encoding=SPELLED[encoding])]
    return TextFile(path, str(source), encoding, notes, sample, cut)


def candidates(start: bytes) -> tuple[str, ...]:
    """The encodings that a file may be in that begins so."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ("utf-16",)
    if b"\0" in start:  # one half of a letter
        return ("utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be",)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=len(start) < SAMPLE)
        return ("utf-8-sig",) if start.startswith(codecs.BOM_UTF8) else ("utf-8",)
    except UnicodeDecodeError:
        pass
    return ("gb18030", "cp950")


def _western(start: bytes) -> bool:
    """Whether bytes beyond ASCII are mostly é, ü or ’ in Windows-1252, and stand alone: those of Chinese come in twos."""
    alone = re.findall(
        rb"(?<![\x80-\xff])[\x91-\x97\xab\xbb\xc4\xc9\xd6\xdc\xdf-\xfc](?![\x80-\xff0-9])", start
    )
    undefined = re.search(rb"[\x81\x8d\x8f\x90\x9d]", start)
    return not undefined and 2 * len(alone) > len(re.findall(rb"[\x80-\xff]", start))


def _sensible(text: str) -> bool:
    """Whether a fifth of it is letters, spaces and common characters, and nothing controls a terminal."""
    plain = sum((c.isascii() and (c.isalnum() or c.isspace())) or c in COMMON for c in text)
    return 5 * plain >= len(text) and not re.search("[\1-\x08\x0e-\x1f]", text)


def _of_one_encoding(lines: list[bytes], least: int, source) -> None:
    """Complains if some lines are UTF-8 and others are not; GB18030 would read both, and make nonsense of the first.

    A short line of GB18030 is UTF-8 by chance at times, so lines speak for UTF-8 only if they have at least so many bytes
    beyond ASCII, and are a tenth of all.
    """
    known, others = [], []
    for number, line in enumerate(lines, 1):
        if not line.isascii():
            try:
                line.decode("utf-8")
                if len(line) - len(line.decode("ascii", "ignore")) >= least:
                    known.append(number)
            except UnicodeDecodeError:
                others.append(number)
    if known and others and len(known) * 10 >= len(others):
        raise Mistake(
            "{file} is in two encodings: line {line} is UTF-8 and line {other} is not; expected one; save the whole "
            "file as UTF-8.",
            file=source,
            line=known[0],
            other=others[0],
        )
