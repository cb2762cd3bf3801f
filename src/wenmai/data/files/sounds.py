"""Sound files: WAV (waves.py, with nothing installed), FLAC, OGG and what else libsndfile reads, at any rate, with any number of
channels, some seconds at a time.

A Clip is one that was looked at: it is there, whole, and holds finite samples. Only its name is kept, and what it measures."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from wenmai.data.files import waves
from wenmai.data.files.columns import short
from wenmai.data.files.images import NO_FILES
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase
from wenmai.locale.theirs import Theirs

BLOCK = 1 << 18  # samples that are read at once
RATES = 1000, 768_000


class Clip:
    """One sound: a file, or samples at hand. Equal if they sound the same, wherever they lie."""

    __slots__ = ("digest", "frames", "path", "rate", "samples", "silent", "unread", "voice")

    def __init__(
        self,
        path: str,
        rate: int,
        frames: int,
        digest: str,
        silent: bool,
        samples: np.ndarray | None = None,
    ):
        self.path, self.rate, self.frames, self.digest, self.silent, self.samples = (
            path,
            rate,
            frames,
            digest,
            silent,
            samples,
        )
        self.unread = 0.0  # seconds behind what the header announces
        self.voice: str | None = (
            None  # whose it is, where that is known: no two parts of the data share one
        )

    @classmethod
    def of(cls, value, where: str = "") -> Clip:
        """A path, (samples, rate), or a Clip; what is wrong with it is a Mistake that names it."""
        if isinstance(value, Clip):
            return value
        if isinstance(value, (str, os.PathLike)):
            if NO_FILES.get():
                raise Mistake(
                    "{where}: the table names files of sounds, which are not read for others; train on it where the "
                    "sounds are, with wenmai train.",
                    where=where,
                )
            return load_clip(os.fspath(value), where)
        if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) in (1, 2):
            return at_hand(*value, where)
        raise Mistake(
            "{where}: found {type} {value!r}, expected the path of a sound file, or samples and their rate.",
            where=where,
            type=type(value).__name__,
            value=short(str(value), 40),
        )

    @property
    def seconds(self) -> float:
        return self.frames / self.rate

    def __len__(self) -> int:
        return self.frames

    def __repr__(self) -> str:
        return f"Clip({self.rate}, {self.frames}, {self.digest})"

    def __str__(self) -> str:
        return f"{Path(self.path).name} ({self.seconds:.2f} s)"

    def __eq__(self, other) -> bool:
        return isinstance(other, Clip) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def blocks(self) -> Iterator[np.ndarray]:
        """Its samples, mixed down to one channel, some seconds at a time."""
        if self.samples is not None:
            yield self.samples
            return
        count = 0
        for block in blocks_of(self.path, Message("the sound {path}", path=short(self.path, 200))):
            count += len(block)
            yield block.mean(1)
        if count != self.frames:
            raise Mistake(
                "{path} has changed since it was looked at: it held {before:,} samples, and holds {now:,}; start "
                "again.",
                path=self.path,
                before=self.frames,
                now=count,
            )


class Voices(list):
    what = phrase("what", "voice")


class Clips(Sequence):
    """Sounds, as a list of them."""

    def __init__(self, clips: list[Clip]):
        self.clips = clips

    @classmethod
    def of(cls, values, where: Callable[[int], object] | None = None) -> Self:
        if isinstance(values, Clips):
            return values
        if isinstance(values, (str, os.PathLike)):
            raise Mistake(
                "found a single path where rows are expected; give a list, of one row too."
            )
        name = where or (lambda row: Message("input {row}", row=row + 1))
        return cls([Clip.of(value, name(row)) for row, value in enumerate(values)])

    def __len__(self) -> int:
        return len(self.clips)

    def __getitem__(self, row):
        return Clips(self.clips[row]) if isinstance(row, slice) else self.clips[row]

    def take(self, rows: np.ndarray) -> Clips:
        return Clips([self.clips[row] for row in rows])

    @property
    def keys(self) -> Self | Voices:
        """What no two parts share: the sounds themselves, or the voices where they are known."""
        return (
            Voices(clip.voice for clip in self.clips)
            if self.clips and all(clip.voice for clip in self.clips)
            else self
        )

    @property
    def seconds(self) -> np.ndarray:
        return np.array([clip.seconds for clip in self.clips])


def is_there(file: Path) -> bool:
    try:
        return file.exists() and not file.is_dir()
    except OSError:  # a name that is too long for any file
        return False


def load_clip(path: str, where: str, name: Message | None = None) -> Clip:
    """A file that was read through once."""
    name = name or (
        Message("{where}: the sound {path}", where=where, path=short(path, 200))
        if where
        else Message("the sound {path}", path=short(path, 200))
    )
    file = Path(path).expanduser()
    if not path.strip() or not is_there(file):
        raise Mistake(
            "{name}: there is no such file; check the path, or leave the row out.", name=name
        )
    if not file.stat().st_size:
        raise Mistake(
            "{name} is empty: found 0 bytes, expected a WAV, FLAC or OGG file; record or copy it again, or leave "
            "the row out.",
            name=name,
        )
    check_ogg(file, name)
    known = check_riff(file, name)
    digest, count, peak, rate = hashlib.blake2b(digest_size=12), 0, 0.0, 0
    with sound_file(str(file), name) as sound:
        rate, expected = sound.samplerate, sound.frames
    if not RATES[0] <= rate <= RATES[1]:
        raise Mistake(
            "{name} has {rate:,} samples a second, expected {least:,} to {most:,}; record or convert it again.",
            name=name,
            rate=rate,
            least=RATES[0],
            most=RATES[1],
        )
    for block in blocks_of(str(file), name):
        if not np.isfinite(block).all():
            raise Mistake(
                "{name} holds samples that are no finite numbers, from second {second:.2f} on; record or convert it "
                "again.",
                name=name,
                second=count / rate,
            )
        digest.update(block.tobytes())
        count, peak = count + len(block), max(peak, float(np.abs(block).max(initial=0)))
    if not count:
        raise Mistake(
            "{name} has a header and no sound behind it; record or copy it again, or leave the row out.",
            name=name,
        )
    if known and count < expected < 1 << 62:
        raise cut_off(name, expected / rate, count / rate)
    clip = Clip(str(file), rate, count, digest.hexdigest(), peak == 0)
    clip.unread = unread_seconds(file)
    return clip


def at_hand(samples, rate: int, where: str) -> Clip:
    samples = np.asarray(samples)
    scale = {"i": lambda kind: 1 << (8 * kind.itemsize - 1)}.get(
        samples.dtype.kind, lambda kind: 1
    )(samples.dtype)
    samples = np.ascontiguousarray(
        (samples if samples.ndim == 1 else samples.mean(1)) / scale, np.float32
    )
    if not len(samples) or not np.isfinite(samples).all() or not RATES[0] <= rate <= RATES[1]:
        raise Mistake(
            "{where}: expected at least one sample, finite numbers all, and a rate of {least:,} to {most:,} a second.",
            where=where,
            least=RATES[0],
            most=RATES[1],
        )
    digest = hashlib.blake2b(samples.tobytes(), digest_size=12).hexdigest()
    return Clip("", int(rate), len(samples), digest, not samples.any(), samples)


def library(name: str = "soundfile", what: object = "sound"):
    """A package of the extra `sound`."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError):
        raise Mistake(
            "{what} needs the package {package}; run pip install 'wenmai[sound]'.",
            what=what,
            package=name,
        ) from None


