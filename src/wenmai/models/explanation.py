"""Explanations of rungs without gradients: they are sums, and say them.

z_c = b_c + Σ_j x_j W_jc         Weighed: what each feature of an input adds to every output
log p(w_t | h)                   Matched: the longest n-gram that was known, and what was paid to get there
"""

from typing import NamedTuple

import numpy as np


class Weighed(NamedTuple):
    features: list  # what each is: the places (first, length) of an n-gram, wherever it stands; a name; or a number
    values: np.ndarray  # (F,) x
    weights: np.ndarray  # (F, C) W
    offsets: np.ndarray  # (C,) b

    @property
    def shares(self) -> np.ndarray:
        """(F, C): x_j W_jc"""
        return self.values[:, None] * self.weights

    @property
    def z(self) -> np.ndarray:
        return self.shares.sum(0, dtype=np.float64) + self.offsets


class Matched(NamedTuple):
    length: int  # words of the n-gram that was found, the last among them
    log_prob: float  # natural, of that n-gram
    paid: list[
        float
    ]  # natural logarithms of the back-off weights, the longest context's first; log p is their sum and log_prob

    @property
    def total(self) -> float:
        return self.log_prob + sum(self.paid)
