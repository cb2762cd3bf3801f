"""The key/value cache: what causal attention keeps of a text it has read, so that the next token is read alone.

    k_t, v_t follow from x_1 … x_t:  no later token changes them, and every later query looks at them again

Room for C tokens is made once, and a token is written behind those before it. Every row has a length of its own, so that rows can
join (`joined`) and leave (`take`) while others go on. A state stays as it was: two that read on from the same place share what
lies before it, until the second finds its place taken and moves into a room of its own. On a CPU a row that goes on from
another's text leaves that where it lies, and keeps only which row it lies in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels.block_step import SHARED, BlockSteps
from wenmai.layers.attention import see_past


class Cache:
    def __init__(
        self, tokens: Tensor, kept: Tensor, lengths: np.ndarray, steps: BlockSteps | None = None
    ):
        """Room for tokens (B, C) and their keys and values (L, 2, R, A, C, D), of which in every row the first `lengths` (B,) are
        filled. R is B, or more where rows have left. `steps`: the blocks that read a single token more on a CPU."""
        self.tokens, self.kept, self.steps = tokens, kept, steps
        self.rooms: Sequence[Tensor] = kept.unbind()  # L of (2, R, A, C, D)
        self.row_of: Tensor | None = None  # (B, C): in which row of the room a row's token lies
        if steps is not None:
            self.row_of = torch.arange(len(tokens), dtype=torch.int32)[:, None].repeat(
                1, tokens.shape[1]
            )
        self.latest, self.version = (
            [0],
            0,
        )  # of the states of this room, which share the list; empty while one is growing
        self.lengths, self.length = lengths, int(lengths.max(initial=0))
        self.aligned = bool((lengths == self.length).all())

    def __getstate__(self) -> dict:
        """What can be kept in a file: the views of every layer are made again, and the weights are the model's."""
        return {name: value for name, value in self.__dict__.items() if name != "rooms"} | {
            "steps": None
        }

    def __setstate__(self, known: dict) -> None:
        self.__dict__ |= known | {"rooms": known["kept"].unbind()}

    @classmethod
    @torch.inference_mode(False)
    def empty(
        cls,
        batch: int,
        blocks: nn.ModuleList,
        longest: int,
        like: Tensor,
        steps: BlockSteps | None = None,
    ) -> Cache:
        """`steps`: those of the blocks, where they are known."""
        tokens = torch.empty(batch, longest, dtype=torch.int64, device=like.device)
        heads, width = blocks[0].attention.heads, blocks[0].attention.output.out_features
        kept = like.new_empty(len(blocks), 2, batch, heads, longest, width // heads)
        own = (
            steps or BlockSteps(blocks)
            if kept.device.type == "cpu" and kept.dtype == torch.float32
            else None
        )
        return cls(tokens, kept, np.zeros(batch, np.int64), own)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def window(self) -> Window:
        return Window(
            self.tokens[:, : self.length], torch.from_numpy(self.lengths).to(self.tokens.device)
        )

    @property
    def start(self) -> int | Tensor:
        """Where the next token of every row stands: a number where it is the same for all, else (B,)."""
        return self.length if self.aligned else torch.from_numpy(self.lengths).to(self.kept.device)

    @property
    def many(self) -> bool:
        """Whether its blocks have so many weights that other threads are called to read one token more."""
        return self.steps is not None and self.steps.size >= SHARED

    def fits(self, more: int) -> bool:
        return self.length + more <= self.tokens.shape[1]

    def grown(self, more: int) -> Cache:
        """The state with so many places more in every row, still to be filled."""
        try:
            newest = self.latest.pop()
        except IndexError:  # another thread goes on from here at this moment
            return self.moved(None).grown(more)
        if newest != self.version:
            self.latest.append(newest)
            return self.moved(None).grown(more)
        return self.filled(self.lengths + more, self.length + more, newest + 1)

    def filled(self, lengths: np.ndarray, length: int, version: int) -> Cache:
        """A state in this room, whose rows are so long, the longest `length`: now the latest."""
        state = object.__new__(Cache)  # as __init__, without making the views of every layer again
        state.__dict__ |= self.__dict__
        state.lengths, state.length, state.version = lengths, length, version
        self.latest[:] = [version]
        return state

    def layer(self, level: int, more: int) -> CachedLayer:
        """What attention needs of it to add the last `more` tokens, for which there is room already."""
        return CachedLayer(self, self.rooms[level], more)

    def hold(self, tokens: Tensor) -> None:
        """These (B, T) are the last ones read."""
        if self.aligned:
            self.tokens[:, self.length - tokens.shape[1] : self.length] = tokens
        else:
            ends = torch.from_numpy(self.lengths).to(tokens.device)[:, None]
            self.tokens.scatter_(
                1,
                ends - tokens.shape[1] + torch.arange(tokens.shape[1], device=tokens.device),
                tokens,
            )

    def take(self, rows: Tensor) -> Cache:
        """These rows of the batch; a row may be taken more than once, or not at all. They stay in this room, unless it is too
        small or far too large for them, or another state has gone on in it, or rows of other lengths lie where they go on."""
        room, alone = self.kept.shape[2], self.latest == [self.version] and self.aligned
        if self.steps is None or not alone or not len(rows) <= room <= 4 * len(rows):
            return self.moved(rows)
        state = self.filled(self.lengths[rows.numpy()], self.length, self.version + 1)
        state.tokens, state.row_of = (
            self.tokens.index_select(0, rows),
            self.row_of.index_select(0, rows),
        )
        state.row_of[:, self.length :] = torch.arange(len(rows), dtype=torch.int32)[:, None]
        return state

    def in_order(self) -> Cache:
        """The state with every row's tokens in its own place."""
        return self.moved(None) if self.mixed() else self

    def mixed(self) -> bool:
        if self.row_of is None:
            return False
        return len(self) < self.kept.shape[2] or bool(
            (self.row_of[:, : self.length] != torch.arange(len(self))[:, None]).any()
        )

    @torch.inference_mode(False)
    def moved(self, rows: Tensor | None) -> Cache:
        """These rows in a room of their own."""
        tokens, kept = self.tokens[:, : self.length], self.kept[..., : self.length, :]
        lengths = self.lengths if rows is None else self.lengths[rows.numpy(force=True)]
        if rows is not None:
            rows = rows.to(self.kept.device)
            tokens = tokens.index_select(0, rows)
        if self.mixed():
            row_of = (self.row_of if rows is None else self.row_of.index_select(0, rows))[
                :, : self.length
            ].long()  # (B, T)
            kept = kept[:, :, row_of, :, torch.arange(self.length)].permute(
                2, 3, 0, 4, 1, 5
            )  # from (B, T, L, 2, A, D)
        elif rows is not None:
            kept = kept.index_select(2, rows)
        layers, two, _, *sizes = self.kept.shape
        room = self.kept.new_zeros if not self.aligned else self.kept.new_empty  # as in `joined`
        state = Cache(
            self.tokens.new_zeros(len(tokens), self.tokens.shape[1]),
            room(layers, two, len(tokens), *sizes),
            lengths,
            self.steps,
        )
        state.tokens[:, : self.length] = tokens
        state.kept[..., : self.length, :] = kept
        return state

    @classmethod
    @torch.inference_mode(False)
    def joined(cls, states: Sequence[Cache]) -> Cache:
        """The rows of all of them, each as long as it is."""
        states = [state.in_order() for state in states]
        first, lengths = states[0], np.concatenate([state.lengths for state in states])
        layers, two, _, heads, _, width = first.kept.shape
        room = max(state.tokens.shape[1] for state in states)
        # what is not looked at is multiplied by 0, and has to be a number
        kept = first.kept.new_zeros(layers, two, len(lengths), heads, room, width)
        joined = cls(first.tokens.new_zeros(len(lengths), room), kept, lengths, first.steps)
        at = 0
        for state in states:
            rows = slice(at, at + len(state))
            joined.tokens[rows, : state.length] = state.tokens[:, : state.length]
            joined.kept[:, :, rows, :, : state.length] = state.kept[
                :, :, : len(state), :, : state.length
            ]
            at += len(state)
        return joined


class CachedLayer:
    """One layer of a cache that has grown by `more` tokens, whose keys and values are to be added."""

    recorded = False

    def __init__(self, cache: Cache, room: Tensor, more: int):
        self.cache, self.room, self.more = cache, room, more
        self.behind = cache.length > more  # whether there is anything before them
        self.start = (
            cache.length - more
            if cache.aligned
            else torch.from_numpy(cache.lengths - more).to(room.device)
        )

    @property
    def places(self) -> Tensor:
        """Of every row's tokens (B, more)."""
        return self.start[:, None] + torch.arange(self.more, device=self.room.device)

    def added(self, k: Tensor, v: Tensor) -> Tensor:
        """k and v (B, A, T, D) → all of them so far (2, B, A, S, D)"""
        end = self.cache.length
        if self.cache.aligned:
            self.room[0, :, :, self.start : end], self.room[1, :, :, self.start : end] = k, v
        else:
            rows = torch.arange(len(k), device=k.device)[:, None]
            for room, new in zip(self.room, (k, v)):
                room[rows, :, self.places] = new.transpose(1, 2).to(room.dtype)  # (B, T, A, D)
        return self.room[:, :, :, :end]

    def seen_by(self, steps: int) -> Tensor | None:
        """Where each of the new tokens may look: (1 or B, 1, T, S), None for everywhere."""
        if not self.cache.aligned:
            there = torch.arange(self.cache.length, device=self.room.device)
            return (there <= self.places.unsqueeze(-1)).unsqueeze(1)
        return None if steps == 1 else see_past(steps, self.room.device, self.start)


class Placed:
    """A cache as a recording sees it (language/replay.py): the place of the next token is a tensor, always the same one."""

    steps, recorded = None, True

    def __init__(self, rooms: Sequence[Tensor], place: Tensor):
        self.rooms, self.start = rooms, place
        later = torch.arange(rooms[0].shape[3], device=place.device) > place
        self.allowed = (
            rooms[0].new_zeros(len(later)).masked_fill_(later, float("-inf"))
        )  # (S,), added to the scores

    def grown(self, more: int) -> Placed:
        return self

    def in_order(self) -> Placed:
        return self

    def layer(self, level: int, more: int) -> PlacedLayer:
        return PlacedLayer(self, self.rooms[level])


class PlacedLayer:
    recorded = True

    def __init__(self, placed: Placed, room: Tensor):
        self.room, self.start, self.allowed = room, placed.start, placed.allowed


@dataclass
class Window:
    """The last tokens of every row (B, T), of which the first `lengths` (B,) are real: what has no cache, or no room left in it,
    reads them again with every token."""

    tokens: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, tokens: Tensor) -> Window:
        """All of them real."""
        return cls(tokens, torch.full((len(tokens),), tokens.shape[1], device=tokens.device))

    def __len__(self) -> int:
        return len(self.tokens)

    def added(self, tokens: Tensor, most: int) -> Window:
        """With these (B, T) behind them, of each row the last `most`."""
        room = functional.pad(self.tokens, (0, tokens.shape[1]))
        places = self.lengths[:, None] + torch.arange(tokens.shape[1], device=tokens.device)
        extended, lengths = (
            room.scatter(1, places, tokens.to(room.dtype)),
            self.lengths + tokens.shape[1],
        )
        first = (lengths - most).clamp(min=0)[:, None]
        places = first + torch.arange(min(most, extended.shape[1]), device=tokens.device)
        return Window(
            extended.gather(1, places.clamp(max=extended.shape[1] - 1)), lengths.clamp(max=most)
        )

    def take(self, rows: Tensor) -> Window:
        rows = rows.to(self.tokens.device)
        return Window(self.tokens.index_select(0, rows), self.lengths.index_select(0, rows))

    @classmethod
    def joined(cls, states: Sequence[Window]) -> Window:
        """The rows of all of them."""
        longest = max(state.tokens.shape[1] for state in states)
        tokens = [
            functional.pad(state.tokens, (0, longest - state.tokens.shape[1])) for state in states
        ]
        return cls(torch.cat(tokens), torch.cat([state.lengths for state in states]))


def take(state, rows: Tensor):
    """These rows of a state, whose batch is dimension 0: any number of them, in any order, each as often as it is named."""
    return (
        state.index_select(0, rows.to(state.device))
        if isinstance(state, Tensor)
        else state.take(rows)
    )


def within(state, rows: Tensor):
    """The same where every row comes from the source whose place it takes, so that what was read of the source may stay: a state
    that keeps such a thing says so by a `within` of its own."""
    return state.within(rows) if hasattr(state, "within") else take(state, rows)


def join(states: Sequence):
    """The rows of several states as one."""
    if len(states) == 1:
        return states[0]
    return (
        torch.cat(list(states)) if isinstance(states[0], Tensor) else type(states[0]).joined(states)
    )
