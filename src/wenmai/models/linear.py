"""The linear rungs: one weight for every feature and output, z = Wx + b, and a curve that makes an answer of z.

    linear      ŷ = z                              Legendre 1805, Gauss 1809: the least squares
    logistic    p = L / (1 + e^(−k(z − z₀)))       Verhulst 1838, Cox 1958; a class against the rest, L = 1; or a number in (0, L)
    softmax     p_c = e^(z_c) / Σ_j e^(z_j)        Bridle 1990

All learn by one rule: with the error e = p − y, the gradient of the cross-entropy (of half the squared error, for linear),
W ← W − η·e·xᵀ. The step of feature j is η / √(Σ e²x_j²), smaller the more often the feature was seen (AdaGrad, Duchi et al.
2011, one sum a feature), η falls to 0 along a line, and W shrinks by the factor 1 − η·decay/N at every step (a pull
towards 0, as L2 regularisation). Where the features are few, linear solves XᵀX W = Xᵀy instead.

Features are sparse: n-grams of a text, templates around a token that is tagged, or the numbers that are not 0; an update
touches only the rows of W in it."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

import numpy as np

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.storage import saved as take
from wenmai.data.storage.caches import njit
from wenmai.data.text.features import HELD, MOST, Ngrams, Pieces, Rows
from wenmai.data.text.templates import Templates
from wenmai.errors import Mistake
from wenmai.layers.heads import Number
from wenmai.models.explanation import Weighed
from wenmai.options import ONE_A_STEP, ONE_A_TEXT, TEXTS, Count, Finite
from wenmai.training import memory
from wenmai.training.passes import Passes, epochs_in
from wenmai.training.progress import Progress, Snapshot

LOGISTIC, SOFTMAX, LINEAR = range(3)
RATE = 0.2  # of learning, where none is given
CLOSED = 2000  # features up to which the equations are solved outright
WIDEST = 1000  # tokens of an n-gram, neighbours on either side
WEIGHTS = 1 << 28  # at the most: where classes are many, fewer n-grams are kept
Weighting, Longest = (
    Annotated[Literal["counts", "tf-idf"], ONE_A_TEXT],
    Annotated[int | None, ONE_A_TEXT],
)
Documents, Window = Annotated[int, TEXTS], Annotated[Count, ONE_A_STEP]


def linear(
    inputs,
    head,
    *,
    ngrams: Longest = None,
    weighting: Weighting = "tf-idf",
    min_documents: Documents = 1,
    window: Window = 2,
    bias: bool = True,
    solver: Literal["auto", "closed", "gradient"] = "auto",
):
    """A weighted sum. `window`: of sequences with a target a step, so many frames on either side are read."""
    z = Scores(inputs, head, head.columns, ngrams, weighting, min_documents, window)
    return Regression(z, head, LINEAR, bias, solver=solver)


def logistic(
    inputs,
    head,
    *,
    ngrams: Longest = None,
    weighting: Weighting = "tf-idf",
    min_documents: Documents = 1,
    window: Window = 2,
    bias: bool = True,
    L: float = 1.0,
    k: float = 1.0,
    z0: Finite = 0.0,
):
    """The logistic curve: its height L (of classes, 1), steepness k and midpoint z₀ may be given. Two classes need one output."""
    numbers = isinstance(head, Number)
    if not numbers and L != 1:
        raise Mistake(
            "L={L:g}: of classes the curve gives probabilities, so L is 1; leave it out.", L=L
        )
    for value, place in head.ends if numbers else ():
        if not 0 < value < L:
            raise Mistake(
                "{where}: found the target {value:g}, expected one between 0 and L = {L:g}, which the logistic curve "
                "does not leave; give a larger L (--set L=…), or use linear.",
                where=place,
                value=value,
                L=L,
            )
    columns = head.columns if numbers else 1 if head.classes == 2 else head.classes
    return Regression(
        Scores(inputs, head, columns, ngrams, weighting, min_documents, window),
        head,
        LOGISTIC,
        bias,
        L,
        k,
        z0,
    )


def softmax(
    inputs,
    head,
    *,
    ngrams: Longest = None,
    weighting: Weighting = "tf-idf",
    min_documents: Documents = 1,
    window: Window = 2,
    bias: bool = True,
):
    """A probability for every class, all learned together. `window`: for tags, so many tokens on either side are read."""
    return Regression(
        Scores(inputs, head, head.classes, ngrams, weighting, min_documents, window),
        head,
        SOFTMAX,
        bias,
    )


class Scores:
    """z = Wx + b: the features of an input, a weight for each of them and every output, and what is kept of them."""

    def __init__(
        self,
        inputs,
        head,
        columns: int,
        ngrams: int | None,
        weighting: str,
        min_documents: int,
        window: int,
    ):
        for name, value in (("ngrams", ngrams or 1), ("window", window)):
            if value > WIDEST:
                raise Mistake(
                    "{option}={value}: expected at most {most}, which is more than any row of features needs.",
                    option=name,
                    value=value,
                    most=WIDEST,
                )
        self.inputs, self.columns, self.weighting, self.min_documents = (
            inputs,
            columns,
            weighting,
            min_documents,
        )
        self.per_step, self.window = head.per_step, window
        # Pairs say much about words; of characters it takes three to see a syllable, or a Chinese word and its neighbour.
        self.longest, self.padded = (
            ngrams or (2 if inputs.unit == "words" else 3),
            inputs.unit != "words",
        )
        self.features: Ngrams | Templates | None = None
        self.weights = self.offsets = None

    def learn_features(self, inputs) -> Rows | Pieces:
        if self.inputs.kind == "tokens" and self.per_step:
            self.features = Templates.learn(
                inputs, self.inputs.alphabet, self.window, self.min_documents
            )
        elif self.inputs.kind == "tokens":
            most = min(MOST, WEIGHTS // self.columns)
            self.features = Ngrams.learn(
                inputs, self.longest, self.weighting, self.padded, self.min_documents, most
            )
        held = not isinstance(self.features, Ngrams) or inputs.offsets[-1] * self.longest <= HELD
        return self.rows(inputs) if held else self.features.pieces(inputs)

    def rows(self, inputs) -> Rows:
        """One a row of the data, or one a step."""
        if self.features is not None:
            return self.features.rows(inputs)
        return Rows.of_dense(
            neighbours(inputs, self.window) if self.per_step else self.inputs.flatten(inputs)
        )

    def zeros(self, features: int) -> tuple[np.ndarray, np.ndarray]:
        memory.check_table(features, self.columns)
        return np.zeros((features, self.columns), np.float32), np.zeros(
            self.columns, np.float32
        )  # (F, C), (C,)

    def finite(self) -> bool:
        with np.errstate(invalid="ignore", over="ignore"):
            return bool(
                np.isfinite(self.weights.sum(dtype=np.float64) + self.offsets.sum(dtype=np.float64))
            )

    def __call__(self, inputs) -> np.ndarray:
        return self.of_rows(
            self.features.pieces(inputs) if isinstance(self.features, Ngrams) else self.rows(inputs)
        )

    def of_rows(self, rows: Rows | Pieces) -> np.ndarray:
        z = np.empty((len(rows), self.weights.shape[1]), np.float32)  # (N, C) or (ΣT, C)
        for part, _, which in rows.over(np.arange(len(rows))):
            z[which] = scores(part.starts, part.columns, part.values, self.weights, self.offsets)
        return z

    def explain(self, inputs, at: int | None = None, tokens: Sequence[str] = ()) -> Weighed:
        """Of one input, exactly as it is scored; `at`: of this step of it, whose row has these tokens."""
        rows = self.rows(inputs)
        row = at or 0
        own = slice(rows.starts[row], rows.starts[row + 1])
        columns, values = rows.columns[own], rows.values[own]
        if isinstance(self.features, Ngrams):
            places = self.features.places(inputs)
            features = [places[column] for column in columns.tolist()]
        elif self.features is not None:
            names = dict(self.features.named(inputs, list(tokens), row))
            features = [names[column] for column in columns.tolist()]
        else:
            features = columns.tolist()
        return Weighed(features, values, self.weights[columns], self.offsets)

    def state(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights, "offsets": self.offsets} | (
            self.features.state() if self.features else {}
        )

    def load(self, state: dict[str, np.ndarray]) -> None:
        self.weights = take.array(state, "weights", np.float32, None, self.columns)
        self.offsets = take.array(state, "offsets", np.float32, self.columns)
        if self.inputs.kind != "tokens":  # rows that numbers, images and frames become
            around = (
                2 * self.window + 1
                if self.per_step
                else getattr(self.inputs, "length", None) or getattr(self.inputs, "parts", 1)
            )
            width = around * self.inputs.width * getattr(self.inputs, "height", 1)
            take.array(state, "weights", np.float32, width, self.columns)
            return
        for name, kind in (Templates if self.per_step else Ngrams).STATE.items():
            take.array(state, name, kind, len(self.weights))
        if self.per_step:
            self.features = Templates.from_state(state, self.inputs.alphabet, self.window)
        else:
            self.features = Ngrams.from_state(state, self.longest, self.weighting, self.padded)

    def parameters_count(self) -> int:
        return self.weights.size + self.offsets.size


def neighbours(frames: Sequences, window: int) -> np.ndarray:
    """(ΣT, (2·window + 1)·F): every frame between those before and after it, zeros beyond the row."""
    row = np.repeat(np.arange(len(frames)), frames.lengths)
    at = np.arange(len(row))
    parts = []
    for near in range(-window, window + 1):
        there = np.clip(at + near, 0, max(0, len(row) - 1))
        inside = (at + near == there) & (row[there] == row)
        parts.append(frames.flat[there] * inside[:, None])
    return np.concatenate(parts, 1)


class Regression:
    def __init__(
        self,
        z: Scores,
        head,
        output: int,
        bias: bool,
        L: float = 1.0,
        k: float = 1.0,
        z0: float = 0.0,
        solver: str = "gradient",
    ):
        self.z, self.output, self.bias, self.L, self.k, self.z0, self.solver = (
            z,
            output,
            bias,
            L,
            k,
            z0,
            solver,
        )
        self.numbers, self.per_step, self.has_probabilities = (
            isinstance(head, Number),
            head.per_step,
            head.has_probabilities,
        )
        if self.numbers:
            self.mean, self.deviation = head.mean, head.deviation
            self.importance = np.ones(1, np.float32)
        else:
            self.importance = np.array(
                head.weights or [1.0] * head.classes, np.float32
            )  # of every class, where balanced
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
        epochs: int | None = None,
        learning_rate: float = RATE,
        decay: float | None = None,
    ) -> Iterator[Progress]:
        """`epochs`: 10; for numbers, up to 20,000 updates where rows are few. `decay`: 0.2 for classes, 0 for numbers."""
        began = time.perf_counter()
        targets, wanted = self.targets_of(train)
        rows = self.z.learn_features(train.inputs)
        count = len(rows)
        if self.solves(rows):
            self.solve(rows, wanted)
            score, loss = (
                judge() if judge else None,
                float(np.square(self.z.of_rows(rows) - wanted).mean()),
            )
            yield Progress(count, count, 1, loss, 0.0, time.perf_counter() - began, score)
            return
        epochs = epochs or (max(10, 20_000 // max(1, count)) if self.numbers else 10)
        decay = (0.0 if self.numbers else 0.2) if decay is None else decay

        def one_pass(order, step=0, steps=count) -> float:
            loss, shrink = 0.0, 1.0
            for part, at, which in rows.over(order):
                loss, shrink = descend(
                    part.starts,
                    part.columns,
                    part.values,
                    targets[which],
                    wanted[which] if self.numbers else wanted,
                    at,
                    self.z.weights,
                    self.z.offsets,
                    seen,
                    learning_rate,
                    steps,
                    step,
                    decay / count,
                    self.importance,
                    self.bias,
                    self.output,
                    self.k,
                    self.z0,
                    loss,
                    shrink,
                )
                step += len(at)
            self.z.weights *= np.float32(shrink)
            return loss

        self.z.weights, self.z.offsets = self.z.zeros(rows.width)
        seen = np.zeros(rows.width + 1, np.float32)  # Σ e²x² of every feature, and of the bias
        epochs = epochs_in(minutes, epochs, count, one_pass)
        self.z.weights, self.z.offsets = self.z.zeros(rows.width)
        seen = np.zeros(rows.width + 1, np.float32)
        passes, losses, lowered = Passes(epochs, count, seed, began), [], False
        if resume and resume.arrays:
            facts = passes.resume(resume)
            losses, lowered = take.numbers(facts, "losses").tolist(), take.flag(facts, "lowered")
            learning_rate *= 0.1 if lowered else 1.0
            self.z.weights, self.z.offsets, seen = resume.like(
                weights=self.z.weights, offsets=self.z.offsets, seen=seen
            )
        every = max(1, epochs // 20)
        yield from passes.planned()
        for epoch, order in passes:
            losses.append(one_pass(order, epoch * count, epochs * count) / count)
            if not (np.isfinite(losses[-1]) and self.z.finite()):
                first = (
                    np.searchsorted(train.inputs.offsets, order[0], "right") - 1
                    if self.per_step
                    else order[0]
                )
                yield passes.diverged(lowered, learning_rate, RATE, where(int(first)))
                self.z.weights, self.z.offsets = self.z.zeros(rows.width)
                seen, losses, lowered, learning_rate = (
                    np.zeros_like(seen),
                    [],
                    True,
                    learning_rate * 0.1,
                )
                continue
            rate, passing = (
                learning_rate * (1 - (epoch + 1) / epochs),
                (epoch + 1) % every and epoch + 1 < epochs,
            )
            score = judge() if judge and not passing else None
            loss, losses = (
                (float(np.mean(losses)), losses) if passing else (float(np.mean(losses)), [])
            )
            arrays = {"weights": self.z.weights, "offsets": self.z.offsets, "seen": seen}
            yield passes.progress(
                loss,
                rate,
                score,
                arrays,
                {"losses": losses, "lowered": lowered},
                passing=bool(passing),
            )

    def targets_of(self, train: Examples) -> tuple[np.ndarray, np.ndarray]:
        """(class of every row (N,), number wanted of every output (N, K)); one of them is empty. One a step: (ΣT,)."""
        flat = train.targets.flat if isinstance(train.targets, Sequences) else train.targets
        if not self.numbers:
            return flat.astype(np.int64, copy=False), np.zeros((0, 0), np.float32)
        wanted = (flat - self.mean) / self.deviation if self.output == LINEAR else flat / self.L
        return np.zeros(len(wanted), np.int64), wanted.astype(np.float32)

    def solves(self, rows: Rows | Pieces) -> bool:
        if self.solver == "closed" and rows.width > 5 * CLOSED:
            raise Mistake(
                "solver=closed: found {actual:,} features, expected at most {most:,}; use solver=gradient.",
                actual=rows.width,
                most=5 * CLOSED,
            )
        return self.solver == "closed" or (self.solver == "auto" and rows.width <= CLOSED)

    def solve(self, rows: Rows | Pieces, wanted: np.ndarray) -> None:
        """XᵀX W = Xᵀy, added up over pieces of X; of several solutions the smallest."""
        size = rows.width + 1
        products, sums = np.zeros((size, size)), np.zeros((size, wanted.shape[1]))
        for piece, order, which in rows.over(np.arange(len(rows))):
            for start in range(0, len(order), 8192):
                part = piece.take(order[start : start + 8192])
                x = np.zeros((len(part), size))
                x[np.repeat(np.arange(len(part)), np.diff(part.starts)), part.columns] = part.values
                x[:, -1] = self.bias
                products += x.T @ x
                sums += x.T @ wanted[which][start : start + 8192]
        solution = np.linalg.lstsq(products, sums, rcond=None)[0]
        self.z.weights, self.z.offsets = (
            solution[:-1].astype(np.float32),
            solution[-1].astype(np.float32),
        )

    def transitions(self) -> None:
        return None

    def outputs(self, inputs):
        """Log-probabilities (N, C), or numbers (N, K); where there is one a step, Sequences of them."""
        answers = self.answers_of(self.z(inputs))
        return Sequences(answers, inputs.offsets) if self.per_step else answers

    def answers_of(self, z: np.ndarray) -> np.ndarray:
        if self.output == LINEAR:
            return z.astype(np.float64) * self.deviation + self.mean
        if self.output == SOFTMAX:
            z = z - z.max(1, keepdims=True, initial=-np.inf)
            return z - np.log(np.exp(z).sum(1, keepdims=True))
        p = 1 / (1 + np.exp(np.minimum(-self.k * (z - self.z0), 80)))
        if self.numbers:
            return self.L * p.astype(np.float64)
        p = (
            np.concatenate([1 - p, p], 1)
            if z.shape[1] == 1
            else p / np.maximum(p.sum(1, keepdims=True), 1e-30)
        )
        return np.log(np.maximum(p, 1e-30))


@njit(cache=True, fastmath=True, nogil=True)
def scores(starts, columns, values, weights, offsets):
    z = np.empty((len(starts) - 1, weights.shape[1]), np.float32)
    for row in range(len(z)):
        z[row] = offsets
        for k in range(starts[row], starts[row + 1]):
            for c in range(weights.shape[1]):
                z[row, c] += values[k] * weights[columns[k], c]
    return z


@njit(cache=True, fastmath=True, nogil=True, error_model="numpy")
def descend(
    starts,
    columns,
    values,
    targets,
    wanted,
    order,
    weights,
    offsets,
    seen,
    rate,
    steps,
    step,
    decay,
    importance,
    bias,
    output,
    k,
    z0,
    loss,
    shrink,
):
    """W ← W − η·e·xᵀ for these rows. W is kept as shrink · weights, so that decay touches one number, not all of W. Adds to
    the summed cross-entropy and returns it, and shrink."""
    classes, features = weights.shape[1], weights.shape[0]
    error = np.empty(classes, np.float32)
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
        elif output == LINEAR:
            for c in range(classes):
                error[c] -= wanted[row, c]
                loss += error[c] * error[c]
        elif len(wanted):
            for c in range(classes):
                p, y = 1 / (1 + np.exp(-k * (error[c] - z0))), wanted[row, c]
                loss -= y * np.log(max(p, 1e-30)) + (1 - y) * np.log(max(1 - p, 1e-30))
                error[c] = k * (p - y)
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
    return loss, shrink
