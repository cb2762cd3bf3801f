"""What both layouts of an n-gram model, the fast `table` and the small `trie`, have in common.

A layout is some plain arrays, in memory or mapped from a file, and is asked the same things whichever it is:

    of(levels, smoothed)  levels()               from the n-grams, and back to them
    arrays()  from_arrays(arrays)                to a file and back; Unfit where they are none of its own
    start(B) → states (B, S) int32               after the opening of a sentence
    advance(states, words (B,))                  (log p (B,), the states after the words)
    following(state (S,)) → (V,)                 log p of every word
    score(tokens, starts) → (sentences,)         Σ log p of every sentence, each from its opening
    score(…, separately=True) → (N,)             log p of every token
    one(state, word)                             (log p, state), the state a tuple of S numbers: the quick way for a single word

All logarithms are to base 10. A word beyond the vocabulary is UNK.

Nothing of a mapped file is read before it is needed, so it cannot be looked through for damage. Instead every number that comes
out of it is tested before it is used: a place against the array it is a place in, a loop against the longest it can be, and

    log p that is not ≤ 0          counts as LOWEST; −∞ is a probability of 0 and stays
    a back-off weight not < 99     counts as 0; below 99 it may be above 0
    what is paid and log p         at most 0, though rounding may bring their sum just above it
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from wenmai.data.storage import saved as take
from wenmai.data.storage.caches import njit
from wenmai.data.storage.saved import Unfit
from wenmai.data.storage.threads import side_by_side
from wenmai.data.storage.threads import threads as every
from wenmai.data.text.vocabulary import SPECIAL
from wenmai.models.ngram.arpa import HIGHEST, LOWEST
from wenmai.models.ngram.counts import NONE, Level
from wenmai.models.ngram.smoothing import Smoothed, Weights

FLOOR, NOTHING, DEAREST = np.float32(LOWEST), np.float32(0), np.float32(99)
FEW = 1 << 14  # tokens: fewer are not worth a thread


@njit(inline="always")
def proper(log_prob):
    return log_prob if log_prob <= NOTHING else FLOOR


@njit(inline="always")
def weight(backoff):
    return backoff if backoff < DEAREST else NOTHING


@njit(inline="always")
def at_most_zero(log_prob):
    return log_prob if log_prob < NOTHING else NOTHING


def tested(log_prob: np.ndarray, backoff: np.ndarray) -> Weights:
    return Weights(
        np.where(log_prob <= NOTHING, log_prob, FLOOR),
        np.where(backoff < DEAREST, backoff, NOTHING),
    )


def in_order(levels: list[Level], smoothed: Smoothed) -> tuple[list[Level], list[Weights]]:
    """The n-grams sorted as they are when counted, by their last word and then by their context; those of a file may not be."""
    ordered, weights, place = (
        [levels[0]],
        [smoothed.levels[0]],
        None,
    )  # where each of the level below has moved; None: nowhere
    for level, own in zip(levels[1:], smoothed.levels[1:]):
        if place is None and sorted_already(level.word, level.context):
            ordered.append(level)
            weights.append(own)
            continue
        context, suffix = (
            (level.context, level.suffix)
            if place is None
            else (place[level.context], place[level.suffix])
        )
        order = np.argsort(level.word.astype(np.int64) << 32 | context, kind="stable")
        ordered.append(Level(level.word[order], context[order], suffix[order], level.count[order]))
        weights.append(Weights(own.log_prob[order], own.backoff[order]))
        place = np.empty(len(level), np.int32)
        place[order] = np.arange(len(level), dtype=np.int32)
    return ordered, [
        own
        if (own.log_prob <= NOTHING).all()
        else Weights(np.minimum(own.log_prob, NOTHING), own.backoff)
        for own in weights
    ]


@njit(cache=True, nogil=True)
def sorted_already(word, context):
    for at in range(1, len(word)):
        if word[at] < word[at - 1] or (word[at] == word[at - 1] and context[at] <= context[at - 1]):
            return False
    return True


def places(keys: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Where these stand among sorted keys; Unfit if one does not."""
    at = np.minimum(np.searchsorted(keys, asked), max(0, len(keys) - 1))
    if len(asked) and not (len(keys) and (keys[at] == asked).all()):
        raise Unfit("an n-gram lacks the shorter one it begins or ends with")
    return at.astype(np.int32)


def array_of(
    arrays: dict[str, np.ndarray], name: str, kind: type, *shape: int | None
) -> np.ndarray:
    """One of the arrays, read only; None stands for any length."""
    return fixed(take.array(arrays, name, kind, *shape))


def sizes_of(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """How many n-grams each order has."""
    sizes = array_of(arrays, "sizes", np.int64, None)
    if not (
        1 <= len(sizes) <= HIGHEST
        and sizes[0] >= len(SPECIAL)
        and (sizes >= 0).all()
        and (sizes < 1 << 31).all()
    ):
        raise Unfit(
            "sizes: expected 1 to {most} of them, the first at least {least}",
            most=HIGHEST,
            least=len(SPECIAL),
        )
    return sizes


def fixed(array: np.ndarray) -> np.ndarray:
    """For arrays that are made and those that are mapped the same code is compiled: neither can be written."""
    array = array.view()
    array.flags.writeable = False
    return array


def numbers(values: np.ndarray, kind: type = np.int32) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype != kind:
        bounds = np.iinfo(kind)
        values = np.where((values >= bounds.min) & (values <= bounds.max), values, NONE).astype(
            kind
        )
    return fixed(np.ascontiguousarray(values))


def read_through(
    kernel: Callable,
    known: tuple,
    tokens: np.ndarray,
    starts: np.ndarray,
    threads: int | None,
    separately: bool = False,
) -> np.ndarray:
    """Σ log p of every sentence (sentences,), or log p of every token (N,); each thread reads as many tokens."""
    tokens, starts, sentences = numbers(tokens), numbers(starts, np.int64), len(starts) - 1
    sums, each = np.zeros(sentences), np.zeros(len(tokens) if separately else 0, np.float32)
    threads = max(1, min(threads or every(), len(tokens) // FEW))
    cuts = np.searchsorted(starts[:sentences], len(tokens) * np.arange(1, threads) // threads)
    cuts = [0, *np.maximum.accumulate(cuts).tolist(), sentences]
    side_by_side(
        lambda first, last: kernel(*known, tokens, starts, first, last, sums, each), pairwise(cuts)
    )
    return each if separately else sums
