"""How much of the last loss still reaches an early step: ‖∂L_last/∂x_t‖ for every t, as a share of that at the last step.

On its way back the gradient passes every state between (Hochreiter 1991; Bengio et al. 1994):

    ∂L/∂h_t = ∂L/∂h_N · Π_{k=t+1..N} ∂h_k/∂h_{k−1},      rnn: ∂h_k/∂h_{k−1} = diag(1 − h_k²) U

A product of N − t factors shrinks or grows by a power; a gate that is open, or a sum h + u, keeps them near 1, and attention
makes do with one."""

import numpy as np
import torch

from wenmai.data.inputs.kinds import Frames
from wenmai.evaluation.probes.exercises import Exercise
from wenmai.models.network import Network

ROWS = 64
LEAST = 1e-38  # what is smaller is 0 to a float


def fading(
    network: Network, task, kind: Frames, exercise: Exercise, steps: int, device: str, seed: int
) -> list[float]:
    """One number a step, the first step first; the last is 1."""
    examples = exercise.examples(kind, task, np.random.default_rng((seed, steps, 3)), ROWS, steps)
    batch = examples.batch(np.arange(ROWS)).to(device)
    network.eval()
    x, mask = network.input(batch)
    x = x.detach().requires_grad_()
    loss = exercise.last(network.outputs_from(x, mask), batch)
    (gradient,) = torch.autograd.grad(loss, x)  # (B, T, E)
    size = gradient.double().norm(dim=2).mean(0)  # (T,)
    return (size / size[-1].clamp(min=LEAST)).clamp(min=LEAST).cpu().tolist()


def a_step(share: list[float]) -> float:
    """The factor of one step back, on average over all of them."""
    return float(share[0] ** (1 / max(1, len(share) - 1)))
