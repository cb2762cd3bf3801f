"""What a language model says of tokens that follow one another."""

from typing import NamedTuple

import numpy as np
from torch import Tensor


class TokenScores(NamedTuple):
    tokens: np.ndarray  # (N,)
    log_probs: np.ndarray  # (N,) float64, each after all that stands before it
    y: Tensor  # (N, H) what the head read before it said each; of an n-gram model nothing, (N, 0)
