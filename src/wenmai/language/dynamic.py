"""Dynamic evaluation (Krause, Kahembwe, Murray & Renals 2018): the network learns from a text while it is judged by it.

    the text is read in segments; every one is scored first, with the weights as they are, and then learned from:

    sgd   w ← w − η ∇ + δ (w₀ − w)                                          w₀ are the weights as they were trained
    rms   w ← w − η ∇ / (√MS + ε) + δ min(√MS / ε, 1/δ) (w₀ − w)             MS: mean squares of the gradients of another text

The paper measures MS on the training text and takes a small number for ε. Another text lacks many words, whose weights seem to be
quiet and would be thrown far by their first gradient; so ε is the mean of √MS over all weights.

Afterwards the weights are w₀ again, bit for bit."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from wenmai.language.scoring import as_tensor
from wenmai.models.network import Network

MEASURED, ROWS = 400, 512  # batches, and about their tokens, that gradients are measured on


@dataclass(frozen=True)
class Steps:
    """How it learns: `rate` η, `decay` δ, `segment` tokens at a time; `squares` of gradients, one tensor a weight, for rms."""

    rate: float
    decay: float
    segment: int
    squares: list[Tensor] | None = None


def updates(
    steps: Steps, weights: list[Parameter], trained: list[Tensor]
) -> Callable[[Sequence[Tensor]], None]:
    """The formula above, of gradients."""
    if steps.squares is None:
        divisors = [torch.ones((), device=weight.device) for weight in weights]
        pulls = [torch.full((), steps.decay, device=weight.device) for weight in weights]
    else:
        roots = [square.sqrt() for square in steps.squares]
        mean = sum(root.sum() for root in roots) / sum(root.numel() for root in roots)
        divisors = [root + mean for root in roots]
        pulls = [(steps.decay * root / mean).clamp(max=1.0) for root in roots]

    @torch.no_grad()
    def update(gradients: Sequence[Tensor]) -> None:
        back = torch._foreach_sub(trained, weights) if steps.decay else None
        if steps.squares is None:
            torch._foreach_add_(weights, gradients, alpha=-steps.rate)
        else:
            torch._foreach_addcdiv_(weights, gradients, divisors, value=-steps.rate)
        if back is not None:
            torch._foreach_addcmul_(weights, back, pulls)

    return update


def log_probs(network: Network, end: int, texts: Iterable[np.ndarray], steps: Steps) -> np.ndarray:
    """log p of every token (N,) of these texts, which follow one another, each before it was learned from."""
    segment = steps.segment if network.carried else min(steps.segment, network.context)
    scored, state, past = [np.zeros(0)], None, np.array([end], np.int64)
    with learning(network) as (weights, trained):
        update = updates(steps, weights, trained)
        for tokens in texts:
            known, done = np.concatenate([past, tokens]), len(past) - 1
            for start in range(done, len(known) - 1, segment):
                stop = min(start + segment, len(known) - 1)
                begin = start if network.carried else max(0, stop - network.context)
                each, state = asked(network, known[None, begin : stop + 1], state, start - begin)
                scored.append(each.detach()[0].double().cpu().numpy())
                if steps.rate:
                    update(
                        torch.autograd.grad(
                            -each.mean(), weights, allow_unused=True, materialize_grads=True
                        )
                    )
                state = state.detach() if network.carried else None
            past = known[-1:] if network.carried else known[-network.context :]
    return np.concatenate(scored)


def asked(
    network: Network, tokens: np.ndarray, state: Tensor | None, first: int
) -> tuple[Tensor, Tensor | None]:
    """(log p (B, T) of these tokens from step `first` on, with gradients; the state after them)"""
    y, state = network.hidden(as_tensor(tokens[:, :-1]), state)
    targets = torch.from_numpy(tokens[:, first + 1 :].astype(np.int64)).to(y.device)
    return network.head.outputs(y[:, first:]).gather(2, targets.unsqueeze(-1)).squeeze(-1), state


def squares_of(network: Network, end: int, tokens: np.ndarray, segment: int) -> list[Tensor]:
    """MS: the mean square of every weight's gradient, over batches of a text."""
    known, steps = (
        np.concatenate([[end], tokens]),
        segment if network.carried else min(segment, network.context),
    )
    columns = max(1, min(ROWS // steps, (len(known) - 1) // steps))
    length = (len(known) - 1) // columns
    with learning(network) as (weights, _):
        squares, state, batches = [torch.zeros_like(weight) for weight in weights], None, 0
        for at in range(0, max(1, length - steps + 1), steps)[:MEASURED]:
            places = at + length * np.arange(columns)[:, None] + np.arange(min(steps, length) + 1)
            each, state = asked(network, known[places], state, 0)
            gradients = torch.autograd.grad(
                -each.mean(), weights, allow_unused=True, materialize_grads=True
            )
            torch._foreach_addcmul_(squares, gradients, gradients)
            state, batches = state.detach() if network.carried else None, batches + 1
        return torch._foreach_div(squares, batches)


@contextmanager
def learning(network: Network):
    """(its weights, a copy of them as they are now); when it is left, they are that again. What training drops is not dropped."""
    weights, training = list(network.parameters()), network.training
    trained, asked_before = (
        [weight.detach().clone() for weight in weights],
        [weight.requires_grad for weight in weights],
    )
    network.eval()
    try:
        with (
            torch.enable_grad(),
            torch.backends.cudnn.flags(enabled=False),
        ):  # whose cells give no gradients in this mode
            for weight in weights:
                weight.requires_grad_(True)
            yield weights, trained
    finally:
        network.train(training)
        with torch.no_grad():
            for weight, before, asks in zip(weights, trained, asked_before):
                weight.copy_(before)
                weight.requires_grad_(asks)
