"""What smoothing gives: a probability and a back-off weight for every n-gram."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

LN10 = float(np.log(10))  # logarithms here are to base 10, those of other models natural
Smoothing = Literal[
    "none",
    "add-one",
    "add-delta",
    "absolute",
    "witten-bell",
    "katz",
    "kneser-ney",
    "modified-kneser-ney",
]


@dataclass
class Weights:
    """The probability of every n-gram of an order, and what is left after it as a context; logarithms to base 10."""

    log_prob: np.ndarray  # (M,) float32
    backoff: np.ndarray  # (M,) float32


@dataclass
class Smoothed:
    levels: list[Weights]
    discounts: list[list[float]] = field(
        default_factory=list
    )  # of every order, for counts of 1, 2 and more
    notes: list[str] = field(default_factory=list)
    kind: Smoothing | None = None  # None where it is not known, as of a file


def logarithm(prob: np.ndarray) -> np.ndarray:
    """log₁₀ in single precision; of 0 it is −∞."""
    with np.errstate(divide="ignore"):
        return np.log10(prob).astype(np.float32)