def sound_file(path: str, name):
    """What reads it: of plain WAV our own, else libsndfile's."""
    header = waves.header(path)
    if header and header.plain:
        return waves.WaveFile(path, header)
    soundfile = library()
    try:
        return soundfile.SoundFile(path)
    except (soundfile.LibsndfileError, OSError) as error:
        raise Mistake(
            "{name} cannot be read as sound ({why}); expected a WAV, FLAC or OGG file: convert it, or leave the row "
            "out.",
            name=name,
            why=Theirs(short(str(getattr(error, "error_string", error)).rstrip("."), 80)),
        ) from None


def blocks_of(path: str, name) -> Iterator[np.ndarray]:
    """(N, channels) float32, from −1 to 1 for whole numbers of any width"""
    with sound_file(path, name) as sound:
        size, announced, count = max(1, BLOCK // sound.channels), sound.frames, 0
        read = (
            sound.read
            if isinstance(sound, waves.WaveFile)
            else partial(sound.read, dtype="float32", always_2d=True)
        )
        while True:
            try:
                block = read(size)
            except RuntimeError:  # libsndfile's
                raise cut_off(
                    name, announced / sound.samplerate, count / sound.samplerate
                ) from None
            if not len(block):
                return
            count += len(block)
            yield block


def cut_off(name, announced: float, actual: float) -> Mistake:
    return Mistake(
        "{name} is cut off, or its header lies: it announces {told:.2f} s and holds {found:.2f} s; copy it again, or "
        "leave the row out.",
        name=name,
        told=announced,
        found=actual,
    )


def check_riff(file: Path, name) -> bool:
    """Whether the header says how long the sound is. A WAV file holds as much as its header announces: libsndfile would read what
    there is, without a word."""
    header = waves.header(file)
    if header is None:
        return True
    if header.announced and header.announced > header.there:
        raise cut_off(
            name, header.announced / max(1, header.second), header.there / max(1, header.second)
        )
    return header.announced is not None


def unread_seconds(file: Path) -> float:
    """What a WAV file holds beyond what its header announces, which is all that is read of it."""
    header = waves.header(file)
    return waves.unannounced(file, header) / max(1, header.second) if header else 0.0


def unread_notes(clips: Clips) -> list[Message]:
    """Of all such files one note, with the first of them."""
    more = [clip for clip in clips if clip.unread]
    if not more:
        return []
    return [
        Message(
            "{count:,} of the {clips:,} sounds hold more than their headers announce, which is all that is read; the "
            "first: {path}, {told:.2f} s announced and {more:.2f} s behind them",
            count=len(more),
            clips=len(clips),
            path=short(more[0].path, 200),
            told=more[0].seconds,
            more=more[0].unread,
        )
    ]


def check_ogg(file: Path, name) -> None:
    """An OGG file ends with a page that says so (RFC 3533): without it, libsndfile would read what there is, without a word."""
    with open(file, "rb") as data:
        if data.read(4) != b"OggS":
            return
        data.seek(-min(file.stat().st_size, 1 << 17), 2)
        end = data.read()
        last = end.rfind(b"OggS")
    if not end[last : last + 6][5:] or not end[last + 5] & 4:
        raise Mistake(
            "{name} is cut off: its last page is missing; copy it again, or leave the row out.",
            name=name,
        )


def sounds(values) -> Clips:
    """Sound files by their paths, or (samples, rate) each, as a Classifier or Regressor takes them."""
    return Clips.of(values)
