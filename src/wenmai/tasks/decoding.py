"""Decoding: one token after another, from whatever can `step`. Greedy, or drawn by chance; written once for every rung.

    p′ ∝ p^(1/temperature)      top-k: only the k most probable (Fan et al. 2018)
    top-p: only the most probable that together reach p (Holtzman et al. 2020)

A number u, drawn evenly from 0 to 1, chooses the token at which the sum of p′ passes it: one number a row and step, whose seed is
the row's own, so that a text is the same whether it is written alone or beside others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from wenmai.errors import Mistake
from wenmai.kernels import waiting
from wenmai.layers.cache import take

COLDEST = 1e-9  # temperatures below it are the same
FEW = 512  # of the most probable are looked at first
BUFFERED = 256  # numbers of a row that are drawn at once


@dataclass(frozen=True)
class Choice:
    """How the next token is chosen."""

    temperature: float = 1.0  # 0: always the most probable
    top_k: int = 0  # 0: all of them
    top_p: float = 1.0

    def __post_init__(self):
        if not 0 <= self.temperature < float("inf"):
            raise Mistake(
                "temperature={temperature}: expected 0 (always the most probable token) or more.",
                temperature=self.temperature,
            )
        if self.top_k < 0:
            raise Mistake(
                "top_k={k}: expected 1 or more, how many tokens are chosen from; 0 is all of them.",
                k=self.top_k,
            )
        if not 0 < self.top_p <= 1:
            raise Mistake(
                "top_p={p}: expected more than 0 and at most 1, the probability that is chosen from.",
                p=self.top_p,
            )

    def __call__(self, log_probs: Tensor, generator: torch.Generator) -> Tensor:
        """(B, V) → (B,)"""
        uniform = torch.rand(
            len(log_probs), dtype=torch.float64, device=generator.device, generator=generator
        )
        return self.at(log_probs, uniform.to(log_probs.device))

    def at(self, log_probs: Tensor, uniform: Tensor) -> Tensor:
        """The same by numbers that were drawn (B,); the vocabulary is put in order only where the order counts."""
        if self.temperature == 0 or self.top_k == 1:
            return log_probs.argmax(-1)
        order = None
        if 0 < self.top_k < log_probs.shape[-1]:
            log_probs, order = log_probs.topk(self.top_k)  # (B, k), the most probable first
        scores = log_probs.float() - log_probs.amax(-1, keepdim=True)
        probs = (scores / max(self.temperature, COLDEST)).softmax(-1)  # (B, V)
        if self.top_p < 1:
            if order is None:
                probs, order = in_order(probs, self.top_p)
            before = probs.cumsum(-1, dtype=torch.float64) - probs
            probs = probs.masked_fill(before >= self.top_p, 0)
        sums = probs.cumsum(-1, dtype=torch.float64)
        place = torch.searchsorted(sums, uniform[:, None] * sums[:, -1:], right=True).clamp(
            max=sums.shape[-1] - 1
        )
        return (place if order is None else order.gather(-1, place)).squeeze(-1)


def in_order(probs: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """The most probable first, and which they are: at least as many as reach this share, which are seldom more than a few."""
    if probs.shape[-1] > FEW:
        few, order = probs.topk(FEW)
        if few.sum(-1, dtype=torch.float64).min() >= share:
            return few, order
    return probs.sort(dim=-1, descending=True, stable=True)


def continued(
    step: Callable, log_probs: Tensor, state, tokens: int, choice: Choice, seed: int
) -> Iterator[Tensor]:
    """Up to `tokens` of them (B,), each as soon as it is chosen; a GPU has begun with the next by then. A row has the seed after
    that of the row before it."""
    for left, uniform in zip(
        range(tokens, 0, -1), uniforms(range(seed, seed + len(log_probs)), log_probs.device)
    ):
        chosen = choice.at(log_probs, uniform)
        if not log_probs.is_cuda:
            yield chosen
        else:
            here, chosen_is = chosen.to("cpu", non_blocking=True), torch.cuda.Event()
            chosen_is.record()
        if left > 1:
            log_probs, state = step(state, chosen)
        if log_probs.is_cuda:
            chosen_is.synchronize()
            yield here


def together(
    step: Callable,
    log_probs: Tensor,
    state,
    tokens: int | Sequence[int],
    choice: Choice,
    seeds: Sequence[int],
    end: int,
    lines: int | None,
) -> tuple[list[list[int]], list[float]]:
    """(the tokens of every row, each with its own seed, and Σ log p of them); a row that has ended so many lines leaves the
    others, and so does one that has as many tokens as it may have, if that is said of every row."""
    steps, rows, ended = [], torch.arange(len(seeds)), torch.zeros(len(seeds), dtype=torch.int64)
    most = torch.as_tensor(tokens).expand(len(seeds))
    longest = int(most.max()) if seeds else 0
    if log_probs.device.type == "cpu":
        waiting.watch()
    for uniform in islice(uniforms(seeds, log_probs.device), longest):
        chosen = choice.at(
            log_probs, uniform if len(rows) == len(seeds) else uniform[rows.to(uniform.device)]
        )
        steps.append((rows, chosen, log_probs.gather(1, chosen[:, None])[:, 0]))
        if len(steps) == longest:
            break
        goes_on = most[rows] > len(steps)
        if lines is not None:
            ended[rows] += chosen.cpu() == end
            goes_on &= ended[rows] < lines
        left = goes_on.nonzero()[:, 0]
        if len(left) < len(rows):
            rows, chosen, state = rows[left], chosen[left.to(chosen.device)], take(state, left)
        if not len(rows):
            break
        log_probs, state = step(state, chosen)
    written, sums = [[] for _ in seeds], [0.0 for _ in seeds]
    if steps:
        for row, token, log_prob in zip(*(torch.cat(part).tolist() for part in zip(*steps))):
            written[row].append(token)
            sums[row] += log_prob
    return written, sums


def uniforms(seeds: Sequence[int], device: torch.device) -> Iterator[Tensor]:
    """Numbers from 0 to 1, one for every seed (B,), without end."""
    chances = [torch.Generator().manual_seed(seed) for seed in seeds]
    while True:
        some = torch.stack(
            [torch.rand(BUFFERED, dtype=torch.float64, generator=chance) for chance in chances], 1
        )
        yield from some.to(device)  # (DRAWN, B)
