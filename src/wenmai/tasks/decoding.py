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
from wenmai.layers.cache import take


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


def written(step: Callable, log_probs: Tensor, state, most: int, choice: Choice, seeds: list[int],
            end: int) -> tuple[list[list[int]], list[float]]:  # fmt: skip
    """Rows of tokens, each up to its `end` and `most` long, and Σ log p of each, its end among them. All are written together,
    and those at their end leave. A row draws from a seed of its own, whatever stands beside it."""
    rows = list(range(len(log_probs)))  # that go on
    found, sums = [[] for _ in rows], [0.0 for _ in rows]
    chances = [torch.Generator(log_probs.device).manual_seed(seed) for seed in seeds]

    def each(log_probs: Tensor, _) -> Tensor:
        if choice.temperature == 0:
            chosen = choice(log_probs, chances[0])
        else:
            chosen = torch.cat([choice(log_probs[at : at + 1], chances[row]) for at, row in enumerate(rows)])
        likely = log_probs.double().gather(1, chosen[:, None])[:, 0].tolist()
        for row, token, log_prob in zip(rows, chosen.tolist(), likely):
            sums[row] += log_prob
            found[row] += [token] if token != end else []
        return chosen

    def onward(state, chosen: Tensor):
        nonlocal rows
        left = (chosen != end).nonzero()[:, 0]
        if 0 < len(left) < len(rows):
            rows, state, chosen = [rows[at] for at in left.tolist()], take(state, left), chosen[left]
        return step(state, chosen) if len(left) else (None, state)

    for chosen in continued(onward, log_probs, state, most, each, 0) if rows else ():
        if bool((chosen == end).all()):
            break
    return found, sums
