"""classify, N→1: one label for a text, a pair of texts, a row of numbers or an image."""

from collections import Counter

import numpy as np

from wenmai.data.files.columns import listed, short
from wenmai.data.files.readers import Chunk
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.storage import saved as take
from wenmai.data.values import listed as listed_values
from wenmai.data.values import numbered, one_column
from wenmai.errors import Mistake
from wenmai.layers.heads import OneOf
from wenmai.locale import Listed, Message, phrase
from wenmai.tasks import rows
from wenmai.tasks.columns import inputs_in, labels_in, shown
from wenmai.tasks.contract import Parts, row_name
from wenmai.tasks.measuring.baselines import majority
from wenmai.tasks.measuring.rows import measure_rows
from wenmai.tasks.metrics import bundles
from wenmai.tasks.overviews import describe_labels
from wenmai.tasks.profile import Profile, has_every_kind

# How other programs write that there is nothing; but nan is Min Nan, and none may be an answer.
NONE = {"nan", "na", "n/a", "#n/a", "null", "none", "nil", "-", "?"}
UNEVEN = 0.75  # from which share of one class on accuracy says little


def says_little(data, metric: str, best: float, without: float) -> Message | None:
    if metric != "accuracy" or without < UNEVEN:
        return None
    return Message(
        "One class alone makes up {share:.0%} of the test rows, so that accuracy says little; --metric macro_f1 "
        "weighs every class alike.",
        share=without,
    )


