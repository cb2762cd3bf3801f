"""The loop: trains anything that has gradients, and yields its progress.

Minutes are turned into steps once, after a timed warm-up whose effect is undone; from then on the clock plays no part.
Batches are a function of seed and epoch, learning rate and random numbers of the step: so the same seed gives the same weights.
A loss that is no longer a number sends training back to its last good state, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from wenmai.data.examples.batches import epochs as batches_of
from wenmai.data.examples.batches import is_stream, lengths_of
from wenmai.data.examples.rows import Examples
from wenmai.layers.recurrent import Recurrent
from wenmai.locale import Message
from wenmai.models.network import Network
from wenmai.training import distributed, memory
from wenmai.training.descent import Descent, repeatable
from wenmai.training.optimizers import rate_at
from wenmai.training.progress import Diverged, Progress, Snapshot, shown_rows

TOLD = 0.5  # seconds after which training gives a sign of life, so that it can be stopped and kept
TIDIED = 3.0  # seconds after which memory that lies unused is given back
CHECKED = 50  # steps of a GPU between two looks at the loss, for which it has to be waited
STILL = 5  # scores without a new best after which asgd begins to average
LOWERED = 0.1  # of the learning rate is left after a loss that was no number


@dataclass
class Standing:
    """Where training stands, beside weights and moments."""

    step: int = 0
    best: float | None = None  # score so far
    worse: int = 0  # scores since then
    lowered: bool = False  # the learning rate, after a loss that was no number
    pieces: int = 1  # that a batch is read in


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
    deterministic: bool = False,
    where: Callable[[int], str] = lambda row: Message("row {row}", row=row + 1),
    *,
    epochs: int | None = None,
    steps: int | None = None,
    learning_rate: float | None = None,
    batch_tokens: int | None = None,
    optimizer: Literal["lazy-adamw", "adamw", "sgd", "asgd"] = "lazy-adamw",
    weight_decay: float | None = None,
    average: bool = False,
    warmup: float = 0.1,
    clip: float | None = None,
    evaluations: int = 20,
    patience: int = 6,
    precision: Literal["auto", "float32", "bf16"] = "auto",
    parallel: Literal["ddp", "fsdp"] = "ddp",
    pieces: int | None = None,
    compile: bool = False,
) -> Iterator[Progress]:
    """Trains the network in place and leaves the best state in it: the one that `judge` scored highest.

    The length of training is `steps`, or as many as fit into `minutes` (at most 60 epochs), or `epochs` (15). The
    held-out part is scored `evaluations` times, evenly, or as often as a quarter of the minutes allows; after `patience`
    scores without a new best, training stops. `parallel` is how processes that torchrun started share the work;
    `pieces`, into how many a batch is cut, memory says where it is not given. What is `learning_rate`,
    `weight_decay` and `clip` where they are not given, the network says. With `average`, the rate stays, and from when the score
    stops getting better, at the latest half-way, what counts is the mean of the weights after every step since. `compile` has
    torch make kernels of its own for the network, which takes a minute first and pays where training takes many.
    """
    began = time.perf_counter()
    network.to(device)
    team = distributed.team()
    lengths = lengths_of(train, longest)
    tokens = batch_tokens or suited_batch(int(lengths.sum()), len(lengths), is_stream(train))
    per_epoch = max(1, round(lengths.sum() / tokens))
    bf16 = precision == "bf16" or (precision == "auto" and bf16_pays(network, device))

    network.train()
    usual = usual_of(network, optimizer)
    learning_rate, weight_decay, clip = (usual[name] if given is None else given for name, given in (
        ("learning_rate", learning_rate), ("weight_decay", weight_decay), ("clip", clip)))  # fmt: skip
    options, falls = (optimizer, learning_rate, weight_decay, clip), not average and optimizer != "asgd"
    descent = Descent(network, train, longest, device, seed, bf16, team, parallel, deterministic, options, compile)
    descent.pieces = pieces or descent.suit(lengths, tokens)
    first = descent.state()
    if steps is None and minutes:
        fit, evaluations = team.first(affordable(minutes, descent, batches_of(train, tokens, seed, longest), judge, evaluations))
        descent.load(first)
        steps = max(1, min(fit, per_epoch * (epochs or 60)))
    steps = steps or per_epoch * (epochs or 15)
    every = max(1, steps // evaluations)
    losses: list[Tensor] = []
    read: list = []  # the rows of batches whose loss was not looked at yet
    now = Standing(pieces=descent.pieces)
    good, best_state = (now, first), None
    del first  # its room is needed once `good` is another
    if resume and resume.arrays:
        now, good, best_state, losses = restored(resume, descent, device)
        began -= resume.facts["seconds"]

    def snapshot() -> Snapshot:
        arrays = {"losses": torch.stack(losses) if losses else torch.zeros(0)} | descent.state()
        arrays |= {f"best.{name}": value for name, value in (best_state or {}).items()}
        if good[0].step != now.step:
            arrays |= {f"good.{name}": value for name, value in good[1].items()}
        facts = asdict(now) | {"good": asdict(good[0]), "seconds": time.perf_counter() - began}
        return Snapshot({name: distributed.whole(value).cpu().numpy() for name, value in arrays.items()}, facts)

    def told(note: str = "", loss: float = float("nan"), score: float | None = None, passing: bool = False,
             resumable: bool = True, **more) -> Progress:  # fmt: skip
        rate = rate_at(max(0, now.step - 1), steps, learning_rate, warmup, falls) * (LOWERED if now.lowered else 1.0)
        seconds = time.perf_counter() - began
        return Progress(now.step, steps, now.step / per_epoch, loss, rate, seconds, score, note, passing=passing,
                        snapshot=snapshot if resumable else None, **more)  # fmt: skip

    if not now.step:
        nothing = Snapshot({}, {})
        note = pieces_note(now.pieces, device, 0) if now.pieces > 1 else ""
        plan = {"steps": steps, "evaluations": evaluations, "pieces": now.pieces}
        yield replace(told(Message("planned"), plan=plan, warning=note), snapshot=lambda: nothing)
    batches, last = batches_of(train, tokens, seed, longest, now.step), time.perf_counter()
    tidied = last
    while now.step < steps and now.worse < patience:
        rows = next(batches)[1]
        rate = rate_at(now.step, steps, learning_rate, warmup, falls) * (LOWERED if now.lowered else 1.0)
        loss, wished = descent(rows, now.step, rate, time.perf_counter() - last > TOLD)
        losses.append(loss)
        read.append(rows)
        if device == "cpu" and time.perf_counter() - tidied > TIDIED:
            memory.give_back()
            tidied = time.perf_counter()
        halved = descent.pieces > now.pieces
        now = replace(now, step=now.step + 1, pieces=descent.pieces)
        due = now.step % every == 0 or now.step == steps
        if device == "cpu" or due or wished or halved or len(read) == CHECKED:
            finite = torch.stack(losses[-len(read) :]).isfinite().tolist()
            if not all(finite):
                wrong = finite.index(False)
                at, those = now.step - len(read) + 1 + wrong, shown_rows(read[wrong], where)
                if now.lowered and good[0].step:
                    now = good[0]
                    descent.load(good[1])
                    yield told(passing=True, resumable=False, warning=Message(
                        "step {step}: the loss is no longer a finite number ({batch}), also after the learning rate was lowered; "
                        "training ends with what it had learned by step {good}. Look at these rows, or start anew with --set "
                        "learning_rate={rate:.1g} and --set clip=1.", step=at, batch=those, good=now.step,
                        rate=learning_rate * LOWERED / 3))  # fmt: skip
                    break
                if now.lowered:
                    raise Diverged("step {step}: the loss is no longer a finite number ({batch}), also after the learning rate "
                                   "was lowered; look at these rows, or start anew with --set learning_rate={rate:.1g} and "
                                   "--set clip=1.", step=at, batch=those, rate=learning_rate * LOWERED / 3)  # fmt: skip
                if halved:
                    yield told(passing=True, warning=pieces_note(now.pieces, device, now.step), resumable=False)
                now = replace(good[0], lowered=True, pieces=now.pieces)
                good, losses, read = (now, good[1]), [], []
                descent.load(good[1])
                batches = batches_of(train, tokens, seed, longest, now.step)
                yield told(passing=True, warning=Message(
                    "step {step}: the loss is not a finite number ({batch}); training went back to step {back}, with {times:g} "
                    "times the learning rate.", step=at, batch=those, back=now.step, times=LOWERED))  # fmt: skip
                continue
            read = []
        if halved or (wished and not due):
            yield told(passing=True, warning=pieces_note(now.pieces, device, now.step) if halved else "")
            last = time.perf_counter()
        if not due:
            continue
        descent.gather()
        good = None  # before its room is needed
        score, state = None, descent.state()
        if judge:
            with descent.averaging():
                descent.gather()
                with evaluating(network), repeatable(deterministic):
                    score = team.first(judge() if team.rank == 0 else None)
            descent.gather()
            if now.best is None or (score > now.best if higher_is_better else score < now.best):
                now, best_state = replace(now, best=score, worse=0), network_of(state)
            else:
                now = replace(now, worse=now.worse + 1)
        if not falls and descent.mean is None and (now.worse >= STILL or now.step >= steps // 2):
            now = replace(now, worse=0)
            descent.begin_average()
            state = descent.state()
        good = now, state
        loss, losses = float(torch.stack(losses).mean()), []
        stop = now.worse >= patience and now.step < steps
        note = Message("stopped: {patience} scores without a new best", patience=patience) if stop else ""
        yield told(note, loss, score)
        last = time.perf_counter()
    if best_state is None and descent.mean is not None:
        best_state = network_of(descent.state())
    if best_state is not None:
        descent.load({f"network.{name}": value for name, value in best_state.items()})
    descent.gather()
    network.eval()


def network_of(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights, or their mean where one is kept."""
    found = {name.removeprefix("network."): value for name, value in state.items() if name.startswith("network.")}
    return found | {name.removeprefix("mean."): value for name, value in state.items() if name.startswith("mean.")}


