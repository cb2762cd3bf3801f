"""classify, N→1: one label for a text, a pair of texts, a row of numbers or an image."""

from __future__ import annotations

import numpy as np

from wenmai.data.readers import Chunk
from wenmai.errors import Mistake
from wenmai.layers.heads import OneOf


class Classify:
    name, metric, higher_is_better = "classify", "accuracy", True
    target = "label"  # the column that holds the answer

    def __init__(self, *, balance: bool = False):
        """`balance` lets every class weigh the same in the loss, however rare it is."""
        self.balance = balance
        self.classes: np.ndarray | None = None
        self.counts: np.ndarray | None = None

    @staticmethod
    def shown(value, most: int = 200) -> str:
        """An input as a reader of a report sees it."""
        if isinstance(value, np.ndarray):
            numbers = value.ndim == 1
            return ", ".join(f"{number:g}" for number in value) if numbers else f"image {' × '.join(map(str, value.shape))}"
        text = " ‖ ".join(value) if isinstance(value, tuple) else str(value)
        return text if len(text) <= most else text[: most - 1] + "…"

    @staticmethod
    def fits(names: list[str]) -> bool:
        return "label" in names

    @staticmethod
    def inputs_of(chunk: Chunk, source: str):
        """The inputs in these columns: texts, pairs, an array of images, or an array of numbers."""
        columns = chunk.columns
        if "text" in columns:
            return [str(value) for value in columns["text"]]
        if "text_a" in columns and "text_b" in columns:
            return [(str(a), str(b)) for a, b in zip(columns["text_a"], columns["text_b"])]
        if "image" in columns:
            return np.asarray(columns["image"])
        names = [name for name in columns if name != "label"]
        if not names:
            raise Mistake(f"{source} has only the column label; expected text, text_a and text_b, image, or numbers too.")
        return numbers(columns, names, chunk.lines, source)

    @staticmethod
    def targets_of(chunk: Chunk, source: str) -> list[str]:
        if "label" not in chunk.columns:
            names = ", ".join(chunk.columns)
            raise Mistake(f"{source} has no column label (found: {names}); name it with --columns label=NAME,text=NAME.")
        labels = [str(value).strip() for value in chunk.columns["label"]]
        if "" in labels:
            row = labels.index("")
            raise Mistake(f"{source}, line {chunk.lines[row]}: the label is empty; give every row a label or drop the row.")
        return labels

    def learn(self, targets) -> list[str]:
        """The classes; returns what is worth saying of them."""
        targets = np.asarray(targets)
        self.classes, counts = np.unique(targets, return_counts=True)
        self.counts = counts
        if len(self.classes) < 2:
            only = self.classes[0] if len(self.classes) else "none"
            raise Mistake(f"found one class only ({only}) in {len(targets)} rows; to classify, at least two are needed.")
        if counts.min() * 10 < counts.max():
            rare, often = self.classes[counts.argmin()], self.classes[counts.argmax()]
            return [f"the classes are uneven: {often} has {counts.max()} rows, {rare} {counts.min()}; "
                    "look at macro F1 beside accuracy, and try --set balance=true"]  # fmt: skip
        return []

    def encode(self, targets, where=lambda row: f"row {row + 1}") -> np.ndarray:
        targets = np.asarray(targets)
        classes = self.classes
        if targets.dtype.kind in "US" and classes.dtype.kind not in "US":  # numbers in training, texts in a file
            order = np.argsort(classes.astype(str))
            classes = classes.astype(str)[order]
        else:
            order = np.arange(len(classes))
        at = np.clip(np.searchsorted(classes, targets), 0, len(classes) - 1)
        strange = np.flatnonzero(classes[at] != targets)
        if len(strange):
            row = int(strange[0])
            known = ", ".join(map(str, self.classes[:8])) + (", …" if len(self.classes) > 8 else "")
            raise Mistake(f"{where(row)}: the label {targets.tolist()[row]!r} is not among the trained ones: {known}.")
        return order[at]

    def head(self) -> OneOf:
        weights = (self.counts.sum() / (len(self.counts) * self.counts)).tolist() if self.balance else None
        return OneOf(len(self.classes), weights)

    def answers(self, outputs: np.ndarray, has_probabilities: bool) -> list[dict]:
        """One {"label", "probability"} a row."""
        best = outputs.argmax(1)
        labels = self.classes[best].tolist()
        if not has_probabilities:
            return [{"label": label} for label in labels]
        sure = np.exp(outputs[np.arange(len(outputs)), best])
        return [{"label": label, "probability": round(float(p), 6)} for label, p in zip(labels, sure)]

    def right(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """1 or 0 a row: what the mean of is the metric, for the bootstrap."""
        return (outputs.argmax(1) == targets).astype(np.float64)

    def confusion(self, outputs: np.ndarray, targets: np.ndarray) -> dict:
        """Rows are what was expected, columns what was answered."""
        size = len(self.classes)
        counts = np.bincount(targets * size + outputs.argmax(1), minlength=size * size).reshape(size, size)
        return {"classes": [str(label) for label in self.classes], "counts": counts.tolist()}

    def worst(self, outputs: np.ndarray, targets: np.ndarray, inputs, most: int = 10) -> list[dict]:
        """The mistakes that were made with the most confidence."""
        answers = outputs.argmax(1)
        top, right = outputs.max(1), outputs[np.arange(len(outputs)), targets]
        probable = bool((outputs <= 1e-6).all())  # log-probabilities, not bare scores
        wrong = np.flatnonzero(answers != targets)
        wrong = wrong[np.argsort(right[wrong] - top[wrong], kind="stable")][:most]
        return [
            {
                "input": self.shown(inputs[row]),
                "expected": str(self.classes[targets[row]]),
                "answer": str(self.classes[answers[row]]),
                "probability": float(np.exp(top[row])) if probable else None,
            }
            for row in wrong
        ]

    def scores(self, outputs: np.ndarray, targets: np.ndarray) -> dict[str, float]:
        confusion = np.array(self.confusion(outputs, targets)["counts"])
        right = np.diag(confusion)
        total = confusion.sum(0) + confusion.sum(1)
        f1 = np.where(total > 0, 2 * right / np.maximum(total, 1), np.nan)
        return {"accuracy": float(right.sum() / len(targets)), "macro_f1": float(np.nanmean(f1))}

    def to_json(self) -> dict:
        return {
            "name": self.name,
            "balance": self.balance,
            "classes": self.classes.tolist(),
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_json(cls, saved: dict) -> Classify:
        task = cls(balance=saved["balance"])
        task.classes, task.counts = np.array(saved["classes"]), np.array(saved["counts"])
        return task


def numbers(columns: dict, names: list[str], lines, source: str) -> np.ndarray:
    """The named columns as an (N, F) table; the first cell that is no number is named."""
    try:
        return np.array([np.asarray(columns[name], np.float64) for name in names]).T
    except ValueError:
        pass
    for name in names:
        for row, value in enumerate(columns[name]):
            try:
                float(value)
            except (TypeError, ValueError):
                raise Mistake(
                    f"{source}, line {lines[row]}: found {str(value)[:40]!r} in column {name}, expected a number; if the text "
                    f"is in that column, say --columns text={name},label=NAME."
                ) from None
    raise Mistake(f"{source}: the columns {', '.join(names)} are not numbers of equal length.")
