"""Descent: one update after another. A batch, its loss, the gradient, a step of the optimizer.

The random numbers of a step (dropout) are a function of seed and step, as its batch is: nothing of them has to be kept. A batch
that does not fit into memory is read in two pieces, four, …; their gradients add up to that of the whole.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from wenmai.data.examples.batches import is_stream, lengths_of, make_batch
from wenmai.data.examples.rows import Examples
from wenmai.errors import Mistake
from wenmai.models.network import Network
from wenmai.training import memory
from wenmai.training.captured import Captured
from wenmai.training.distributed import Team, divided, whole
from wenmai.training.optimizers import Optimizer, name_gradients


class Descent:
    def __init__(self, network: Network, train: Examples, longest: int, device: str, seed: int, bf16: bool, team: Team,
                 parallel: str, deterministic: bool, optimizer: tuple, compile: bool = False):  # fmt: skip
        self.network, self.train, self.longest, self.device, self.seed, self.bf16 = network, train, longest, device, seed, bf16
        self.team, self.deterministic, self.pieces = team, deterministic, 1
        self.carried: Tensor | None = None  # (B, S) the state that a stream goes on with
        self.sharded, self.named = parallel == "fsdp" and team.size > 1, optimizer[0]
        # A product of another shape is another kernel, and batches have many shapes: by themselves a thousand kernels are kept.
        os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")  # read when the first is made
        if deterministic:
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the GPU is first used
        dense = self.sharded or (team.size > 1 and device != "cpu")  # these pass on no gradient of named rows
        name_gradients(network, optimizer[0] == "lazy-adamw" and not dense)
        self.loss, self.learning = team.parallel(network, parallel)
        if compile:
            self.loss = torch.compile(self.loss)
        self.optimizer = Optimizer(self.learning, *optimizer)
        self.mean: dict[str, Tensor] | None = None  # of the weights after every step since averaging began
        self.averaged = 0  # steps
        self.captured = Captured.of(self) if device.startswith("cuda") else None

    @contextmanager
    def kernels(self):
        """Inside, attention over windows of one shape may use the kernel that is made for a shape."""
        torch.backends.cuda.enable_cudnn_sdp(is_stream(self.train))
        try:
            yield
        finally:
            torch.backends.cuda.enable_cudnn_sdp(False)

    def __call__(self, rows: np.ndarray, step: int, rate: float, wish: bool = False) -> tuple[Tensor, bool]:
        """(mean loss of the batch, whether any process had a wish). Not finite where loss or gradient is not."""
        own = self.team.share(rows)
        self.optimizer.set_rate(rate)
        if self.captured:
            with own_random((self.seed, step, self.team.rank), self.device), repeatable(self.deterministic), self.kernels():
                loss = self.captured(rows)
            if loss is not None:
                self.average()
                return loss, wish
        while True:
            with own_random((self.seed, step, self.team.rank), self.device), repeatable(self.deterministic):
                sums = self.gradient(own, self.team.weigh(rows))
            if sums is not None:
                break
            self.optimizer.forget()
            if self.pieces >= len(own) or self.team.size > 1:
                length = int(lengths_of(self.train, self.longest)[own].max())
                raise Mistake("step {step}: a batch of {count} rows of up to {tokens:,} tokens does not fit into the memory of "
                              "{device}; make it smaller with --set batch_tokens=… or max_length=…, or choose a smaller model.",
                              step=step + 1, count=len(own), tokens=length, device=self.device)  # fmt: skip
            self.pieces *= 2
        total, count, wishes = self.team.sum(torch.stack([*sums, torch.full_like(sums[0], float(wish))]))
        count = count.clamp(min=1)  # all rows may be empty
        with repeatable(self.deterministic):
            norm = self.optimizer.step(self.team.size / count)
        self.average()
        return total / count + 0 * norm, bool(wishes) if self.team.size > 1 else wish

    def gradient(self, rows: np.ndarray, weight: float) -> list[Tensor] | None:
        """[Σ loss, count]; None where memory did not suffice."""
        sums, states = 0, []
        before = None if self.carried is None or self.train.inputs.opens(rows) else self.carried
        pieces = np.array_split(rows, min(self.pieces, len(rows)))
        at = np.cumsum([0, *map(len, pieces)])
        # shards are gathered for every piece, by all processes at once: where rows are too few, some count nothing
        pieces += [rows[:0]] * (self.pieces - len(pieces) if self.sharded else 0)
        try:
            for number, piece in enumerate(pieces):
                share, piece = (weight, piece) if len(piece) else (0.0, rows[:1])
                with self.team.quietly(self.loss, number + 1 == len(pieces)), self.kernels():
                    total, count, *state = self.judged(piece, None if before is None else before[at[number] : at[number + 1]])
                    (total * share).backward()
                states += [one.detach() for one in state if one is not None]
                sums = sums + torch.stack([total.detach().float(), torch.as_tensor(count, device=self.device).float()]) * share
        except (RuntimeError, MemoryError) as error:
            if not memory.exhausted(error):
                raise
            return None
        self.carried = torch.cat(states).float() if states else None
        return list(sums)

    def judged(self, rows: np.ndarray, state: Tensor | None = None, loss=None) -> tuple:
        """(Σ loss, count), and of a stream the state after it."""
        batch = replace(make_batch(self.train, rows, self.longest), state=state).to(self.device)
        with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.bf16):
            return (loss or self.loss)(batch)

    def suit(self, lengths: np.ndarray, tokens: int) -> int:
        """Cuts batches as memory asks for, by the longest row; returns into how many pieces. Read alone and beside itself, the
        row shows what it takes and what is taken once, as the weights in 16 bits are."""
        longest = int(lengths.argmax())
        with own_random((self.seed, 0, self.team.rank), self.device), repeatable(self.deterministic):
            once, twice = (memory.kept_for_backward(self.network, lambda count=count: self.judged(
                np.full(count, longest), None, self.network.loss)) for count in (1, 2))  # fmt: skip
        row, fixed = max(0, twice - once), max(0, 2 * once - twice)
        weights = sum(p.numel() for p in self.network.parameters())
        held = weights * memory.bytes_each(self.named, self.team.size if self.sharded else 1) - 4 * weights + fixed
        rows = max(1, tokens // int(lengths[longest]) // self.team.size)
        self.pieces = max(self.team.all(memory.pieces_of(2 * row, rows, held, self.device, int(lengths[longest]))))
        return self.pieces

    def begin_average(self) -> None:
        self.mean = {
            name: value.detach().clone() for name, value in self.learning.state_dict().items() if value.is_floating_point()
        }
        self.averaged = 1

    @torch.no_grad()
    def average(self) -> None:
        if self.mean is not None:
            self.averaged += 1
            now = self.learning.state_dict()
            torch._foreach_lerp_(list(self.mean.values()), [now[name] for name in self.mean], 1 / self.averaged)

    @contextmanager
    def averaging(self):
        """Inside, the weights are their mean, where one is kept."""
        if self.mean is None:
            yield
            return
        now = self.learning.state_dict()
        kept = {name: now[name].clone() for name in self.mean}
        with torch.no_grad():
            for name, value in self.mean.items():
                now[name].copy_(value)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, value in kept.items():
                    now[name].copy_(value)

    def gather(self) -> None:
        """The weights into `network`, where they are learned in parts."""
        if self.learning is not self.network:
            for name, value in self.learning.state_dict().items():
                self.network.state_dict()[name].copy_(whole(value))

    def state(self) -> dict[str, Tensor]:
        """Weights and moments as they are now, named; of parallel processes, the part that this one holds."""
        named = {f"network.{name}": value for name, value in self.learning.state_dict().items()}
        named |= {f"optimizer.{name}": value for name, value in self.optimizer.state().items()}
        named |= {} if self.carried is None else {"carried": self.carried}
        named |= {f"mean.{name}": value for name, value in (self.mean or {}).items()}
        named |= {} if self.mean is None else {"averaged": torch.tensor(self.averaged)}
        return {name: value.detach().clone() for name, value in named.items()}

    @torch.no_grad()
    def load(self, state: dict[str, Tensor]) -> None:
        for name, value in self.learning.state_dict().items():
            value.copy_(divided(state[f"network.{name}"].reshape(value.shape), value))
        self.carried = state["carried"].clone() if "carried" in state else None
        self.mean = {
            name.removeprefix("mean."): value.clone() for name, value in state.items() if name.startswith("mean.")
        } or None
        self.averaged = int(state.get("averaged", 0))
        self.optimizer.load({name.removeprefix("optimizer."): value for name, value in state.items() if name.startswith("opt")})
        self.optimizer.forget()
        if self.captured:
            self.captured.forget()


@contextmanager
def own_random(key: tuple[int, ...], device: str):
    """Inside, torch's random numbers follow from `key`; outside, nobody notices."""
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 1)
    outer, gpu = torch.get_rng_state(), device.startswith("cuda")
    outer_gpu = torch.cuda.get_rng_state(device) if gpu else None
    torch.default_generator.manual_seed(seed)
    if gpu:
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(outer)
        if gpu:
            torch.cuda.set_rng_state(outer_gpu, device)


@contextmanager
def repeatable(wanted: bool):
    """Inside, a GPU adds in one order only: slower, and the same to the last bit."""
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
