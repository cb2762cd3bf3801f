"""Transcriber: an estimator that hears a sound and writes what is said in it.

`Transcriber("lstm").fit(paths, texts).predict(paths)`; then `transcribe` (beam search, with a language model), `answers` (with
the times of the words), `tune` (how much a language model counts), `stream` (of a sound that is still coming), `log_prob`,
`evaluate`."""

from collections.abc import Iterable, Iterator

import numpy as np

from wenmai.describing import Documented
from wenmai.errors import warn_of
from wenmai.estimator import Estimator, text_log_prob
from wenmai.tasks.contract import Answers
from wenmai.tasks.listening import Listening


class Transcriber(Estimator):
    __doc__ = Documented(
        '`Transcriber("lstm").fit(paths, texts).predict(["some.wav"])`; a sound is a path, or (samples, rate).'
    )

    task_name, log_prob = "transcribe", text_log_prob

    def transcribe(
        self,
        sounds,
        *,
        beam: int = 1,
        lm=None,
        lm_weight: float | None = None,
        bonus: float | None = None,
    ) -> list[str]:
        """What is said: the most probable token at every step, or the best that a search through `beam` texts at once finds; with
        `lm`, a LanguageModel, that of the highest log p + lm_weight · log p of the language model + bonus · its words."""
        texts, notes = self.task_.predict(
            self.trained(), sounds, beam=beam, lm=lm, lm_weight=lm_weight, bonus=bonus
        )
        warn_of(notes)
        return texts.tolist()

    def tune(self, lm, sounds, texts, beam: int = 16) -> dict[str, float]:
        """Choose `lm_weight` and `bonus` on held-out sounds; they are kept, and saved, with the model."""
        return self.task_.tune(self.trained(), lm, sounds, texts, beam)

    def hypotheses(self, sounds, texts, **how) -> Answers:
        """What `evaluate` scores: the best for each, with its tokens; and notes."""
        return self.task_.hypotheses(self.trained(), sounds, texts, **how)

    def stream(self, blocks: Iterable[np.ndarray], rate: int) -> Iterator[str]:
        """Word after word of a sound that comes in blocks of samples, each as soon as it is said."""
        listening = Listening(self.trained(), rate)
        for block in blocks:
            yield from listening.push(block)
        yield from listening.finish()
