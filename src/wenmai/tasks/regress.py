"""regress, N→1 and N→N: one number for a row (or a few), or one at every step.

    MSE = Σ (y − ŷ)² / n        R² = 1 − Σ (y − ŷ)² / Σ (y − ȳ)²        MAE = Σ |y − ŷ| / n

With a `horizon` the rows are a series in time: from `history` rows the next `horizon` values of the target are forecast."""

import numpy as np

from wenmai.data.examples.sequences import Sequences, offsets_of
from wenmai.data.files.columns import listed
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.splits import split_by_position
from wenmai.data.storage import saved as take
from wenmai.errors import Mistake
from wenmai.layers.heads import Number
from wenmai.locale import Message, phrase
from wenmai.options import Count, Size
from wenmai.tasks import rows
from wenmai.tasks.columns import (
    TARGETS,
    as_number,
    inputs_in,
    line_of,
    number_sequences,
    numbers,
    shown,
)
from wenmai.tasks.contract import row_name
from wenmai.tasks.measuring.rows import measure_rows
from wenmai.tasks.overviews import describe_numbers
from wenmai.tasks.profile import Profile


class Regress:
    name, metric, higher_is_better = "regress", "r2", True
    metrics = ("r2", "mse", "mae")
    target = "target"
    texts = "tokens"
    reads = staticmethod(kinds_of_input.learn)
    estimator_type, output_type = "regressor", np.float64

    # what every task with a target a row does
    inspect_targets, split_keys, split, learn_inputs = (
        rows.no_notes,
        rows.inputs_apart,
        rows.split,
        rows.learn_inputs,
    )
    training_examples, judge, examples, trace_examples = (
        rows.training_examples,
        rows.judge,
        rows.examples,
        rows.trace_examples,
    )
    outputs, streamed, predict, predict_proba = (
        rows.outputs,
        rows.streamed,
        rows.predict,
        rows.predict_proba,
    )
    answers, evaluate, score = rows.answers, rows.evaluate, rows.score
    running_text = two_texts = False

    def __init__(self, *, horizon: Size | None = None, history: Count | None = None):
        """`horizon` forecasts so many values of a series from the `history` rows before them (3 horizons, at least 12)."""
        if history and not horizon:
            raise Mistake(
                "history={history} goes with horizon=N, how many values are forecast; give both, or leave it out.",
                history=history,
            )
        self.horizon = horizon
        self.history = history or max(12, 3 * horizon) if horizon else None
        self.per_step = False
        self.mean = self.deviation = None  # (K,) of the training targets
        self.ends = ()  # the least and the most of them, with their places; known while training

    @staticmethod
    def fits(names: list[str]) -> bool:
        return ("target" in names or "targets" in names) and "source" not in names

    def column(self, columns: dict, source: str) -> str:
        for name in ("target", "targets"):
            if name in columns:
                return name
        raise Mistake(
            "{file} has no column target (found: {names}); name it with --columns target=NAME,….",
            file=source,
            names=listed(columns),
        )

    def inputs_of(self, chunk: Chunk, source: str):
        if (
            self.horizon
        ):  # what was measured so far is what the forecast is made from, the target first of all
            names = [
                self.column(chunk.columns, source),
                *(name for name in chunk.columns if name not in ("target", "targets")),
            ]
            return numbers(chunk.columns, names, chunk.lines, source)
        return inputs_in(chunk, source)

    def targets_of(self, chunk: Chunk, source: str):
        name = self.column(chunk.columns, source)
        values = chunk.columns[name]
        if not len(values) or not isinstance(values[0], (list, tuple)):
            return numbers(chunk.columns, [name], chunk.lines, source)[:, 0]
        rows = number_sequences(values, chunk.lines, source, name)
        if "inputs" not in chunk.columns:
            return table_of(rows, line_of(chunk, source))
        steps = np.array([len(row) for row in chunk.columns["inputs"]])
        wrong = np.flatnonzero(rows.lengths != steps)
        if len(wrong):
            row = wrong[0]
            raise Mistake(
                "{file}, line {line}: found {actual} {targets} for {steps} inputs, expected one for every step, or "
                "one number for the row.",
                file=source,
                line=chunk.lines[row],
                actual=rows.lengths[row],
                targets=TARGETS[name],
                steps=steps[row],
            )
        return rows

    def prepare(self, inputs, targets=None):
        """Windows of a series; or, where there is a target a step, the inputs as sequences too."""
        if self.horizon:
            return self.windows(inputs, targets)
        ragged = isinstance(targets, Sequences) or (targets is None and self.per_step)
        if (
            isinstance(targets, np.ndarray)
            and isinstance(inputs, Sequences)
            and targets.ndim > 1
            and len(targets) == len(inputs)
        ):
            ragged = (inputs.lengths == targets.shape[1]).all()
        if targets is not None and self.mean is not None and ragged != self.per_step:
            actual, expected = Message("one target a row"), Message("one a step")
            if ragged:
                actual, expected = Message("one target a step"), Message("one a row")
            raise Mistake(
                "found {per1}, expected {per2} as in training.", per1=actual, per2=expected
            )
        if ragged and isinstance(inputs, np.ndarray):
            inputs = Sequences.of(list(inputs), np.float64)
        if ragged and targets is not None:
            targets = (
                targets
                if isinstance(targets, Sequences)
                else Sequences.of(list(targets), np.float64)
            )
            wrong = (
                np.flatnonzero(inputs.lengths != targets.lengths)
                if len(inputs) == len(targets)
                else []
            )
            if len(wrong):
                row, steps = wrong[0], (targets.lengths[wrong[0]], inputs.lengths[wrong[0]])
                raise Mistake(
                    "row {row}: found {targets} targets for {steps} steps, expected one for each.",
                    row=row + 1,
                    targets=steps[0],
                    steps=steps[1],
                )
        return inputs, targets

    def windows(self, inputs, targets):
        inputs = np.asarray(inputs, np.float64)
        inputs = inputs[:, None] if inputs.ndim == 1 else inputs  # (N, F)
        ahead = 0 if targets is None else self.horizon
        count = len(inputs) - self.history - ahead + 1
        if count < 1 and targets is None:
            raise Mistake(
                "found {rows} rows in time, expected at least {history}, from which the forecast is made.",
                rows=len(inputs),
                history=self.history,
            )
        if count < 1:
            raise Mistake(
                "found {rows} rows in time to train, validate or test on, expected at least history + horizon = "
                "{history} + {horizon}; give more rows, or a smaller history or horizon.",
                rows=len(inputs),
                history=self.history,
                horizon=ahead,
            )
        if targets is not None:
            all_finite(flat_table(targets), row_name)
        at = np.arange(count)[:, None] + np.arange(self.history)
        flat = inputs[at].reshape(count * self.history, -1)  # the windows overlap
        rows = Sequences(flat, offsets_of(np.full(count, self.history)))
        if targets is None:
            return rows, None
        return rows, np.asarray(targets, np.float64)[
            np.arange(count)[:, None] + self.history + np.arange(self.horizon)
        ]

    def held_out(self, inputs, targets, share: float, seed: int) -> list[np.ndarray]:
        """Of a series its end, at least twice as long as what is forecast; of rows a share."""
        if not self.horizon:
            return rows.held_out(self, inputs, targets, share, seed)
        share = max(share, min(0.5, 2 * self.horizon / len(inputs)))
        return split_by_position(len(inputs), [share], self.history)

    def learn(self, targets, where=row_name) -> list[str]:
        self.per_step = isinstance(targets, Sequences)
        values = all_finite(flat_table(targets, where), where, targets)
        if not len(values):
            raise Mistake("found rows without a step, expected at least one number to learn from.")
        self.mean, self.deviation = values.mean(0), values.std(0)
        self.deviation = np.where(self.deviation > 0, self.deviation, 1.0)
        ends = int(values.min(1).argmin()), int(values.max(1).argmax())
        rows = np.searchsorted(targets.offsets, ends, "right") - 1 if self.per_step else ends
        self.ends = tuple(
            (float(value), where(int(row)))
            for value, row in zip((values.min(), values.max()), rows)
        )
        least, most = f"{values.min():g}", f"{values.max():g}"
        if self.horizon:
            return [
                Message(
                    "targets from {least} to {most}; {horizon} steps are forecast from {history}",
                    least=least,
                    most=most,
                    horizon=self.horizon,
                    history=self.history,
                )
            ]
        if self.per_step:
            return [Message("targets from {least} to {most}, one a step", least=least, most=most)]
        return [Message("targets from {least} to {most}", least=least, most=most)]

    def encode(self, targets, where=row_name):
        values = flat_table(targets, where)
        if values.shape[1] != len(self.mean):
            raise Mistake(
                "found {actual} targets a row, expected {expected} as in training.",
                actual=values.shape[1],
                expected=len(self.mean),
            )
        all_finite(values, where, targets)
        return Sequences(values, targets.offsets) if self.per_step else values

    def head(self, inputs=None) -> Number:
        return Number(self.mean, self.deviation, self.per_step, self.ends)

    def decide(self, outputs, model):
        return outputs

    def predictions(self, decided):
        """(N,), or (N, K) of several numbers a row, or an array a row where there is one a step."""
        if isinstance(decided, Sequences):
            flat = decided.flat[:, 0] if decided.flat.shape[1] == 1 else decided.flat
            return [
                flat[start:end] for start, end in zip(decided.offsets[:-1], decided.offsets[1:])
            ]
        return decided[:, 0] if decided.shape[1] == 1 and not self.horizon else decided

    def described(self, values, inputs, outputs, decided, model) -> list[dict]:
        word = (
            "forecast"
            if self.horizon
            else "targets"
            if self.per_step or len(self.mean) > 1
            else "target"
        )
        return [{word: np.round(value, 6).tolist()} for value in self.predictions(decided)]

    def score_terms(self, decided, targets, metric: str = "r2") -> tuple[np.ndarray, np.ndarray]:
        """Two numbers a row; R² is the sum of the first over the sum of the second: what was explained, over the variation. MSE
        and MAE: the error, over how many numbers there are."""
        predicted, expected = flat_table(decided), flat_table(targets)
        error = np.abs(predicted - expected) if metric == "mae" else np.square(predicted - expected)
        below = np.square(expected - expected.mean(0)) if metric == "r2" else np.ones_like(error)
        error, below = error.sum(1), below.sum(1)
        if isinstance(targets, Sequences):
            error, below = (
                np.diff(np.concatenate([[0.0], np.cumsum(v)])[targets.offsets])
                for v in (error, below)
            )
        return (below - error if metric == "r2" else error), below

    def scores(self, decided, targets) -> dict[str, float]:
        predicted, expected = flat_table(decided), flat_table(targets)
        error, spread = (
            np.square(predicted - expected),
            np.square(expected - expected.mean(0)).sum(),
        )
        r2 = 1 - error.sum() / spread if spread else float(not error.any())
        return {
            "mse": float(error.mean()),
            "r2": float(r2),
            "mae": float(np.abs(predicted - expected).mean()),
        }

    def confusion(self, decided, targets) -> None:
        return None

    def missed(self, outputs, decided, targets) -> np.ndarray:
        """(N,): the squared error."""
        explained, spread = self.score_terms(decided, targets)
        return spread - explained

    def mistakes(self, outputs, decided, targets, inputs) -> list[dict]:
        """What was read, expected and answered, a row each."""
        shared = zip(inputs, self.predictions(targets), self.predictions(decided))
        return [
            {
                "input": shown(value),
                "expected": in_words(a),
                "answer": in_words(b),
                "probability": None,
            }
            for value, a, b in shared
        ]

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "horizon": self.horizon,
            "history": self.history,
            "per_step": self.per_step,
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
        }

    @classmethod
    def from_json(cls, saved: dict) -> "Regress":
        task = cls(
            horizon=take.maybe_integer(saved, "horizon", 1),
            history=take.maybe_integer(saved, "history", 1),
        )
        task.per_step, (task.mean, task.deviation) = (
            take.flag(saved, "per_step"),
            take.scaling(saved),
        )
        return task

    profile = Profile(
        phrase("task", "regress"),
        measure_rows,
        describe_numbers,
        few_rows=(["a b", "c d"] * 2, [0.2, 0.8] * 2),
        # of a series the last rows, which have to be enough for some windows to learn from
        fewer=lambda task, train, share, seed: (
            train.last_share(share) if task.history else train.random_share(share, seed)
        ),
        complete=lambda task, some, _: (
            not task.history or len(some) > task.history + task.horizon + 20
        ),
        settled=("horizon", "history"),
    )


