"""Resampling by a windowed sinc (Smith & Gossett 1984), a piece at a time.

y(n) = Σ_k x(k) · h(n·M/L − k),   h(t) = c · sinc(c·t) · cos²(π c t / 2Z) for |c·t| < Z,   c = 0.99 · min(1, L/M)

for a new rate of L/M times the old one. L outputs follow from the same M inputs, at every place alike: a convolution of stride
M."""

from fractions import Fraction
from math import ceil

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

ZEROS, ROLLOFF = (
    16,
    0.99,
)  # Z, how many times the sinc crosses zero on either side; how much of the band is kept
FINEST = 1000  # M and L are no larger: a rate of 16,001 is taken as 16,000


class Resampler:
    """`push` samples, and `finish`: what comes out does not depend on how they were cut."""

    def __init__(self, rate: int, wanted: int):
        ratio = Fraction(wanted, rate).limit_denominator(FINEST)
        if ratio.numerator == 0 or ratio.numerator > FINEST:
            ratio = Fraction(wanted, rate)
        self.up, self.down = ratio.numerator, ratio.denominator  # L, M
        self.same = self.up == self.down
        if not self.same:
            self.kernel, self.around = kernel(self.up, self.down)  # (L, 1, K)
            self.rest = torch.zeros(self.around)
        self.samples_in = self.samples_out = 0

    def push(self, samples: np.ndarray) -> np.ndarray:
        if self.same:
            return samples
        self.samples_in += len(samples)
        return self._convolved(torch.from_numpy(np.ascontiguousarray(samples, np.float32)))

    def finish(self) -> np.ndarray:
        if self.same:
            return np.zeros(0, np.float32)
        wanted, before = -(-self.samples_in * self.up // self.down), self.samples_out
        return self._convolved(torch.zeros(self.around + self.down + self.kernel.shape[-1]))[
            : max(0, wanted - before)
        ]

    def _convolved(self, samples: Tensor) -> np.ndarray:
        held = torch.cat([self.rest, samples])
        groups = max(0, (len(held) - self.kernel.shape[-1]) // self.down + 1)
        if not groups:
            self.rest = held
            return np.zeros(0, np.float32)
        out = functional.conv1d(held[None, None], self.kernel, stride=self.down)[0]  # (L, groups)
        self.rest, self.samples_out = (
            held[groups * self.down :],
            self.samples_out + groups * self.up,
        )
        return out.T.reshape(-1).numpy()


def kernel(up: int, down: int) -> tuple[Tensor, int]:
    """(L, 1, K), and how many samples stand before the first of the M"""
    c = ROLLOFF * min(1.0, up / down)
    around = ceil(ZEROS / c)
    places = torch.arange(
        -around, around + down, dtype=torch.float64
    )  # k, in samples, of one group
    t = c * (torch.arange(up, dtype=torch.float64)[:, None] * down / up - places)  # (L, K)
    h = c * torch.sinc(t) * torch.cos(t.clamp(-ZEROS, ZEROS) * torch.pi / 2 / ZEROS) ** 2
    return h.float().unsqueeze(1), around


def resampled(samples: np.ndarray, rate: int, wanted: int) -> np.ndarray:
    resampler = Resampler(rate, wanted)
    return np.concatenate([resampler.push(samples), resampler.finish()])
