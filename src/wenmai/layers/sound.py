"""What training changes in sounds by chance, anew each time they are read, frames in and frames out; and filters over them.

speed   x'(t) = x(f t), f from 1 − s to 1 + s, between frames on a straight line                        Ko et al. 2015
pitch   x'_m = x_{m + d}, d up to ± p of the bands: on the mel scale, another voice is a shift          Jaitly & Hinton 2013
noise   x'_m = log(e^{x_m} + e^{n_m}), n a random spectrum 5 to 30 dB below the loudest frames
masks   stretches of up to a tenth of the time and of a sixth of the bands become 0, the mean           Park et al. 2019
"""

import torch
from torch import Tensor, nn

TIME, BANDS = 0.1, 6
CHANNELS = 16  # of the first filters; the others have twice as many
DECIBEL = 0.2302585  # of a power, in natural logarithms


class Perturbation(nn.Module):
    def __init__(self, sounds):
        super().__init__()
        self.changes, self.stack, self.mels = sounds.augmentation, sounds.stack, sounds.mels
        self.own_mean = sounds.normalise == "clip"
        scale = torch.from_numpy(sounds.deviation).float(), torch.from_numpy(sounds.mean).float()
        self.register_buffer("deviation", scale[0], persistent=False)
        self.register_buffer("mean", scale[1], persistent=False)

    def forward(self, frames: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, stack · mels), (B, T) → the same, T as it comes out"""
        x = frames.unflatten(-1, (self.stack, self.mels)).flatten(1, 2)  # (B, T · stack, mels)
        if self.changes.speed:
            x, mask = self.faster(x, mask)
        if self.changes.pitch:
            x = self.higher(x)
        if self.changes.noise:
            x = self.noisy(x, mask)
        x = x.unflatten(1, (-1, self.stack)).flatten(2)  # (B, T, stack · mels)
        return (self.hidden(x, mask) if self.changes.masks else x), mask

    def faster(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        factor = 1 + self.changes.speed * (2 * torch.rand(len(x), device=x.device) - 1)  # (B,)
        lengths = (mask.sum(1) / factor).round().long().clamp(min=1)
        steps = torch.arange(int(lengths.max()), device=x.device)
        mask = steps < lengths[:, None]
        places = (torch.arange(len(steps) * self.stack, device=x.device) * factor[:, None]).clamp(
            max=x.shape[1] - 1
        )  # (B, T')
        before = places.long()
        after, share = (before + 1).clamp(max=x.shape[1] - 1), (places - before).unsqueeze(-1)
        first, second = (x.take_along_dim(at.unsqueeze(-1), 1) for at in (before, after))
        return (first + share * (second - first)) * mask.repeat_interleave(self.stack, 1).unsqueeze(
            -1
        ), mask

    def higher(self, x: Tensor) -> Tensor:
        shift = self.mels * self.changes.pitch * (2 * torch.rand(len(x), 1, 1, device=x.device) - 1)
        places = (torch.arange(self.mels, device=x.device) + shift).clamp(
            0, self.mels - 1
        )  # (B, 1, mels)
        before = places.long()
        after, share = (before + 1).clamp(max=self.mels - 1), places - before
        first, second = (
            x.take_along_dim(at.expand(-1, x.shape[1], -1), 2) for at in (before, after)
        )
        return first + share * (second - first)

    def noisy(self, x: Tensor, mask: Tensor) -> Tensor:
        real = mask.repeat_interleave(self.stack, 1).unsqueeze(-1)  # (B, T · stack, 1)
        loud = x * self.deviation + self.mean
        top = loud.masked_fill(~real, float("-inf")).amax((1, 2), keepdim=True)
        rows = len(x), 1, 1
        below = (5 + 25 * torch.rand(rows, device=x.device)) * DECIBEL
        colour = (
            torch.randn(len(x), 1, self.mels, device=x.device).cumsum(-1) * 0.2
        )  # of the noise: from band to band it changes little
        noise = (
            top - below - 2.0 + colour - colour.mean(-1, keepdim=True) + 0.5 * torch.randn_like(x)
        )
        added = torch.logaddexp(loud, noise)
        if self.own_mean:
            added = (
                added - (added * real).sum(1, keepdim=True) / real.sum(1, keepdim=True) + self.mean
            )
        chosen = (torch.rand(rows, device=x.device) < self.changes.noise) & real
        return torch.where(chosen, (added - self.mean) / self.deviation, x)

    def hidden(self, x: Tensor, mask: Tensor) -> Tensor:
        lengths, steps = mask.sum(1, keepdim=True), torch.arange(x.shape[1], device=x.device)
        bands = torch.arange(self.mels, device=x.device).repeat(self.stack)
        for _ in range(self.changes.masks):
            size, start = (torch.rand(2, len(x), 1, device=x.device)).unbind(0)
            size = size * TIME * lengths
            start = start * (lengths - size)
            x = x.masked_fill(((steps >= start) & (steps < start + size)).unsqueeze(-1), 0.0)
            size, start = (torch.rand(2, len(x), 1, device=x.device)).unbind(0)
            size = size * self.mels / BANDS
            start = start * (self.mels - size)
            x = x.masked_fill(((bands >= start) & (bands < start + size)).unsqueeze(1), 0.0)
        return x


class SpectralFilters(nn.Module):
    """Filters of 3 × 3 over time and frequency, one layer above the other (Amodei et al. 2016): a pattern is found again a band
    higher, in another voice.

        x_l = relu(norm(filters_l * x_{l−1})), every second band        norm: over what a moment has, so that rows stay apart"""

    def __init__(self, sounds):
        super().__init__()
        self.stack, self.mels, bands, before, layers = sounds.stack, sounds.mels, sounds.mels, 1, []
        for number in range(sounds.convolutions):
            channels, bands = CHANNELS * (1 if number == 0 else 2), (bands + 1) // 2
            layers += [nn.Conv2d(before, channels, 3, (1, 2), 1), nn.LayerNorm([channels, bands])]
            before = channels
        self.layers, self.width = nn.ModuleList(layers), before * bands * self.stack

    def forward(self, frames: Tensor, mask: Tensor) -> Tensor:
        """(B, T, stack · mels) → (B, T, stack · channels · bands); what is no real step is silence to its neighbours"""
        x = (
            frames.unflatten(-1, (self.stack, self.mels)).flatten(1, 2).unsqueeze(1)
        )  # (B, 1, T · stack, mels)
        real = mask.repeat_interleave(self.stack, 1)[:, None, :, None]
        for filters, norm in zip(self.layers[::2], self.layers[1::2]):
            x = (
                norm(filters(x * real).transpose(1, 2)).relu().transpose(1, 2)
            )  # (B, channels, T · stack, bands)
        x = x.transpose(1, 2).flatten(2)  # (B, T · stack, channels · bands)
        return x.unflatten(1, (-1, self.stack)).flatten(2)
