"""The schedule: how long training is, when it is judged, and the learning rate of every step. All of it follows from plans.

A plan says after which step it was made, how many steps there are in all, and how often the rest is judged. The clock makes
plans and has no other part: the same plans give the same weights. The first comes of a few steps that are timed and undone; it is
made anew after the first score, and when a quarter, half, three quarters and all of the time are over, or of the way, whichever
is first: a GPU is slow before it is fast, and a machine may get other work to do."""

import math
import time
from itertools import pairwise
from typing import NamedTuple

from wenmai.data.examples.batches import ExampleSource
from wenmai.data.files.columns import short
from wenmai.errors import Mistake
from wenmai.options import MANY
from wenmai.training.options import TrainingOptions
from wenmai.training.updater import Updater

EPOCHS = 15  # where nobody says how long
MOST_EPOCHS = 60  # that minutes are spent on
MOMENTS = (0.25, 0.5, 0.75, 1.0)  # of the time or the way, at which it is planned anew
FEW = 30  # updates: below that, no plan ends a training before its time is over
FULL = 3600  # updates, from which on the usual learning rate is right
SCORING = 4  # a fourth of the time goes into scores, at the most


class Plan(NamedTuple):
    at: int  # updates made before
    steps: int  # updates in all
    evaluations: int  # from here to the end

    def __str__(self) -> str:
        return ":".join(map(str, self))


def plans_from(text: str) -> list[Plan]:
    """ "0:120:20,31:400:15", as run.json has it: plan after plan, each as at:steps:evaluations."""
    try:
        plans = [Plan(*map(int, plan.split(":"))) for plan in text.split(",")]
        good = plans[0].at == 0 and all(
            plan.at < plan.steps < MANY and 0 < plan.evaluations < MANY for plan in plans
        )
        good = good and all(one.at < other.at < one.steps for one, other in pairwise(plans))
    except (ValueError, TypeError, AttributeError):  # it may be no text
        good = False
    if not good:
        raise Mistake(
            "plans={value}: expected plan after plan as at:steps:evaluations, as in 0:120:20,31:400:15; a run.json "
            'has those of its training under "plan".',
            value=short(str(text)),
        )
    return plans


class Schedule:
    def __init__(self, options: TrainingOptions, examples: ExampleSource, tokens: int):
        """`tokens`: of a batch"""
        self.options, self.per_epoch = options, max(1, round(examples.lengths.sum() / tokens))
        steps = options.steps or self.per_epoch * (options.epochs or EPOCHS)
        self.plans = (
            plans_from(options.plans) if options.plans else [Plan(0, steps, options.evaluations)]
        )

    @property
    def steps(self) -> int:
        return self.plans[-1].steps

    @property
    def most(self) -> int:
        """Steps, whatever the time."""
        return self.options.steps or self.per_epoch * (self.options.epochs or MOST_EPOCHS)

    def at(self, step: int) -> tuple[Plan, float]:
        """The plan that update number `step` (from 0) is made by, and how far on the way from 0 to 1 it is. Every plan begins
        where the one before it had come to, so that the rate never jumps."""
        way, current = 0.0, self.plans[0]
        for plan in self.plans[1:]:
            if step < plan.at:
                break
            way += (1 - way) * (plan.at - current.at) / (current.steps - current.at)
            current = plan
        return current, way + (1 - way) * (step - current.at) / (current.steps - current.at)

    def rate(self, step: int) -> float:
        """Up along a line over the first `warmup` of the way, then down half a cosine to 0, unless weights are averaged."""
        plan, way = self.at(step)
        peak, rising = self.options.learning_rate, max(1, int(plan.steps * self.options.warmup))
        position = step if plan is self.plans[0] else way * plan.steps
        if position < rising:
            return peak * min(1.0, (position + 1) / rising)
        if self.options.averages:
            return peak
        return (
            peak * 0.5 * (1 + math.cos(math.pi * (position - rising) / max(1, plan.steps - rising)))
        )

    def evaluates_after(self, step: int) -> bool:
        """After so many updates."""
        plan, _ = self.at(step - 1)
        return (step - plan.at) % max(
            1, (plan.steps - plan.at) // plan.evaluations
        ) == 0 or step == plan.steps


class Clock:
    """Makes plans of minutes: of how long steps and scores took since the plan before, and of what is left."""

    def __init__(self, schedule: Schedule, minutes: float, began: float):
        self.schedule, self.seconds, self.began, self.scoring = schedule, minutes * 60, began, None
        self.moments = [0.0, *MOMENTS]  # to come; the first is the first score
        self.starts(0)

    def starts(self, step: int) -> None:
        """To time, at this step."""
        self.step, self.since, self.scored = step, time.perf_counter(), 0.0

    def goes_on(self, step: int, began: float) -> None:
        """After a stop, with the moments that are still to come."""
        self.began = began
        passed = max((time.perf_counter() - began) / self.seconds, self.schedule.at(step)[1])
        self.moments = [
            moment for moment in self.moments if moment >= passed or moment == MOMENTS[-1]
        ]
        self.starts(step)

    def scores(self, seconds: float) -> None:
        self.scored += seconds
        self.scoring = max(seconds, (self.scoring or seconds) / 2)

    def left(self) -> float:
        """Seconds."""
        return max(0.0, self.began + self.seconds - time.perf_counter())

    def due(self, step: int) -> bool:
        """Whether a moment to plan anew has come, which is then over."""
        if step <= max(self.step, self.schedule.plans[-1].at) or step >= self.schedule.steps:
            return False
        passed = max((time.perf_counter() - self.began) / self.seconds, self.schedule.at(step)[1])
        over = [
            moment
            for moment in self.moments
            if passed >= moment and (moment or self.scoring is not None)
        ]
        self.moments = [moment for moment in self.moments if moment not in over]
        return bool(over)

    def plan(self, step: int) -> Plan | None:
        """As many steps as fit into what is left, by those since the plan before; None where all that are wanted still do."""
        each = max(1e-9, time.perf_counter() - self.since - self.scored) / (step - self.step)
        _, way = self.schedule.at(step)
        wanted = max(1, math.ceil(self.schedule.options.evaluations * (1 - way)))
        plan = self.affordable(step, each, wanted)
        self.starts(step)
        return None if plan == Plan(step, self.schedule.steps, wanted) else plan

    def affordable(self, step: int, each: float, evaluations: int) -> Plan:
        """`each`: seconds of a step"""
        left = self.left()
        if self.scoring:
            evaluations = max(1, min(evaluations, int(left / SCORING / self.scoring)))
        fit = int((left - evaluations * (self.scoring or 0.0)) / each)
        least = (
            FEW if left else 0
        )  # of so few steps that there are little is known, unless the time is over
        return Plan(
            step, max(step + 1, min(max(least, step + fit), self.schedule.most)), evaluations
        )


def raised(steps: int) -> float:
    """How many times its usual learning rate a network learns with where it has few updates: up to twice."""
    return min(2.0, max(1.0, math.sqrt(FULL / steps)))


def seconds_a_step(updater: Updater, batches, most: float) -> float:
    """Of real batches, of which the first fills caches: three at the least, and 20 at the most, for so many seconds."""
    updater(next(batches)[1], 0, 0.0)
    start, count, late = time.perf_counter(), 0, False
    while count < 3 or (count < 20 and not late):
        loss, late = updater(next(batches)[1], count, 0.0, time.perf_counter() - start >= most)
        float(loss)
        count += 1
    return (time.perf_counter() - start) / count
