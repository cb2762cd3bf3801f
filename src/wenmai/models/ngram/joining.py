"""N-grams that come as rows of words, in any order, become levels: sorted, each with the n-grams it begins and ends with."""

from pathlib import Path

import numpy as np

from wenmai.data.files.columns import short
from wenmai.data.storage.caches import njit
from wenmai.errors import Mistake
from wenmai.models.ngram.counts import NONE, Level, words_level
from wenmai.models.ngram.weights import Smoothed, Weights

UNSEEN = -99.0  # log p of a word that a file does not give


def joined(tables: list[tuple], words: list[str], path: Path) -> tuple[list[Level], Smoothed]:
    """From (words (M, n), log p (M,), back-off (M,)) of every order. What a longer n-gram begins or ends with is added."""
    rows = [np.arange(len(words), dtype=np.int32)[:, None]] + [table[0] for table in tables[1:]]
    parts: list = [None] * len(
        rows
    )  # of every order, which of the order below it begins and ends with
    for n in range(len(rows) - 1, 0, -1):
        slots = hashed(rows[n - 1], words, path) if n > 1 else None
        parts[n] = [places(rows[n], skip, rows[n - 1], slots) for skip in (0, 1)]
        lacking = [part < 0 for part in parts[n]]
        if any(map(np.any, lacking)):
            more = np.unique(
                np.concatenate([rows[n][lacking[0], :-1], rows[n][lacking[1], 1:]]), axis=0
            )
            rows[n - 1] = np.concatenate([rows[n - 1], more])
            slots = hashed(rows[n - 1], words, path)
            parts[n] = [places(rows[n], skip, rows[n - 1], slots) for skip in (0, 1)]
    hashed(rows[-1], words, path)
    prob, backoff = np.full(len(words), UNSEEN, np.float32), np.zeros(len(words), np.float32)
    prob[tables[0][0][:, 0]], backoff[tables[0][0][:, 0]] = tables[0][1:]
    levels, weights, rank = (
        [words_level(np.zeros(len(words), np.int64))],
        [Weights(prob, backoff)],
        rows[0][:, 0],
    )
    for n in range(1, len(rows)):
        context, suffix = (rank[part] for part in parts[n])
        order = np.argsort(suffix.astype(np.int64) * len(words) + rows[n][:, 0])
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        context, suffix = context[order], suffix[order]
        below, listed = weights[-1], len(tables[n][1])
        prob, backoff = (
            below.backoff[context] + below.log_prob[suffix],
            np.zeros(len(order), np.float32),
        )
        own = order < listed  # the others were added, and are backed off for
        prob[own], backoff[own] = tables[n][1][order[own]], tables[n][2][order[own]]
        levels.append(Level(rows[n][order, -1], context, suffix, np.zeros(len(order), np.int64)))
        weights.append(Weights(prob, backoff))
    return levels, Smoothed(weights)


def hashed(rows: np.ndarray, words: list[str], path: Path) -> np.ndarray:
    """A hash table of rows; none may stand there twice."""
    slots = np.full(1 << max(4, (2 * len(rows)).bit_length()), NONE, np.int32)
    twice = enter(np.ascontiguousarray(rows), slots)
    if twice != NONE and rows.shape[1] > 1:
        gram = " ".join(words[word] for word in rows[twice])
        raise Mistake(
            "{file}: the {order}-gram {gram!r} stands there twice; remove one of them.",
            file=path,
            order=rows.shape[1],
            gram=short(gram),
        )
    return slots


def places(longer: np.ndarray, skip: int, rows: np.ndarray, slots: np.ndarray | None) -> np.ndarray:
    """Which row the longer ones have without their last word (skip 0) or their first (skip 1); NONE where it is not there."""
    return longer[:, skip].copy() if slots is None else lookup(longer, skip, rows, slots)


@njit(inline="always")
def slot_for(longer, at, skip, rows, slots):
    """Where these words stand in the hash table, or would."""
    value, width = np.uint64(0), rows.shape[1]
    for n in range(width):
        value = (value ^ np.uint64(longer[at, skip + n])) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    while slots[slot] >= 0:
        same = True
        for n in range(width):
            if rows[slots[slot], n] != longer[at, skip + n]:
                same = False
                break
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, nogil=True)
def enter(rows, slots):
    """A row that stood there already, or NONE."""
    for at in range(len(rows)):
        slot = slot_for(rows, at, 0, rows, slots)
        if slots[slot] >= 0:
            return at
        slots[slot] = at
    return -1


@njit(cache=True, nogil=True)
def lookup(longer, skip, rows, slots):
    numbers = np.empty(len(longer), np.int32)
    for at in range(len(longer)):
        numbers[at] = slots[slot_for(longer, at, skip, rows, slots)]
    return numbers
