"""Folders that are there whole or not at all, that tell when they were damaged, and that one process writes at a time.

A folder is written beside its place under another name, every file of it is brought to the disk, a manifest names them with
their sizes and checksums, and then it is renamed: on every system one step, which a kill or a full disk cannot cut in two. The
manifest also has a number that no other version has: who reads looks at it before and after, takes no lock and writes nothing."""

import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from safetensors import SafetensorError

from wenmai.data.storage import arrays
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.locale import Message
from wenmai.locale.theirs import Theirs
from wenmai.training.interrupts import uninterrupted

MANIFEST = "manifest.json"
HALF_WRITTEN = re.compile(r"\.(.+)\.(part|old)\.[0-9a-f]{12}", re.DOTALL)  # `beside` names them so
LARGE = 1 << 24  # bytes
ASKED_AGAIN, SURE = (
    100,
    3,
)  # times, a millisecond apart, for a folder that is not there: while somebody writes it, and else

T = TypeVar("T")


class Damaged(Mistake):
    """A folder is not as it was written."""


class Unwritable(Mistake):
    """A disk is full, or a place may not be written to."""


def write(folder: Path, fill: Callable[[Path], None]) -> None:
    """`fill` writes the files into the folder it is given; then it stands at `folder`, in place of what was there."""
    folder = folder.resolve()
    part = beside(folder, "part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir()
        fill(part)
        files = {file.name: checksum(file) for file in sorted(part.iterdir())}
        manifest = json.dumps({"version": secrets.token_hex(8), "files": files}, indent=1)
        (part / MANIFEST).write_text(manifest + "\n", encoding="utf-8")
        for file in part.iterdir():
            to_disk(file)
        to_disk(part)
        with uninterrupted():
            replace(part, folder)
        to_disk(folder.parent)
    except (OSError, SafetensorError) as error:
        raise Unwritable(
            "{folder} cannot be written ({why}); make room or choose another place.",
            folder=folder,
            why=Theirs(in_short(error)),
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def in_short(error: OSError | SafetensorError) -> str:
    """As the system says it; safetensors tells its number."""
    number = re.search(r"os error (\d+)", str(error))
    return os.strerror(int(number[1])) if number else getattr(error, "strerror", None) or str(error)


def beside(folder: Path, kind: str) -> Path:
    return folder.with_name(f".{folder.name}.{kind}.{secrets.token_hex(6)}")


def replace(part: Path, folder: Path) -> None:
    """Put `part` in the place of `folder`; an older one there is moved away first and removed last."""
    old = None
    if folder.exists():
        old = beside(folder, "old")
        old.mkdir()
        folder.rename(old / "was")
    part.rename(folder)
    if old:
        shutil.rmtree(old)


def one_version(folder: Path, read: Callable[[Path], T]) -> T:
    """What `read` makes of the folder, all of it of one version: it is read again where another took its place meanwhile."""
    missed = 0
    while True:
        place = standing(folder)
        before, failure = manifest_in(place), None
        try:
            made = read(place)
        except Exception as error:
            failure = error
        if manifest_in(place) != before:
            continue
        if failure is None:
            return made
        writing = lock_of(
            folder.resolve()
        ).exists()  # then what is not there now may be in a moment
        if before is not None or missed >= (ASKED_AGAIN if writing else SURE):
            raise failure
        missed += 1
        time.sleep(0.001)


def manifest_in(folder: Path) -> bytes | None:
    try:
        return take.plain_file(folder / MANIFEST)
    except (OSError, take.Unfit):
        return None


def standing(folder: Path) -> Path:
    """Where its files lie: between the two renames of `replace`, where a kill may have left them, that is beside it. What was to
    be put there is taken if it is whole, else what was there before."""
    if folder.exists():
        return folder
    at = folder.resolve()
    parts, olds = (left_of(at, kind) for kind in ("part", "old"))
    for part in parts:
        with suppress(Damaged, OSError):
            check(part)
            return part
    return next((old / "was" for old in olds if (old / "was").is_dir()), folder)


def left_of(folder: Path, kind: str) -> list[Path]:
    """What stands `beside` the folder, by the names that `write` gives; others are not ours."""
    paths = sorted(folder.parent.glob(f".{glob.escape(folder.name)}.{kind}.*"))
    return [
        path
        for path in paths
        if HALF_WRITTEN.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    ]


def recover(folder: Path) -> None:
    """Finishes what a kill between the two renames of `replace` left: the new folder takes its place if it is whole, or the
    old one goes back. Only who holds the lock may."""
    if (whole := standing(folder)) != folder:
        whole.rename(folder)


def checksum(file: Path) -> dict:
    """Of a large file one that is quicker to make, so that opening it takes no time to speak of."""
    size = file.stat().st_size
    if size > LARGE:
        return {"bytes": size, "sum": arrays.checksum(file)}
    return {
        "bytes": size,
        "blake2b": hashlib.blake2b(take.plain_file(file), digest_size=16).hexdigest(),
    }


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
        files = take.json_in(path)["files"]
        named = {
            Path(str(name)).name: {"bytes": int(about["bytes"]), **about}
            for name, about in files.items()
        }
    except FileNotFoundError:
        raise Damaged(
            "{reason}: the folder is damaged; train it again.",
            reason=Message("{file} is missing", file=path),
        ) from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
    ):
        raise Damaged(
            "{reason}: the folder is damaged; train it again.",
            reason=Message("{file} is not as it was written", file=path),
        ) from None
    for name in needed:
        if name not in named:
            raise Damaged(
                "{reason}: the folder is damaged; train it again.",
                reason=Message("{file} does not name {name}", file=path, name=name),
            )
    there = {file.name for file in folder.iterdir() if file.is_file()}
    for name, about in named.items():
        file, size = folder / name, about["bytes"]
        if name not in there:
            raise Damaged(
                "{reason}: the folder is damaged; train it again.",
                reason=Message("{file} is missing", file=file),
            )
        if (bytes_there := file.stat().st_size) != size:
            reason = Message(
                "{file}: found {actual} bytes, expected {expected}",
                file=file,
                actual=bytes_there,
                expected=size,
            )
            raise Damaged("{reason}: the file is damaged; train it again.", reason=reason)
        if checksum(file) != about:
            reason = Message("{file} is not as it was written (its checksum differs)", file=file)
            raise Damaged("{reason}: the file is damaged; train it again.", reason=reason)


def named_in(folder: Path) -> set[str]:
    """The files that a manifest of ours names, itself among them; none where there is no such manifest."""
    try:
        files = take.json_in(folder / MANIFEST)["files"]
        return {
            MANIFEST,
            *(name for name, about in files.items() if isinstance(about["bytes"], int)),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()


def is_half_written(path: Path) -> bool:
    """Whether it is what `write` leaves where it is killed."""
    return path.is_dir() and not path.is_symlink() and bool(HALF_WRITTEN.fullmatch(path.name))


def holds_named(folder: Path) -> bool:
    """Whether it is a folder that `write` left whole, with nothing beside what its manifest names."""
    named = named_in(folder)
    return (
        bool(named)
        and not folder.is_symlink()
        and {path.name for path in folder.iterdir()} <= named
    )


def lock_of(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.lock"


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """One process at a time, by whatever name it calls the folder: the system lets the lock go when its holder ends, however it
    ends."""
    folder = folder.resolve()
    path = lock_of(folder)
    with lock_file(path, folder) as handle:
        with suppress(ImportError):  # where there is no fcntl, nobody is kept out
            import fcntl

            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle.fileno()).st_ino != os.stat(path).st_ino:
                    raise OSError  # who held it before took the file away in between
            except OSError:
                raise Mistake(
                    "{folder} is being written by another process; wait for it, or choose another --out.",
                    folder=folder,
                ) from None
        try:
            recover(folder)
            for left in left_of(folder, "part") + left_of(
                folder, "old"
            ):  # by earlier writers, half written
                shutil.rmtree(left, ignore_errors=True)
            yield
        finally:
            with suppress(OSError):
                if not path.stat().st_size:  # a file of the user's that has this name stays
                    path.unlink()


def lock_file(path: Path, folder: Path) -> IO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "a")
    except OSError as error:
        raise Unwritable(
            "{folder} cannot be written ({why}); make room or choose another place.",
            folder=folder,
            why=Theirs(in_short(error)),
        ) from None
