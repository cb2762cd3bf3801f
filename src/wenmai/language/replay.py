"""A step in one launch: on a GPU, reading one token more is recorded once as a CUDA graph, and replayed for every token after.

A step of GPT is a hundred kernels of some microseconds, and started one by one from Python they take ten times as long. A
recording reads and writes the same places each time: the token, the state or the cache, and the number of tokens in it. Attention
looks at a room that is as long as it has to be, in strides of STRIDE. With a cache it reads with weights of 16 bits, as a GPU
trains them."""

from contextlib import contextmanager
from copy import deepcopy
from threading import Lock
from weakref import WeakKeyDictionary, proxy, ref

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.cache import Cache, Placed

STRIDE = 64
MULTIPLE = 64  # to a multiple of which the vocabulary is brought
KEPT: WeakKeyDictionary = WeakKeyDictionary()  # Network → Recordings
TAKING = Lock()


def replayed(network, state):
    """(a step like the network's own, the state to begin from): both belong to one text that is written, and to no other."""
    if network.device.type != "cuda" or not (
        state.aligned if isinstance(state, Cache) else isinstance(state, Tensor)
    ):
        return network.step, state
    with TAKING:
        if network not in KEPT or KEPT[network].stale(network):
            KEPT[network] = Recordings(network)
        replay = KEPT[network].of(len(state), state)
        if replay.held_by() is not None:  # by another text, which is still being written
            return network.step, state
        lease = Lease(replay)
        replay.held_by = ref(lease)
    return lease, replay.begun(state)


class Lease:
    """The steps of one text: as long as there is somebody who might take one, the recording is this text's alone."""

    def __init__(self, replay: "Replay"):
        self.replay = replay

    def __call__(self, state: Tensor | Cache, tokens: Tensor) -> tuple[Tensor, Tensor | Cache]:
        return self.replay.step(state, tokens)


class Recordings:
    """Those of one network, for every number of rows; stale once its weights have changed."""

    def __init__(self, network):
        self.reads = proxy(network) if network.carried else halved(network)
        self.version, self.replays = version(network), {}

    def stale(self, network) -> bool:
        return self.version != version(network)

    def of(self, rows: int, state: Tensor | Cache) -> "Replay":
        if rows not in self.replays:
            self.replays[rows] = Replay(self.reads, rows, state)
        return self.replays[rows]


def version(network) -> int:
    return sum(weight._version for weight in network.parameters())


def halved(network):
    """A copy with weights of 16 bits; tokens that are never chosen bring the vocabulary to a size that is multiplied fast."""
    half = deepcopy(network).to(torch.bfloat16)
    head, more = half.head, -half.head.width % MULTIPLE
    bias = functional.pad(head.bias(), (0, more), value=float("-inf"))
    head.output.weight = nn.Parameter(
        functional.pad(head.output.weight.detach(), (0, 0, 0, more)), requires_grad=False
    )
    head.output.bias, head.forbidden = None, bias.detach()
    return half


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
    def __init__(self, network, rows: int, state: Tensor | Cache):
        self.network, self.graphs, self.held_by = (
            network,
            {},
            lambda: None,
        )  # held_by: the Lease that holds it
        self.tokens = torch.zeros(rows, dtype=torch.int64, device=network.device)
        self.place = torch.zeros((), dtype=torch.int64, device=network.device)
        self.room = (
            torch.empty_like(state)
            if isinstance(state, Tensor)
            else network.body.cache(rows, network.context)
        )
        if isinstance(
            self.room, Cache
        ):  # what is not looked at is multiplied by 0, and has to be a number
            self.room.kept.zero_()

    def begun(self, state: Tensor | Cache) -> Tensor | Cache:
        """The state, brought to where recordings look for it."""
        if isinstance(state, Tensor):
            return self.room.copy_(state)
        self.room.tokens[:, : state.length] = state.tokens[:, : state.length]
        self.room.kept[..., : state.length, :] = state.kept[..., : state.length, :]
        self.place.fill_(state.length)
        return self.room.filled(state.lengths, state.length, self.room.version + 1)

    @torch.no_grad()
    def step(self, state: Tensor | Cache, tokens: Tensor) -> tuple[Tensor, Tensor | Cache]:
        end = 0
        if isinstance(state, Cache):
            if (
                not state.fits(1) or not state.aligned or state.kept is not self.room.kept
            ):  # the room is full, or rows left it
                return self.network.step(state, tokens)
            end = min(self.network.context, -(-(state.length + 1) // STRIDE) * STRIDE)
        elif state is not self.room:  # a window, which is read anew, or rows that were taken
            return self.network.step(state, tokens)
        self.tokens.copy_(tokens)
        if end not in self.graphs:
            self.graphs[end] = self.recorded(end)
        graph, log_probs = self.graphs[end]
        graph.replay()
        return log_probs, state.grown(1) if end else state

    def recorded(self, end: int):
        """(a graph, where it leaves log p (B, V))"""
        kept = [
            part.clone()
            for part in (self.place, self.room if isinstance(self.room, Tensor) else self.room.kept)
        ]
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
            log_probs, after = self.network.last(self.tokens[:, None], self.room)
            self.room.copy_(after)
            return log_probs
        placed = Placed([room[..., :end, :] for room in self.room.rooms], self.place)
        log_probs, _ = self.network.last(self.tokens[:, None], placed)
        self.room.tokens.index_copy_(1, self.place.view(1), self.tokens[:, None])
        self.place += 1
        return log_probs[:, : self.network.head.width]
