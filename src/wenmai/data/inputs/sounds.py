"""Sounds: clips become rows of log-mel frames, several stacked side by side so that rows are shorter; each band at mean 0 and
deviation 1. Spoken: sounds are read, and texts written.

Clips are read some seconds at a time, and their frames are kept in memory while they are few, else in a file without a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import torch

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.examples.stored import LARGE, Spool
from wenmai.data.files.sounds import Clip, Clips, unread_notes
from wenmai.data.inputs.sides import Sides
from wenmai.data.inputs.target_texts import TargetTexts
from wenmai.data.sound.features import FeatureStream, LogMel
from wenmai.data.sound.resampling import Resampler
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.locale import Message, phrase

LONGEST = 4096  # steps of a sound that a network reads at once
RATES, MELS, CONVOLUTIONS = (4000, 48_000), (4, 256), (0, 4)
USUAL = 16_000  # samples a second are enough for speech
SAMPLED, ENOUGH = 400, 3000  # clips that say what is usual, and frames of each
PARTS = 4  # of a clip, whose means stand for it where a rung reads one row of numbers
Normalise = Literal["clip", "corpus"]


class Augmentation(NamedTuple):
    """What is changed by chance in training, anew each time (layers/sound.py)."""

    masks: int = 0  # stretches of time, and of frequency, that are hidden
    speed: float = 0.0  # up to so much faster or slower
    pitch: float = 0.0  # up to such a share of the bands higher or lower
    noise: float = 0.0  # the share of clips that noise is added to


class Sounds:
    kind, unit, length = "frames", "words", None
    parts = PARTS  # of a clip, which `flatten` lays side by side

    def __init__(
        self,
        rate: int,
        mels: int,
        stack: int,
        normalise: str,
        mean: np.ndarray,
        deviation: np.ndarray,
        augmentation: Augmentation,
        window: int,
        convolutions: int = 0,
    ):
        self.rate, self.mels, self.stack, self.normalise, self.augmentation = (
            rate,
            mels,
            stack,
            normalise,
            augmentation,
        )
        self.mean, self.deviation = mean, deviation  # (mels,)
        self.width, self.longest = mels * stack, max(LONGEST, window)
        self.window = window  # steps of the longest clip that was learned from: longer ones are read in such windows
        self.features, self.convolutions = LogMel(rate, mels), convolutions

    @classmethod
    def learn(
        cls,
        clips: Clips,
        rate: int | None = None,
        mels: int = 40,
        stack: int = 2,
        normalise: Normalise = "clip",
        masks: int = 1,
        speed: float = 0.0,
        pitch: float = 0.0,
        noise: float = 0.0,
        convolutions: int = 0,
    ) -> Sounds:
        rate = rate or min(USUAL, Counter(clip.rate for clip in clips).most_common(1)[0][0])
        for name, value, (least, most) in (
            ("rate", rate, RATES),
            ("mels", mels, MELS),
            ("stack", stack, (1, 32)),
            ("convolutions", convolutions, CONVOLUTIONS),
        ):
            if not least <= value <= most:
                raise Mistake(
                    "{option}={value}: expected {least} to {most}.",
                    option=name,
                    value=value,
                    least=least,
                    most=most,
                )
        made = cls(
            rate,
            mels,
            stack,
            normalise,
            np.zeros(mels),
            np.ones(mels),
            Augmentation(masks, speed, pitch, noise),
            1,
        )
        sums, squares, count = np.zeros(mels), np.zeros(mels), 0
        for clip in clips[:: max(1, len(clips) // SAMPLED)]:
            frames = made.unscaled(clip, ENOUGH).double().numpy()
            sums, squares, count = (
                sums + frames.sum(0),
                squares + (frames**2).sum(0),
                count + len(frames),
            )
        mean = sums / max(1, count)
        deviation = np.sqrt(np.maximum(squares / max(1, count) - mean**2, 0))
        made.mean, made.deviation = mean, np.where(deviation > 1e-6, deviation, 1.0)
        window = max((made.steps(clip) for clip in clips), default=1)
        return cls(
            rate,
            mels,
            stack,
            normalise,
            made.mean,
            made.deviation,
            made.augmentation,
            min(window, LONGEST),
            convolutions,
        )

    @property
    def step(self) -> float:
        """Seconds from one step to the next."""
        return self.features.duration(self.stack)

    def steps(self, clip: Clip) -> int:
        """How many a clip has, which is at least one."""
        samples = max(self.features.size, -(-clip.frames * self.rate // clip.rate))
        return max(1, (1 + (samples - self.features.size) // self.features.hop) // self.stack)

    # Encoding

    def coerce(self, values) -> Clips:
        """What a user gives, as clips."""
        return Clips.of(values)

    def encode(self, values) -> Sequences:
        clips, held, lengths, spool, size = Clips.of(values), [], [], None, 0
        for clip in clips:
            frames = self.frames(clip)
            lengths.append(len(frames))
            size += frames.nbytes
            held.append(frames)
            if size > LARGE:  # what was held goes to a file
                spool = spool or Spool()
                spool.append(np.concatenate(held).tobytes())
                held, size = [], 0
        offsets = offsets_of(np.array(lengths, np.int64))
        if spool is None:
            return Sequences(
                np.concatenate(held) if held else np.zeros((0, self.width), np.float32), offsets
            )
        if held:
            spool.append(np.concatenate(held).tobytes())
        flat = np.memmap(spool.file, np.float32, "r", shape=(int(offsets[-1]), self.width))
        return Sequences(flat, offsets)

    def frames(self, clip: Clip) -> np.ndarray:
        """(T, stack · mels) float32"""
        return self.stacked(self.scaled(self.unscaled(clip)))

    def unscaled(self, clip: Clip, most: int | None = None) -> torch.Tensor:
        """(T, mels), no more than so many frames; its own mean taken off where that is asked for"""
        parts, count = [], 0
        for part in self.pieces(clip):
            parts.append(part)
            count += len(part)
            if most and count >= most:
                break
        frames = torch.cat(parts)[:most]
        return frames - frames.mean(0) if self.normalise == "clip" else frames

    def pieces(self, clip: Clip) -> Iterator[torch.Tensor]:
        """Frames, as the samples come; a clip shorter than one is filled up with silence."""
        resampler, stream, count = Resampler(clip.rate, self.rate), FeatureStream(self.features), 0
        for block in clip.blocks():
            frames = stream.push(resampler.push(block))
            count += len(frames)
            yield frames
        frames = stream.push(resampler.finish())
        if not count and not len(frames):
            frames = stream.push(np.zeros(self.features.size - len(stream.rest), np.float32))
        yield frames

    def scaled(self, frames: torch.Tensor) -> torch.Tensor:
        mean, deviation = (torch.from_numpy(part).float() for part in (self.mean, self.deviation))
        return (frames - mean) / deviation

    def stacked(self, frames: torch.Tensor) -> np.ndarray:
        """(T, mels) → (T / stack, stack · mels); what is left over is dropped, but of one frame"""
        if len(frames) < self.stack:
            frames = torch.cat([frames, frames[-1:].expand(self.stack - len(frames), -1)])
        steps = len(frames) // self.stack
        return frames[: steps * self.stack].reshape(steps, self.width).numpy()

    def flatten(self, encoded: Sequences) -> np.ndarray:
        """(N, PARTS · F): the mean of each quarter of a clip"""
        table = np.zeros((len(encoded), PARTS, self.width), np.float32)
        for row in range(len(encoded)):
            frames = encoded[row]
            bounds = np.linspace(0, len(frames), PARTS + 1)
            for part in range(PARTS):
                start = min(int(bounds[part]), len(frames) - 1)
                table[row, part] = frames[start : max(start + 1, int(bounds[part + 1]))].mean(0)
        return table.reshape(len(encoded), PARTS * self.width)

    def notes(self, values) -> list[str]:
        clips = Clips.of(values)
        seconds, silent = clips.seconds, sum(clip.silent for clip in clips)
        notes = [
            Message(
                "sounds of {least:.2f} to {most:.2f} s, {hours:.2f} hours in all: {mels} bands at {rate:,} samples a "
                "second, a "
                "step every {step:.0f} ms",
                least=seconds.min(),
                most=seconds.max(),
                hours=seconds.sum() / 3600,
                mels=self.mels,
                rate=self.rate,
                step=1000 * self.step,
            )
        ]
        if silent:
            notes.append(
                Message(
                    "{count:,} of the {clips:,} sounds are silent from beginning to end",
                    count=silent,
                    clips=len(clips),
                )
            )
        return notes + unread_notes(clips)

    def to_json(self) -> dict:
        return {
            "kind": "sounds",
            "rate": self.rate,
            "mels": self.mels,
            "stack": self.stack,
            "normalise": self.normalise,
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "window": self.window,
            "augmentation": list(self.augmentation),
            "convolutions": self.convolutions,
        }

    @classmethod
    def from_json(cls, saved) -> Sounds:
        mean, deviation = take.scaling(saved)
        mels, changes = take.integer(saved, "mels", *MELS), take.numbers(saved, "augmentation")
        if (
            len(mean) != mels
            or len(changes) != 4
            or not (changes >= 0).all()
            or not (changes[1:] <= 1).all()
        ):
            raise take.unfit("augmentation", changes, phrase("saved", "four numbers"))
        return cls(
            take.integer(saved, "rate", *RATES),
            mels,
            take.integer(saved, "stack", 1, 32),
            take.one_of(saved, "normalise", ("clip", "corpus")),
            mean,
            deviation,
            Augmentation(int(changes[0]), *changes[1:].tolist()),
            take.integer(saved, "window", 1, LONGEST),
            take.integer({"convolutions": 0} | saved, "convolutions", *CONVOLUTIONS),
        )


class Spoken(Sides):
    """Sounds in, texts out."""

    def __init__(self, source: Sounds, target: TargetTexts):
        super().__init__(source, target)
        self.width, self.length, self.augmentation = source.width, None, source.augmentation
        self.listened = source  # what is left of it where nothing is written

    def to_json(self) -> dict:
        return super().to_json() | {"kind": "spoken"}

    @classmethod
    def from_json(cls, saved) -> Spoken:
        source = Sounds.from_json(take.value(saved, "source"))
        return cls(source, TargetTexts.from_json(take.value(saved, "target")))
