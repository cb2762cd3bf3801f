"""Named arrays in one file, mapped into memory when it is opened: safetensors, as every tool for models reads it.

    8 bytes             how long the header is
    the header          JSON: the type, the shape and the place of every array; spaces fill it up
    the arrays          end to end, each from a multiple of 64 bytes on

The format allows no gaps, so what lies between two arrays is an array itself; its name begins with `~`. Nothing but the header
is read when a file is opened: what is used is fetched a page at a time, and shared by all processes that have the file open.
"""

import ctypes
import json
import math
import mmap
import os
import signal
import struct
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path

import numpy as np

from wenmai.data.storage import saved as take
from wenmai.data.storage.caches import njit
from wenmai.data.storage.saved import Unfit
from wenmai.data.storage.threads import side_by_side

TYPES = {
    "U8": "<u1",
    "I8": "<i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
NAMES = {np.dtype(kind): name for name, kind in TYPES.items()}
ALIGNED = 64  # bytes: a line of the cache
LONGEST = 1 << 20  # bytes of a header
DEEPEST = 8  # axes of an array
BLOCK = 1 << 20  # bytes that are summed up at once
FILLED = "~"
HELD = ContextVar(
    "held", default=False
)  # whether files are read whole: a server must not end for one that somebody cuts off


def write(path: Path, arrays: dict[str, np.ndarray], about: dict[str, str] | None = None) -> None:
    """The arrays are written from where they lie, without a copy of them."""
    header: dict[str, dict] = {"__metadata__": about} if about else {}
    parts, end = [], 0
    for name, array in arrays.items():
        array = (
            np.ascontiguousarray(array)
            .astype(array.dtype.newbyteorder("<"), copy=False)
            .reshape(array.shape)
        )
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        parts.append(array)
        end += array.nbytes
        if gap := -end % ALIGNED:
            header[f"{FILLED}{len(parts)}"] = {
                "dtype": "U8",
                "shape": [gap],
                "data_offsets": [end, end + gap],
            }
            parts.append(np.zeros(gap, np.uint8))
            end += gap
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % ALIGNED)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in parts:
            array.tofile(file)


def mapped(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """(the arrays, read only; what is told about them). Unfit where the file is not what `write` or safetensors made."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header, start = header_of(file.read(8), file, size)
        file_map = (
            in_memory(file, size)
            if HELD.get()
            else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        )
    about = header.pop("__metadata__", {})
    if not isinstance(about, dict) or not all(isinstance(one, str) for one in about.values()):
        raise Unfit('"__metadata__" is not an object of texts')
    arrays, places = {}, []
    for name, entry in header.items():
        kind = np.dtype(TYPES[take.one_of(entry, "dtype", tuple(TYPES))])
        shape, place = take.integers(entry, "shape"), take.integers(entry, "data_offsets")
        if (
            len(place) != 2
            or len(shape) > DEEPEST
            or math.prod(shape) * kind.itemsize != place[1] - place[0]
        ):
            raise Unfit(
                "{name}: its shape and its place do not fit each other", name=take.summary(name)
            )
        if place[1] > size - start or (start + place[0]) % kind.itemsize:
            raise Unfit(
                "{name}: its place is not inside the file, or not one where such numbers can lie",
                name=take.summary(name),
            )
        places.append(place)
        if not name.startswith(FILLED):
            try:
                arrays[name] = (
                    np.ndarray(shape, kind, file_map, start + place[0])
                    if math.prod(shape)
                    else np.empty(shape, kind)
                )
            except ValueError:  # an axis of 0 beside others beyond what NumPy counts
                raise Unfit("found the shape {shape}", shape=" × ".join(map(str, shape))) from None
            arrays[name].flags.writeable = False
    places = [[0, 0], *sorted(places), [size - start] * 2]
    if any(one[1] != other[0] for one, other in pairwise(places)):
        raise Unfit("the arrays do not follow one another")
    return arrays, about


def in_memory(file, size: int) -> mmap.mmap:
    """A copy of the file, which nobody else can change any more."""
    held = mmap.mmap(-1, size)
    file.seek(0)
    if file.readinto(held) < size:
        raise Unfit("it became shorter while it was read")
    return held


def when_cut_off(sentence: str) -> None:
    """A file that becomes shorter while it is mapped (somebody writes over it) is SIGBUS when it is read: the process says so and
    ends, as after any mistake. What reads it is machine code, which can be told in no other way."""
    if not hasattr(signal, "SIGBUS") or signal.getsignal(signal.SIGBUS) != signal.SIG_DFL:
        return

    def end(number: int) -> None:
        os.write(2, f"{sentence}\n".encode())
        os._exit(2)

    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(end)
    KEPT.append(handler)
    ctypes.CDLL(None).signal(signal.SIGBUS, handler)


KEPT: list = []  # handlers, which nobody else holds


def header_of(length: bytes, file, size: int) -> tuple[dict, int]:
    """(the header, where the arrays begin)"""
    if len(length) < 8:
        raise Unfit("found {count} bytes, expected a header", count=size)
    (long,) = struct.unpack("<Q", length)
    if long > min(size - 8, LONGEST):
        raise Unfit("its header is longer than the file, or than a header may be")
    try:
        header = json.loads(file.read(long), object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise Unfit("its header is no JSON") from None
    if not isinstance(header, dict):
        raise Unfit("found {value}, expected an object", value=take.summary(header))
    return header, 8 + long


def once(pairs: list[tuple[str, object]]) -> dict:
    header = dict(pairs)
    if len(header) != len(pairs):
        raise ValueError("a name stands there twice")
    return header


def checksum(path: Path, threads: int = 2) -> str:
    """16 digits that differ if any bit of the file does, or if parts of it change places."""
    size = os.path.getsize(path)
    sums = np.zeros(-(-size // BLOCK), np.uint64)
    with open(path, "rb", buffering=0) as file:

        def summed(first: int) -> None:
            block = np.zeros(BLOCK // 8, np.uint64)
            view = memoryview(block).cast("B")
            for at in range(first, len(sums), threads):
                size_read = os.preadv(file.fileno(), [view], at * BLOCK)
                if size_read < BLOCK:
                    view[size_read:] = bytes(BLOCK - size_read)
                sums[at] = sum_of(block)

        side_by_side(summed, ((first,) for first in range(threads)))
    sums = np.concatenate([sums, np.array([size], np.uint64)])
    return f"{int(sum_of(np.concatenate([sums, np.zeros(-len(sums) % 4, np.uint64)]))):016x}"


@njit(inline="always")
def mixed(value, word):
    """Another word, another value, whatever the value was before: each of the three steps can be undone."""
    value = (value ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return (value << np.uint64(29)) | (value >> np.uint64(35))


@njit(cache=True, nogil=True)
def sum_of(words):
    """Four sums side by side, since a processor multiplies anew before the last product is there."""
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for at in range(0, len(words), 4):
        a, b, c, d = (
            mixed(a, words[at]),
            mixed(b, words[at + 1]),
            mixed(c, words[at + 2]),
            mixed(d, words[at + 3]),
        )
    for one in (b, c, d, np.uint64(len(words))):
        a = mixed(a ^ (a >> np.uint64(32)), one)
    return a ^ (a >> np.uint64(32))
