"""Composer: an estimator that writes a text for a label, a row of numbers or an image.

`Composer("lstm").fit(labels, texts)`; then `predict` (the most probable token at every step), `compose` and `stream` (drawn by
chance), `log_prob`, `evaluate`. All logarithms are natural."""

from collections.abc import Iterator

import numpy as np
import torch

from wenmai.describing import Documented
from wenmai.errors import Mistake
from wenmai.estimator import Estimator, text_log_prob
from wenmai.layers.cache import take
from wenmai.tasks import writing
from wenmai.tasks.compose import TOGETHER
from wenmai.tasks.decoding import Choice, continued, together


class Composer(Estimator):
    __doc__ = Documented(
        '`Composer("gru").fit(labels, texts).compose("French", count=5)`; inputs are labels, rows of numbers or images.'
    )

    task_name, log_prob = "compose", text_log_prob

    def compose(
        self,
        input,
        count: int = 1,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> list[str]:
        """So many texts for one input, drawn by chance: the nth as `stream` with seed + n gives it."""
        trained = self.trained()
        if count < 1:
            raise Mistake(
                "count={count}: expected 1 or more, how many texts are written.", count=count
            )
        choice, most, texts = Choice(temperature, top_k, top_p), trained.inputs.target.written, []
        begun, end = (
            writing.begin(trained, self._encoded(input), most),
            trained.inputs.target.special.end,
        )
        for start in range(0, count, TOGETHER):
            size = min(TOGETHER, count - start)
            log_probs, state = (take(part, torch.zeros(size, dtype=torch.int64)) for part in begun)
            seeds = [seed + start + number for number in range(size)]
            chosen, _ = together(
                writing.stepper(trained), log_probs, state, most, choice, seeds, end, lines=1
            )
            texts += (writing.text_of(trained, tokens) for tokens in chosen)
        return texts

    def stream(
        self, input, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0
    ) -> Iterator[str]:
        """A text for one input, piece by piece, each as soon as it is drawn."""
        trained = self.trained()
        choice, most = Choice(temperature, top_k, top_p), trained.inputs.target.written
        first, state = writing.begin(trained, self._encoded(input), most)
        chosen = continued(writing.stepper(trained), first, state, most, choice, seed)
        yield from trained.inputs.target.pieces(map(int, chosen))

    def _encoded(self, input) -> np.ndarray:
        """One input (1, …)."""
        return self.examples(
            [input] if self.inputs_.kind == "labels" else np.asarray(input)[None]
        ).inputs
