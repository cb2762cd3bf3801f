"""Connectionist temporal classification (Graves et al. 2006): a text for frames, where nobody says which frame says which letter.

    log p_t = log softmax(W y_t + b) over the tokens and a blank;   B removes repetitions, then blanks: B(aa–ab) = aab… → "aab"
    p(w) = Σ_{paths π: B(π) = w} ∏_t p_t(π_t)          all paths at once, by a forward pass;   the loss is −log p(w)

A text of n tokens of which r repeat the one before takes n + r frames at the least: between two equal ones stands a blank. The
alignment of a text is its most probable path."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.data.examples.batches import Batch
from wenmai.layers.dropout import Dropout
from wenmai.layers.heads import ClassHead, Next, Request, TagHead
from wenmai.layers.losses import Loss


@dataclass
class Transcript(Request):
    """A text for frames: called as any request, a head that aligns (CTC); `written`: what a decoder is asked for instead."""

    tokens: int
    unwritten: tuple[int, ...] = ()
    end: int | None = None
    unknown: int | None = None
    per_step = True

    @classmethod
    def of(cls, texts) -> "Transcript":
        special = texts.special
        return cls(texts.vocabulary, special.unwritten, special.end, special.unknown)

    @property
    def kind(self) -> type[nn.Module]:
        return CTCHead

    @property
    def columns(self) -> int:
        return self.tokens + 1

    @property
    def written(self) -> Next:
        return Next(self.tokens, self.unwritten)

    def __call__(self, width: int, pooling: str = "mean", dropout: float = 0.0, **_) -> "CTCHead":
        return CTCHead(width, self, dropout)


class CTCHead(nn.Module):
    """The blank has the number after the last token's."""

    per_step = has_probabilities = True
    says_next = False

    def __init__(self, width: int, asked: Transcript, dropout: float):
        super().__init__()
        self.dropout, self.output = Dropout(dropout), nn.Linear(width, asked.tokens + 1)
        self.width, self.blank, self.end = asked.tokens + 1, asked.tokens, asked.end
        forbidden = torch.zeros(self.width)
        special = {*asked.unwritten, *(() if asked.end is None else (asked.end,))} - {asked.unknown}
        forbidden[sorted(special)] = float("-inf")
        self.register_buffer("forbidden", forbidden, persistent=False)

    def outputs(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        return (self.output(self.dropout(y)).float() + self.forbidden).log_softmax(
            -1
        )  # (B, T, V + 1)

    chosen, support = staticmethod(ClassHead.chosen), staticmethod(TagHead.support)

    def losses(self, y: Tensor, mask: Tensor, batch: Batch) -> list[Loss]:
        """A row that has fewer frames than its text takes adds nothing."""
        lengths = self.lengths(batch)
        target = batch.target.masked_fill(~batch.target_mask, 0)
        log_probs = self.outputs(y, mask).clamp(min=-1e4)  # of −∞ torch's gradient is no number
        steps, place = mask.sum(1), log_probs.device
        if (
            torch.are_deterministic_algorithms_enabled() and log_probs.is_cuda
        ):  # its gradient on a GPU is added up in any order
            log_probs, target, steps, lengths = (
                part.cpu() for part in (log_probs, target, steps, lengths)
            )
        total = functional.ctc_loss(
            log_probs.transpose(0, 1), target, steps, lengths, self.blank, "sum", zero_infinity=True
        )
        return [Loss("ctc", 1.0, total.to(place), lengths.sum().to(place))]

    def lengths(self, batch: Batch) -> Tensor:
        """(B,) tokens of every text, without its end"""
        real = (
            batch.target_mask
            if self.end is None
            else batch.target_mask & (batch.target != self.end)
        )
        return real.sum(1)


def least_frames(tokens: np.ndarray) -> int:
    """How many frames a text takes at the least."""
    return len(tokens) + int((tokens[1:] == tokens[:-1]).sum())


def greedy(log_probs: np.ndarray, blank: int) -> list[int]:
    """(T, V + 1) → the text of the most probable path"""
    path = log_probs.argmax(-1)
    return path[np.append(True, path[1:] != path[:-1])[: len(path)] & (path != blank)].tolist()


def text_log_prob(log_probs: np.ndarray, tokens: list[int], blank: int) -> float:
    """log p(w), over all paths"""
    if len(log_probs) < least_frames(np.array(tokens, np.int64)):
        return float("-inf")
    loss = functional.ctc_loss(
        torch.from_numpy(np.ascontiguousarray(log_probs))[:, None],
        torch.tensor([tokens], dtype=torch.int64),
        (len(log_probs),),
        (len(tokens),),
        blank,
        "sum",
    )
    return -float(loss)


def align(
    log_probs: np.ndarray, tokens: list[int], blank: int
) -> tuple[list[tuple[int, int]], float]:
    """For every token of a text (the frame where it begins, the one behind its last) on the most probable path of (T, V + 1), and
    the log p of that path."""
    states = np.full(2 * len(tokens) + 1, blank)  # – w_1 – w_2 – … w_n –
    states[1::2] = tokens
    steps, size = len(log_probs), len(states)
    if steps < least_frames(np.asarray(tokens)):
        raise ValueError("fewer frames than the text takes")
    skips = np.zeros(size, bool)  # from a token straight to the next, where it is another
    skips[3::2] = states[3::2] != states[1:-2:2]
    best = np.full(size, -np.inf)
    best[:2] = log_probs[0, states[:2]]
    came = np.zeros((steps, size), np.int8)
    for t in range(1, steps):
        ways = np.full((3, size), -np.inf)
        ways[0], ways[1, 1:] = best, best[:-1]
        ways[2, 2:] = np.where(skips[2:], best[:-2], -np.inf)
        came[t] = ways.argmax(0)
        best = ways.max(0) + log_probs[t, states]
    at = size - 1 if size == 1 or best[-1] >= best[-2] else size - 2
    total, path = float(best[at]), np.empty(steps, np.int64)
    for t in range(steps - 1, -1, -1):
        path[t] = at
        at -= int(came[t, at])
    spans = [
        (int(frames[0]), int(frames[-1]) + 1)
        for frames in (np.flatnonzero(path == 2 * n + 1) for n in range(len(tokens)))
    ]
    return spans, total


def occupation(log_probs: np.ndarray, tokens: list[int], blank: int) -> np.ndarray:
    """(T, n): how probable it is, of all paths that say a text of n tokens, that frame t says the n-th of them

    γ_t(s) = α_t(s) β_t(s) / p(w)        α: paths up to t that end in state s, β: those that go on from it (Graves et al. 2006)"""
    states = np.full(2 * len(tokens) + 1, blank)  # – w_1 – w_2 – … w_n –
    states[1::2] = tokens
    skips = np.zeros(len(states), bool)
    skips[3::2] = states[3::2] != states[1:-2:2]
    emissions = log_probs[:, states].astype(np.float64)  # (T, 2n + 1)
    forward, backward = np.full((2, *emissions.shape), -np.inf)
    forward[0, :2], backward[-1, -2:] = emissions[0, :2], 0.0
    for t in range(1, len(emissions)):
        before = forward[t - 1]
        total = np.logaddexp(before, np.append(-np.inf, before[:-1]))
        total[2:] = np.where(skips[2:], np.logaddexp(total[2:], before[:-2]), total[2:])
        forward[t] = total + emissions[t]
        after = backward[-t] + emissions[-t]  # of the frame behind
        total = np.logaddexp(after, np.append(after[1:], -np.inf))
        total[:-2] = np.where(skips[2:], np.logaddexp(total[:-2], after[2:]), total[:-2])
        backward[-t - 1] = total
    both = forward + backward
    return np.exp(both - np.logaddexp.reduce(both, 1, keepdims=True))[:, 1::2]