class Classify:
    name, metric, higher_is_better = "classify", "accuracy", True
    metrics = ("accuracy", "macro_f1")
    target = "label"  # the column that holds the answer
    texts, history = "tokens", None  # the kind of input that texts are; rows have no order in time
    reads = staticmethod(kinds_of_input.learn)
    estimator_type, output_type = "classifier", np.float32

    # what every task with a target a row does
    prepare, held_out = rows.as_given, rows.held_out
    learn_inputs, answers, evaluate, score = (
        rows.learn_inputs,
        rows.answers,
        rows.evaluate,
        rows.score,
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
    running_text = two_texts = False  # rows, and of one text each

    def __init__(self, *, balance: bool = False):
        """`balance` lets every class weigh the same in the loss, however rare it is."""
        self.balance = balance
        self.classes: np.ndarray | None = None
        self.counts: np.ndarray | None = None

    @staticmethod
    def fits(names: list[str]) -> bool:
        return "label" in names

    def inputs_of(self, chunk: Chunk, source: str):
        inputs = inputs_in(chunk, source)
        return [" ".join(tokens) for tokens in inputs] if "tokens" in chunk.columns else inputs

    def targets_of(self, chunk: Chunk, source: str) -> list[str]:
        if "label" not in chunk.columns:
            raise Mistake(
                "{file} has no column label (found: {names}); name it with --columns label=NAME,text=NAME.",
                file=source,
                names=listed(chunk.columns),
            )
        return labels_in(chunk, source)

    def inspect_targets(self, targets, where) -> list[str]:
        """Labels that may mean that there is none, and those that seem to be several a row: a|b."""
        counts = Counter(map(str, targets))
        none = [label for label in counts if label.lower() in NONE]
        notes = [
            Message(
                "{rows:,} of the {all:,} rows have the label {label}, which is taken as a class of its own; if it means "
                "that there is none, leave these rows out",
                rows=sum(map(counts.get, none)),
                all=len(targets),
                label=Listed(none),
            )
        ] * (0 < len(none) < len(counts))
        for mark in "|;,、/+":
            joined = {label for label in counts if mark in label.strip(mark)}
            parts = Counter(part.strip() for label in counts for part in label.split(mark))
            rows = sum(map(counts.get, joined))
            if (
                joined
                and rows * 20 >= len(targets)
                and 2 * sum(count > 1 for count in parts.values()) >= len(parts)
            ):
                first = next(row for row, label in enumerate(targets) if str(label) in joined)
                notes += [
                    Message(
                        "{where}: {example!r} seems to be several labels, as in {rows:,} of the {all:,} rows; a row "
                        "has one label here, so every combination is taken as a class of its own",
                        where=where(first),
                        example=short(str(targets[first])),
                        rows=rows,
                        all=len(targets),
                    )
                ]
                break
        return notes

    def split(self, inputs, targets, *how) -> Parts:
        return rows.split(self, inputs, one_column(listed_values(targets)), *how)

    def split_keys(self, inputs, targets) -> tuple:
        """What no two parts share, and what the first must have all kinds of."""
        return inputs, targets

    def learn(self, targets, where=None) -> list[str]:
        """The classes; returns what is worth saying of them."""
        self.classes, which = numbered(targets)
        self.counts = counts = np.bincount(which.ravel(), minlength=len(self.classes))
        if len(self.classes) < 2:
            raise Mistake(
                "found one class only ({label}) in {rows} rows; to classify, at least two are needed.",
                label=short(str(self.classes[0])) if len(self.classes) else "–",
                rows=len(targets),
            )
        if counts.min() * 10 < counts.max():
            rare, often = self.classes[counts.argmin()], self.classes[counts.argmax()]
            return [
                Message(
                    "the classes are uneven: {often} has {most} rows, {rare} {least}; look at macro F1 beside "
                    "accuracy, and try --set balance=true",
                    often=often,
                    most=counts.max(),
                    rare=rare,
                    least=counts.min(),
                )
            ]
        return []

    def encode(self, targets, where=row_name) -> np.ndarray:
        distinct, which = numbered(targets)
        classes = self.classes
        if (
            distinct.dtype.kind in "US" and classes.dtype.kind not in "US"
        ):  # numbers in training, texts in a file
            order = np.argsort(classes.astype(str))
            classes = classes.astype(str)[order]
        else:
            order = np.arange(len(classes))
        at = np.clip(np.searchsorted(classes, distinct), 0, len(classes) - 1)
        strange = classes[at] != distinct
        if strange.any():
            row = int(np.flatnonzero(strange[which])[0])
            label, known = distinct.tolist()[which[row]], listed(map(str, self.classes), 8)
            label = short(label) if isinstance(label, str) else label
            raise Mistake(
                "{where}: the label {label!r} is not among the trained ones: {names}.",
                where=where(row),
                label=label,
                names=known,
            )
        return order[at][which]

    def head(self, inputs=None) -> OneOf:
        weights = (
            (self.counts.sum() / (len(self.counts) * self.counts)).tolist()
            if self.balance
            else None
        )
        return OneOf(len(self.classes), weights)

    def decide(self, outputs: np.ndarray, model) -> np.ndarray:
        return outputs.argmax(1) if len(outputs) else np.zeros(0, np.int64)

    def predictions(self, decided: np.ndarray) -> np.ndarray:
        return self.classes[decided]

    def probabilities(self, outputs: np.ndarray, model) -> np.ndarray:
        return np.exp(outputs)

    def described(
        self, values, inputs, outputs: np.ndarray, decided: np.ndarray, model
    ) -> list[dict]:
        """One {"label", "probability"} a row."""
        labels = self.classes[decided].tolist()
        if not model.has_probabilities:
            return [{"label": label} for label in labels]
        sure = np.exp(outputs[np.arange(len(outputs)), decided])
        return [
            {"label": label, "probability": round(float(p), 6)} for label, p in zip(labels, sure)
        ]

    def ranked(self, outputs: np.ndarray, model, top_k: int) -> list[dict]:
        """The most probable labels of each row, the first first."""
        best = np.argsort(-outputs, axis=1, kind="stable")[:, :top_k]
        rows = [
            self.described(
                None, None, np.repeat(outputs[row : row + 1], len(labels), 0), labels, model
            )
            for row, labels in enumerate(best)
        ]
        return [{"best": row} for row in rows]

    def score_terms(
        self, decided: np.ndarray, targets: np.ndarray, metric: str = "accuracy"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two numbers a row; the metric is the sum of the first over the sum of the second: right over all. Of macro F1 two a
        class, and rows in bundles: 2 · right, over answered + expected."""
        if metric == "macro_f1":
            return f1_terms(decided, targets, len(self.classes))
        return (decided == targets).astype(np.float64), np.ones(len(targets))

    def confusion(self, decided: np.ndarray, targets: np.ndarray) -> dict:
        """Rows are what was expected, columns what was answered."""
        counts = confusion(decided, targets, len(self.classes))
        return {"classes": [str(label) for label in self.classes], "counts": counts.tolist()}

    def missed(self, outputs: np.ndarray, decided: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(N,): 0 where the answer is right, and the more the surer a wrong one was."""
        top, right = outputs.max(1), outputs[np.arange(len(outputs)), targets]
        return np.where(decided == targets, 0.0, top - right + 1.0)

    def mistakes(
        self, outputs: np.ndarray, decided: np.ndarray, targets: np.ndarray, inputs
    ) -> list[dict]:
        """What was read, expected and answered, a row each."""
        top, probable = (
            outputs.max(1, initial=-np.inf),
            bool((outputs <= 1e-6).all()),
        )  # log-probabilities, not bare scores
        return [
            {
                "input": shown(inputs[row]),
                "expected": str(self.classes[targets[row]]),
                "answer": str(self.classes[decided[row]]),
                "probability": float(np.exp(top[row])) if probable else None,
            }
            for row in range(len(decided))
        ]

    def scores(self, decided: np.ndarray, targets: np.ndarray) -> dict[str, float]:
        counts = confusion(decided, targets, len(self.classes))
        return {"accuracy": float(np.trace(counts) / len(targets)), "macro_f1": macro_f1(counts)}

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "balance": self.balance,
            "classes": self.classes.tolist(),
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_json(cls, saved: dict) -> "Classify":
        task, classes = cls(balance=take.flag(saved, "balance")), take.items(saved, "classes")
        if len(classes) < 2 or len({type(name) for name in classes}) != 1:
            raise take.Unfit('"classes" are not two or more of one kind')
        if not isinstance(classes[0], (str, bool)) and not all(map(take.is_number, classes)):
            raise take.Unfit('"classes" are neither texts nor numbers')
        task.classes, task.counts = (
            np.array(classes),
            np.array(take.integers(saved, "counts", 1), np.int64),
        )
        if not np.array_equal(np.unique(task.classes), task.classes) or len(task.counts) != len(
            classes
        ):
            raise take.Unfit('"classes" are not in order, or "counts" does not fit them')
        return task

    profile = Profile(
        phrase("task", "classify"),
        measure_rows,
        describe_labels,
        few_rows=(["a b", "c d"] * 2, ["x", "y"] * 2),
        complete=has_every_kind,
        unskilled=majority,
        remark=says_little,
    )


def confusion(decided: np.ndarray, targets: np.ndarray, size: int) -> np.ndarray:
    """(C, C): how often class i was answered as j."""
    return np.bincount(targets * size + decided, minlength=size * size).reshape(size, size)


def f1_terms(
    decided: np.ndarray, targets: np.ndarray, size: int, row=slice(None)
) -> tuple[np.ndarray, np.ndarray]:
    """(G, C) each, of rows in bundles: 2 · how often a class was right, and how often it was answered or expected. `row`: of
    every answer its row, where a row has several."""
    bundle = bundles(len(targets) if isinstance(row, slice) else int(row.max(initial=-1)) + 1)[row]
    count = int(bundle.max(initial=-1)) + 1

    def counted(which: np.ndarray, rows=slice(None)) -> np.ndarray:
        return np.bincount(bundle[rows] * size + which[rows], minlength=count * size).reshape(
            count, size
        )

    return 2 * counted(targets, decided == targets), counted(decided) + counted(targets)


def macro_f1(counts: np.ndarray) -> float:
    total = counts.sum(0) + counts.sum(1)
    return float(
        np.nanmean(np.where(total > 0, 2 * np.diag(counts) / np.maximum(total, 1), np.nan))
    )
