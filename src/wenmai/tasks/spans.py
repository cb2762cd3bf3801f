"""The best spans of a passage, from where each place may begin and end one.

    score(i, j) = s_i + e_j,   i ≤ j < i + longest        p(i, j) = exp score / Σ over all, and "nothing" where it counts

All spans are looked at, a block of begins at a time, so that a passage may be of any length."""

from typing import NamedTuple

import numpy as np

BLOCK = 1 << 16  # begins whose spans are held at once


class Candidate(NamedTuple):
    first: int
    last: int
    score: float


def best_spans(scores: np.ndarray, longest: int, count: int = 1) -> tuple[list[Candidate], float]:
    """(the `count` best spans, the best first; log Σ exp of the scores of all), of the scores (W, 2) of every place. Of equal
    ones the first, and of these the shortest, comes first."""
    begins, ends = np.asarray(scores, np.float64).T if len(scores) else np.zeros((2, 0))
    longest, kept, total = max(1, min(longest, len(begins))), [], -np.inf
    padded = np.concatenate([ends, np.full(longest - 1, -np.inf)]) if len(ends) else ends
    for start in range(0, len(begins), BLOCK):
        block = begins[start : start + BLOCK]
        spans = np.lib.stride_tricks.sliding_window_view(
            padded[start : start + len(block) + longest - 1], longest
        )
        table = (block[:, None] + spans).ravel()  # (begins · longest,)
        most = table.max()
        if np.isfinite(most):
            total = np.logaddexp(total, most + np.log(np.exp(table - most).sum()))
        few = np.arange(len(table)) if len(table) <= count else best_of(table, count)
        kept += [
            Candidate(start + at // longest, start + at // longest + at % longest, float(table[at]))
            for at in few.tolist()
            if np.isfinite(table[at])
        ]
    kept.sort(key=lambda span: (-span.score, span.first, span.last))
    return kept[:count], float(total)


def best_of(table: np.ndarray, count: int) -> np.ndarray:
    """Numbers of the `count` largest; of equal ones the first."""
    least = -np.partition(-table, count - 1)[count - 1]
    return np.concatenate([np.flatnonzero(table > least), np.flatnonzero(table == least)[:count]])
