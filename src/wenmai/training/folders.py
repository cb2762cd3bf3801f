"""Folders that are there whole or not at all, that tell when they were damaged, and that one process writes at a time.

A folder is written beside its place under another name, every file of it is brought to the disk, a manifest names them with
their sizes and checksums, and then it is renamed: on every system one step, which a kill or a full disk cannot cut in two."""

import glob
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wenmai.data.storage import arrays
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs

MANIFEST = "manifest.json"
LARGE = 1 << 24  # bytes


class Damaged(Mistake):
    """A folder is not as it was written."""


def write(folder: Path, fill: Callable[[Path], None]) -> None:
    """`fill` writes the files into the folder it is given; then it stands at `folder`, in place of what was there."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.part."))
    try:
        fill(part)
        files = {file.name: checksum(file) for file in sorted(part.iterdir())}
        (part / MANIFEST).write_text(json.dumps({"files": files}, indent=1) + "\n", encoding="utf-8")
        for file in part.iterdir():
            to_disk(file)
        part.chmod(0o755)
        to_disk(part)
        replace(part, folder)
        to_disk(folder.parent)
    except OSError as error:
        raise Mistake("{folder} cannot be written ({why}); make room or choose another place.", folder=folder,
                      why=Theirs(error.strerror or error)) from None  # fmt: skip
    finally:
        shutil.rmtree(part, ignore_errors=True)


def replace(part: Path, folder: Path) -> None:
    """Put `part` in the place of `folder`; an older one there is moved away first and removed last."""
    old = None
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
        folder.rename(old / "was")
    part.rename(folder)
    if old:
        shutil.rmtree(old)


def recover(folder: Path) -> None:
    """Finishes what a kill between the two renames of `replace` left: the new folder takes its place if it is whole, or the
    old one goes back. Only who holds the lock may."""
    if folder.exists() or not folder.parent.is_dir():
        return
    for part in sorted(folder.parent.glob(f".{glob.escape(folder.name)}.part.*")):
        with suppress(Damaged, OSError):
            check(part)
            part.rename(folder)
            return
    for old in sorted(folder.parent.glob(f".{glob.escape(folder.name)}.old.*")):
        with suppress(OSError):
            (old / "was").rename(folder)
            old.rmdir()
            return


def checksum(file: Path) -> dict:
    """Of a large file one that is quicker to make, so that opening it takes no time to speak of."""
    if file.stat().st_size > LARGE:
        return {"bytes": file.stat().st_size, "sum": arrays.checksum(file)}
    digest = hashlib.blake2b(digest_size=16)
    with open(file, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return {"bytes": file.stat().st_size, "blake2b": digest.hexdigest()}


def to_disk(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check(folder: Path, *needed: str) -> None:
    """Every file of the manifest is there and as it was written, and those that are needed stand in it; otherwise Damaged, with
    the file's name."""
    path = folder / MANIFEST
    try:
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
        named = {Path(str(name)).name: {"bytes": int(about["bytes"]), **about} for name, about in files.items()}
    except FileNotFoundError:
        raise Damaged("{reason}: the folder is damaged; train it again.",
                      reason=Message("{file} is missing", file=path)) from None  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise Damaged("{reason}: the folder is damaged; train it again.",
                      reason=Message("{file} is not as it was written", file=path)) from None  # fmt: skip
    for name in needed:
        if name not in named:
            raise Damaged("{reason}: the folder is damaged; train it again.",
                          reason=Message("{file} does not name {name}", file=path, name=name))  # fmt: skip
    there = {file.name for file in folder.iterdir() if file.is_file()}
    for name, about in named.items():
        file, size = folder / name, about["bytes"]
        if name not in there:
            raise Damaged("{reason}: the folder is damaged; train it again.", reason=Message("{file} is missing", file=file))
        if (bytes_there := file.stat().st_size) != size:
            reason = Message("{file}: found {found} bytes, expected {expected}", file=file, found=bytes_there, expected=size)
            raise Damaged("{reason}: the file is damaged; train it again.", reason=reason)
        if checksum(file) != about:
            reason = Message("{file} is not as it was written (its checksum differs)", file=file)
            raise Damaged("{reason}: the file is damaged; train it again.", reason=reason)


def named_in(folder: Path) -> set[str]:
    """The files that a manifest of ours names, itself among them; none where there is no such manifest."""
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {MANIFEST, *(name for name, about in files.items() if isinstance(about["bytes"], int))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


def is_half_written(path: Path) -> bool:
    """Whether it is what `write` leaves where it is killed."""
    return path.is_dir() and bool(re.fullmatch(r"\.(start|\d{9})\.(part|old)\.\w+", path.name))


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """One process at a time, by whatever name it calls the folder: the system lets the lock go when its holder ends, however it
    ends."""
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.parent / f".{folder.name}.lock"
    with open(path, "a") as handle:
        with suppress(ImportError):  # where there is no fcntl, nobody is kept out
            import fcntl

            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle.fileno()).st_ino != os.stat(path).st_ino:
                    raise OSError  # who held it before took the file away in between
            except OSError:
                raise Mistake("{folder} is being written by another process; wait for it, or choose another --out.",
                              folder=folder) from None  # fmt: skip
        try:
            recover(folder)
            for kind in ("part", "old"):  # what earlier writers left half written
                for left in folder.parent.glob(f".{glob.escape(folder.name)}.{kind}.*"):
                    shutil.rmtree(left, ignore_errors=True)
            yield
        finally:
            with suppress(OSError):
                path.unlink()