def usual_of(network: Network, optimizer: str) -> dict[str, float]:
    """What these options are, where they are not given: as the network asks for, or as suits most."""
    if optimizer == "asgd":  # of AWD-LSTM
        return {"learning_rate": 30.0, "weight_decay": 1.2e-6, "clip": 0.25}
    return {"learning_rate": 4e-3, "weight_decay": 0.01, "clip": 1.0} | getattr(network, "suits", {})


def restored(resume: Snapshot, descent: Descent, device: str):
    """Where training stood, its last good state, its best weights, and the losses since they were last told."""
    facts = dict(resume.facts)

    def tensors(part: dict) -> dict[str, Tensor]:
        return {name: torch.from_numpy(value).to(device) for name, value in part.items()}

    now, before = (Standing(**{name: known[name] for name in asdict(Standing())}) for known in (facts, facts["good"]))
    state = tensors({name: value for name, value in resume.arrays.items()
                     if name.startswith(("network.", "optimizer.", "mean.")) or name in ("carried", "averaged")})  # fmt: skip
    descent.load(state)
    descent.pieces = now.pieces
    good = tensors(resume.part("good")) or state
    return now, (before, good), tensors(resume.part("best")) or None, list(tensors({"": resume.arrays["losses"]})[""])


def pieces_note(pieces: int, device: str, step: int) -> str:
    since = Message("from step {step} on", step=step) if step else Message("from the beginning")
    return Message("a batch does not fit into the memory of {device}: {since} each is read in {pieces} pieces, which add up to "
                   "the same.", device=device, since=since, pieces=pieces)  # fmt: skip


