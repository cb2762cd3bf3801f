"""Where what is made once is kept: a folder that belongs to the user and that nobody else may write to, or nowhere.

Libraries unpickle and unmarshal what they find in their caches, which is to run it: Numba its index, jieba its dictionary, torch
its kernels. So these lie in ~/.cache/wenmai (or $XDG_CACHE_HOME/wenmai), mode 0700. Where there can be no such folder, what is
compiled is compiled each time; nothing fails for want of a cache."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numba
from numba.core import sigutils
from numba.core.ccallback import CFunc


@cache
def own_folder() -> Path | None:
    """None where it cannot be made, or is not the user's alone."""
    try:
        base = os.environ.get("XDG_CACHE_HOME", "")
        folder = (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "wenmai"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return (
            folder.resolve() if is_own(folder) else None
        )  # a link on the way could be another by the time it is used
    except (OSError, RuntimeError):  # of which the second: nobody says where home is
        return None


def is_own(folder: Path) -> bool:
    """Whether it is the user's, nobody else may write to it, and nobody may put another one in its place."""
    folder = folder.resolve()
    if hasattr(os, "geteuid"):
        about = folder.stat()
        if (
            about.st_uid != os.geteuid()
            or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            or any(map(is_open, folder.parents))
        ):
            return False
    return os.access(folder, os.W_OK | os.X_OK)


def is_open(folder: Path) -> bool:
    """Whether somebody else may rename what lies in it."""
    about = folder.stat()
    return about.st_uid not in (0, os.geteuid()) or bool(
        about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX
    )


@cache
def for_numba() -> str | None:
    """In the user's own folder; or where NUMBA_CACHE_DIR says, if that is one."""
    if numba.config.CACHE_DIR:
        with suppress(OSError):
            folder = Path(numba.config.CACHE_DIR).resolve()
            return str(folder) if is_own(folder) else None
        return None
    return str(own_folder() / "numba") if own_folder() else None


@cache
def version_of(folder: Path) -> str:
    """What a folder of code says, as a name. What Numba compiled holds what it called, which may stand in another file of the
    folder, and Numba itself looks at one file alone."""
    known = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        known.update(file.read_bytes())
    return known.hexdigest()[:16]


def for_torch() -> dict[str, str]:
    """What torch is told by the environment before it compiles."""
    folder = own_folder() or Path(
        tempfile.mkdtemp(prefix="wenmai-")
    )  # 0700, by a name that nobody can know before
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }


def njit(**options) -> Callable:
    """As Numba's; with `cache`, what is compiled is kept in the user's own folder."""
    make = numba.njit(**options | {"cache": False})
    return lambda function: kept(make, function) if options.get("cache") else make(function)


def c_function(signature, **options) -> Callable:
    """As Numba's cfunc, compiled when it is first asked for its address, and kept."""

    def compiled(function: Callable) -> Callable[[], int]:
        @cache
        def address() -> int:
            made = kept(
                lambda function: CFunc(
                    function, sigutils.normalize_signature(signature), {}, options
                ),
                function,
            )
            made.compile()
            ALIVE.append(made)
            return made.address

        return address

    return compiled


ALIVE = []  # what was compiled, as long as its address may be used


def kept(make: Callable, function: Callable):
    """make(function), which keeps what it compiles in the user's own folder, if there is one."""
    made, folder = make(function), for_numba()
    if folder is None:
        return made
    version = version_of(Path(function.__code__.co_filename).parent)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(Path(folder) / version)
    try:
        made.enable_caching()
        made._cache.load_overload = quiet(made._cache.load_overload)
        made._cache.save_overload = quiet(made._cache.save_overload)
    except (RuntimeError, OSError):  # it cannot be written to
        made = make(function)
    finally:
        numba.config.CACHE_DIR = before
    return made


def quiet(step: Callable) -> Callable:
    """A file that is damaged, or a disk that is full, is no reason to stop: then it is compiled."""

    def tried(*arguments):
        with suppress(Exception):
            return step(*arguments)
        return None

    return tried


@contextmanager
def folder_for(name: str) -> Iterator[str]:
    """A folder of the user's own; where there is none to keep, one that is there for now."""
    if folder := own_folder():
        with suppress(OSError):
            (folder / name).mkdir(mode=0o700, exist_ok=True)
            yield str(folder / name)
            return
    with tempfile.TemporaryDirectory() as folder:
        yield folder
