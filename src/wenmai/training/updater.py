"""Updater: one update after another. A batch, its losses, the gradient, a step of the optimizer.

The random numbers of a step (dropout) are a function of seed and step, as its batch is: nothing of them has to be kept. A batch
that does not fit into memory is read in two pieces, four, … (micro-batches); their gradients add up to that of the whole."""

import os
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch, ExampleSource
from wenmai.data.storage import saved as take
from wenmai.data.storage.caches import for_torch
from wenmai.errors import Mistake
from wenmai.layers import packing
from wenmai.layers.losses import Loss, weighted
from wenmai.layers.recurrent import Recurrent
from wenmai.training import distributed, fine_tuning, memory
from wenmai.training.averaging import WeightAverage
from wenmai.training.captured import Captured
from wenmai.training.distributed import full_tensor, shard_of
from wenmai.training.optimizers import Optimizer, name_gradients
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Snapshot

# What libraries below torch read from the environment, once, when they are first used; a value that the user has set stays:
# cuBLAS adds in one order only where it has memory of its own to do so.
DETERMINISTIC = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


class Updater:
    def __init__(
        self,
        network: nn.Module,
        examples: ExampleSource,
        options: TrainingOptions,
        device: str,
        seed: int,
        deterministic: bool = False,
    ):
        self.network, self.examples, self.options, self.device, self.seed = (
            network,
            examples,
            options,
            device,
            seed,
        )
        self.deterministic, self.team, self.micro_batches = deterministic, distributed.team(), 1
        self.bf16 = options.precision == "bf16" or (
            options.precision == "auto" and bf16_pays(network, device)
        )
        self.carried: Tensor | None = None  # (B, S) the state that a stream goes on with
        self.sharded = options.parallel == "fsdp" and self.team.size > 1
        for name, value in (
            (DETERMINISTIC if deterministic else {}) | (for_torch() if options.compile else {})
        ).items():
            os.environ.setdefault(name, value)
        for layer in network.modules():
            if hasattr(layer, "one_shape"):
                layer.one_shape = examples.one_shape
        dense = self.sharded or (
            self.team.size > 1 and device != "cpu"
        )  # these pass on no gradient of named rows
        name_gradients(network, options.optimizer == "lazy-adamw" and not dense)
        fine_tuning.freeze(network, options.freeze)
        self.losses, self.learning = self.team.parallel(network, options.parallel)
        packs = (
            self.bf16
            and device.startswith("cuda")
            and packing.HAS_KERNEL
            and getattr(network.body, "packs", False)
        )
        self.packs = options.compile and packs
        if options.compile:
            # torch's own random numbers: those of the compiler are drawn one at a time, and cost more than all else in a norm
            more = {"options": {"fallback_random": True}} if device.startswith("cuda") else {}
            self.losses = torch.compile(
                self.losses, dynamic=None if examples.one_shape else True, **more
            )
        self.optimizer = Optimizer(self.learning, options)
        self.average = WeightAverage(self.learning)
        self.captured = Captured.of(self) if device.startswith("cuda") else None

    def __call__(
        self, rows: np.ndarray, step: int, rate: float, heartbeat_due: bool = False
    ) -> tuple[Tensor, bool]:
        """(mean loss of the batch, whether a sign of life is due in any process). Not finite where loss or gradient is not."""
        own = self.team.share(rows)
        self.optimizer.set_rate(rate)
        if self.captured:
            with self.reproducibly(step):
                loss = self.captured(rows, step)
            if loss is not None:
                self.average.add()
                return loss, heartbeat_due
        while True:
            with self.reproducibly(step):
                losses = self.gradient(own, step, self.team.weigh(rows))
            if losses is not None:
                break
            self.optimizer.forget()
            if self.micro_batches >= len(own) or self.team.size > 1:
                length = self.examples.lengths.take(
                    own, mode="clip"
                ).max()  # windows of a stream are all of one length
                raise Mistake(
                    "step {step}: a batch of {count} rows of up to {tokens:,} tokens does not fit into the "
                    "memory of {device}; make it smaller with --set batch_tokens=… or max_length=…, or choose a "
                    "smaller model.",
                    step=step + 1,
                    count=len(own),
                    tokens=length,
                    device=self.device,
                )
            self.micro_batches *= 2
        sums = [part for loss in losses for part in (loss.total, loss.count)]
        *sums, heartbeats = self.team.sum(
            torch.stack([*sums, torch.full_like(sums[0], float(heartbeat_due))])
        )
        losses = [
            Loss(loss.name, loss.weight, *sums[2 * at : 2 * at + 2])
            for at, loss in enumerate(losses)
        ]
        counts = [loss.count.clamp(min=1) for loss in losses]  # all rows may be empty
        with repeatable(self.deterministic):
            norm = self.optimizer.step(
                self.team.size / (counts[0] if len(losses) == 1 else torch.ones_like(counts[0]))
            )
        self.average.add()
        return weighted(losses, counts) + 0 * norm, bool(
            heartbeats
        ) if self.team.size > 1 else heartbeat_due

    @contextmanager
    def reproducibly(self, step: int):
        """Inside, random numbers follow from seed, step and process, and a GPU adds in one order only where that is asked for."""
        with (
            own_random((self.seed, step, self.team.rank), self.device),
            repeatable(self.deterministic),
        ):
            yield

    def gradient(self, rows: np.ndarray, step: int, weight: float) -> list[Loss] | None:
        """The losses, each with total and count over all pieces; None where memory did not suffice."""
        pieces = np.array_split(rows, min(self.micro_batches, len(rows)))
        # shards are gathered for every piece, by all processes at once: where rows are too few, some count nothing
        pieces += [rows[:0]] * (self.micro_batches - len(pieces) if self.sharded else 0)
        shares = [weight if len(piece) else 0.0 for piece in pieces]
        opens = self.carried is None or self.examples.opens(rows)
        states = (
            [None] * len(pieces)
            if opens
            else torch.split(self.carried, [len(piece) for piece in pieces])
        )
        batches = [
            replace(
                self.batch(piece if len(piece) else rows[:1], step),
                state=state if len(piece) else None,
            )
            for piece, state in zip(pieces, states)
        ]
        total, after, counts = None, [], None
        try:
            for number, (batch, share) in enumerate(zip(batches, shares)):
                with self.team.no_sync(self.losses, number + 1 == len(pieces)):
                    losses, state = self.judged(batch)
                    if len(losses) > 1 and counts is None:
                        counts = self.counted(batches, shares)
                    (self.objective(losses, counts) * share).backward()
                if state is not None and len(pieces[number]):
                    after.append(state.detach())
                shared = [self.shared(loss, share) for loss in losses]
                total = shared if total is None else [added(*both) for both in zip(total, shared)]
        except (RuntimeError, MemoryError) as error:
            if not memory.exhausted(error):
                raise
            return None
        self.carried = torch.cat(after).float() if after else None
        return total

    def objective(self, losses: list[Loss], counts: Tensor | None) -> Tensor:
        """What the gradient is taken of. That of one loss is divided by its count at the end, when all of it is known; of several
        each is divided by its own first."""
        return losses[0].weight * losses[0].total if counts is None else weighted(losses, counts)

    def counted(self, batches: list[Batch], shares: list[float]) -> Tensor:
        """(K,) what each of K losses is divided by: counted over all pieces and processes, before the network reads them."""
        counts = [
            torch.tensor(self.network.head.counts(batch), dtype=torch.float32) * share
            for batch, share in zip(batches, shares)
        ]
        return (
            self.team.sum(torch.stack(counts).sum(0))
            .clamp(min=1)
            .to(self.device, non_blocking=True)
        )

    def shared(self, loss: Loss, share: float) -> Loss:
        """Of a piece, what of its sum and count is this process's. A number is written on the GPU, not sent there: for what is
        sent the processor would wait until all before it is done."""
        number = not isinstance(loss.count, Tensor)
        count = (
            torch.full((), float(loss.count), device=self.device) if number else loss.count.float()
        )
        return loss._replace(total=loss.total.detach().float() * share, count=count * share)

    def judged(self, batch: Batch, losses=None) -> tuple[list[Loss], Tensor | None]:
        """The losses, and of a stream the state after it."""
        with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.bf16):
            return (losses or self.losses)(batch.to(self.device))

    def batch(self, rows: np.ndarray, step: int) -> Batch:
        """What is random in it follows from seed and step, in whatever pieces it is read."""
        batch = self.examples.batch(rows, np.random.default_rng((self.seed, step)))
        return packing.laid(batch) if self.packs else batch

    def suited_micro_batches(self, tokens: int) -> int:
        """Into how many pieces memory asks to cut a batch of so many tokens, by the longest row. Read alone and beside itself,
        the row shows what it takes and what is taken once, as the weights in 16 bits are."""
        lengths = self.examples.lengths
        longest = int(lengths.argmax())
        with self.reproducibly(0):
            once, twice = (
                memory.kept_for_backward(
                    self.network,
                    lambda count=count: self.judged(
                        self.batch(np.full(count, longest), 0), self.network.losses
                    ),
                )
                for count in (1, 2)
            )
        row, fixed = max(0, twice - once), max(0, 2 * once - twice)
        weights = sum(p.numel() for p in self.network.parameters())
        each = memory.bytes_each(self.options.optimizer, self.team.size if self.sharded else 1)
        rows = max(1, tokens // int(lengths[longest]) // self.team.size)
        more = (
            weights * each - 4 * weights + fixed
        )  # bytes, beside the weights themselves, which are there already
        return max(
            self.team.all(
                memory.micro_batches_of(2 * row, rows, more, self.device, int(lengths[longest]))
            )
        )

    def gather(self) -> None:
        """The weights into `network`, where they are learned in parts."""
        if self.learning is not self.network:
            weights = self.network.state_dict()
            for name, value in self.learning.state_dict().items():
                weights[name].copy_(full_tensor(value))

    def state(self) -> dict[str, Tensor]:
        """Weights and moments as they are now, named; of parallel processes, the part that this one holds."""
        named = {f"network.{name}": value for name, value in self.learning.state_dict().items()}
        named |= {f"optimizer.{name}": value for name, value in self.optimizer.state().items()}
        named |= {} if self.carried is None else {"carried": self.carried}
        named |= self.average.state()
        return {name: value.detach().clone() for name, value in named.items()}

    def check(self, known: Snapshot, rows: np.ndarray) -> None:
        """Unfit where these are not what `state` gives; `rows` are those of the next batch."""
        weights = self.learning.state_dict()
        known.like(**{f"network.{name}": value for name, value in weights.items()})
        if known.part("mean"):
            known.like(
                **{
                    f"mean.{name}": value
                    for name, value in weights.items()
                    if value.is_floating_point()
                },
                averaged=torch.zeros((), dtype=torch.int64),
            )
        self.optimizer.check(Snapshot(known.part("optimizer"), {}))
        if "carried" in known.arrays:  # a row of the batch tells how large the state of a row is
            with torch.no_grad(), self.reproducibly(0):
                state = self.judged(self.batch(rows[:1], 0), self.network.losses)[1]
            if state is None:
                raise take.Unfit('found "carried", which nothing here reads')
            held = (
                len(known.arrays["carried"])
                if self.examples.opens(rows)
                else len(self.team.share(rows))
            )  # or it begins anew
            known.like(carried=torch.empty((held, *state.shape[1:]), device="meta"))

    @torch.no_grad()
    def load(self, state: dict[str, Tensor]) -> None:
        for name, value in self.learning.state_dict().items():
            value.copy_(shard_of(state[f"network.{name}"].reshape(value.shape), value))
        self.carried = state["carried"].clone() if "carried" in state else None
        self.average.load(state)
        self.optimizer.load(
            {
                name.removeprefix("optimizer."): value
                for name, value in state.items()
                if name.startswith("opt")
            }
        )
        self.optimizer.forget()
        if self.captured:
            self.captured.forget()


def added(one: Loss, other: Loss) -> Loss:
    return one._replace(total=one.total + other.total, count=one.count + other.count)


def bf16_pays(network: nn.Module, device: str) -> bool:
    """On a GPU always; on a CPU with bf16 instructions where the work is in large products, which a recurrent step has not, but
    what says the next token has."""
    if device.startswith("cuda"):
        return True
    can = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return can and (
        network.says_next or not any(isinstance(part, Recurrent) for part in network.body.modules())
    )


@contextmanager
def evaluating(network: nn.Module):
    network.eval()
    try:
        yield
    finally:
        network.train()


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
def repeatable(deterministic: bool):
    """Inside, a GPU adds in one order only, if asked: slower, and the same to the last bit."""
    if not deterministic:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
