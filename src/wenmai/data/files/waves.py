"""WAV files of plain samples, read with nothing installed: whole numbers of 8 to 32 bits, or floats of 32 or 64.

    RIFF size WAVE, then chunks: a name, its size, its bytes;   fmt: form, channels, rate, bytes a second, bytes a step, bits
                                                                 data: the samples, channels side by side, low bytes first

Whole numbers run from −2^(bits − 1) to 2^(bits − 1) − 1, of 8 bits from 0 to 255. Compressed ones are soundfile's."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

UNKNOWN_SIZES = (
    0,
    0x7FFFFFFF,
    0x7FFFFFFF - 36,
    0xFFFFFFFF,
)  # what programs write that do not know how long it will be
WHOLE, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
SAMPLES = {
    (WHOLE, 8): "u1",
    (WHOLE, 16): "<i2",
    (WHOLE, 24): "u1",
    (WHOLE, 32): "<i4",
    (FLOAT, 32): "<f4",
    (FLOAT, 64): "<f8",
}


class Header(NamedTuple):
    form: int
    bits: int
    channels: int
    rate: int
    second: int  # bytes of one
    start: int  # where the samples begin
    announced: int | None  # bytes of samples, where the header knows
    there: int  # bytes behind it

    @property
    def width(self) -> int:
        """Bytes of a sample of every channel."""
        return self.channels * self.bits // 8

    @property
    def plain(self) -> bool:
        return (self.form, self.bits) in SAMPLES and 0 < self.channels <= 64 and self.rate > 0


def header(path: str | Path) -> Header | None:
    """Of a file that is WAV."""
    form = bits = channels = rate = second = 0
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        if file.read(4) != b"RIFF" or file.read(8)[4:] != b"WAVE":
            return None
        while len(head := file.read(8)) == 8:
            kind, length = struct.unpack("<4sI", head)
            if kind == b"data":
                there = size - file.tell()
                return Header(
                    form,
                    bits,
                    channels,
                    rate,
                    second,
                    file.tell(),
                    None if length in UNKNOWN_SIZES else length,
                    there,
                )
            begins = file.tell()
            if kind == b"fmt " and len(chunk := file.read(min(length, 40))) >= 16:
                form, channels, rate, second, _, bits = struct.unpack("<HHIIHH", chunk[:16])
                form = (
                    struct.unpack("<H", chunk[24:26])[0]
                    if form == EXTENSIBLE and len(chunk) >= 26
                    else form
                )
            file.seek(begins + length + length % 2)
    return None


def unannounced(path: str | Path, header: Header) -> int:
    """How many bytes stand behind the samples and are no chunks: more than the header knows of. Some writers add a few zeros."""
    if header.announced is None:
        return 0
    at, end = header.start + header.announced + header.announced % 2, header.start + header.there
    with open(path, "rb") as file:
        while at + 8 <= end:
            file.seek(at)
            kind, length = struct.unpack("<4sI", file.read(8))
            if (
                not kind.isascii()
                or not kind.decode("ascii").isprintable()
                or at + 8 + length > end
            ):
                break
            at += 8 + length + length % 2
        if 0 < end - at <= 1 << 16:
            file.seek(at)
            at = at if file.read().strip(b"\0") else end
    return max(0, end - at)


class WaveFile:
    """As soundfile has it: `samplerate`, `channels`, `frames`, `read`."""

    def __init__(self, path: str, header: Header):
        self.header, self.samplerate, self.channels = header, header.rate, header.channels
        bytes_here = (
            header.there if header.announced is None else min(header.there, header.announced)
        )
        self.frames = self.left = bytes_here // header.width
        self.file = open(path, "rb")  # noqa: SIM115  # closed by __exit__
        self.file.seek(header.start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.file.close()

    def read(self, count: int) -> np.ndarray:
        """(N, channels) float32, N ≤ count"""
        data = self.file.read(min(count, self.left) * self.header.width)
        data = data[: len(data) - len(data) % self.header.width]
        self.left -= len(data) // self.header.width
        form, bits = self.header.form, self.header.bits
        samples = np.frombuffer(data, SAMPLES[form, bits])
        if bits == 24:
            low, middle, high = samples.reshape(-1, 3).astype(np.int32).T
            samples = (low | middle << 8 | high << 16) - ((high >> 7) << 24)
        samples = samples.astype(np.float32)
        if form == WHOLE:
            samples = samples / 128 - 1 if bits == 8 else samples / (1 << bits - 1)
        return samples.reshape(-1, self.channels)
