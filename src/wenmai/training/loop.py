"""The loop: trains anything that has gradients, and yields its progress.

Minutes are turned into steps once, after a timed warm-up whose effect is undone; from then on the clock plays no part.
Batches are a function of seed and epoch, the learning rate of the step: so the same seed gives the same weights.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from wenmai.data.batches import epochs as batches_of
from wenmai.data.batches import lengths_of, make_batch
from wenmai.data.examples import Examples
from wenmai.layers.recurrent import Recurrent
from wenmai.models.network import Network
from wenmai.training.optimizers import Optimizer, rate_at
from wenmai.training.progress import Progress, Snapshot

TOLD = 0.5  # seconds after which training gives a sign of life, so that it can be stopped and kept


def train(
    network: Network,
    train: Examples,
    judge: Callable[[], float] | None,
    higher_is_better: bool,
    longest: int,
    device: str,
    seed: int,
    minutes: float | None = None,
    resume: Snapshot | None = None,
    *,
    epochs: int | None = None,
    steps: int | None = None,
    learning_rate: float = 4e-3,
    batch_tokens: int | None = None,
    optimizer: Literal["lazy-adamw", "adamw", "sgd"] = "lazy-adamw",
    weight_decay: float = 0.01,
    warmup: float = 0.1,
    clip: float = 1.0,
    evaluations: int = 20,
    patience: int = 6,
    precision: Literal["auto", "float32", "bf16"] = "auto",
) -> Iterator[Progress]:
    """Trains the network in place and leaves the best state in it: the one that `judge` scored highest.

    The length of training is `steps`, or as many as fit into `minutes` (at most 60 epochs), or `epochs` (15). The
    held-out part is scored `evaluations` times, evenly, or as often as a quarter of the minutes allows; after `patience`
    scores without a new best, training stops.
    """
    began = time.perf_counter()
    network.to(device)
    lengths = lengths_of(train, longest)
    tokens = batch_tokens or suited_batch(int(lengths.sum()), len(lengths))
    per_epoch = max(1, round(lengths.sum() / tokens))
    bf16 = precision == "bf16" or (precision == "auto" and bf16_pays(network, device))

    def update(rows, rate) -> torch.Tensor:
        batch = make_batch(train, rows, longest).to(device)
        with torch.autocast(device.split(":")[0], torch.bfloat16, enabled=bf16):
            total, count = network.loss(batch)
        (total / count).backward()
        descent.step(rate)
        return (total / count).detach()

    own = OwnRandom(seed, device)
    if steps is None and minutes:
        descent = Optimizer(network, optimizer, learning_rate, weight_decay, clip)
        with own, undone(network):
            fit, evaluations = affordable(minutes, update, batches_of(train, tokens, seed, longest), judge, evaluations)
        steps = max(1, min(fit, per_epoch * (epochs or 60)))
    steps = steps or per_epoch * (epochs or 15)
    own = OwnRandom(seed, device)
    network.train()
    descent = Optimizer(network, optimizer, learning_rate, weight_decay, clip)
    every = max(1, steps // evaluations)
    done, best, best_state, worse, losses = 0, None, None, 0, []
    if resume and resume.arrays:
        done, best, worse, seconds = (resume.facts[name] for name in ("step", "best", "worse", "seconds"))
        began -= seconds
        network.load_state_dict({name: torch.from_numpy(value) for name, value in resume.part("network").items()})
        found = {name: torch.from_numpy(value).to(device) for name, value in resume.part("best").items()}
        best_state = found or None
        descent.load({name: torch.from_numpy(value) for name, value in resume.part("optimizer").items()})
        own.inner = [torch.from_numpy(resume.arrays[f"random.{n}"]) for n in range(len(own.inner))]
        losses = list(torch.from_numpy(resume.arrays["losses"]).to(device))

    def snapshot() -> Snapshot:
        arrays = {"losses": torch.stack(losses) if losses else torch.zeros(0)}
        arrays |= {f"network.{name}": value for name, value in network.state_dict().items()}
        arrays |= {f"best.{name}": value for name, value in (best_state or {}).items()}
        arrays |= {f"optimizer.{name}": value for name, value in descent.state().items()}
        arrays |= {f"random.{n}": value for n, value in enumerate(own.inner)}
        facts = {"step": done, "best": best, "worse": worse, "seconds": time.perf_counter() - began}
        return Snapshot({name: value.detach().cpu().numpy().copy() for name, value in arrays.items()}, facts)

    if not done:
        plan, seconds = {"steps": steps, "evaluations": evaluations}, time.perf_counter() - began
        nothing = Snapshot({}, {})
        yield Progress(0, steps, 0.0, float("nan"), 0.0, seconds, note="planned", plan=plan, snapshot=lambda: nothing)
    told = time.perf_counter()
    for _, rows in batches_of(train, tokens, seed, longest, done):
        if done >= steps or worse >= patience:
            break
        rate = rate_at(done, steps, learning_rate, warmup)
        with own:
            losses.append(update(rows, rate))
        done += 1
        seconds = time.perf_counter() - began
        if done % every and done < steps:
            if time.perf_counter() - told > TOLD:
                yield Progress(done, steps, done / per_epoch, float("nan"), rate, seconds, passing=True, snapshot=snapshot)
                told = time.perf_counter()
            continue
        score = None
        if judge:
            with evaluating(network):
                score = judge()
            if best is None or (score > best if higher_is_better else score < best):
                best, best_state, worse = score, copy.deepcopy(network.state_dict()), 0
            else:
                worse += 1
        loss, losses = float(torch.stack(losses).mean()), []
        stop = worse >= patience and done < steps
        note = f"stopped: {patience} scores without a new best" if stop else ""
        seconds = time.perf_counter() - began
        yield Progress(done, steps, done / per_epoch, loss, rate, seconds, score, note, snapshot=snapshot)
        told = time.perf_counter()
    if best_state is not None:
        network.load_state_dict(best_state)
    network.eval()


class OwnRandom:
    """Random numbers that nobody else draws from: entered around every step, it swaps torch's state for its own."""

    def __init__(self, seed: int, device: str):
        self.gpu = device if device.startswith("cuda") else None
        outer = self.state()
        torch.manual_seed(seed)
        self.inner = self.state()
        self.put(outer)

    def state(self) -> list[torch.Tensor]:
        return [torch.get_rng_state()] + ([torch.cuda.get_rng_state(self.gpu)] if self.gpu else [])

    def put(self, states: list[torch.Tensor]) -> None:
        torch.set_rng_state(states[0])
        if self.gpu:
            torch.cuda.set_rng_state(states[1], self.gpu)

    def __enter__(self) -> None:
        self.outer = self.state()
        self.put(self.inner)

    def __exit__(self, *_) -> None:
        self.inner = self.state()
        self.put(self.outer)


