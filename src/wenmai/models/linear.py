"""The linear rungs: one weight for every feature and output, z = Wx + b. They differ in what they make of z.

    perceptron  p = step(z)                        Rosenblatt 1958; averaged: Freund & Schapire 1999
    logistic    p = L / (1 + e^(−k(z − z₀)))       Verhulst 1838, Cox 1958; one output against the rest
    softmax     p_c = e^(z_c) / Σ_j e^(z_j)        Bridle 1990

and all learn by one rule: with the error e = p − y, move every weight against it, W ← W − η·e·xᵀ. For the perceptron e
is 0 unless the answer is wrong; for the other two it is the gradient of the cross-entropy. The step of feature j is
η / √(Σ e²x_j²), smaller the more often the feature was seen (AdaGrad, Duchi et al. 2011, one sum a feature), η falls
to 0 along a line, and W shrinks by the factor 1 − η·decay/N at every step (a pull towards 0, as L2 regularisation).

Features are sparse: n-grams of a text, or the numbers that are not 0; an update touches only the rows of W in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np
from numba import njit

from wenmai.data.examples import Examples
from wenmai.data.features import Ngrams, Rows
from wenmai.training.progress import Progress

STEP, LOGISTIC, SOFTMAX = range(3)


def perceptron(inputs, head, *, ngrams: int | None = None, weighting: Literal["counts", "tf-idf"] = "tf-idf",
               min_documents: int = 1, bias: bool = True, averaged: bool = True):  # fmt: skip
    """Moves its weights only when it is wrong; `averaged` answers with the mean of all the weights it ever had."""
    return Linear(inputs, head.classes, STEP, ngrams, weighting, min_documents, bias, averaged)


def logistic(inputs, head, *, ngrams: int | None = None, weighting: Literal["counts", "tf-idf"] = "tf-idf",
             min_documents: int = 1, bias: bool = True, k: float = 1.0, z0: float = 0.0):  # fmt: skip
    """The logistic curve with L = 1; steepness k and midpoint z₀ may be given. Two classes need one output."""
    columns = 1 if head.classes == 2 else head.classes
    return Linear(inputs, columns, LOGISTIC, ngrams, weighting, min_documents, bias, k=k, z0=z0)


def softmax(inputs, head, *, ngrams: int | None = None, weighting: Literal["counts", "tf-idf"] = "tf-idf",
            min_documents: int = 1, bias: bool = True):  # fmt: skip
    """A probability for every class, all learned together."""
    return Linear(inputs, head.classes, SOFTMAX, ngrams, weighting, min_documents, bias)


class Linear:
    def __init__(self, inputs, columns, output, ngrams, weighting, min_documents, bias, averaged=False, k=1.0, z0=0.0):
        self.inputs, self.columns, self.output, self.min_documents = inputs, columns, output, min_documents
        self.weighting, self.bias, self.averaged, self.k, self.z0 = weighting, bias, averaged, k, z0
        # Pairs say much about words; of characters it takes three to see a syllable, or a Chinese word and its neighbour.
        self.longest = ngrams or {"words": 2, "characters": 3, "chinese": 3}[inputs.unit]
        self.features: Ngrams | None = None
        self.weights = self.offsets = None
        self.has_probabilities = output != STEP

    def learn(
        self,
        train: Examples,
        judge: Callable[[], float] | None,
        seed: int,
        minutes: float | None = None,
        *,
        epochs: int = 10,
        learning_rate: float = 0.2,
        decay: float = 0.5,
    ) -> Iterator[Progress]:
        began = time.perf_counter()
        rows = self.rows(train.inputs, learning=True)
        count, targets = len(rows), train.targets.astype(np.int64)
        decay /= count  # a pull of so much in one pass, whatever the number of rows
        if minutes:  # a few rows, learned and thrown away, are the clock: minutes become epochs here, once
            self.forget(rows.width)
            pilot = np.arange(min(count, 1000))
            self.one_pass(rows, targets, pilot[:1], 0, 1, learning_rate, decay)  # compiles
            start = time.perf_counter()
            self.one_pass(rows, targets, pilot, 0, count, learning_rate, decay)
            epochs = max(1, min(epochs, int(minutes * 60 * len(pilot) / (time.perf_counter() - start) / count)))
        self.forget(rows.width)
        generator = np.random.default_rng(seed)
        for epoch in range(epochs):
            order, at = generator.permutation(count), epoch * count
            loss = self.one_pass(rows, targets, order, at, epochs * count, learning_rate, decay) / count
            if self.averaged:  # the mean of W after every step, from W and the sum of (step · change)
                self.weights = self.last - self.sums / (at + count)
                self.offsets = self.last_offsets - self.sums_offsets / (at + count)
            rate = learning_rate * (1 - (epoch + 1) / epochs)
            seconds, score = time.perf_counter() - began, judge() if judge else None
            yield Progress(at + count, epochs * count, epoch + 1, loss, rate, seconds, score)

    def forget(self, features: int) -> None:
        self.weights = self.last = np.zeros((features, self.columns), np.float32)  # (F, C)
        self.offsets = self.last_offsets = np.zeros(self.columns, np.float32)  # (C,)
        self.seen = np.zeros(features + 1, np.float32)  # Σ e²x² of every feature, and of the bias
        self.sums, self.sums_offsets = np.zeros_like(self.last), np.zeros_like(self.offsets)  # for the average

    def one_pass(self, rows: Rows, targets, order, step, steps, rate, decay) -> float:
        """Learn from the rows in this order; the summed loss (of the perceptron: the number of mistakes)."""
        if self.output == STEP:
            return correct(rows.starts, rows.columns, rows.values, targets, order, self.last, self.last_offsets,
                           self.sums, self.sums_offsets, step, self.bias)  # fmt: skip
        return descend(rows.starts, rows.columns, rows.values, targets, order, self.last, self.last_offsets,
                       self.seen, rate, steps, step, decay, self.bias, self.output, self.k, self.z0)  # fmt: skip

    def rows(self, inputs, learning: bool = False) -> Rows:
        if isinstance(inputs, np.ndarray):
            return Rows.of_dense(self.inputs.flatten(inputs))
        if learning:
            edges = self.inputs.unit != "words"
            self.features = Ngrams.learn(inputs, self.longest, self.weighting, edges, self.min_documents)
        return self.features.rows(inputs)

    def outputs(self, inputs) -> np.ndarray:
        """Log-probabilities (N, C); for the perceptron, which has none, the scores z."""
        rows = self.rows(inputs)
        z = scores(rows.starts, rows.columns, rows.values, self.weights, self.offsets)  # (N, C)
        if self.output == STEP:
            return z
        if self.output == SOFTMAX:
            z = z - z.max(1, keepdims=True)
            return z - np.log(np.exp(z).sum(1, keepdims=True))
        p = 1 / (1 + np.exp(-self.k * (z - self.z0)))
        p = np.concatenate([1 - p, p], 1) if self.columns == 1 else p / np.maximum(p.sum(1, keepdims=True), 1e-30)
        return np.log(np.maximum(p, 1e-30))

    def state(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights, "offsets": self.offsets} | (self.features.state() if self.features else {})

    def load(self, state: dict[str, np.ndarray]) -> None:
        self.weights, self.offsets = state["weights"], state["offsets"]
        if "idf" in state:
            edges = self.inputs.unit != "words"
            self.features = Ngrams.from_state(state, self.longest, self.weighting, edges)

    def parameters_count(self) -> int:
        return self.weights.size + self.offsets.size


@njit(cache=True, fastmath=True)
def scores(starts, columns, values, weights, offsets):
    z = np.empty((len(starts) - 1, weights.shape[1]), np.float32)
    for row in range(len(z)):
        z[row] = offsets
        for k in range(starts[row], starts[row + 1]):
            for c in range(weights.shape[1]):
                z[row, c] += values[k] * weights[columns[k], c]
    return z


@njit(cache=True)
def correct(starts, columns, values, targets, order, weights, offsets, sums, sums_offsets, step, bias):
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
            for k in range(starts[row], starts[row + 1]):
                weights[columns[k], right] += values[k]
                weights[columns[k], answer] -= values[k]
                sums[columns[k], right] += step * values[k]
                sums[columns[k], answer] -= step * values[k]
            if bias:
                offsets[right] += 1
                offsets[answer] -= 1
                sums_offsets[right] += step
                sums_offsets[answer] -= step
        step += 1
    return wrong


@njit(cache=True, fastmath=True)
def descend(starts, columns, values, targets, order, weights, offsets, seen, rate, steps, step, decay, bias, output, k, z0):
    """One pass of W ← W − η·e·xᵀ; returns the summed cross-entropy."""
    classes, features = weights.shape[1], weights.shape[0]
    error = np.empty(classes, np.float32)
    loss, shrink = 0.0, 1.0  # W is kept as shrink · weights, so that decay touches one number, not all of W
    for row in order:
        eta = rate * (1 - step / steps)
        error[:] = offsets
        for n in range(starts[row], starts[row + 1]):
            x = np.float32(values[n] * shrink)
            for c in range(classes):
                error[c] += x * weights[columns[n], c]  # z, until the next lines make it p − y
        right = targets[row]
        if output == SOFTMAX:
            highest, total = error.max(), np.float32(0)
            for c in range(classes):
                error[c] = np.exp(error[c] - highest)
                total += error[c]
            for c in range(classes):
                error[c] /= total
            loss -= np.log(max(error[right], 1e-30))
            error[right] -= 1
        else:
            for c in range(classes):
                p = 1 / (1 + np.exp(-k * (error[c] - z0)))
                y = right if classes == 1 else right == c
                loss -= np.log(max(p if y else 1 - p, 1e-30))
                error[c] = k * (p - y)
        square = np.float32(0)
        for c in range(classes):
            square += error[c] * error[c]
        square /= classes
        shrink *= 1 - eta * decay
        for n in range(starts[row], starts[row + 1]):
            j, x = columns[n], values[n]
            seen[j] += square * x * x
            move = np.float32(eta * x / (np.sqrt(seen[j] + 1e-8) * shrink))
            for c in range(classes):
                weights[j, c] -= move * error[c]
        if bias:
            seen[features] += square
            move = np.float32(eta / np.sqrt(seen[features] + 1e-8))
            for c in range(classes):
                offsets[c] -= move * error[c]
        if shrink < 1e-3:
            weights *= np.float32(shrink)
            shrink = 1.0
        step += 1
    weights *= np.float32(shrink)
    return loss