def suited_batch(total: int, rows: int, stream: bool = False) -> int:
    """About 100 updates an epoch, with 512 to 8192 tokens each, or 20 where there is too little for that, but no fewer than
    eight rows: small data needs many steps, large data large ones. Of running text 300: there is a target at every step."""
    if stream:
        return max(1, min(512, total // 20), min(16_384, total // 300))
    return max(8 * total // rows, min(512, total // 20), min(8192, total // 100))


def bf16_pays(network: Network, device: str) -> bool:
    """On a GPU always; on a CPU with bf16 instructions where the work is in large products, which a recurrent step has not."""
    if device.startswith("cuda"):
        return True
    can = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return can and not any(isinstance(part, Recurrent) for part in network.body.modules())


def affordable(minutes: float, descent: Descent, batches, judge, evaluations: int) -> tuple[int, int]:
    """How many steps and evaluations fit: measured on real batches, of which the first two fill caches, for a twentieth of
    the time. Where scoring is slow, it takes a quarter of the time at the most."""
    began = time.perf_counter()
    for warming in range(2):
        descent(next(batches)[1], warming, 0.0)
    start, count, late = time.perf_counter(), 0, False
    while count < 5 or (count < 50 and not late):
        loss, late = descent(next(batches)[1], count, 0.0, time.perf_counter() - began >= minutes * 3)
        float(loss)
        count += 1
    each = (time.perf_counter() - start) / count
    start = time.perf_counter()
    if judge and descent.team.rank == 0:
        with evaluating(descent.network):
            judge()
    scoring = time.perf_counter() - start
    left = minutes * 60 - (time.perf_counter() - began)
    evaluations = max(1, min(evaluations, int(left / 4 / scoring))) if judge else evaluations
    return int((left - evaluations * scoring) / each), evaluations


@contextmanager
def evaluating(network: Network):
    network.eval()
    try:
        yield
    finally:
        network.train()
