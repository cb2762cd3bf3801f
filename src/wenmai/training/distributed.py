"""More than one process: torchrun starts them, torch.distributed joins them, DDP or FSDP shares the work.

Every process reads the same data and knows the same batches; of each batch it takes its share of the rows. Gradients are
summed over all of them and divided by the count of the whole batch, so that the result is that of one process.

    ddp    every process holds all weights (Li et al. 2020)
    fsdp   every process holds a part of weights, gradients and moments (Zhao et al. 2023)
"""

import atexit
import copy
import json
import os
import signal
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.distributed.rendezvous import rendezvous

from wenmai.errors import Mistake
from wenmai.layers.losses import Loss
from wenmai.locale import phrase
from wenmai.training.interrupts import SIGNALS

SHARED = {
    "options": phrase("deciding", "the options"),
    "train": phrase("deciding", "its training rows"),
    "valid": phrase("deciding", "the validation rows"),
}
PATIENCE = timedelta(hours=2)  # that one process waits for another, which may be scoring or writing


class Team:
    """The processes that train together, as one of them sees it; alone, a team of one."""

    def __init__(self, rank: int = 0, size: int = 1):
        self.rank, self.size = rank, size

    def share(self, rows: np.ndarray) -> np.ndarray:
        """The rows of a batch that are this process's; where there are too few, one that `weigh` lets count nothing."""
        own = rows[self.rank :: self.size]
        return own if len(own) else rows[:1]

    def weigh(self, rows: np.ndarray) -> float:
        return 1.0 if self.rank < len(rows) else 0.0

    def sum(self, values: Tensor) -> Tensor:
        if self.size > 1:
            distributed.all_reduce(values)
        return values

    def broadcast(self, value):
        """The first process's value, everywhere: anything that goes into JSON, since nothing is ever unpickled."""
        return (
            value
            if self.size == 1
            else json.loads(self.broadcast_arrays({"": as_bytes(value)})[""].tobytes())
        )

    def broadcast_arrays(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The first process's arrays, everywhere; what the others give is not looked at."""
        if self.size == 1:
            return named
        header = as_bytes({name: [array.dtype.str, array.shape] for name, array in named.items()})
        length = torch.tensor([len(header)])
        distributed.broadcast(length, 0)
        header = header if self.rank == 0 else np.empty(int(length), np.uint8)
        distributed.broadcast(torch.from_numpy(header), 0)
        arrays = {}
        for name, (kind, shape) in json.loads(header.tobytes()).items():
            array = (
                np.ascontiguousarray(named[name])
                if self.rank == 0
                else np.empty(shape, np.dtype(kind))
            )
            arrays[name] = array.reshape(shape)
            if array.size:
                distributed.broadcast(torch.from_numpy(arrays[name].reshape(-1).view(np.uint8)), 0)
        return arrays

    def all(self, value) -> list:
        """Each one's value, of which JSON knows the kind."""
        if self.size == 1:
            return [value]
        own = as_bytes(value)
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        distributed.all_gather(lengths, torch.tensor([len(own)]))
        longest = max(map(int, lengths))
        texts = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
        distributed.all_gather(texts, torch.from_numpy(np.pad(own, (0, longest - len(own)))))
        return [
            json.loads(text[: int(length)].numpy().tobytes())
            for text, length in zip(texts, lengths)
        ]

    def agree(self, deciding: dict[str, str]) -> None:
        """All of them train on the same: refused by each of them where one has other rows, options or seeds."""
        known = self.all(deciding)
        for name in deciding:
            if len({one.get(name) for one in known}) > 1:
                raise Mistake(
                    "the processes that train together do not have the same: {what} differ between them; give each "
                    "the same data, options and seed.",
                    what=SHARED[name],
                )

    def any(self, flag: bool) -> bool:
        return any(self.all(bool(flag)))

    def parallel(self, network: nn.Module, how: str) -> tuple[nn.Module, nn.Module]:
        """(what is called with a batch for its losses, the network whose weights that moves)"""
        if self.size == 1:
            return Losses(network), network
        place = next(network.parameters()).device
        if how == "ddp":
            devices = [place] if place.type == "cuda" else None
            return nn.parallel.DistributedDataParallel(Losses(network), devices), network
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        network, mesh = copy.deepcopy(network), init_device_mesh(place.type, (self.size,))
        for part in (network.input, *getattr(network.body, "blocks", ()), network.body):
            if not shared(part, network):
                fully_shard(part, mesh=mesh)
        losses = Losses(
            network
        )  # its parts are gathered when forward is called, which a head does not know
        fully_shard(losses, mesh=mesh)
        return losses, network

    def no_sync(self, module: nn.Module, last: bool):
        """Inside, gradients are added up here and not yet sent, unless it is the last piece of a batch."""
        if self.size > 1 and not last and hasattr(module, "no_sync"):
            return module.no_sync()
        return nullcontext()


def shared(part: nn.Module, network: nn.Module) -> bool:
    """Whether a weight of the part, such as a table of vectors, is another part's too: then it is gathered with the whole."""
    own, everywhere = (
        Counter(map(id, dict(module.named_parameters(remove_duplicate=False)).values()))
        for module in (part, network)
    )
    return any(everywhere[weight] > times for weight, times in own.items())


def as_bytes(value) -> np.ndarray:
    return np.frombuffer(bytearray(json.dumps(value).encode()), np.uint8)


class Losses(nn.Module):
    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = network

    def forward(self, batch) -> tuple[list[Loss], Tensor | None]:
        return self.network.losses(batch)


def team() -> Team:
    """The processes that torchrun started, joined on first use."""
    size = int(os.environ.get("WORLD_SIZE", 1))
    if size == 1:
        return Team()
    if not distributed.is_initialized():
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        with ended_by_signals():
            store, rank, size = next(rendezvous("env://"))
            # torchrun keeps its store when it starts processes again; the addresses of those before are still in it
            store = distributed.PrefixStore(
                os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), store
            )
            distributed.init_process_group(
                backend, store=store, rank=rank, world_size=size, timeout=PATIENCE
            )
        atexit.register(
            lambda: distributed.is_initialized() and distributed.destroy_process_group()
        )
    return Team(distributed.get_rank(), size)


