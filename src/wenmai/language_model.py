"""LanguageModel: an estimator of running text, which it can score and go on with.

`LanguageModel("ngram", order=5).fit(texts)`; then `log_prob`, `perplexity`, `generate`, `complete`. All logarithms are natural.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from math import exp
from pathlib import Path

import numpy as np
import torch

from wenmai.catalog import rung_named
from wenmai.data.examples.rows import Examples
from wenmai.data.examples.streams import Stream
from wenmai.data.files.corpus import Corpus, checked
from wenmai.data.text.vocabulary import END, UNK
from wenmai.errors import Mistake, Notice
from wenmai.estimator import Estimator
from wenmai.language.judging import Ways, further, told_of_windows
from wenmai.language.scoring import stride_of
from wenmai.locale import Message
from wenmai.options import sort_out
from wenmai.tasks.decoding import Choice, continued, together
from wenmai.tasks.generate import Total
from wenmai.training import loop
from wenmai.training.progress import Progress, Snapshot

SIDE_BY_SIDE = 64  # texts that are written at once


def check_length(tokens: int, lines: int | None) -> None:
    if tokens < 1:
        raise Mistake("tokens={tokens}: expected 1 or more, how many are written at the most.", tokens=tokens)
    if lines is not None and lines < 1:
        raise Mistake("lines={lines}: expected 1 or more, after which it stops; leave it out to go on through their ends.",
                      lines=lines)  # fmt: skip


class LanguageModel(Estimator):
    """`LanguageModel("ngram", order=5).fit(lines).generate("the")`; a text is a line, or several."""

    task_name = "generate"

    # Learning

    def fit(self, texts, valid=None) -> LanguageModel:
        for _ in self.training(texts, None, None if valid is None else (valid, None)):
            pass
        return self

    def training(self, texts, targets=None, valid: tuple | None = None, where=None,
                 resume: Snapshot | None = None, known=None) -> Iterator[Progress]:  # fmt: skip
        text = Corpus.of(texts)
        text.check()
        held = None if valid is None else (Corpus.of(valid[0]), None)
        return super().training(text, None, held, where, resume, known)

    def _parts(self, text: Corpus, targets, valid, budget: dict):
        """A rung that tunes nothing on held-out text learns from all of it."""
        if valid is None and budget["validation"] and rung_named(self.rung, self.task_name).tunes:
            text, held = text.parts([budget["validation"]])
            valid = (held, None) if held.size else None
        return text, None, valid, None, None

    def _learned_from(self, text: Corpus, targets, given: dict) -> Examples:
        if rung_named(self.rung, self.task_name).train is not loop.train:
            return Examples(self.inputs_.encode(text))
        tokens = self.inputs_.whole(text)
        with torch.device("meta"):  # which asks what a batch has to be, and makes nothing
            model = rung_named(self.rung, self.task_name).builder("generate")(self.inputs_, self.task_.head(), **given["rung"])
        if len(tokens) - 1 < model.steps:
            self.notes_ += [Message("the text has {tokens:,} tokens, fewer than the {steps:,} that are read at once: it is "
                                    "learned as one window", tokens=len(tokens) - 1, steps=model.steps)]  # fmt: skip
        return Examples(Stream(tokens, model.steps, model.carried))

    def _judge(self, valid: tuple, held, seed: int):
        if rung_named(self.rung, self.task_name).train is loop.train:
            tokens = self.inputs_.whole(valid[0])
            return lambda: exp(min(700.0, self.model_.glance(tokens)))
        return lambda: self.evaluate(valid[0])["perplexity"]

    # Scoring

    def scored(self, texts, apart: bool = False) -> Iterator[tuple[bytes, np.ndarray, np.ndarray, int]]:
        """(lines, log p of each (L,), its tokens (L,), how many are unknown), some megabytes at a time. Lines follow one another,
        or each stands apart."""
        self._fitted()
        return self.model_.scored(Corpus.of(texts).blocks(), apart)

    def total(self, texts) -> Total:
        found = Total()
        for block, sums, lengths, unknown in self.scored(texts):
            found += Total(float(sums.sum()), int(lengths.sum()), len(block) + (block[-1:] != b"\n"), unknown, len(sums))
        return found

    def evaluate(self, texts, targets=None, where=None, tune=None, **ways) -> dict[str, float]:
        """Perplexity (of a token, line ends among them) and bits per byte. `ways` to judge it otherwise, each apart: stride=1,
        cache=2000, dynamic="sgd" and what goes with them (models/judging.py); what is left open is chosen on the text `tune`."""
        asked = Ways(**sort_out(ways, {"ways": Ways})["ways"])
        text = Corpus.of(texts)
        total = self.total(text)
        if not total.tokens:
            raise Mistake("there is no text to evaluate; expected at least one line.")
        scores, self.evaluated_ = self.task_.scores(total), self.task_.notes(total, self.inputs_.unit)
        if not getattr(self.model_, "carried", True):
            self.evaluated_.append(told_of_windows(self.model_.steps, stride_of(self.model_, None)))
        for way, log_prob, note in further(self.model_, text, asked, None if tune is None else Corpus.of(tune)):
            found = self.task_.scores(replace(total, log_prob=log_prob))
            scores |= {f"{name}_{way}": score for name, score in found.items()}
            self.evaluated_.append(note)
        return scores

    def perplexity(self, texts) -> float:
        return self.evaluate(texts)["perplexity"]

    def score(self, texts, targets=None) -> float:
        """Σ log p: as scikit-learn wants it, more is better."""
        return self.total(texts).log_prob

    def log_prob(self, texts, after: str | None = None):
        """Σ log p of a text, or of each of several (N,), line by line with their ends. `after` a text that has begun, of what
        goes on there: a word, or more, without an end."""
        self._fitted()
        if after is not None:
            if not isinstance(texts, str):
                raise Mistake("after={after!r} goes with one text, found {type}; ask for one at a time.", after=after[:40],
                              type=type(texts).__name__)  # fmt: skip
            return self.model_.log_prob(self.inputs_.prompt(after), self.inputs_.prompt(texts))
        if isinstance(texts, (str, Path, Corpus)):
            return self.total(texts).log_prob
        texts = list(checked(texts))
        if any("\n" in text.removesuffix("\n") for text in texts):
            return np.array([self.total(text).log_prob for text in texts])
        return np.concatenate([np.zeros(0), *(sums for _, sums, _, _ in self.scored(texts, apart=True))])

    def start(self):
        """The state at the opening of a line, from which `advance` reads on."""
        self._fitted()
        return self.model_.opened()

    def advance(self, state, word: str) -> tuple[float, object]:
        """(log p of the word, or of the line's end "\\n", in its context; the state after it). A state stays as it was."""
        return self.model_.advanced(state, word)

    # Going on

    def stream(self, prompt: str = "", *, tokens: int = 100, lines: int | None = None, temperature: float = 1.0, top_k: int = 0,
               top_p: float = 1.0, seed: int = 0) -> Iterator[str]:  # fmt: skip
        """What follows the prompt, piece by piece; up to so many `tokens`, or `lines` that end. It can be closed midway."""
        self._fitted()
        check_length(tokens, lines)
        choice, begun = Choice(temperature, top_k, top_p), self._begun(prompt)
        first, state = self.model_.begin(begun)
        step, state = self.model_.steps_from(state)
        chosen = continued(self._known(step), self._known_of(first), state, tokens, choice, seed)
        yield from self.inputs_.pieces(begun.tolist(), map(int, chosen), lines, prompt[-1:].isspace())

    def _begun(self, prompt: str) -> np.ndarray:
        """Its tokens (T,); what a model will not see of them is told."""
        begun, model = self.inputs_.prompt(prompt), self.model_
        if not getattr(model, "carried", True) and len(begun) > model.steps:
            note = Message("the prompt has {tokens:,} tokens, and {rung} looks back on {steps:,}: the first {unseen:,} play no "
                           "part", tokens=len(begun), rung=self.rung, steps=model.steps,
                           unseen=len(begun) - model.steps)  # fmt: skip
            warnings.warn(Notice(note), stacklevel=3)
        return begun

    def _together(self, prompts: list[str], seeds: list[int], tokens: int, lines: int | None, choice: Choice) -> list[str]:
        """What follows each prompt. Those of one length are read together; where a state is carried on, all are then written
        together, since it is as large however long a prompt is."""
        self._fitted()
        for row, prompt in enumerate(prompts):
            if not isinstance(prompt, str):
                raise Mistake("input {row}: expected a text, found {type} {value!r}.", row=row + 1, type=type(prompt).__name__,
                              value=str(prompt)[:40])  # fmt: skip
        begun, found = [self._begun(prompt) for prompt in prompts], [""] * len(prompts)
        order = sorted(range(len(prompts)), key=lambda row: len(begun[row]))
        for some in (order[start : start + SIDE_BY_SIDE] for start in range(0, len(order), SIDE_BY_SIDE)):
            for rows, first, state in self._opened(some, begun):
                chosen = self._chosen(first, state, tokens, choice, [seeds[row] for row in rows], lines)
                for row, numbers in zip(rows, chosen):
                    pieces = self.inputs_.pieces(begun[row].tolist(), numbers, lines, prompts[row][-1:].isspace())
                    found[row] = "".join(pieces)
        return found

    def _chosen(self, first: torch.Tensor, state, tokens: int, choice: Choice, seeds: list[int], lines: int | None):
        step, state = self.model_.steps_from(state)
        return together(self._known(step), self._known_of(first), state, tokens, choice, seeds, END, lines)[0]

    def _opened(self, rows: list[int], begun: list[np.ndarray]) -> list[tuple[list[int], torch.Tensor, object]]:
        """(rows, log p of what comes next (B, V), their state) of rows in the order of their lengths, as few times as can be."""
        alike = [list(group) for _, group in groupby(rows, lambda row: len(begun[row]))]
        found = [(group, *self.model_.begin(np.stack([begun[row] for row in group]))) for group in alike]
        if getattr(self.model_, "carried", True):
            groups, firsts, states = zip(*found)
            return [(list(chain(*groups)), torch.cat(firsts), torch.cat(states))]
        return found

    def _known(self, step):
        """Steps that never lead to an unknown token."""

        def known(state, tokens):
            log_probs, state = step(state, tokens)
            return self._known_of(log_probs), state

        return known

    def _known_of(self, log_probs: torch.Tensor) -> torch.Tensor:
        log_probs[:, UNK] = float("-inf")
        if not log_probs.is_cuda and log_probs.amax(1).min() == float("-inf"):  # never of a network; and who asks a GPU waits
            raise Mistake("after this text nothing has a probability in a model without smoothing; begin otherwise, or train "
                          "with smoothing.")  # fmt: skip
        return log_probs

    def generate(self, prompt: str | Iterable[str] = "", *, tokens: int = 100, lines: int | None = None, temperature: float = 1.0,
                 top_k: int = 0, top_p: float = 1.0, seed: int = 0) -> str | list[str]:  # fmt: skip
        """The prompt and what follows it, as `stream` has it; of several prompts a list, written together, of which each is as it
        would be alone: the first with this seed, the next with the next."""
        if isinstance(prompt, str):
            how = {"lines": lines, "temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
            return prompt + "".join(self.stream(prompt, tokens=tokens, **how))
        check_length(tokens, lines)
        prompts, choice = list(prompt), Choice(temperature, top_k, top_p)
        written = self._together(prompts, list(range(seed, seed + len(prompts))), tokens, lines, choice)
        return [begun + more for begun, more in zip(prompts, written)]

    def complete(self, prompt: str = "", count: int = 5, beginning: str = "") -> list[tuple[str, float]]:
        """The most probable next tokens with their probabilities; only those that begin so, if asked."""
        self._fitted()
        log_probs, _ = self.model_.begin(self._begun(prompt))
        log_probs = self._known_of(log_probs).cpu()
        order = log_probs[0].argsort(descending=True, stable=True)
        found: list[tuple[str, float]] = []
        for token in order.tolist():
            if len(found) == count or log_probs[0, token] == float("-inf"):
                break
            text = "\n" if token == END else self.inputs_.line([token])
            if text.startswith(beginning):
                found.append((text, float(log_probs[0, token].exp())))
        return found

    def predict(self, prompts) -> np.ndarray:
        """What follows each prompt: a line, drawn as `generate` does, every one with seed 0."""
        prompts = [prompts] if isinstance(prompts, str) else list(prompts)
        return np.array(self._together(prompts, [0] * len(prompts), 100, 1, Choice()), object)

    def answers(self, prompts) -> list[dict]:
        return [{"text": prompt, "continued": more} for prompt, more in zip(prompts, self.predict(prompts))]

    def _examples(self, texts, targets=None, where=None) -> Examples:
        return Examples(self.inputs_.encode(Corpus.of(texts)))
