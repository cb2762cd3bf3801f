"""The schedule: how long training is, when it is judged, and the learning rate of every step.

Minutes are turned into steps once, after a timed warm-up whose effect is undone; from then on the clock plays no part."""

import math
import time
from collections.abc import Callable

from wenmai.data.examples.batches import ExampleSource
from wenmai.training.options import TrainingOptions
from wenmai.training.updater import Updater, evaluating

EPOCHS = 15  # where nobody says how long
MOST_EPOCHS = 60  # that minutes are spent on


class Schedule:
    def __init__(self, options: TrainingOptions, examples: ExampleSource, tokens: int):
        """`tokens`: of a batch"""
        self.options, self.per_epoch = options, max(1, round(examples.lengths.sum() / tokens))
        self.steps = options.steps or self.per_epoch * (options.epochs or EPOCHS)
        self.evaluations = options.evaluations

    def plan(self, minutes: float, updater: Updater, batches, judge: Callable[[], float] | None) -> None:
        """As many steps as fit into the minutes; what was learned while they were measured is forgotten."""
        first = updater.state()
        fit, self.evaluations = updater.team.broadcast(affordable(minutes, updater, batches, judge, self.evaluations))
        updater.load(first)
        self.steps = max(1, min(fit, self.per_epoch * (self.options.epochs or MOST_EPOCHS)))

    def rate(self, step: int) -> float:
        """Up along a line over the first `warmup` of the steps, then down half a cosine to 0, unless weights are averaged."""
        peak, rising = self.options.learning_rate, max(1, int(self.steps * self.options.warmup))
        if step < rising:
            return peak * (step + 1) / rising
        if self.options.averages:
            return peak
        return peak * 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, self.steps - rising)))

    def evaluates_after(self, step: int) -> bool:
        return step % max(1, self.steps // self.evaluations) == 0 or step == self.steps


def affordable(minutes: float, updater: Updater, batches, judge, evaluations: int) -> tuple[int, int]:
    """How many steps and evaluations fit: measured on real batches, of which the first two fill caches, for a twentieth of
    the time. Where scoring is slow, it takes a quarter of the time at the most."""
    began = time.perf_counter()
    for warming in range(2):
        updater(next(batches)[1], warming, 0.0)
    start, count, late = time.perf_counter(), 0, False
    while count < 5 or (count < 50 and not late):
        loss, late = updater(next(batches)[1], count, 0.0, time.perf_counter() - began >= minutes * 3)
        float(loss)
        count += 1
    each = (time.perf_counter() - start) / count
    start = time.perf_counter()
    if judge and updater.team.rank == 0:
        with evaluating(updater.network):
            judge()
    scoring = time.perf_counter() - start
    left = minutes * 60 - (time.perf_counter() - began)
    evaluations = max(1, min(evaluations, int(left / 4 / scoring))) if judge else evaluations
    return int((left - evaluations * scoring) / each), evaluations
