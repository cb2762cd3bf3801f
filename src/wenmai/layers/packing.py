"""Rows of different lengths laid end to end, so that nothing is computed on padding: (B, T, E) ↔ (ΣT, E).

Norms, products and MLPs know no rows, and read all places as one. Attention stays inside its row: on a GPU by torch's kernel for
rows that lie so (torch.nn.attention.varlen), elsewhere on queries, keys and values that are put back into their rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec

import torch
from torch import Tensor
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.layers.attention import see_real

HAS_KERNEL = (
    find_spec("torch.nn.attention.varlen") is not None
)  # torch's own, from 2.10 on; it brings torch's compiler with it

PAYS = 0.1  # of the places are padding: with less, laying them end to end takes longer than reading them


@dataclass
class Packed:
    places: Tensor  # (ΣT,) which of the B·T are real
    rows: int  # B
    steps: int  # T
    allowed: Tensor  # (B, 1, 1, T)
    bounds: Tensor | None = None  # (B + 1,) where rows begin and end among the real ones, on a GPU

    @classmethod
    def of(cls, mask: Tensor, x: Tensor) -> Packed | None:
        """Of (B, T); None where it would not pay. A row without anything real has its first place (see_real)."""
        if (
            torch.compiler.is_compiling() or torch.jit.is_tracing() or x.is_cuda
        ):  # where a batch was `laid` it is told
            return None
        allowed = see_real(mask)
        real = allowed[:, 0, 0]
        places = real.flatten().nonzero()[:, 0]
        if len(places) > (1 - PAYS) * real.numel():
            return None
        return cls(places, *real.shape, allowed, bounds_of(real) if x.is_cuda else None)

    @classmethod
    def as_laid(cls, batch: Batch, mask: Tensor) -> Packed | None:
        """As `laid` has noted in the batch, so that nothing is counted on the GPU; None where it has not, or where the input
        layer has made other places of them."""
        if batch.bounds is None or mask.shape != batch.mask.shape:
            return None
        return cls(batch.real, *mask.shape, see_real(mask), batch.bounds)

    def pack(self, x: Tensor) -> Tensor:
        """(B, T, E) → (ΣT, E)"""
        return x.flatten(0, 1)[self.places]

    def unpack(self, x: Tensor) -> Tensor:
        """(ΣT, E) → (B, T, E), 0 at padding"""
        whole = x.new_zeros(self.rows * self.steps, x.shape[-1])
        return whole.index_copy(0, self.places, x).unflatten(0, (self.rows, self.steps))

    def attended(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """On a GPU: q, k, v (ΣT, A, D) → (ΣT, A·D), scores divided by √D"""
        from torch.nn.attention.varlen import varlen_attn

        return varlen_attn(q, k, v, self.bounds, self.bounds, self.steps, self.steps).flatten(1)


def laid(batch: Batch) -> Batch:
    """With which of its places are real, and where its rows begin and end among these."""
    real = see_real(batch.mask)[:, 0, 0]
    return replace(batch, real=real.flatten().nonzero()[:, 0], bounds=bounds_of(real))


def bounds_of(real: Tensor) -> Tensor:
    """(B, T) → (B + 1,)"""
    return functional.pad(real.sum(1).cumsum(0), (1, 0)).int()
