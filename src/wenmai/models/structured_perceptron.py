"""The structured perceptron (Collins 2002): the perceptron whose answer is a whole row of tags.

    score of a row   s(x, y) = Σ_t W[y_t]·x_t + A[y_{t−1}, y_t]         answer: the best y by Viterbi
    wrong answer a:  W[y_t] += x_t, W[a_t] −= x_t where a_t ≠ y_t;  A[y_{t−1}, y_t] += 1, A[a_{t−1}, a_t] −= 1

Averaged as the plain one is. Transitions that the tags' scheme forbids are never answered."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.storage import saved as take
from wenmai.data.storage.caches import njit
from wenmai.layers.crf import NEVER, viterbi
from wenmai.models.linear import Scores
from wenmai.training.passes import Passes, epochs_in
from wenmai.training.progress import Progress, Snapshot

STATE = ("weights", "offsets", "sums", "sums_offsets", "between", "sums_between")


class StructuredPerceptron:
    has_probabilities, per_step = False, True

    def __init__(self, z: Scores, head, bias: bool, averaged: bool):
        self.z, self.bias, self.averaged, size = z, bias, averaged, head.classes
        self.explain = z.explain  # transitions aside
        allowed = head.allowed or (
            np.ones(size, bool),
            np.ones((size, size), bool),
            np.ones(size, bool),
        )
        self.forbidden = tuple(np.where(may, 0.0, NEVER).astype(np.float32) for may in allowed)
        self.between = np.zeros((size, size), np.float32)  # A

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
        rows, tags, count = self.z.learn_features(train.inputs), train.targets, len(train)
        begin, never, end = self.forbidden

        def one_pass(order, step=0) -> int:
            return correct(
                rows.starts,
                rows.columns,
                rows.values,
                tags.flat,
                tags.offsets,
                order,
                weights,
                offsets,
                between,
                sums,
                sums_offsets,
                sums_between,
                begin,
                never,
                end,
                step,
                self.bias,
            )

        (weights, offsets), (sums, sums_offsets) = (
            self.z.zeros(rows.width),
            self.z.zeros(rows.width),
        )
        between, sums_between = np.zeros_like(never), np.zeros_like(never)
        epochs = epochs_in(minutes, epochs, count, one_pass)
        (weights, offsets), (sums, sums_offsets) = (
            self.z.zeros(rows.width),
            self.z.zeros(rows.width),
        )
        between, sums_between = np.zeros_like(never), np.zeros_like(never)
        passes = Passes(epochs, count, seed, began)

        def answer_with(done: int) -> None:
            share = np.float32(
                1 / done if self.averaged else 0
            )  # the mean of W after every step, from W and Σ step · change
            self.z.weights, self.z.offsets = weights - sums * share, offsets - sums_offsets * share
            self.between = between - sums_between * share

        if resume and resume.arrays:
            passes.resume(resume)
            known = dict(zip(STATE, (weights, offsets, sums, sums_offsets, between, sums_between)))
            weights, offsets, sums, sums_offsets, between, sums_between = resume.like(**known)
            answer_with(passes.done * count)
        yield from passes.planned()
        for epoch, order in passes:
            wrong = one_pass(order, epoch * count)
            answer_with((epoch + 1) * count)
            arrays = dict(zip(STATE, (weights, offsets, sums, sums_offsets, between, sums_between)))
            yield passes.progress(
                wrong / max(1, len(tags.flat)), 1.0, judge() if judge else None, arrays, {}
            )

    def outputs(self, inputs: Sequences) -> Sequences:
        """What every tag scores at every place (ΣT, C), transitions aside."""
        return Sequences(self.z(inputs), inputs.offsets)

    def transitions(self) -> tuple[np.ndarray, ...]:
        begin, never, end = self.forbidden
        return begin, self.between + never, end

    def state(self) -> dict[str, np.ndarray]:
        return self.z.state() | {"between": self.between}

    def load(self, state: dict[str, np.ndarray]) -> None:
        self.z.load(state)
        self.between = take.array(state, "between", np.float32, *self.between.shape)

    def parameters_count(self) -> int:
        return self.z.parameters_count() + self.between.size


@njit(cache=True)
def correct(
    starts,
    columns,
    values,
    tags,
    bounds,
    order,
    weights,
    offsets,
    between,
    sums,
    sums_offsets,
    sums_between,
    begin,
    never,
    end,
    step,
    bias,
):
    """One pass; returns how many tags were wrong."""
    classes, wrong = weights.shape[1], 0
    one = np.zeros(2, np.int64)
    for row in order:
        first, size = bounds[row], bounds[row + 1] - bounds[row]
        if size > 0:
            z = np.empty((size, classes), np.float32)
            for t in range(size):
                z[t] = offsets
                for n in range(starts[first + t], starts[first + t + 1]):
                    for c in range(classes):
                        z[t, c] += values[n] * weights[columns[n], c]
            answer = np.zeros(size, np.int64)
            one[1] = size
            viterbi(z, one, begin, between + never, end, answer)
            for t in range(size):
                right, answered = tags[first + t], answer[t]
                if right != answered:
                    wrong += 1
                    for n in range(starts[first + t], starts[first + t + 1]):
                        j, x = columns[n], values[n]
                        weights[j, right] += x
                        weights[j, answered] -= x
                        sums[j, right] += step * x
                        sums[j, answered] -= step * x
                    if bias:
                        offsets[right] += 1
                        offsets[answered] -= 1
                        sums_offsets[right] += step
                        sums_offsets[answered] -= step
                if t and (right != answered or tags[first + t - 1] != answer[t - 1]):
                    between[tags[first + t - 1], right] += 1
                    between[answer[t - 1], answered] -= 1
                    sums_between[tags[first + t - 1], right] += step
                    sums_between[answer[t - 1], answered] -= step
        step += 1
    return wrong
