"""Prefix beam search over the outputs of CTC (Hannun et al. 2014), with a language model or without.

    p(w_1 … w_n, t) = p_b + p_n        paths up to frame t that read w_1 … w_n, ending in a blank, or in w_n

    score(w) = log p_CTC(w) + weight · log p_LM(w) + bonus · |w|        |w|: units of the language model, words or characters

All paths of a text are added up, so that where the beam holds every prefix the most probable text is found. A language model
gives log p of the next unit, and state after state: `LanguageModel` in wenmai does. Of words it is asked when a word ends."""

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from math import exp, log1p
from typing import NamedTuple

import numpy as np

from wenmai.errors import Mistake

NEVER = float("-inf")
LEAST = -9.0  # log p of a token at a frame, below which it opens no new prefix
SMALL = 300  # words of a vocabulary that are all asked for after every word
Fusion = Callable[
    [tuple[int, ...]], float
]  # the tokens of a text so far → what a language model adds to its score


class BeamHypothesis(NamedTuple):
    tokens: list[int]
    score: float
    log_prob: float  # of CTC alone


def add(first: float, second: float) -> float:
    high, low = (first, second) if first > second else (second, first)
    return high if low == NEVER else high + log1p(exp(low - high))


def prefix_beam(
    log_probs: np.ndarray,
    blank: int,
    size: int = 16,
    count: int = 1,
    fusion: Fusion | None = None,
    final: Fusion | None = None,
    least: float = LEAST,
) -> list[BeamHypothesis]:
    """The `count` best texts of (T, V + 1), the best first. `fusion` and `final`: what a language model adds to a text that may
    go on, and to one that is over."""
    fusion = fusion or (lambda tokens: 0.0)
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, NEVER)}
    for frame in log_probs:
        silent, tokens = float(frame[blank]), np.flatnonzero(frame > least)
        if len(tokens) > size:
            tokens = tokens[np.argsort(-frame[tokens], kind="stable")[:size]]
        tokens = [(token, float(frame[token])) for token in tokens.tolist() if token != blank]
        grown: dict[tuple[int, ...], tuple[float, float]] = {}
        for prefix, (ends_blank, ends_token) in beams.items():
            total, last = add(ends_blank, ends_token), prefix[-1] if prefix else None
            b, n = grown.get(prefix, (NEVER, NEVER))
            n = n if last is None else add(n, ends_token + float(frame[last]))
            grown[prefix] = add(b, total + silent), n
            for token, log_p in tokens:
                longer = (*prefix, token)
                b, n = grown.get(longer, (NEVER, NEVER))
                reached = (ends_blank if token == last else total) + log_p
                if reached > NEVER:
                    grown[longer] = b, add(n, reached)
        if len(grown) > size:
            best = sorted(grown, key=lambda prefix: -(add(*grown[prefix]) + fusion(prefix)))[:size]
            beams = {prefix: grown[prefix] for prefix in best}
        else:
            beams = grown
    final = final or fusion
    hypotheses = [
        BeamHypothesis(list(prefix), add(*both) + final(prefix), add(*both))
        for prefix, both in beams.items()
    ]
    return sorted(hypotheses, key=lambda one: -one.score)[:count]


class LanguageFusion:
    """What a language model says of a text, unit by unit. `pieces`: the text of every token; a unit is a word where the model
    counts words, else a token.

    A word that has begun is judged by the best that it may become, max_{v: v begins so} log p(v | words before) (Ortmanns et al.
    1996): else every word would look well until it ends. Of a large vocabulary, by the best after nothing."""

    def __init__(self, model, pieces: list[str], weight: float, bonus: float):
        self.model, self.pieces, self.weight, self.bonus = model, pieces, weight, bonus
        self.words = model.trained().inputs.unit == "word"
        self.known = sorted(set(model.trained().inputs.tokens())) if self.words else []
        self.state = lru_cache(1 << 16)(self._state)
        self.opening = self.log_probs(model.start()) if self.words else None

    def log_probs(self, state) -> np.ndarray:
        """(V,) of every word that is known, in their order"""
        return np.array([self.model.advance(state, word)[0] for word in self.known])

    def _state(self, tokens: tuple[int, ...]) -> tuple[float, object, str, int, np.ndarray | None]:
        """(Σ log p of the units that are complete, the state after them, what has begun, how many they are, log p of all that may
        come)"""
        if not tokens:
            return 0.0, self.model.start(), "", 0, self.opening
        total, state, begun, count, ahead = self.state(tokens[:-1])
        piece = self.pieces[tokens[-1]]
        if not self.words:
            log_prob, state = self.model.advance(state, piece)
            return total + log_prob, state, "", count + 1, None
        begun += piece
        while begun.lstrip().count(" "):
            word, _, begun = begun.lstrip().partition(" ")
            log_prob, state = self.model.advance(state, word)
            total, count = total + log_prob, count + 1
            ahead = self.log_probs(state) if len(self.known) <= SMALL else ahead
        return total, state, begun, count, ahead

    def __call__(self, tokens: tuple[int, ...]) -> float:
        total, state, begun, count, ahead = self.state(tokens)
        if begun := begun.strip():
            total, count = total + self.best(begun, state, ahead), count + 1
        return self.weight * total + self.bonus * count

    def best(self, begun: str, state, ahead: np.ndarray) -> float:
        """log p of the most probable word that begins so; of none, that of an unknown one"""
        first, last = bisect_left(self.known, begun), bisect_left(self.known, begun + chr(0x10FFFF))
        return (
            float(ahead[first:last].max()) if last > first else self.model.advance(state, begun)[0]
        )

    def final(self, tokens: tuple[int, ...]) -> float:
        total, state, begun, count, _ = self.state(tokens)
        if begun.strip():
            log_prob, state = self.model.advance(state, begun.strip())
            total, count = total + log_prob, count + 1
        return self.weight * (total + self.model.advance(state, "\n")[0]) + self.bonus * count


def check_model(model) -> None:
    if not hasattr(model, "advance"):
        raise Mistake(
            'lm={model!r} is no language model; give one that generates, such as LanguageModel("ngram").fit(texts).',
            model=model,
        )
