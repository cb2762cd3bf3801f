"""The loop: trains anything that has gradients, and yields its progress.

Batches are a function of seed and epoch, learning rate and random numbers of the step: so the same seed gives the same weights.
How long training is, `schedule` says; one update, `updater`; what to go back to when a loss is no number, `recovery`."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import ExampleSource
from wenmai.data.storage import saved as take
from wenmai.kernels import waiting
from wenmai.locale import Message
from wenmai.training import distributed, fine_tuning, memory
from wenmai.training.averaging import network_of
from wenmai.training.options import TrainingOptions, training_defaults
from wenmai.training.progress import Diverged, Progress, Snapshot
from wenmai.training.recovery import LOWERED, Failure, Recovery, TrainState
from wenmai.training.schedule import FEW, Clock, Plan, Schedule, raised, seconds_a_step
from wenmai.training.updater import Updater, evaluating, repeatable

HEARTBEAT = (
    0.5  # seconds after which training gives a sign of life, so that it can be stopped and kept
)
TIDIED = 3.0  # seconds after which memory that lies unused is given back
CHECKED = 50  # steps of a GPU between two looks at the loss, for which it has to be waited
ENOUGH = 300  # updates that a budget should afford: where it does not, batches are smaller
SMALLEST = 64  # tokens of a batch, then
STILL = 5  # scores without a new best after which asgd begins to average


def train(
    network: nn.Module,
    examples: ExampleSource,
    judge: Callable[[], float] | None,
    higher_is_better: bool,
    device: str,
    seed: int,
    minutes: float | None = None,
    resume: Snapshot | None = None,
    deterministic: bool = False,
    where: Callable[[int], str] = lambda row: Message("row {row}", row=row + 1),
    options: TrainingOptions | None = None,
) -> Iterator[Progress]:
    """Trains the network in place and leaves the best state in it: the one that `judge` scored highest. `where` names the place
    of a row in messages; `resume` is what `snapshot()` of a Progress gave."""
    threads = torch.get_num_threads()
    try:
        training = Training(
            network,
            examples,
            judge,
            higher_is_better,
            device,
            seed,
            minutes,
            deterministic,
            options or TrainingOptions(),
        )
        if resume and resume.arrays:
            training.restore(resume)
        if not training.state.step:
            yield training.planned()
        yield from updates(training, where)
        training.finish()
    finally:
        torch.set_num_threads(threads)


def updates(training: "Training", where: Callable[[int], str]) -> Iterator[Progress]:
    batches, heartbeat = training.batches(), time.perf_counter()
    while training.goes_on():
        rows = next(batches)[1]
        heartbeat_due, halved = training.update(rows, time.perf_counter() - heartbeat > HEARTBEAT)
        evaluation_due = training.schedule.evaluates_after(training.state.step)
        check = (
            training.device == "cpu"
            or evaluation_due
            or heartbeat_due
            or halved
            or len(training.recovery.unseen) == CHECKED
        )
        failure = (
            training.recovery.failure(training.losses, training.state.step, where)
            if check
            else None
        )
        if evaluation_due and not failure and not training.answers(rows):
            failure = Failure.of(training.state.step, rows, where)
        if failure and training.state.lowered:
            yield training.given_up(failure)
            break
        if failure:
            if halved:
                yield training.progress(
                    passing=True, warning=training.halved_note(), resumable=False
                )
            yield training.gone_back(failure)
            batches = training.batches()
            continue
        if halved or (heartbeat_due and not evaluation_due):
            yield training.progress(passing=True, warning=training.halved_note() if halved else "")
            heartbeat = time.perf_counter()
        if evaluation_due:
            yield training.evaluated()
            heartbeat = time.perf_counter()
        if (evaluation_due or heartbeat_due) and (planned := training.planned_anew()):
            yield planned


class Training:
    """One training: what it has come to, and all that it takes to go on."""

    def __init__(
        self,
        network: nn.Module,
        examples: ExampleSource,
        judge: Callable[[], float] | None,
        higher_is_better: bool,
        device: str,
        seed: int,
        minutes: float | None,
        deterministic: bool,
        options: TrainingOptions,
    ):
        network.to(device).eval()
        for part in (
            network.modules()
        ):  # what is compiled once on a machine is not to take of a training's minutes
            if hasattr(part, "get_ready"):
                part.get_ready()
        self.began = self.tidied = time.perf_counter()
        network.train()
        self.network, self.examples, self.judge, self.higher_is_better = (
            network,
            examples,
            judge,
            higher_is_better,
        )
        self.device, self.seed, self.options = device, seed, options.completed(network)
        self.threads = self.options.threads or torch.get_num_threads()
        torch.set_num_threads(self.threads)
        if device == "cpu":
            waiting.watch()
        self.tokens = self.options.batch_tokens or examples.suited_batch()
        self.fine_tuned = getattr(
            network, "fine_tuned", False
        )  # it starts from a body that has learned (starting.py)
        if self.fine_tuned and not self.options.batch_tokens and not examples.one_shape:
            self.tokens = fine_tuning.suited_batch(self.tokens, examples.lengths)
        self.updater = updater = Updater(
            network, examples, self.options, device, seed, deterministic
        )
        updater.micro_batches = self.options.micro_batches or updater.suited_micro_batches(
            self.tokens
        )
        self.schedule = Schedule(self.options, examples, self.tokens)
        self.fit = math.inf  # steps, into the minutes, as far as is known at first
        self.clock = (
            Clock(self.schedule, minutes, self.began)
            if minutes and self.options.steps is None
            else None
        )
        if self.clock and not self.options.plans:
            self.plan_first(options)
        self.micro_batches = updater.micro_batches  # at first
        self.state = TrainState(micro_batches=self.micro_batches)
        self.recovery = Recovery(self.state, updater.state())
        self.best: dict[str, Tensor] | None = None  # weights, of the best score
        self.losses: list[Tensor] = []  # since they were last reported

    def plan_first(self, requested: TrainingOptions) -> None:
        """By steps that are timed; what was learned by them is forgotten. Where few updates fit, batches are smaller and the rate
        is higher, unless they are `given`."""
        updater, clock, team = self.updater, self.clock, self.updater.team
        first, usual = updater.state(), self.tokens
        each = self.seconds_a_step()
        if self.device == "cpu" and self.threads > 1 and not requested.threads and team.size == 1:
            torch.set_num_threads(1)
            alone = self.seconds_a_step()
            self.threads, each = (1, alone) if alone < each else (self.threads, each)
            torch.set_num_threads(self.threads)
        while (
            requested.batch_tokens is None
            and team.broadcast(clock.left() / each < ENOUGH)
            and self.tokens > SMALLEST
        ):
            self.tokens, before = max(SMALLEST, self.tokens // 2), each
            each = self.seconds_a_step()
            if team.broadcast(each > 0.8 * before):  # a step takes as long, however little is read
                break
        updater.load(first)
        self.schedule = clock.schedule = Schedule(self.options, self.examples, self.tokens)
        plan = Plan(*team.broadcast(clock.affordable(0, each, self.options.evaluations)))
        if requested.learning_rate is None and not self.options.averages and not self.fine_tuned:
            times = (
                raised(plan.steps) * (self.tokens / usual) ** 0.5
            )  # a smaller batch says less of where to go
            self.options = replace(self.options, learning_rate=self.options.learning_rate * times)
            self.schedule = clock.schedule = Schedule(self.options, self.examples, self.tokens)
        self.fit, self.schedule.plans = int(clock.left() / each), [plan]
        clock.starts(0)

    def seconds_a_step(self) -> float:
        return seconds_a_step(
            self.updater, self.examples.epochs(self.tokens, self.seed), self.clock.seconds / 50
        )

    def planned_anew(self) -> Progress | None:
        """Where a moment for it has come: written down before it acts. Not after training went back: it passes the same steps
        twice, and a plan made the second time would act the first time where it is replayed."""
        plan = None
        if self.clock and not self.state.lowered:
            step, team = self.state.step, self.updater.team
            plan = team.broadcast(
                self.clock.plan(step) if team.rank == 0 and self.clock.due(step) else None
            )
        if plan is None:
            return None
        self.schedule.plans.append(Plan(*plan))
        return self.progress(passing=True, plan=self.plan)

    @property
    def plan(self) -> dict:
        """The options that make this training again, whatever the clock says."""
        return {
            "plans": ",".join(map(str, self.schedule.plans)),
            "batch_tokens": self.tokens,
            "micro_batches": self.micro_batches,
            "learning_rate": self.options.learning_rate,
            "threads": self.threads,
        }

    def batches(self) -> Iterator[tuple[int, np.ndarray]]:
        return self.examples.epochs(self.tokens, self.seed, self.state.step)

    def goes_on(self) -> bool:
        return self.state.step < self.schedule.steps and self.state.worse < self.options.patience

    def rate(self, step: int) -> float:
        return self.schedule.rate(step) * (LOWERED if self.state.lowered else 1.0)

    def update(self, rows: np.ndarray, heartbeat_due: bool) -> tuple[bool, bool]:
        """(whether a sign of life is due, whether batches had to be cut into smaller pieces)"""
        state = self.state
        loss, heartbeat_due = self.updater(rows, state.step, self.rate(state.step), heartbeat_due)
        self.losses.append(loss)
        self.recovery.unseen.append(rows)
        if self.device == "cpu" and time.perf_counter() - self.tidied > TIDIED:
            memory.give_back()
            self.tidied = time.perf_counter()
        self.state = replace(state, step=state.step + 1, micro_batches=self.updater.micro_batches)
        return heartbeat_due, self.state.micro_batches > state.micro_batches

    # A loss that is no number

    @torch.no_grad()
    def answers(self, rows: np.ndarray) -> bool:
        """Whether the weights as they are now have a loss on these rows (that of an update is the one before it), and products
        of two of them are numbers."""
        updater, step = self.updater, self.state.step
        updater.gather()
        few = np.array_split(rows, min(updater.micro_batches, len(rows)))[0]
        with evaluating(self.network), updater.reproducibly(step):
            losses, _ = updater.judged(updater.batch(few, step), self.network.losses)
        squares = (
            value.square().max()
            for value in self.network.state_dict().values()
            if value.is_floating_point()
        )
        sizes = torch.stack(
            [*squares, *(torch.as_tensor(loss.total, device=self.device) for loss in losses)]
        )
        return all(updater.team.all(bool(sizes.isfinite().all())))

    def gone_back(self, failure: Failure) -> Progress:
        """To the last good state, with a lower learning rate."""
        self.state, weights = self.recovery.lower(self.state.micro_batches)
        self.losses = []
        self.updater.load(weights)
        note = Message(
            "step {step}: the loss is not a finite number ({batch}); training went back to step {back}, with "
            "{times:g} times the learning rate.",
            step=failure.step,
            batch=failure.rows,
            back=self.state.step,
            times=LOWERED,
        )
        return self.progress(passing=True, warning=note)

    def given_up(self, failure: Failure) -> Progress:
        """It happened again: training ends with the last good state, if there is one."""
        good, weights = self.recovery.good
        usual = training_defaults(self.network, self.options.optimizer)["learning_rate"]
        rate = min(
            self.options.learning_rate * LOWERED / 3, usual
        )  # of one that is far too high a thirtieth is no advice
        if not good.step:
            raise Diverged(
                "step {step}: the loss is no longer a finite number ({batch}), also after the learning rate was "
                "lowered; look at these rows, or start anew with --set learning_rate={rate:.1g} and --set "
                "clip=1.",
                step=failure.step,
                batch=failure.rows,
                rate=rate,
            )
        self.state = good
        self.updater.load(weights)
        note = Message(
            "step {step}: the loss is no longer a finite number ({batch}), also after the learning rate was lowered; "
            "training ends with what it had learned by step {good}. Look at these rows, or start anew with --set "
            "learning_rate={rate:.1g} and --set clip=1.",
            step=failure.step,
            batch=failure.rows,
            good=good.step,
            rate=rate,
        )
        return self.progress(passing=True, resumable=False, warning=note)

    # Judging

    def evaluated(self) -> Progress:
        """The score of the weights, or of their mean; the best are kept, and all of this is a good state to go back to."""
        updater, score, began = self.updater, None, time.perf_counter()
        updater.gather()
        self.recovery.good = None  # before its room is needed
        state = updater.state()
        if self.judge:
            with updater.average.swapped_in():
                updater.gather()
                with evaluating(self.network), repeatable(updater.deterministic):
                    score = updater.team.broadcast(self.judge() if updater.team.rank == 0 else None)
            updater.gather()
            best = self.state.best
            if best is None or (score > best if self.higher_is_better else score < best):
                self.state, self.best = replace(self.state, best=score, worse=0), network_of(state)
            else:
                self.state = replace(self.state, worse=self.state.worse + 1)
        still = self.state.worse >= STILL or self.state.step >= self.schedule.steps // 2
        if still and self.options.averages and updater.average.mean is None:
            self.state = replace(self.state, worse=0)
            updater.average.begin()
            state = updater.state()
        self.recovery.good = self.state, state
        loss, self.losses = float(torch.stack(self.losses).mean()), []
        if self.clock:
            self.clock.scores(time.perf_counter() - began)
        stops = self.state.worse >= self.options.patience and self.state.step < self.schedule.steps
        note = (
            Message("stopped: {patience} scores without a new best", patience=self.options.patience)
            if stops
            else ""
        )
        return self.progress(note, loss, score)

    def finish(self) -> None:
        """The best weights into the network."""
        if self.best is None and self.updater.average.mean is not None:
            self.best = network_of(self.updater.state())
        if self.best is not None:
            self.updater.load({f"network.{name}": value for name, value in self.best.items()})
        self.updater.gather()
        self.network.eval()

    # What is told and kept

    def progress(
        self,
        note: str = "",
        loss: float = float("nan"),
        score: float | None = None,
        passing: bool = False,
        resumable: bool = True,
        **more,
    ) -> Progress:
        step, seconds = self.state.step, time.perf_counter() - self.began
        return Progress(
            step,
            self.schedule.steps,
            step / self.schedule.per_epoch,
            loss,
            self.rate(max(0, step - 1)),
            seconds,
            score,
            note,
            passing=passing,
            snapshot=self.snapshot if resumable else None,
            **more,
        )

    def planned(self) -> Progress:
        note = self.halved_note() if self.state.micro_batches > 1 else ""
        if self.fit < min(FEW, self.schedule.most):
            minutes, steps = self.clock.seconds / 60, self.fit
            note = Message(
                "{minutes:.2g} minutes are too few for this much: about {steps} updates of a network fit, and some "
                "hundred are wanted; give it --minutes {more} or so.",
                minutes=minutes,
                steps=steps,
                more=math.ceil(minutes * ENOUGH / max(1, steps)),
            )
        return replace(
            self.progress("planned", plan=self.plan, warning=note),
            snapshot=lambda: Snapshot({}, {}),
        )

    def halved_note(self) -> str:
        step = self.state.step
        since = Message("from step {step} on", step=step) if step else Message("from the beginning")
        return Message(
            "a batch does not fit into the memory of {device}: {since} each is read in {pieces} pieces, which add up "
            "to the same.",
            device=self.device,
            since=since,
            pieces=self.state.micro_batches,
        )

    def snapshot(self) -> Snapshot:
        good, weights = self.recovery.good
        arrays = {
            "losses": torch.stack(self.losses) if self.losses else torch.zeros(0)
        } | self.updater.state()
        arrays |= {f"best.{name}": value for name, value in (self.best or {}).items()}
        if good.step != self.state.step:
            arrays |= {f"good.{name}": value for name, value in weights.items()}
        facts = asdict(self.state) | {
            "good": asdict(good),
            "seconds": time.perf_counter() - self.began,
        }
        return Snapshot(
            {name: distributed.full_tensor(value).cpu().numpy() for name, value in arrays.items()},
            facts,
        )

    def restore(self, resume: Snapshot) -> None:
        """What a snapshot holds: where training stood, its last good state, its best weights, and the losses since the last
        report."""

        def tensors(part: dict) -> dict[str, Tensor]:
            return {name: torch.from_numpy(value).to(self.device) for name, value in part.items()}

        self.state, good = (
            TrainState.from_json(facts, self.schedule.steps)
            for facts in (resume.facts, take.value(resume.facts, "good"))
        )
        known = {
            name: value
            for name, value in resume.arrays.items()
            if name.startswith(("network.", "optimizer.", "mean."))
            or name in ("carried", "averaged")
        }
        for arrays, step in ((known, self.state.step), (resume.part("good"), good.step)):
            if arrays or arrays is known:
                self.updater.check(
                    Snapshot(arrays, {}),
                    next(self.examples.epochs(self.tokens, self.seed, step))[1],
                )
        if best := resume.part("best"):
            Snapshot(best, {}).like(**self.network.state_dict())
        take.array(resume.arrays, "losses", np.float32, None)
        state = tensors(known)
        self.updater.load(state)
        self.updater.micro_batches = self.state.micro_batches
        self.recovery.good = good, tensors(resume.part("good")) or state
        self.best = tensors(best) or None
        self.losses = list(tensors({"losses": resume.arrays["losses"]})["losses"])
        self.began -= take.number(resume.facts, "seconds")
        if self.clock:
            self.clock.goes_on(self.state.step, self.began)