@contextmanager
def ended_by_signals():
    """Inside, Ctrl-C and SIGTERM end the process at once: where another one refused its data and never joins, this one waits
    in compiled code, which no handler interrupts, and has nothing to lose yet."""
    before = {}
    with suppress(ValueError):  # not the main thread, where signals do not arrive
        for number in SIGNALS:
            before[number] = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def own_device() -> str:
    """The GPU of this process, where there are several."""
    local = int(os.environ.get("LOCAL_RANK", 0))
    if local >= torch.cuda.device_count():
        raise Mistake(
            "found {count} GPU for process {number} of this machine, expected one for each; start fewer with "
            "--nproc-per-node, or use --device cpu.",
            count=torch.cuda.device_count(),
            number=local + 1,
        )
    torch.cuda.set_device(local)
    return f"cuda:{local}"


@contextmanager
def companions():
    """Inside, the end of another process is no riddle."""
    try:
        yield
    except (RuntimeError, ConnectionError) as error:
        lost = (
            isinstance(error, (distributed.DistError, ConnectionError))
            or "gloo" in str(error).lower()
        )
        if not (lost and distributed.is_initialized()):
            raise
        raise Mistake(
            "another process of this training has ended, so this one ends too; torchrun --max-restarts 3 would start "
            "them again from the last checkpoint."
        ) from None


def full_tensor(value: Tensor) -> Tensor:
    """A tensor of which every process may hold a part; all of them have to ask at once."""
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def shard_of(value: Tensor, like: Tensor) -> Tensor:
    """The part of a full tensor that this process holds of `like`."""
    if not hasattr(like, "full_tensor") or hasattr(value, "full_tensor"):
        return value
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements)


def device_named(name: str) -> str:
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return own_device() if team().size > 1 else "cuda"
    if name == "auto":
        return "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise Mistake(
            "device={device}: torch finds no GPU here; use --device cpu, or leave it out.",
            device=name,
        )
    try:
        return str(torch.device(name))
    except RuntimeError:
        raise Mistake(
            "device={device!r} is not a device; expected auto, cpu, cuda or cuda:N.", device=name
        ) from None
