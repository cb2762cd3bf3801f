"""Log-mel features: how loud a sound is in each of some bands of frequency, every 10 ms (Davis & Mermelstein 1980, without the
cosines).

    x_m(t) = log max(Σ_f W_mf |FFT(w · s_t)(f)|², floor)        s_t: 25 ms of samples, w: a window, W: triangles on the mel scale

style = slaney    Hann's window; mel is linear below 1 kHz and a logarithm above; a triangle's area is 1 (Slaney 1998; librosa)
style = kaldi     the mean taken off, s_n − 0.97 s_{n−1}, Povey's window, 2^k points; mel(f) = 1127 ln(1 + f/700); height 1

Frames begin every 10 ms from the first sample on, and none reaches beyond the last: so features of a sound that is still coming
are those of the whole."""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

WINDOW, HOP = 0.025, 0.010  # seconds
FLOOR = {"slaney": 1e-8, "kaldi": 1.1920928955078125e-07}
BLOCK = 4096  # frames that are computed at once


class LogMel:
    def __init__(
        self,
        rate: int,
        mels: int = 40,
        style: str = "slaney",
        low: float | None = None,
        high: float | None = None,
    ):
        self.rate, self.mels, self.kaldi, self.floor = rate, mels, style == "kaldi", FLOOR[style]
        self.size, self.hop = max(2, int(rate * WINDOW)), max(1, int(rate * HOP))
        self.points = 1 << (self.size - 1).bit_length() if self.kaldi else self.size
        low, high = (20.0 if self.kaldi else 0.0) if low is None else low, high or rate / 2
        steps = torch.arange(self.size, dtype=torch.float64)
        if self.kaldi:
            self.window = (
                (0.5 - 0.5 * torch.cos(2 * torch.pi * steps / (self.size - 1))).pow(0.85).float()
            )
            weights = kaldi_triangles(rate, self.points, mels, low, high)
        else:
            self.window = (0.5 - 0.5 * torch.cos(2 * torch.pi * steps / self.size)).float()
            weights = slaney_triangles(rate, self.points, mels, low, high)
        self.weights = weights.float()  # (F, mels)

    def __call__(self, samples: np.ndarray | Tensor) -> Tensor:
        """(N,) → (T, mels); T = 1 + (N − size) // hop, and 0 where there are too few samples"""
        samples = torch.as_tensor(samples, dtype=torch.float32)
        if len(samples) < self.size:
            return torch.zeros(0, self.mels)
        return torch.cat(
            [self._of(frames) for frames in samples.unfold(0, self.size, self.hop).split(BLOCK)]
        )

    def _of(self, frames: Tensor) -> Tensor:
        if self.kaldi:
            frames = frames - frames.mean(1, keepdim=True)
            frames = frames - 0.97 * torch.cat([frames[:, :1], frames[:, :-1]], 1)
        power = torch.fft.rfft(frames * self.window, self.points).abs().square()  # (T, F)
        return (power @ self.weights).clamp(min=self.floor).log()

    def duration(self, frames: int) -> float:
        """Seconds from one frame to so many after it."""
        return frames * self.hop / self.rate


class FeatureStream:
    """The same, of samples that come piece by piece: `push` gives the frames that are complete."""

    def __init__(self, features: LogMel):
        self.features, self.rest = features, np.zeros(0, np.float32)

    def push(self, samples: np.ndarray) -> Tensor:
        held = np.concatenate([self.rest, samples])
        frames = self.features(held)
        self.rest = held[len(frames) * self.features.hop :]
        return frames


def slaney_mel(frequency: Tensor) -> Tensor:
    return torch.where(
        frequency < 1000,
        frequency * 3 / 200,
        15 + torch.log(frequency.clamp(min=1) / 1000) * 27 / math.log(6.4),
    )


def slaney_hertz(mel: Tensor) -> Tensor:
    return torch.where(mel < 15, mel * 200 / 3, 1000 * torch.exp((mel - 15) * math.log(6.4) / 27))


def slaney_triangles(rate: int, points: int, mels: int, low: float, high: float) -> Tensor:
    """(F, mels), F = points / 2 + 1"""
    ends = slaney_mel(torch.tensor([low, high], dtype=torch.float64))
    corners = slaney_hertz(
        torch.linspace(float(ends[0]), float(ends[1]), mels + 2, dtype=torch.float64)
    )
    frequencies = torch.arange(points // 2 + 1, dtype=torch.float64) * rate / points
    return triangles(frequencies, corners) * 2 / (corners[2:] - corners[:-2])


def kaldi_triangles(rate: int, points: int, mels: int, low: float, high: float) -> Tensor:
    """(F, mels); the corners lie evenly on the mel scale, and so do the sides"""
    frequencies = torch.arange(points // 2 + 1, dtype=torch.float64) * rate / points
    mel = 1127 * torch.log1p(
        torch.cat([torch.tensor([low, high], dtype=torch.float64), frequencies]) / 700
    )
    weights = triangles(
        mel[2:], torch.linspace(float(mel[0]), float(mel[1]), mels + 2, dtype=torch.float64)
    )
    weights[-1] = 0  # the highest frequency of all is left out
    return weights


def triangles(places: Tensor, corners: Tensor) -> Tensor:
    """(F, mels): from 0 at one corner up to 1 at the next, and down to 0 at the one after it"""
    up = (places[:, None] - corners[:-2]) / (corners[1:-1] - corners[:-2])
    down = (corners[2:] - places[:, None]) / (corners[2:] - corners[1:-1])
    return functional.relu(torch.minimum(up, down))
