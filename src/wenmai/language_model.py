"""LanguageModel: an estimator of running text, which it can score and go on with.

`LanguageModel("ngram", order=5).fit(texts)`; then `log_prob`, `perplexity`, `generate`, `complete`. All logarithms are natural.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from wenmai.data.files.corpus import Corpus
from wenmai.data.values import checked
from wenmai.describing import Documented
from wenmai.errors import Mistake, warn_of
from wenmai.estimator import Estimator
from wenmai.tasks import continuation
from wenmai.tasks.contract import language_model
from wenmai.tasks.decoding import Choice
from wenmai.tasks.generate import Total


class LanguageModel(Estimator):
    __doc__ = Documented(
        '`LanguageModel("ngram", order=5).fit(lines).generate("the")`; a text is a line, or several.'
    )

    task_name = "generate"

    def fit(self, texts, valid=None, start=None) -> "LanguageModel":
        return super().fit(texts, None, None if valid is None else (valid, None), start)

    # Scoring

    def scored(
        self, texts, independent: bool = False
    ) -> Iterator[tuple[bytes, np.ndarray, np.ndarray, int]]:
        """(lines, log p of each (L,), its tokens (L,), how many are unknown), some megabytes at a time. Lines follow one another,
        or each stands apart."""
        return self.trained().language.scored(Corpus.of(texts).blocks(), independent)

    def total(self, texts) -> Total:
        return self.task_.total(self.trained(), texts)

    def perplexity(self, texts) -> float:
        return self.evaluate(texts)["perplexity"]

    def log_prob(self, texts, after: str | None = None):
        """Σ log p of a text, or of each of several (N,), line by line with their ends. `after` a text that has begun, of what
        goes on there: a word, or more, without an end."""
        trained = self.trained()
        if after is not None:
            if not isinstance(texts, str):
                raise Mistake(
                    "after={after!r} goes with one text, found {type}; ask for one at a time.",
                    after=after[:40],
                    type=type(texts).__name__,
                )
            return trained.language.log_prob(
                trained.inputs.prompt(after), trained.inputs.prompt(texts)
            )
        if isinstance(texts, (str, Path, Corpus)):
            return self.total(texts).log_prob
        texts = list(checked(texts))
        if any("\n" in text.removesuffix("\n") for text in texts):
            return np.array([self.total(text).log_prob for text in texts])
        return np.concatenate(
            [np.zeros(0), *(sums for _, sums, _, _ in self.scored(texts, independent=True))]
        )

    def start(self):
        """The state at the opening of a line, from which `advance` reads on."""
        return self.trained().language.initial_state()

    def advance(self, state, word: str) -> tuple[float, object]:
        """(log p of the word, or of the line's end "\\n", in its context; the state after it). A state stays as it was."""
        return language_model(self.model_, self.inputs_).advanced(
            state, word
        )  # no more than this: it takes 2 µs

    # Going on

    def stream(
        self,
        prompt: str = "",
        *,
        tokens: int = 100,
        lines: int | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> Iterator[str]:
        """What follows the prompt, piece by piece; up to so many `tokens`, or `lines` that end. It can be closed midway."""
        trained = self.trained()
        continuation.check_length(tokens, lines)
        choice, begun = Choice(temperature, top_k, top_p), trained.inputs.prompt(prompt)
        warn_of(continuation.prompt_notes(trained, begun))
        yield from continuation.pieces(trained, prompt, begun, tokens, lines, choice, seed)

    def generate(
        self,
        prompt: str | Iterable[str] = "",
        *,
        tokens: int = 100,
        lines: int | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> str | list[str]:
        """The prompt and what follows it, as `stream` has it; of several prompts a list, written together, of which each is as it
        would be alone: the first with this seed, the next with the next."""
        if isinstance(prompt, str):
            how = {
                "lines": lines,
                "temperature": temperature,
                "top_k": top_k,
                "top_p": top_p,
                "seed": seed,
            }
            return prompt + "".join(self.stream(prompt, tokens=tokens, **how))
        continuation.check_length(tokens, lines)
        prompts, choice, trained = list(prompt), Choice(temperature, top_k, top_p), self.trained()
        seeds = list(range(seed, seed + len(prompts)))
        follows = continuation.continuations(trained, prompts, seeds, tokens, lines, choice)
        warn_of(follows.notes)
        return [begun + more for begun, more in zip(prompts, follows)]

    def complete(
        self, prompt: str = "", count: int = 5, beginning: str = ""
    ) -> list[tuple[str, float]]:
        """The most probable next tokens with their probabilities; only those that begin so, if asked."""
        trained = self.trained()
        begun = trained.inputs.prompt(prompt)
        warn_of(continuation.prompt_notes(trained, begun))
        return continuation.next_tokens(trained, begun, count, beginning)