def suited_batch(total: int, rows: int) -> int:
    """About 100 updates an epoch, with 512 to 8192 tokens each, or 20 where there is too little for that, but no fewer than
    eight rows: small data needs many steps, large data large ones."""
    return max(8 * total // rows, min(512, total // 20), min(8192, total // 100))


def bf16_pays(network: Network, device: str) -> bool:
    """On a GPU always; on a CPU with bf16 instructions where the work is in large products, which a recurrent step has not."""
    if device.startswith("cuda"):
        return True
    can = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return can and not isinstance(network.body, Recurrent)


def affordable(minutes: float, update, batches, judge, evaluations: int) -> tuple[int, int]:
    """How many steps and evaluations fit: measured on real batches, of which the first two fill caches, for a twentieth of
    the time. Where scoring is slow, it takes a quarter of the time at the most."""
    began = time.perf_counter()
    update(next(batches)[1], 0.0), update(next(batches)[1], 0.0)
    start, count = time.perf_counter(), 0
    while count < 5 or (count < 50 and time.perf_counter() - began < minutes * 3):
        float(update(next(batches)[1], 0.0))
        count += 1
    each = (time.perf_counter() - start) / count
    start = time.perf_counter()
    if judge:
        judge()
    scoring = time.perf_counter() - start
    left = minutes * 60 - (time.perf_counter() - began)
    evaluations = max(1, min(evaluations, int(left / 4 / scoring))) if judge else evaluations
    return int((left - evaluations * scoring) / each), evaluations


@contextmanager
def undone(network: Network):
    """The weights go back to what they were."""
    before = copy.deepcopy(network.state_dict())
    yield
    network.load_state_dict(before)
    network.zero_grad(set_to_none=True)


@contextmanager
def evaluating(network: Network):
    network.eval()
    try:
        yield
    finally:
        network.train()
