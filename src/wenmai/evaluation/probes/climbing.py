"""Growing lengths: a rung is trained at each, from the weights that it had learned at the one before, until it fails at one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from wenmai.catalog import RUNGS
from wenmai.data.inputs import Frames
from wenmai.evaluation.probes.exercises import Exercise
from wenmai.models.network import Network
from wenmai.options import accepted
from wenmai.training import loop

VALID, TEST, JUDGED = 512, 1000, 25  # rows to stop by, rows to judge by, and how often training looks at the first
POOL = 2_000_000  # steps of the rows that are drawn for one length; what a longer training needs beyond it is read again
FIRST = 1000  # rows by which numbers are brought to mean 0 and deviation 1


@dataclass(frozen=True)
class Recipe:
    updates: int
    rows: int
    learning_rate: float
    clip: float
    hidden: int
    width: int
    cell: str
    device: str


def options_of(rung: str, recipe: Recipe) -> dict:
    """Of the rung's builder; nothing is dropped, since no row is read often enough to be learned by heart."""
    given = {"hidden": recipe.hidden, "width": recipe.width, "cell": recipe.cell, "dropout": 0.0}
    return {name: value for name, value in given.items() if name in accepted(RUNGS[rung].build)}


def built(rung: str, exercise: Exercise, recipe: Recipe, steps: int, seed: int):
    """(task, kind of input, network) with first weights; the numbers are brought to one scale by rows of the first length."""
    inputs, targets = exercise.draw(np.random.default_rng((seed, steps, 0)), FIRST, steps)
    task = exercise.task()
    task.learn(targets)
    kind = Frames.learn(inputs)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = RUNGS[rung].build(kind, task.head(), **options_of(rung, recipe)).to(recipe.device)
    return task, kind, network


def climb(rung: str, exercise: Exercise, lengths: list[int], recipe: Recipe, seed: int) -> Iterator:
    """Yields (rung, stage, Progress); returns the rows of the table, and the network as it was after the last length that it
    remembered, with what it reads. Weights that know one length well may be a bad start for the next: where they fail, it is
    tried once more with first weights."""
    task, kind, network = built(rung, exercise, recipe, lengths[0], seed)
    first = weights_of(network)
    kept, found = first, []
    for steps in lengths:
        began, spent = time.perf_counter(), 0
        rescale(network, task, exercise, np.random.default_rng((seed, steps, 1)), steps)
        for start in (kept, first) if found else (first,):
            load(network, start)
            updates, score = yield from trained(rung, network, task, kind, exercise, steps, recipe, seed)
            spent += updates
            if exercise.passes(score):
                break
        found.append({"length": steps, "score": score, "passed": exercise.passes(score), "updates": spent,
                      "seconds": round(time.perf_counter() - began, 2)})  # fmt: skip
        if not found[-1]["passed"]:
            break
        kept = weights_of(network)
    if len(found) > 1:  # at the first length, what it came to is all there is
        load(network, kept)
    return found, network, task, kind


def weights_of(network: Network) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in network.named_parameters()}


def load(network: Network, weights: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, weight in network.named_parameters():
            weight.copy_(weights[name])


def rescale(network: Network, task, exercise: Exercise, generator, steps: int) -> None:
    """Sums grow with the length: the head answers in the scale of this one."""
    if not exercise.higher_is_better:
        task.mean = None
        task.learn(exercise.draw(generator, FIRST, steps)[1])
        for name in ("mean", "deviation"):
            getattr(network.head, name).copy_(torch.from_numpy(getattr(task, name)))


def trained(rung: str, network: Network, task, kind: Frames, exercise: Exercise, steps: int, recipe: Recipe,
            seed: int) -> Iterator:  # fmt: skip
    """One length, until it is surely remembered or the updates are spent; returns (updates made, score on other rows)."""
    generator = np.random.default_rng((seed, steps, 2))
    valid, test = (exercise.examples(kind, task, generator, rows, steps) for rows in (VALID, TEST))
    long = int(valid.inputs.lengths[0])
    rows = max(recipe.rows, min(recipe.updates * recipe.rows, POOL // long))
    train = exercise.examples(kind, task, generator, rows, steps)
    reached, updates = None, 0
    for progress in loop.train(network, train, lambda: exercise.score(network, valid, recipe.device), exercise.higher_is_better,
                               1 << 20, recipe.device, seed, steps=recipe.updates, batch_tokens=recipe.rows * long,
                               learning_rate=recipe.learning_rate, clip=recipe.clip, weight_decay=0.0, optimizer="adamw",
                               evaluations=min(JUDGED, recipe.updates), patience=recipe.updates,
                               precision="float32"):  # fmt: skip
        updates, reached = progress.step, progress.score
        yield rung, f"{exercise.name}, T={steps}", replace(progress, snapshot=None)
        if reached is not None and exercise.surely(reached):
            break
    network.eval()
    return updates, exercise.score(network, test, recipe.device)
