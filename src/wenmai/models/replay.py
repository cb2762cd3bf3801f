"""A step in one launch: on a GPU, reading one token more is recorded once as a CUDA graph, and replayed for every token after.

A step of GPT is a hundred kernels of some microseconds, and started one by one from Python they take ten times as long. A
recording reads and writes the same places each time: the token, the state or the cache, and the number of tokens in it. Attention
looks at a room that is as long as it has to be, in strides of STRIDE.
"""

from __future__ import annotations

from contextlib import contextmanager
from weakref import WeakKeyDictionary, proxy

import torch
from torch import Tensor

from wenmai.layers.cache import Cache, Placed

STRIDE = 256
KEPT: WeakKeyDictionary = WeakKeyDictionary()  # Writer → {rows: Replay}


def replayed(writer, state):
    """(a step like the Writer's own, the state to begin from): both belong to one text that is written, and to no other."""
    if (
        writer.device.type != "cuda"
        or not isinstance(state, (Cache, Tensor))
        or (isinstance(state, Tensor) and not writer.carried)
    ):
        return writer.step, state
    kept = KEPT.setdefault(writer, {})
    if len(state) not in kept:
        kept[len(state)] = Replay(writer, len(state), state)
    replay = kept[len(state)]
    return replay.step, replay.begun(state)


@contextmanager
def tensor_cores():
    """Inside, a GPU multiplies float32 with 10 bits behind the point instead of 23, many times as fast."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


class Replay:
    def __init__(self, writer, rows: int, state: Tensor | Cache):
        self.writer, self.graphs = proxy(writer), {}
        self.tokens = torch.zeros(rows, dtype=torch.int64, device=writer.device)
        self.place = torch.zeros((), dtype=torch.int64, device=writer.device)
        self.room = torch.empty_like(state) if isinstance(state, Tensor) else writer.body.cache(rows, writer.steps)

    def begun(self, state: Tensor | Cache) -> Tensor | Cache:
        """The state, brought to where recordings look for it."""
        if isinstance(state, Tensor):
            return self.room.copy_(state)
        self.room.tokens[:, : state.length] = state.tokens[:, : state.length]
        self.room.kept[..., : state.length, :] = state.kept[..., : state.length, :]
        self.place.fill_(state.length)
        return self.room.filled(state.length)

    @torch.no_grad()
    def step(self, state: Tensor | Cache, tokens: Tensor) -> tuple[Tensor, Tensor | Cache]:
        end = 0
        if isinstance(state, Cache):
            if not state.fits(1):
                return self.writer.step(state, tokens)
            end = min(self.writer.steps, -(-(state.length + 1) // STRIDE) * STRIDE)
        elif state is not self.room:  # a window, which is read anew
            return self.writer.step(state, tokens)
        self.tokens.copy_(tokens)
        if end not in self.graphs:
            self.graphs[end] = self.recorded(end)
        graph, log_probs = self.graphs[end]
        graph.replay()
        return log_probs, state.grown(1) if end else state

    def recorded(self, end: int):
        """(a graph, where it leaves log p (B, V))"""
        kept = [part.clone() for part in (self.place, self.room if isinstance(self.room, Tensor) else self.room.kept)]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(2):  # kernels are chosen
                self.read(end)
                self.place.copy_(kept[0])
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            log_probs = self.read(end)
        self.place.copy_(kept[0])
        (self.room if isinstance(self.room, Tensor) else self.room.kept).copy_(kept[1])
        return graph, log_probs

    @tensor_cores()
    def read(self, end: int) -> Tensor:
        if not end:
            log_probs, after = self.writer.last(self.tokens[:, None], self.room)
            self.room.copy_(after)
            return log_probs
        placed = Placed([layer[..., :end, :] for layer in self.room.layers], self.place)
        log_probs, _ = self.writer.last(self.tokens[:, None], placed)
        self.room.tokens.index_copy_(1, self.place.view(1), self.tokens[:, None])
        self.place += 1
        return log_probs