def flat_table(targets, where=row_name) -> np.ndarray:
    """(N, K), or (ΣT, K) where there is one a step."""
    try:
        values = np.asarray(targets.flat if isinstance(targets, Sequences) else targets, np.float64)
    except (TypeError, ValueError, OverflowError):
        row, value = next(
            (row, value) for row, value in enumerate(targets) if as_number(value) is None
        )
        raise Mistake(
            "{where}: found the target {value!r}, expected a number.",
            where=where(row),
            value=str(value)[:40],
        ) from None
    return values[:, None] if values.ndim == 1 else values


def all_finite(values: np.ndarray, where, targets=None) -> np.ndarray:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        at, column = wrong[0]
        row = (
            int(np.searchsorted(targets.offsets, at, "right")) - 1
            if isinstance(targets, Sequences)
            else at
        )
        raise Mistake(
            "{where}: found the target {value}, expected a finite number.",
            where=where(row),
            value=values[at, column],
        )
    return values


def table_of(rows: Sequences, where) -> np.ndarray:
    wrong = np.flatnonzero(rows.lengths != rows.lengths[0])
    if len(wrong):
        raise Mistake(
            "{where}: found {actual} targets, expected {expected} as in the first row.",
            where=where(wrong[0]),
            actual=rows.lengths[wrong[0]],
            expected=rows.lengths[0],
        )
    return rows.flat.reshape(len(rows), -1)


def in_words(value) -> str:
    return ", ".join(f"{number:.6g}" for number in np.atleast_1d(value)[:20].ravel())
