"""The linear rungs: one weight for every feature and output, z = Wx + b, and a curve that makes probabilities of z.

    logistic    p = L / (1 + e^(−k(z − z₀)))       Verhulst 1838, Cox 1958; one output against the rest, L = 1
    softmax     p_c = e^(z_c) / Σ_j e^(z_j)        Bridle 1990

Both learn by one rule: with the error e = p − y, the gradient of the cross-entropy, W ← W − η·e·xᵀ. The step of feature
j is η / √(Σ e²x_j²), smaller the more often the feature was seen (AdaGrad, Duchi et al. 2011, one sum a feature), η
falls to 0 along a line, and W shrinks by the factor 1 − η·decay/N at every step (a pull towards 0, as L2 regularisation).

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

LOGISTIC, SOFTMAX = range(2)
Weighting = Literal["counts", "tf-idf"]


def logistic(inputs, head, *, ngrams: int | None = None, weighting: Weighting = "tf-idf", min_documents: int = 1,
             bias: bool = True, k: float = 1.0, z0: float = 0.0):  # fmt: skip
    """The logistic curve with L = 1; steepness k and midpoint z₀ may be given. Two classes need one output."""
    columns = 1 if head.classes == 2 else head.classes
    return Regression(Scores(inputs, columns, ngrams, weighting, min_documents), head, LOGISTIC, bias, k, z0)


def softmax(inputs, head, *, ngrams: int | None = None, weighting: Weighting = "tf-idf", min_documents: int = 1,
            bias: bool = True):  # fmt: skip
    """A probability for every class, all learned together."""
    return Regression(Scores(inputs, head.classes, ngrams, weighting, min_documents), head, SOFTMAX, bias)


class Scores:
    """z = Wx + b: the features of an input, a weight for each of them and every output, and what is kept of them."""

    def __init__(self, inputs, columns: int, ngrams: int | None, weighting: str, min_documents: int):
        self.inputs, self.columns, self.weighting, self.min_documents = inputs, columns, weighting, min_documents
        # Pairs say much about words; of characters it takes three to see a syllable, or a Chinese word and its neighbour.
        self.longest, self.edges = ngrams or (2 if inputs.unit == "words" else 3), inputs.unit != "words"
        self.features: Ngrams | None = None
        self.weights = self.offsets = None

    def learn_features(self, inputs) -> Rows:
        if not isinstance(inputs, np.ndarray):
            self.features = Ngrams.learn(inputs, self.longest, self.weighting, self.edges, self.min_documents)
        return self.rows(inputs)

    def rows(self, inputs) -> Rows:
        dense = isinstance(inputs, np.ndarray)
        return Rows.of_dense(self.inputs.flatten(inputs)) if dense else self.features.rows(inputs)

    def zeros(self, features: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((features, self.columns), np.float32), np.zeros(self.columns, np.float32)  # (F, C), (C,)

    def __call__(self, inputs) -> np.ndarray:
        rows = self.rows(inputs)
        return scores(rows.starts, rows.columns, rows.values, self.weights, self.offsets)  # (N, C)

    def state(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights, "offsets": self.offsets} | (self.features.state() if self.features else {})

    def load(self, state: dict[str, np.ndarray]) -> None:
        self.weights, self.offsets = state["weights"], state["offsets"]
        if "idf" in state:
            self.features = Ngrams.from_state(state, self.longest, self.weighting, self.edges)

    def parameters_count(self) -> int:
        return self.weights.size + self.offsets.size


def epochs_in(minutes: float | None, epochs: int, count: int, one_pass: Callable[[np.ndarray], float]) -> int:
    """Minutes become epochs, once: a few rows, learned and thrown away, are the clock."""
    if not minutes:
        return epochs
    pilot = np.arange(min(count, 1000))
    one_pass(pilot[:1])  # compiles
    start = time.perf_counter()
    one_pass(pilot)
    return max(1, min(epochs, int(minutes * 60 * len(pilot) / (time.perf_counter() - start) / count)))


class Regression:
    has_probabilities = True

    def __init__(self, z: Scores, head, output: int, bias: bool, k: float = 1.0, z0: float = 0.0):
        self.importance = np.array(head.weights or [1.0] * head.classes, np.float32)  # of every class, where balanced
        self.z, self.output, self.bias, self.k, self.z0 = z, output, bias, k, z0
        self.state, self.load, self.parameters_count = z.state, z.load, z.parameters_count

    def learn(self, train: Examples, judge: Callable[[], float] | None, seed: int, minutes: float | None = None, *,
              epochs: int = 10, learning_rate: float = 0.2, decay: float = 0.5) -> Iterator[Progress]:  # fmt: skip
        began = time.perf_counter()
        rows, targets = self.z.learn_features(train.inputs), train.targets.astype(np.int64)
        count = len(rows)

        def one_pass(order, step=0, steps=count) -> float:
            return descend(rows.starts, rows.columns, rows.values, targets, order, self.z.weights, self.z.offsets, seen,
                           learning_rate, steps, step, decay / count, self.importance, self.bias, self.output, self.k,
                           self.z0)  # fmt: skip

        self.z.weights, self.z.offsets = self.z.zeros(rows.width)
        seen = np.zeros(rows.width + 1, np.float32)  # Σ e²x² of every feature, and of the bias
        epochs = epochs_in(minutes, epochs, count, one_pass)
        self.z.weights, self.z.offsets = self.z.zeros(rows.width)
        seen = np.zeros(rows.width + 1, np.float32)
        generator = np.random.default_rng(seed)
        for epoch in range(epochs):
            loss = one_pass(generator.permutation(count), epoch * count, epochs * count) / count
            rate = learning_rate * (1 - (epoch + 1) / epochs)
            score = judge() if judge else None
            yield Progress((epoch + 1) * count, epochs * count, epoch + 1, loss, rate, time.perf_counter() - began, score)

    def outputs(self, inputs) -> np.ndarray:
        """Log-probabilities (N, C)."""
        z = self.z(inputs)
        if self.output == SOFTMAX:
            z = z - z.max(1, keepdims=True)
            return z - np.log(np.exp(z).sum(1, keepdims=True))
        p = 1 / (1 + np.exp(-self.k * (z - self.z0)))
        p = np.concatenate([1 - p, p], 1) if z.shape[1] == 1 else p / np.maximum(p.sum(1, keepdims=True), 1e-30)
        return np.log(np.maximum(p, 1e-30))


@njit(cache=True, fastmath=True)
def scores(starts, columns, values, weights, offsets):
    z = np.empty((len(starts) - 1, weights.shape[1]), np.float32)
    for row in range(len(z)):
        z[row] = offsets
        for k in range(starts[row], starts[row + 1]):
            for c in range(weights.shape[1]):
                z[row, c] += values[k] * weights[columns[k], c]
    return z


@njit(cache=True, fastmath=True)
def descend(starts, columns, values, targets, order, weights, offsets, seen, rate, steps, step, decay, importance, bias, output,
            k, z0):  # fmt: skip
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
            error[c] *= importance[right]
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
