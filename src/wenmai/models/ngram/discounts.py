"""Discounts: how much is taken from an n-gram that was seen r times. They follow from n_r, how many n-grams there are of those.

    absolute, kneser-ney    D = n₁ / (n₁ + 2n₂)                                          Ney, Essen & Kneser 1994
    modified-kneser-ney     D_r = r − (r + 1) D n_{r+1} / n_r  for r = 1, 2, 3           Chen & Goodman 1999
    katz                    r (1 − d_r), d_r = (r*/r − q) / (1 − q), r* = (r+1) n_{r+1} / n_r, q = (k+1) n_{k+1} / n₁
                            for r ≤ k = 5, nothing for more                              Good 1953, Katz 1987

Where the n_r are too few or run the wrong way, these formulas give nothing that could be taken; then fixed discounts stand in,
and a note says so.
"""

import numpy as np

from wenmai.locale import Listed, Message, phrase
from wenmai.models.ngram.weights import Smoothing

KATZ = 5  # counts above this are believed
ONE, THREE, TURING = "one", "three", "turing"  # which formula failed


def discounts(kind: Smoothing, seen: np.ndarray) -> tuple[np.ndarray, str]:
    """(D_r for r = 0, 1, 2, …, of which the last holds for all that is more; which formula failed or "") from n_r."""
    if kind == "witten-bell":
        return np.zeros(1), ""
    if kind == "katz":
        return good_turing(seen)
    share = seen[1] / (seen[1] + 2 * seen[2]) if seen[1] and seen[2] else 0.0
    if kind != "modified-kneser-ney":
        return (np.array([0.0, share]), "") if share else (np.array([0.0, 0.5]), ONE)
    three = [r - (r + 1) * share * seen[r + 1] / seen[r] if seen[r] else -1.0 for r in (1, 2, 3)]
    if not share or not all(0 < discount <= r for r, discount in zip((1, 2, 3), three)):
        # As lmplz --discount_fallback has it; which takes a discount of 0 for one, though what was not seen then gets nothing.
        return np.array([0.0, 0.5, 1.0, 1.5]), THREE
    return np.array([0.0, *three]), ""


def good_turing(seen: np.ndarray) -> tuple[np.ndarray, str]:
    q = (KATZ + 1) * seen[KATZ + 1] / seen[1] if seen[1] else 1.0
    r = np.arange(1, KATZ + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ((r + 1) * seen[2 : KATZ + 2] / seen[1 : KATZ + 1] / r - q) / (1 - q)
    if not (np.isfinite(ratio).all() and (ratio > 0).all() and (ratio <= 1).all()):
        return np.array([0.0, 0.5]), TURING
    return np.concatenate([[0.0], r * (1 - ratio), [0.0]]), ""


def failure_notes(failed: dict[str, list[int]]) -> list[str]:
    """A note for every formula that failed, and for which orders."""
    notes = []
    for which, numbers in failed.items():
        orders = phrase("orders", "order {order}", order=numbers[-1])
        if len(numbers) > 1:
            orders = Message(
                "orders {choices} and {order}", choices=Listed(numbers[:-1]), order=numbers[-1]
            )
        if which == ONE:
            notes.append(
                Message(
                    "{orders}: no n-gram was seen once, or none twice, so the discount is 0.5 instead of an "
                    "estimate; more text, or a lower order, would give one.",
                    orders=orders,
                )
            )
        elif which == THREE:
            notes.append(
                Message(
                    "{orders}: the counts of counts give no three discounts, so 0.5, 1 and 1.5 stand in; more "
                    "text, or smoothing=kneser-ney, would give better ones.",
                    orders=orders,
                )
            )
        else:
            notes.append(
                Message(
                    "{orders}: Good-Turing needs n-grams that were seen 1 to {most} times, ever fewer of them, so "
                    "the discount is 0.5 instead; more text, or smoothing=witten-bell, would do.",
                    orders=orders,
                    most=KATZ + 1,
                )
            )
    return notes
