"""Input layers: a batch → (x, mask). Tokens are looked up, numbers and images are brought to the width of the body.

tokens   x_t = E[w_t] (+ S[segment])       E random, one-hot (the identity) or pretrained
         x_t = [E[w_t], spelling(w_t)]     with the letters of the token beside it
frames   x_t = W f_t + b                   a row of numbers is one frame; an image is its rows, or its patches, or one frame
label    x_1 = E[label]                    a single vector
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.layers.dropout import Dropout
from wenmai.layers.first_weights import normal
from wenmai.layers.sound import Perturbation, SpectralFilters
from wenmai.layers.spelling import Spelling


def embed(
    inputs,
    width: int,
    dropout: float | nn.Module = 0.0,
    exact=False,
    patch: int | None = None,
    scale: float = 1.0,
    **table,
) -> nn.Module:
    """The input layer for these inputs; its `width` is what comes out. What follows is of texts alone (TokenEmbedding)."""
    if inputs.kind in ("tokens", "lines"):
        return TokenEmbedding(inputs, width, dropout, exact, scale, **table)
    if inputs.kind == "image":
        return Patches(inputs, width, patch) if patch else ImageRows(inputs, width)
    if getattr(inputs, "augmentation", None) is not None:
        return SoundFrames(inputs, width)
    return Names(inputs.count, width) if inputs.kind == "labels" else Frames(inputs.width, width)


def embed_whole(inputs, width: int) -> nn.Module:
    """The input layer that gives one vector (B, 1, E) of all that is read: a label, a row of numbers, a whole picture."""
    return Picture(inputs, width) if inputs.kind == "image" else embed(inputs, width)


class TokenEmbedding(nn.Module):
    """`exact` brings one-hot and pretrained vectors, which have a width of their own, to the one asked for; `scale` multiplies
    what was looked up; `start`: the first weights of the table. A `dense` table is one that also says the tokens (tied), or that
    whole words are dropped from (`word_dropout`): its gradient is a table too. Another's names only the rows that were looked
    up."""

    def __init__(
        self,
        inputs,
        width: int,
        dropout: float | nn.Module = 0.0,
        exact: bool = False,
        scale: float = 1.0,
        *,
        start: Tensor | None = None,
        dense: bool = False,
        word_dropout: float = 0.0,
        table: nn.Module | None = None,
    ):
        super().__init__()
        self.scale, self.size, self.special = scale, inputs.vocabulary, inputs.special
        self.one_hot = getattr(inputs, "embedding", None) == "one-hot"
        own = width if table is not None else getattr(inputs, "vectors_width", None) or width
        self.width = self.size if self.one_hot else own
        if table is not None:
            self.table = table
        elif not self.one_hot:
            first = first_table(inputs, own) if start is None else start
            self.table = (
                DenseTable(first, word_dropout)
                if dense or word_dropout
                else lazy_table(first, self.special.pad)
            )
        # A word seen once teaches <unk> half of the time, or nothing ever would.
        rare = getattr(inputs, "rare", None)
        self.register_buffer(
            "rare", None if rare is None else torch.from_numpy(rare), persistent=False
        )
        self.spelling = None
        if getattr(inputs, "spelling", None) not in (None, "none"):
            self.spelling = Spelling(len(inputs.alphabet.tokens), inputs.spelling, dropout)
            self.width += self.spelling.width
        self.project = (
            nn.Linear(self.width, width) if exact and self.width != width else nn.Identity()
        )
        self.width = width if exact else self.width
        self.segment = None
        if getattr(
            inputs, "pairs", False
        ):  # as small as the words, or which text it is would drown what it says
            self.segment = nn.Embedding.from_pretrained(normal(0.1, 2, self.width), freeze=False)
        self.dropout = dropout if isinstance(dropout, nn.Module) else Dropout(dropout)

    def look_up(self, tokens: Tensor) -> Tensor:
        """(B, T) → (B, T, E)"""
        if self.one_hot:
            x = functional.one_hot(tokens, self.size).float()  # (B, T, V)
            return (
                x if self.special.pad is None else x * (tokens != self.special.pad).unsqueeze(-1)
            )  # padding is no symbol
        x = self.table(tokens)
        return x if self.scale == 1.0 else x * self.scale

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        tokens = batch.inputs
        if self.training and self.rare is not None:
            chance = torch.rand(tokens.shape, device=tokens.device) < 0.5
            tokens = torch.where(self.rare[tokens] & chance, self.special.unknown, tokens)
        x = self.look_up(tokens)
        if self.spelling is not None:
            x = torch.cat(
                [x, self.spelling(batch.letters)[batch.form].to(x.dtype)], -1
            )  # (B, T, E + spelling)
        x = self.project(x)
        if self.segment is not None:
            first, second = (
                self.segment.weight
            )  # chosen, not looked up: so what thousands of places say of one is a plain sum
            x = x + torch.where(
                batch.segment.unsqueeze(-1) > 0, second, first
            ) * batch.mask.unsqueeze(-1)
        return self.dropout(x), batch.mask


def first_table(inputs, width: int) -> Tensor:
    """(V, E). Small at first, so that training, not chance, decides where words stand; pretrained ones say more, and are brought
    to twice that (in their own scale, near 0.6, they moved too little: SST-2 lost a point)."""
    table, vectors = normal(0.1, inputs.vocabulary, width), getattr(inputs, "vectors", None)
    if vectors is not None:
        spread = np.nanstd(vectors) if np.nan_to_num(vectors).any() else 0.2
        known = torch.from_numpy(vectors * np.float32(0.2 / spread)).to(table.device)
        table = torch.where(known.isnan(), table, known)
    return table


def lazy_table(first: Tensor, pad: int | None) -> nn.Embedding:
    """The gradient names only the rows that were looked up: an optimizer may then leave the others alone."""
    if pad is not None:
        first[pad] = 0
    return nn.Embedding.from_pretrained(first, freeze=False, padding_idx=pad, sparse=True)


class DenseTable(nn.Module):
    """A table whose gradient is one too. In training a word is dropped wherever it stands in the batch (`word_dropout`)."""

    def __init__(self, first: Tensor, word_dropout: float = 0.0):
        super().__init__()
        self.weight, self.word_dropout = nn.Parameter(first), word_dropout

    def forward(self, tokens: Tensor) -> Tensor:
        weight = self.weight
        if self.training and self.word_dropout:
            kept = torch.rand(len(weight), 1, device=weight.device) >= self.word_dropout
            weight = weight * kept.to(weight.dtype).div_(1 - self.word_dropout)
        return functional.embedding(tokens, weight)


class Frames(nn.Module):
    def __init__(self, features: int, width: int):
        super().__init__()
        self.project, self.width = nn.Linear(features, width), width

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        frames = batch.inputs if batch.inputs.dim() == 3 else batch.inputs.unsqueeze(1)  # (B, T, F)
        return self.project(frames) * batch.mask.unsqueeze(-1), batch.mask


class SoundFrames(Frames):
    """Frames of sound, which training hears otherwise each time."""

    def __init__(self, inputs, width: int):
        sounds = getattr(inputs, "source", inputs)
        filters = SpectralFilters(sounds) if sounds.convolutions else None
        super().__init__(filters.width if filters else inputs.width, width)
        self.changes, self.filters = Perturbation(sounds), filters

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        frames, mask = (
            self.changes(batch.inputs, batch.mask) if self.training else (batch.inputs, batch.mask)
        )
        if self.filters is not None:
            frames = self.filters(frames, mask)
        return self.project(frames) * mask.unsqueeze(-1), mask


class Names(nn.Module):
    def __init__(self, count: int, width: int):
        super().__init__()
        self.table, self.width = (
            nn.Embedding.from_pretrained(normal(0.1, count, width), freeze=False),
            width,
        )

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        return self.table(batch.inputs).unsqueeze(1), batch.mask  # (B, 1, E)


class Picture(nn.Module):
    """All points of an image at once."""

    def __init__(self, inputs, width: int):
        super().__init__()
        self.project, self.width, self.brightest = (
            nn.Linear(inputs.height * inputs.width, width),
            width,
            inputs.brightest,
        )

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        return self.project(batch.inputs.flatten(1).float() / self.brightest).unsqueeze(
            1
        ), batch.mask  # (B, 1, E)


class ImageRows(nn.Module):
    """An image is a sequence of its rows, top to bottom."""

    def __init__(self, inputs, width: int):
        super().__init__()
        self.project, self.width, self.brightest = (
            nn.Linear(inputs.width, width),
            width,
            inputs.brightest,
        )

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        x = self.project(batch.inputs.flatten(2).float() / self.brightest)  # (B, T = rows, E)
        return x, ones(x)


class Patches(nn.Module):
    """An image is a sequence of its patch × patch squares (Dosovitskiy et al. 2021); edges are padded with dark."""

    def __init__(self, inputs, width: int, patch: int):
        super().__init__()
        channels = inputs.shape[2] if len(inputs.shape) == 3 else 1
        self.project = nn.Conv2d(channels, width, patch, stride=patch)
        self.patch, self.width, self.brightest = patch, width, inputs.brightest

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        image = pixels(batch.inputs, self.brightest)  # (B, channels, rows, columns)
        bottom, right = (-size % self.patch for size in image.shape[2:])
        x = (
            self.project(functional.pad(image, (0, right, 0, bottom))).flatten(2).mT
        )  # (B, T = patches, E)
        return x, ones(x)


def pixels(image: Tensor, brightest: float) -> Tensor:
    """(B, rows, columns[, channels]) of any number type → (B, channels, rows, columns) from 0 to 1."""
    image = image.float() / brightest
    return image.unsqueeze(1) if image.dim() == 3 else image.permute(0, 3, 1, 2)


def ones(x: Tensor) -> Tensor:
    return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
