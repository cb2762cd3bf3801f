"""The conditional random field over a chain of tags (Lafferty, McCallum & Pereira 2001; on top of a network: Huang et al. 2015).

    score of a path     s(y) = begin[y₁] + Σ_t e_t[y_t] + Σ_t A[y_{t−1}, y_t] + end[y_T]       e_t = W h_t + b
    all paths together  log Z = log Σ_y e^{s(y)},  step by step:  α_t[j] = e_t[j] + log Σ_i e^{α_{t−1}[i] + A[i,j]}
    loss                log Z − s(right path)
    best path           the same recursion with max for log Σ (Viterbi 1967)
    chance of a tag     ∂ log Z / ∂ e_t[j]

A transition that the scheme forbids (I-PER after B-LOC) has the weight −10,000 and no gradient.

log Z and its gradients come from one compiled pass forward and one back (kernels/crf.py); `log_partition` is the formula written
out, and a test holds both equal."""

import numpy as np
import torch
from torch import Tensor, nn

from wenmai.data.examples.batches import Batch
from wenmai.data.examples.sequences import Sequences
from wenmai.kernels.crf import Partition, forward_backward, viterbi
from wenmai.layers.dropout import Dropout
from wenmai.layers.losses import Loss

NEVER = -1e4


class CRF(nn.Module):
    per_step = has_probabilities = True
    says_next = False

    def __init__(
        self, width: int, classes: int, dropout: float, allowed: tuple[np.ndarray, ...] | None
    ):
        """`allowed`: which tag may begin a row (C,), follow another (C, C), end a row (C,)."""
        super().__init__()
        self.dropout, self.emission, self.width = (
            Dropout(dropout),
            nn.Linear(width, classes),
            classes,
        )
        sizes = (classes,), (classes, classes), (classes,)
        self.begin, self.transitions, self.end = (nn.Parameter(torch.zeros(size)) for size in sizes)
        allowed = allowed or tuple(np.ones(size, bool) for size in sizes)
        for name, may in zip(("may_begin", "may_follow", "may_end"), allowed):
            self.register_buffer(name, torch.from_numpy(may), persistent=False)

    def weights(self) -> tuple[Tensor, Tensor, Tensor]:
        pairs = (
            (self.begin, self.may_begin),
            (self.transitions, self.may_follow),
            (self.end, self.may_end),
        )
        return tuple(torch.where(may, weight.float(), NEVER) for weight, may in pairs)

    def path_weights(self) -> tuple[np.ndarray, ...]:
        return tuple(weight.numpy(force=True) for weight in self.weights())

    def outputs(self, y: Tensor, mask: Tensor) -> Tensor:
        return self.emission(self.dropout(y)).float()  # (B, T, C)

    def chosen(self, outputs: Tensor, mask: Tensor) -> Tensor:
        """The best path of every row (B, T)."""
        paths = torch.zeros(mask.shape, dtype=torch.long)
        for row, real in enumerate(mask.cpu()):
            emissions = outputs[row, : int(real.sum())].numpy(force=True)
            path = best_paths(
                Sequences(emissions, np.array([0, len(emissions)])), *self.path_weights()
            )
            paths[row, : len(path)] = torch.from_numpy(path)
        return paths.to(outputs.device)

    def support(self, outputs: Tensor, mask: Tensor, chosen: Tensor) -> Tensor:
        """log p of the path"""
        return path_score(outputs, mask, chosen, *self.weights()) - log_partition(
            outputs, mask, *self.weights()
        )

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        emissions = self.outputs(y, mask)
        with torch.autocast(emissions.device.type, enabled=False):
            weights = self.weights()
            right = path_score(emissions, mask, batch.target, *weights)
            total = Partition.apply(emissions, mask, *weights) - right[mask.any(1)].sum()
        return [Loss("tags", 1.0, total, mask.sum())]

    def probabilities(self, emissions: Sequences) -> np.ndarray:
        """Of every tag at every place (ΣT, C), all paths considered."""
        flat = np.ascontiguousarray(emissions.flat, np.float32)
        return forward_backward(flat, emissions.offsets, *self.path_weights())[1].astype(np.float32)


def log_partition(
    emissions: Tensor, mask: Tensor, begin: Tensor, transitions: Tensor, end: Tensor
) -> Tensor:
    """log Z of every row (B,), as the formula has it."""
    alpha = begin + emissions[:, 0]  # (B, C)
    for t in range(1, emissions.shape[1]):
        reached = emissions[:, t] + (alpha.unsqueeze(2) + transitions).logsumexp(
            1
        )  # over i of (B, i, j)
        alpha = torch.where(mask[:, t, None], reached, alpha)
    return (alpha + end).logsumexp(1)


def path_score(
    emissions: Tensor, mask: Tensor, tags: Tensor, begin: Tensor, transitions: Tensor, end: Tensor
) -> Tensor:
    """s(y) of every row (B,)."""
    chosen = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)  # (B, T)
    steps = transitions[tags[:, :-1], tags[:, 1:]]  # (B, T − 1)
    last = tags.gather(1, (mask.sum(1, keepdim=True) - 1).clamp(min=0)).squeeze(1)
    return (chosen * mask).sum(1) + (steps * mask[:, 1:]).sum(1) + begin[tags[:, 0]] + end[last]


def best_paths(
    emissions: Sequences, begin: np.ndarray, transitions: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """The best tag of every place (ΣT,), row by row."""
    flat = np.ascontiguousarray(emissions.flat, np.float32)
    path = np.zeros(len(flat), np.int64)
    viterbi(flat, emissions.offsets, begin, np.ascontiguousarray(transitions), end, path)
    return path
