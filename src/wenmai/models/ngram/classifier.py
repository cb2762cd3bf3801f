"""One n-gram model a class, and a prior: the class under which the text is likeliest (Bayes; as Cavnar & Trenkle 1994 tell
languages apart, with probabilities).

    p(c | text) ∝ p(c) ∏ p(w_t | w_{t−n+1} … w_{t−1}, c)
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

from wenmai.data.examples.rows import Examples
from wenmai.data.examples.sequences import Sequences
from wenmai.data.text.vocabulary import BEGIN, END
from wenmai.locale import Message
from wenmai.models.explanation import Matched
from wenmai.models.ngram.counts import count
from wenmai.models.ngram.estimation import Recipe
from wenmai.models.ngram.layout import array_of
from wenmai.models.ngram.numbering import Numbering
from wenmai.models.ngram.weights import LN10
from wenmai.training.progress import Progress, Snapshot

LOWEST = -99 * LN10  # of a text that has no probability at all


class NgramClassifier:
    has_probabilities = mapped = True
    per_step = False

    def __init__(self, inputs, head, recipe: Recipe):
        self.recipe, self.classes, self.grams, self.prior = (
            recipe,
            head.classes,
            [],
            np.zeros(head.classes),
        )
        self.balanced = head.weights is not None
        self.numbering = Numbering(inputs.special, inputs.vocabulary, between=True)
        self.vocabulary = self.numbering.size

    def learn(
        self,
        train: Examples,
        judge: Callable[[], float] | None,
        seed: int,
        minutes: float | None = None,
        resume: Snapshot | None = None,
        where: Callable[[int], str] = str,
    ) -> Iterator[Progress]:
        began, notes = time.perf_counter(), {}
        counts = np.bincount(train.targets, minlength=self.classes)
        self.prior = np.log(
            np.full(self.classes, 1 / self.classes) if self.balanced else counts / counts.sum()
        )
        self.grams = []
        for number in range(self.classes):
            tokens = self.with_openings(train.inputs.take(np.flatnonzero(train.targets == number)))
            delta = (
                self.recipe.delta_for(tokens, self.vocabulary) if self.recipe.fits_delta else None
            )
            grams, own_notes = self.recipe.estimate(
                count(tokens, self.vocabulary, self.recipe.order, BEGIN), delta
            )
            self.grams.append(grams)
            notes |= dict.fromkeys(own_notes)
        if notes:
            first = next(iter(notes))
            note = Message(
                "in some of the {classes} classes there is little text: {note}",
                classes=self.classes,
                note=first,
            )
            yield self.progress(0, began, warning=note, passing=True)
        yield self.progress(1, began, score=judge() if judge else None)

    def progress(self, step: int, began: float, **more) -> Progress:
        return Progress(
            step, 1, float(step), float("nan"), 0.0, time.perf_counter() - began, **more
        )

    def with_openings(self, rows: Sequences) -> np.ndarray:
        """Every row opened by BEGIN and closed by END."""
        lengths = rows.lengths + 2
        tokens = np.full(int(lengths.sum()), END, np.int32)
        starts = np.cumsum(lengths) - lengths
        tokens[starts] = BEGIN
        inside = np.ones(len(tokens), bool)
        inside[starts] = inside[starts + lengths - 1] = False
        tokens[inside] = self.numbering.numbers(rows.flat)
        return tokens

    def outputs(self, inputs: Sequences) -> np.ndarray:
        """log p(c | text) (N, C)"""
        tokens = self.with_openings(inputs)
        closed, starts = (
            tokens[tokens != BEGIN],
            np.concatenate([[0], np.cumsum(inputs.lengths + 1)]),
        )
        scores = (
            np.stack([LN10 * grams.score(closed, starts) for grams in self.grams], 1) + self.prior
        )
        scores = np.maximum(scores, LOWEST * (inputs.lengths[:, None] + 1))
        top = scores.max(1, keepdims=True)
        return (scores - top - np.log(np.exp(scores - top).sum(1, keepdims=True))).astype(
            np.float32
        )

    def explain(self, inputs: Sequences) -> list[list[Matched]]:
        """Of one text, for every class the n-grams that said its tokens, its end among them."""
        tokens, by_class = self.with_openings(inputs)[1:].tolist(), []
        for grams in self.grams:
            state, steps = tuple(grams.start(1)[0].tolist()), []
            for token in tokens:
                length, log_prob, paid = grams.matched(state, token)
                steps.append(Matched(length, LN10 * log_prob, [LN10 * weight for weight in paid]))
                _, state = grams.one(state, token)
            by_class.append(steps)
        return by_class

    def parameters_count(self) -> int:
        return sum(int(grams.sizes.sum()) for grams in self.grams)

    def state(self) -> dict[str, np.ndarray]:
        arrays = {"prior": self.prior}
        for number, grams in enumerate(self.grams):
            arrays |= {f"{number}.{name}": array for name, array in grams.arrays().items()}
        return arrays

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.prior = array_of(arrays, "prior", np.float64, self.classes)
        parts = [
            {
                name.removeprefix(f"{number}."): array
                for name, array in arrays.items()
                if name.startswith(f"{number}.")
            }
            for number in range(self.classes)
        ]
        self.grams = [self.recipe.laid_out(part, self.vocabulary) for part in parts]
