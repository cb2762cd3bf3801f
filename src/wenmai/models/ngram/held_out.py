"""A held-out text beside the n-grams that were counted: which of them it holds, and how probable they make it.

A text is numbers of words (N,), every sentence opened by `begin` and closed by its end. The n-gram that ends at a word is
looked up from the one that is a word shorter, so that every order costs one search. With them a smoothing is a walk over arrays,

    log p(w|h) = log p(hw) if hw was counted, else γ(h) + log p(w|h′)

and no table has to be built; for a model that reads more than one text, layout.py has quicker ones.
"""

import numpy as np

from wenmai.models.ngram.counts import NONE, Level
from wenmai.models.ngram.weights import Weights


def places(text: np.ndarray, begin: int) -> np.ndarray:
    """How many words stand before each in its sentence, the opening among them."""
    at = np.arange(len(text))
    return at - np.maximum.accumulate(np.where(text == begin, at, 0))


def ends(levels: list[Level], text: np.ndarray, begin: int) -> list[np.ndarray]:
    """Of every order, which n-gram ends at each word (N,); NONE where it was not counted, or would reach beyond the opening."""
    text, size, place = np.asarray(text, np.int64), len(levels[0]), places(text, begin)
    grams, first = [text], levels[0].word.astype(np.int64)
    for n, level in enumerate(levels[1:], 1):
        first = first[level.context]
        keys = level.suffix.astype(np.int64) * size + first  # sorted, as n-grams are
        reaches = np.flatnonzero((place >= n) & (grams[-1] != NONE))
        asked = grams[-1][reaches] * size + text[reaches - n]
        at = np.full(len(text), NONE, np.int64)
        if len(keys):
            where = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            at[reaches] = np.where(keys[where] == asked, where, NONE)
        grams.append(at)
    return grams


def before(grams: np.ndarray) -> np.ndarray:
    """Which n-gram ends at the word before each."""
    return np.concatenate([[NONE], grams[:-1]])


def log_probs(weights: list[Weights], grams: list[np.ndarray]) -> np.ndarray:
    """log₁₀ p of every word (N,); of what opens a sentence it means nothing."""
    log_prob = weights[0].log_prob[grams[0]].astype(np.float64)
    for n in range(1, len(weights)):
        context = before(grams[n - 1])
        log_prob += np.where(context != NONE, weights[n - 1].backoff[context], 0)
        if len(weights[n].log_prob):
            log_prob = np.where(grams[n] != NONE, weights[n].log_prob[grams[n]], log_prob)
    return np.minimum(log_prob, 0)
