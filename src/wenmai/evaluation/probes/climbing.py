"""Growing lengths: a rung is trained at each, from first weights, until it fails at one.

Going on from the weights of the length before was tried and left: gru needed more updates so, and attention, which had learned to
look so many steps back, did not come off it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from wenmai.catalog import RUNGS
from wenmai.data.inputs.kinds import Frames
from wenmai.evaluation.probes.exercises import Exercise
from wenmai.models.network import Network
from wenmai.options import accepted
from wenmai.training import loop
from wenmai.training.options import TrainingOptions
from wenmai.training.progress import Diverged

VALID, TEST, JUDGED = (
    512,
    1000,
    25,
)  # rows to stop by, rows to judge by, and how often training looks at the first
POOL = 6_000_000  # steps of the rows that are drawn for one length; what a longer training needs beyond it is read again
FIRST = 1000  # rows by which numbers are brought to mean 0 and deviation 1


@dataclass(frozen=True)
class Recipe:
    updates: int
    rows: int
    learning_rate: float  # of the recurrent rungs
    attention_rate: float  # a higher one makes it stare at a wrong place: of 3e-3 it never learned copy with T = 2 and 10
    transformer_rate: float
    clip: float
    hidden: int
    width: int
    cell: str
    device: str


def built(rung: str, exercise: Exercise, recipe: Recipe, steps: int, seed: int):
    """(task, kind of input, network) with first weights, for rows of this length."""
    inputs, targets = exercise.draw(np.random.default_rng((seed, steps, 0)), FIRST, steps)
    task = exercise.task()
    task.learn(targets)
    kind = Frames.learn(inputs)
    sizes = {"hidden": recipe.hidden, "width": recipe.width, "cell": recipe.cell}
    options = {name: value for name, value in sizes.items() if name in accepted(RUNGS[rung].build)}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # nothing is dropped, since no row is read often enough to be learned by heart
        network = RUNGS[rung].build(kind, task.head(kind), **options, dropout=0.0).to(recipe.device)
    return task, kind, network


def climb(rung: str, exercise: Exercise, lengths: list[int], recipe: Recipe, seed: int) -> Iterator:
    """Yields (rung, stage, Progress); returns the rows of the table, and what was trained at the last length that it remembered,
    or at the first: task, kind of input, network."""
    attempts, kept = [], None
    for steps in lengths:
        began = time.perf_counter()
        task, kind, network = built(rung, exercise, recipe, steps, seed)
        updates, score = yield from trained(
            rung, network, task, kind, exercise, steps, recipe, seed
        )
        passed = score is not None and exercise.passes(score)
        attempts.append(
            {
                "length": steps,
                "score": score,
                "passed": passed,
                "updates": updates,
                "seconds": round(time.perf_counter() - began, 2),
            }
        )
        if score is None:
            task, kind, network = built(rung, exercise, recipe, steps, seed)
        kept = (task, kind, network) if passed or kept is None else kept
        if not passed:
            break
    return attempts, kept


def trained(
    rung: str,
    network: Network,
    task,
    kind: Frames,
    exercise: Exercise,
    steps: int,
    recipe: Recipe,
    seed: int,
) -> Iterator:
    """One length, until it is surely remembered or the updates are spent; returns (updates made, score on other rows, None where
    its weights have become no numbers)."""
    generator = np.random.default_rng((seed, steps, 2))
    valid, test = (exercise.examples(kind, task, generator, rows, steps) for rows in (VALID, TEST))
    long = int(valid.inputs.lengths[0])
    rows = max(recipe.rows, min(recipe.updates * recipe.rows, POOL // long))
    train = exercise.examples(kind, task, generator, rows, steps)
    rate = {"attention": recipe.attention_rate, "transformer": recipe.transformer_rate}.get(
        rung, recipe.learning_rate
    )
    reached, updates = None, 0
    options = TrainingOptions(
        steps=recipe.updates,
        batch_tokens=recipe.rows * long,
        learning_rate=rate,
        clip=recipe.clip,
        weight_decay=0.0,
        optimizer="adamw",
        evaluations=min(JUDGED, recipe.updates),
        patience=recipe.updates,
        precision="float32",
    )
    learning = loop.train(
        network,
        train,
        lambda: exercise.score(network, valid, recipe.device),
        exercise.higher_is_better,
        recipe.device,
        seed,
        options=options,
    )
    try:
        for progress in learning:
            updates, reached = progress.step, progress.score
            yield rung, f"{exercise.name}, T={steps}", replace(progress, snapshot=None)
            if reached is not None and exercise.surely(reached):
                break
    except Diverged:  # it has learned nothing, which the other rungs need not pay for
        return updates, None
    network.eval()
    return updates, exercise.score(network, test, recipe.device)
