"""The perceptron (Rosenblatt 1958): z = Wx + b, the answer is the highest z, and only mistakes teach.

    wrong answer a for the class c:   W_c ← W_c + x,  W_a ← W_a − x

Averaged (Freund & Schapire 1999), it answers with the mean of all the weights it ever had, which forgets its last whims."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from wenmai.data.examples.rows import Examples
from wenmai.data.storage.caches import njit
from wenmai.models.linear import Documents, Longest, Scores, Weighting, Window
from wenmai.models.structured_perceptron import StructuredPerceptron
from wenmai.training.passes import Passes, epochs_in
from wenmai.training.progress import Progress, Snapshot

STATE = ("weights", "offsets", "sums", "sums_offsets")


def perceptron(
    inputs,
    head,
    *,
    ngrams: Longest = None,
    weighting: Weighting = "tf-idf",
    min_documents: Documents = 1,
    window: Window = 2,
    bias: bool = True,
    averaged: bool = True,
):
    """`window`: for tags, so many tokens on either side are read."""
    z = Scores(inputs, head, head.classes, ngrams, weighting, min_documents, window)
    return (
        StructuredPerceptron(z, head, bias, averaged)
        if head.per_step
        else Perceptron(z, head, bias, averaged)
    )


class Perceptron:
    has_probabilities = per_step = False

    def __init__(self, z: Scores, head, bias: bool, averaged: bool):
        self.importance = np.array(
            head.weights or [1.0] * head.classes, np.float32
        )  # of every class, where balanced
        self.z, self.bias, self.averaged = z, bias, averaged
        self.state, self.load, self.parameters_count, self.explain = (
            z.state,
            z.load,
            z.parameters_count,
            z.explain,
        )

    def learn(
        self,
        train: Examples,
        judge: Callable[[], float] | None,
        seed: int,
        minutes: float | None = None,
        resume: Snapshot | None = None,
        where: Callable[[int], str] = str,
        *,
        epochs: int = 10,
    ) -> Iterator[Progress]:
        began = time.perf_counter()
        rows, targets = (
            self.z.learn_features(train.inputs),
            train.targets.astype(np.int64, copy=False),
        )
        count = len(rows)

        def one_pass(order, step=0) -> int:
            wrong = 0
            for part, at, which in rows.over(order):
                wrong += correct(
                    part.starts,
                    part.columns,
                    part.values,
                    targets[which],
                    at,
                    weights,
                    offsets,
                    sums,
                    sums_offsets,
                    step,
                    self.importance,
                    self.bias,
                )
                step += len(at)
            return wrong

        (weights, offsets), (sums, sums_offsets) = (
            self.z.zeros(rows.width),
            self.z.zeros(rows.width),
        )
        epochs = epochs_in(minutes, epochs, count, one_pass)
        (weights, offsets), (sums, sums_offsets) = (
            self.z.zeros(rows.width),
            self.z.zeros(rows.width),
        )
        passes = Passes(epochs, count, seed, began)

        def answer_with(done: int) -> None:
            if (
                self.averaged
            ):  # the mean of W after every step, from W and the sum of (step · change)
                self.z.weights, self.z.offsets = (
                    weights - sums / done,
                    offsets - sums_offsets / done,
                )
            else:
                self.z.weights, self.z.offsets = weights, offsets

        if resume and resume.arrays:
            passes.resume(resume)
            weights, offsets, sums, sums_offsets = resume.like(
                **dict(zip(STATE, (weights, offsets, sums, sums_offsets)))
            )
            answer_with(passes.done * count)
        yield from passes.planned()
        for epoch, order in passes:
            wrong = one_pass(order, epoch * count)
            answer_with((epoch + 1) * count)
            arrays = dict(zip(STATE, (weights, offsets, sums, sums_offsets)))
            yield passes.progress(wrong / count, 1.0, judge() if judge else None, arrays, {})

    def outputs(self, inputs) -> np.ndarray:
        """The scores z (N, C); they are no probabilities."""
        return self.z(inputs)


@njit(cache=True, nogil=True)
def correct(
    starts,
    columns,
    values,
    targets,
    order,
    weights,
    offsets,
    sums,
    sums_offsets,
    step,
    importance,
    bias,
):
    """One pass of the perceptron: where the answer is wrong, add x to the right class and take it from the answer."""
    classes, wrong = weights.shape[1], 0
    z = np.empty(classes, np.float32)
    for row in order:
        z[:] = offsets
        for k in range(starts[row], starts[row + 1]):
            for c in range(classes):
                z[c] += values[k] * weights[columns[k], c]
        right, answer = targets[row], z.argmax()
        if answer != right:
            wrong += 1
            far = importance[right]
            for k in range(starts[row], starts[row + 1]):
                move = far * values[k]
                weights[columns[k], right] += move
                weights[columns[k], answer] -= move
                sums[columns[k], right] += step * move
                sums[columns[k], answer] -= step * move
            if bias:
                offsets[right] += far
                offsets[answer] -= far
                sums_offsets[right] += step * far
                sums_offsets[answer] -= step * far
        step += 1
    return wrong
