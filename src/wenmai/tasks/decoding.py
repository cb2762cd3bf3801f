"""Decoding: one token after another, from whatever can `step`. Greedy, or drawn by chance; written once for every rung.

p′ ∝ p^(1/temperature)      top-k: only the k most probable (Fan et al. 2018)
top-p: only the most probable that together reach p (Holtzman et al. 2020)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from wenmai.errors import Mistake


@dataclass(frozen=True)
class Choice:
    """How the next token is chosen."""

    temperature: float = 1.0  # 0: always the most probable
    top_k: int = 0  # 0: all of them
    top_p: float = 1.0

    def __post_init__(self):
        if not 0 <= self.temperature < float("inf"):
            raise Mistake(f"temperature={self.temperature}: expected 0 (always the most probable token) or more.")
        if self.top_k < 0:
            raise Mistake(f"top_k={self.top_k}: expected 1 or more, how many tokens are chosen from; 0 is all of them.")
        if not 0 < self.top_p <= 1:
            raise Mistake(f"top_p={self.top_p}: expected more than 0 and at most 1, the probability that is chosen from.")

    def __call__(self, log_probs: Tensor, generator: torch.Generator) -> Tensor:
        """(B, V) → (B,)"""
        if self.temperature == 0:
            return log_probs.argmax(-1)
        scores, order = torch.sort(log_probs.double(), dim=-1, descending=True, stable=True)  # (B, V)
        scores = (scores - scores[:, :1]) / self.temperature
        probs = scores.softmax(-1)
        if self.top_k:
            probs[:, self.top_k :] = 0
        if self.top_p < 1:
            probs[probs.cumsum(-1) - probs >= self.top_p * probs.sum(-1, keepdim=True)] = 0
        return order.gather(-1, torch.multinomial(probs, 1, generator=generator)).squeeze(-1)


def continued(step: Callable, log_probs: Tensor, state, tokens: int, choice: Choice, seed: int) -> Iterator[Tensor]:
    """Up to `tokens` of them (B,), each as soon as it is chosen; a GPU has begun with the next by then."""
    generator = torch.Generator(log_probs.device).manual_seed(seed)
    ahead = log_probs.is_cuda
    for left in range(tokens, 0, -1):
        chosen = choice(log_probs, generator)
        if ahead and left > 1:
            log_probs, state = step(state, chosen)
        yield chosen
        if not ahead and left > 1:
            log_probs, state = step(state, chosen)


def take(state, rows: Tensor):
    """These rows of a state, whose batch is dimension 0: any number of them, in any order, each as often as it is named."""
    return state.index_select(0, rows.to(state.device)) if isinstance(state, Tensor) else state.take(rows)
