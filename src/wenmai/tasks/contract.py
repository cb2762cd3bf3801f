"""What an estimator asks of a task, and what passes between the two.

A task is one class in one file of this folder, and one row of the catalog. It needs no parent: what several tasks share are
functions in `rows` (an input and a target a row) and `writing` (texts are written), and a task names those that it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from wenmai.data.examples.rows import Examples
from wenmai.language.network_model import NetworkLanguageModel
from wenmai.layers.trace import Trace
from wenmai.locale import Message


def language_model(model, inputs):
    """With the verbs of a language model, which an n-gram model has itself, and a network where it reads running text."""
    return model if hasattr(model, "scored") else NetworkLanguageModel(model, inputs)


@dataclass(frozen=True)
class Trained:
    """What answers: the rung's name, how inputs are read, the model, and where it computes."""

    rung: str
    inputs: object
    model: object
    device: str

    @property
    def language(self):
        return language_model(self.model, self.inputs)


class Untrained:
    """The same before a training: the model has no weights, and is built when it is first asked for."""

    def __init__(self, rung: str, inputs, device: str, by_gradients: bool, build: Callable):
        self.rung, self.inputs, self.device, self.by_gradients, self.build = (
            rung,
            inputs,
            device,
            by_gradients,
            build,
        )

    @cached_property
    def model(self):
        return self.build()


class Parts(NamedTuple):
    """What is learned from, and what training is judged by."""

    inputs: object
    targets: object
    valid: tuple | None  # (inputs, targets)
    rows: np.ndarray | None = (
        None  # (N,) the numbers that messages give the rows of inputs; a running text has no rows
    )
    valid_rows: np.ndarray | None = None


class TrainingExamples(NamedTuple):
    examples: Examples
    place: Callable[[int], str]  # where an example stands in the user's data, for messages
    notes: list[str]


class Scores(dict):
    """Every metric by its name, and what is worth saying of them."""

    def __init__(self, scores: dict[str, float], notes: list[str] | None = None):
        super().__init__(scores)
        self.notes = list(notes or ())


class Answers(list):
    """An answer for every input, and what is worth saying of them."""

    def __init__(self, answers, notes: list[str] | None = None):
        super().__init__(answers)
        self.notes = list(notes or ())


class InputTrace(Trace):
    """What a network wrote down of these inputs; `tokens`: of every row that was read, where it was cut into tokens; `targets`:
    of every row that is written; `outputs`: what the formulas came to."""

    tokens: list[list[str]] | None = None
    targets: list[list[str]] | None = None
    outputs = None


def row_name(row: int) -> str:
    return Message("row {row}", row=row + 1)


class Task(Protocol):
    name: str  # as in --task NAME
    metric: str  # the one of its scores that counts
    metrics: tuple[
        str, ...
    ]  # all of them: `score_terms` says of each what a row adds to it (metrics.py)
    higher_is_better: bool
    target: str | None  # the column that holds the answer
    texts: str  # the kind of input that texts are (data/inputs/kinds.py)
    like: str  # another task, where the rungs that do that one do this one too: its head asks for the same; may be left out
    groups: tuple[
        str, ...
    ]  # columns that say of which group a row is, where every metric is a mean over rows; may be left out
    takes: tuple[
        str, ...
    ]  # the texts that are given for every answer, where these are several; may be left out
    history: (
        int | None
    )  # how many rows an answer looks back on, where rows follow one another in time
    reads: Callable  # whose options say how inputs are read; the task's own options are those of its __init__
    estimator_type: str | None  # in scikit-learn's words

    # The data: a table's columns → inputs and targets.

    @staticmethod
    def fits(names: list[str]) -> bool:
        """Whether columns of these names mean this task."""

    def inputs_of(self, chunk, source: str): ...

    def targets_of(self, chunk, source: str): ...

    def inspect_targets(self, targets, where) -> list[str]:
        """What all rows together say, before any are held out; returns notes."""

    def split_keys(self, inputs, targets) -> tuple:
        """What no two parts share, and what the first must have all kinds of."""

    # Learning, in the order in which an estimator asks.

    def split(
        self, inputs, targets, valid: tuple | None, share: float, seed: int, tunes: bool
    ) -> Parts:
        """`valid` is what training is judged by; without it a share is held out, for a rung that tunes something on it."""

    def prepare(self, inputs, targets=None) -> tuple:
        """Inputs and targets as the rows that are learned from, or answered."""

    def learn(self, targets, where) -> list[str]:
        """What the head must know of the targets; returns notes."""

    def learn_inputs(self, inputs, targets, options: dict, framed: bool = False):
        """How inputs are read: their kind, their tokens; `framed`: by a rung that reads words in pieces."""

    def head(self, inputs=None):
        """What is asked of the rung's last layer (layers/heads.py); `inputs` say what is read, and numbers what is written."""

    def training_examples(
        self, untrained: Untrained, inputs, targets, rows, where
    ) -> TrainingExamples: ...

    def judge(self, untrained: Untrained, parts: Parts, seed: int) -> Callable[[Trained], float]:
        """The score of a model on the valid part, as often as training asks."""

    def settle(self, trained: Trained, parts: Parts, seed: int) -> None:
        """What is chosen on the valid part when training is over, such as a threshold; may be left out."""

    # Answering.

    def examples(self, trained: Trained, inputs, targets=None, where=row_name) -> Examples: ...

    def outputs(self, trained: Trained, examples: Examples):
        """The model's outputs, row for row."""

    def predict(self, trained: Trained, inputs) -> tuple:
        """(a prediction for every input, notes)"""

    def predict_proba(self, trained: Trained, inputs): ...

    def answers(self, trained: Trained, inputs, **how) -> Answers:
        """A dict for every input."""

    def evaluate(self, trained: Trained, inputs, targets, where=row_name, **how) -> Scores: ...

    def score(self, trained: Trained, inputs, targets) -> float:
        """One number; more is better."""

    def trace_examples(
        self, trained: Trained, inputs, targets=None
    ) -> tuple[Examples, list | None, list | None]:
        """(examples, the tokens that are read, those that are written), rows that a network can read at once."""

    # Keeping.

    def to_json(self) -> dict: ...

    @classmethod
    def from_json(cls, saved: dict) -> "Task": ...
