"""The key/value cache: what causal attention keeps of a text it has read, so that the next token is read alone.

    k_t, v_t follow from x_1 … x_t:  no later token changes them, and every later query looks at them again

Room for C tokens is made once, and a token is written behind those before it. A state stays as it was: two that read on from the
same place share what lies before it, until the second finds its place taken and moves into a room of its own. On a CPU a row that
goes on from another's text leaves that where it lies, and keeps only whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from wenmai.kernels.block_step import Fused


class Cache:
    def __init__(self, tokens: Tensor, kept: Tensor, length: int = 0, fused: Fused | None = None):
        """Room for tokens (B, C) and their keys and values (L, 2, R, A, C, D), of which the first `length` of C are filled. R is
        B, or more where rows have left. `fused`: the blocks that read a single token more on a CPU."""
        self.tokens, self.kept, self.length, self.allowed, self.fused = tokens, kept, length, None, fused
        self.layers: Sequence[Tensor] = kept.unbind()  # L of (2, R, A, C, D)
        self.whose: Tensor | None = None  # (B, C): in which row of the room a row's token lies
        if fused is not None:
            self.whose = torch.arange(len(tokens), dtype=torch.int32)[:, None].repeat(1, tokens.shape[1])
        self.taken = [length]  # places of this room that some state has filled; all that share the room share the list

    def __getstate__(self) -> dict:
        """What can be kept in a file: the views of every layer are made again, and the weights are the model's."""
        return {name: value for name, value in self.__dict__.items() if name != "layers"} | {"fused": None}

    def __setstate__(self, known: dict) -> None:
        self.__dict__ |= known | {"layers": known["kept"].unbind()}

    @classmethod
    @torch.inference_mode(False)
    def empty(cls, batch: int, blocks: nn.ModuleList, longest: int, like: Tensor) -> Cache:
        tokens = torch.empty(batch, longest, dtype=torch.int64, device=like.device)
        heads, width = blocks[0].attention.heads, blocks[0].attention.output.out_features
        kept = like.new_empty(len(blocks), 2, batch, heads, longest, width // heads)
        return cls(tokens, kept, fused=Fused(blocks) if kept.device.type == "cpu" and kept.dtype == torch.float32 else None)

    def __len__(self) -> int:
        return len(self.tokens)

    def fits(self, more: int) -> bool:
        return self.length + more <= self.tokens.shape[1]

    def grown(self, more: int) -> Cache:
        """The state with so many places more, still to be filled."""
        room = self if self.taken[0] == self.length else self.moved(None)
        return room.filled(self.length + more)

    def filled(self, length: int) -> Cache:
        """The state in this room whose first `length` places are filled."""
        found = object.__new__(Cache)  # as __init__, without making the views of every layer again
        found.tokens, found.kept, found.layers, found.taken = self.tokens, self.kept, self.layers, self.taken
        found.length = found.taken[0] = length
        found.allowed, found.fused, found.whose = None, self.fused, self.whose
        return found

    def take(self, rows: Tensor) -> Cache:
        """These rows of the batch; a row may be taken more than once, or not at all. They stay in this room, unless it is too
        small or far too large for them, or another state has gone on in it."""
        room = self.kept.shape[2]
        if self.fused is None or self.taken[0] != self.length or not len(rows) <= room <= 4 * len(rows):
            return self.moved(rows.to(self.kept.device))
        found = self.filled(self.length)
        found.tokens, found.whose = self.tokens.index_select(0, rows), self.whose.index_select(0, rows)
        found.whose[:, self.length :] = torch.arange(len(rows), dtype=torch.int32)[:, None]
        return found

    def in_order(self) -> Cache:
        """The state with every row's tokens in its own place."""
        return self.moved(None) if self.mixed() else self

    def mixed(self) -> bool:
        if self.whose is None:
            return False
        return len(self) < self.kept.shape[2] or bool((self.whose[:, : self.length] != torch.arange(len(self))[:, None]).any())

    @torch.inference_mode(False)
    def moved(self, rows: Tensor | None) -> Cache:
        tokens, kept = self.tokens[:, : self.length], self.kept[..., : self.length, :]
        if rows is not None:
            tokens = tokens.index_select(0, rows)
        if self.mixed():
            whose = (self.whose if rows is None else self.whose.index_select(0, rows))[:, : self.length].long()  # (B, T)
            kept = kept[:, :, whose, :, torch.arange(self.length)].permute(2, 3, 0, 4, 1, 5)  # from (B, T, L, 2, A, D)
        elif rows is not None:
            kept = kept.index_select(2, rows)
        layers, two, _, *sizes = self.kept.shape
        found = Cache(self.tokens.new_empty(len(tokens), self.tokens.shape[1]),
                      self.kept.new_empty(layers, two, len(tokens), *sizes), self.length, self.fused)  # fmt: skip
        found.tokens[:, : self.length] = tokens
        found.kept[..., : self.length, :] = kept
        return found


class Placed:
    """A cache as a recording sees it (models/replay.py): the place of the next token is a tensor, always the same one."""

    def __init__(self, layers: Sequence[Tensor], length: Tensor):
        self.layers, self.length = layers, length
        later = torch.arange(layers[0].shape[3], device=length.device) > length
        self.allowed = layers[0].new_zeros(len(later)).masked_fill_(later, float("-inf"))  # (S,), added to the scores

    def grown(self, more: int) -> Placed:
        return self

    def in_order(self) -> Placed:
        return self


def take(state, rows: Tensor):
    """These rows of a state, whose batch is dimension 0: any number of them, in any order, each as often as it is named."""
    return state.index_select(0, rows.to(state.device)) if isinstance(state, Tensor) else state.take(rows)


def within(state, rows: Tensor):
    """The same where every row comes from the source whose place it takes, so that what was read of the source may stay: a state
    that keeps such a thing says so by a `within` of its own."""
    return state.within(rows) if hasattr(state, "within") else take(state, rows)
