"""Composer: an estimator that writes a text for a label, a row of numbers or an image.

`Composer("lstm").fit(labels, texts)`; then `predict` (the most probable token at every step), `compose` and `stream` (drawn by
chance), `log_prob`, `evaluate`. All logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp

import numpy as np
import torch

from wenmai.data.examples.rows import Examples
from wenmai.data.inputs import kinds as kinds_of_input
from wenmai.data.text.vocabulary import END, UNK
from wenmai.data.values import listed
from wenmai.errors import Mistake
from wenmai.layers.cache import take
from wenmai.locale import Message
from wenmai.tasks.decoding import Choice, continued, together
from wenmai.tasks.generate import unknown_tokens
from wenmai.writing_estimator import WritingEstimator

TOGETHER = 256  # texts that are written at once
GREEDY = Choice(temperature=0.0)


class Composer(WritingEstimator):
    """`Composer("gru").fit(labels, texts).compose("French", count=5)`; inputs are labels, rows of numbers or images."""

    task_name = "compose"
    reads = staticmethod(kinds_of_input.learn_both)

    # Learning

    def _read(self, inputs, targets, options: dict):
        return self.reads(inputs, targets, self.task_.texts, **options)

    def judge_of(self, examples: Examples) -> Callable[[], float]:
        return lambda: exp(min(700.0, -float(self._sums(examples).sum()) / int(examples.written.lengths.sum())))

    def _examples(self, inputs, targets=None, where=lambda row: Message("row {row}", row=row + 1)) -> Examples:
        inputs, targets = self.task_.arranged(listed(inputs), None if targets is None else listed(targets))
        if targets is not None:
            self.task_.encode(targets, where)
        inputs = inputs if len(inputs) else [] if self.inputs_.kind == "labels" else np.zeros((0, *self._shape()))
        return self._encoded(inputs, targets)

    def _shape(self) -> tuple[int, ...]:
        source = self.inputs_.source
        return source.shape if self.inputs_.kind == "image" else (source.width,)

    # Scoring

    def evaluate(self, inputs, targets, where=lambda row: Message("row {row}", row=row + 1)) -> dict[str, float]:
        """Perplexity (of a token, ends of texts among them), bits per byte, and how often the text of the most probable tokens is
        the right one."""
        self._fitted()
        texts = listed(targets)
        examples = self._pairs(inputs, texts, where)
        lengths, unknown = examples.written.lengths, int((examples.written.flat == UNK).sum())
        self.evaluated_ = unknown_tokens(unknown, int(lengths.sum())) + self._cut(examples)
        sizes = np.fromiter((len(text.encode("utf-8", "replace")) + 1 for text in texts), np.int64, len(texts))
        for row in np.flatnonzero(examples.written.flat[examples.written.offsets[1:] - 1] != END):  # of one that was cut
            sizes[row] = len(self._text(examples.written[int(row)].tolist()).encode("utf-8", "replace"))
        right = np.fromiter((one == other for one, (other, _) in zip(texts, self._greedy(examples.inputs))), bool, len(texts))
        return self.task_.scores(self._sums(examples), lengths, sizes, right)

    def score(self, inputs, targets) -> float:
        """The mean log p of a token, −log of the perplexity: as scikit-learn wants it, more is better."""
        examples = self._pairs(inputs, targets)
        return float(self._sums(examples).sum()) / int(examples.written.lengths.sum())

    # Writing

    def _greedy(self, encoded: np.ndarray) -> list[tuple[str, float]]:
        """(the text of the most probable token at every step, its log p) for every row; equal labels are answered once."""
        distinct, which = np.unique(encoded, return_inverse=True) if encoded.ndim == 1 else (encoded, np.arange(len(encoded)))
        found = []
        for start in range(0, len(distinct), TOGETHER):
            part = distinct[start : start + TOGETHER]
            begun, most = self._begun(part, self.inputs_.target.longest), self.inputs_.target.longest
            rows, sums = together(self._step, *begun, most, GREEDY, [0] * len(part), END, lines=1)
            found += zip(map(self._text, rows), sums)
        return [found[at] for at in which.tolist()]

    def predict(self, inputs) -> np.ndarray:
        """A text for every input: the most probable token at every step, so always the same one."""
        self._fitted()
        return np.array([text for text, _ in self._greedy(self._examples(inputs).inputs)], object)

    def predict_proba(self, inputs):
        raise Mistake("a Composer writes texts, of which there is no table; log_prob(inputs, texts) says how probable they are.")

    def answers(self, inputs) -> list[dict]:
        """{"text", "log_prob"} an input."""
        self._fitted()
        return [{"text": text, "log_prob": round(log_prob, 6)}
                for text, log_prob in self._greedy(self._examples(inputs).inputs)]  # fmt: skip

    def compose(self, input, count: int = 1, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
                seed: int = 0) -> list[str]:  # fmt: skip
        """So many texts for one input, drawn by chance: the nth as `stream` with seed + n gives it."""
        self._fitted()
        if count < 1:
            raise Mistake("count={count}: expected 1 or more, how many texts are written.", count=count)
        choice, encoded, found = Choice(temperature, top_k, top_p), self._one(input), []
        begun = self._begun(encoded, self.inputs_.target.longest)
        for start in range(0, count, TOGETHER):
            size = min(TOGETHER, count - start)
            log_probs, state = (take(part, torch.zeros(size, dtype=torch.int64)) for part in begun)
            seeds = [seed + start + number for number in range(size)]
            rows, _ = together(self._step, log_probs, state, self.inputs_.target.longest, choice, seeds, END, lines=1)
            found += map(self._text, rows)
        return found

    def stream(self, input, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0) -> Iterator[str]:
        """A text for one input, piece by piece, each as soon as it is drawn."""
        self._fitted()
        choice, begun = Choice(temperature, top_k, top_p), self._begun(self._one(input), self.inputs_.target.longest)
        chosen = continued(self._step, *begun, self.inputs_.target.longest, choice, seed)
        yield from self.inputs_.target.pieces(map(int, chosen))

    def _one(self, input) -> np.ndarray:
        return self._examples([input] if self.inputs_.kind == "labels" else np.asarray(input)[None]).inputs
