"""A task's profile: what compare, the report, the data overview and the command line ask of it beside its columns and scores.

Every task of the catalog has one. What most of them do alike are the defaults here, so that a task names only what it does
otherwise; nobody else needs to know a task by its name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from wenmai.data.dataset import Dataset, Part
from wenmai.locale import Message
from wenmai.tasks.measuring.baselines import Baseline, mean_or_last, of_rows
from wenmai.tasks.measuring.rows import class_scores, row_terms


def has_every_kind(task, some: Part, all_rows: Part) -> bool:
    """Whether every class or label of all rows stands in some of them too."""
    own, every = (task.split_keys(*part.pair)[1] for part in (some, all_rows))
    return every is None or set(own) == set(every)


def unit_of_tokens(inputs) -> str:
    """A perplexity is one of a word, a subword, a character or a byte."""
    return inputs.unit


@dataclass(frozen=True)
class Profile:
    words: Message  # the task's name
    # (estimator, data, metric) → what it shows on the test part, as the report has it, and what every row adds to the metric
    measure: Callable[..., tuple[dict, np.ndarray]]
    describe: Callable[[Dataset], dict]  # what is worth knowing of the data, as JSON has it
    few_rows: tuple  # inputs and targets of no meaning, to compile kernels with

    # Compare.
    terms: Callable[..., np.ndarray] = (
        row_terms  # (estimator, task of the data, part, metric) → what its rows add to it
    )
    judged: str = ""  # the metric on the validation rows while a rung is trained, where it is not the task's own
    quick: Mapping = field(default_factory=dict)  # options of `evaluate` where it has to be quick
    # so large a share of the rows
    fewer: Callable[..., Part] = lambda task, train, share, seed: train.random_share(share, seed)
    complete: Callable[..., bool] = lambda task, some, all_rows: (
        True
    )  # whether all can be asked of who learned from some
    settled: tuple[
        str, ...
    ] = ()  # options that all rows settle, and a few of them might settle otherwise
    keeps_tokens: bool = (
        False  # with fewer rows too: fewer words known would be fewer to be wrong about
    )
    # (metric, rows, terms of every rung and part) → the metric by which all models can be compared, and notes
    common_metric: Callable[..., tuple[str, list[str]]] = lambda metric, rows, terms: (metric, [])
    baseline: Callable[..., Baseline] = (
        of_rows  # (data, metric, what loads a run) → what can be had without a model
    )
    unskilled: Callable[..., tuple] = (
        mean_or_last  # of rows: (task, inputs, targets) → such answers
    )
    # (data, metric, the best score, that of the baseline) → what is worth saying of them beside the advice
    remark: Callable[..., Message | None] = lambda data, metric, best, without: None
    per_class: Callable[..., list[dict] | None] = (
        class_scores  # (task, confusion, decided, targets) → precision, recall, F1
    )
    details: Callable[..., dict] = lambda task: {}  # what the report says of how scores are counted

    # The command line.
    next_command: str = "predict {run} …"  # what a run is used with
    unit: Callable[..., str] = lambda inputs: ""  # what the metric is one of
    counted: str = "speed"  # what the leaderboard counts a second: predictions (speed) or tokens
    at_once: int = 4096  # rows that are answered before their answers are written, and so kept
    blank_answer: Mapping | None = (
        None  # for a text without a letter, which the model is not asked about
    )

    def settled_options(self, task) -> dict:
        return {name: value for name in self.settled if (value := getattr(task, name))}
