"""Beam search: of all texts that could go on, only the `size` best do (Lowerre 1976; for translation Sutskever et al. 2014).

    score(w_1 … w_n) = Σ_t log p(w_t | w_1 … w_{t−1}) / n^penalty        the end is a token; 0: the sum itself

At every step the best continuations of a source are put in order by Σ log p. Those among the first `size` that end are finished;
the `size` best that do not end live on. A text that reaches the source's longest length is finished as it stands.

A source is done when `size` of its texts are finished, or when no live one can be better than its `count`-th. Σ log p only falls,
and the longer a text the more it is divided by: from Σ, no score above Σ / most^penalty can be reached. So where `size` is as
large as the number of all texts, the best of all are found; where it is 1, the most probable token at every step."""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from wenmai.errors import Mistake
from wenmai.layers.cache import take, within
from wenmai.locale import Message, phrase

BLOCK = 64  # tokens of which the best is found first
ASKED = 8  # steps of a GPU until it is asked which sources are done
NEVER = float("-inf")


class Candidate(NamedTuple):
    tokens: list[int]  # the end among them, where there is one
    score: float
    log_prob: float


def check(size: int, penalty: float, count: int) -> None:
    for name, value, kind in (
        ("beam", size, Integral),
        ("penalty", penalty, Real),
        ("best", count, Integral),
    ):
        if isinstance(value, bool) or not isinstance(value, kind):
            expected = (
                Message("a whole number") if kind is Integral else phrase("number", "a number")
            )
            raise Mistake(
                "{option}={value!r}: expected {wanted}, found {actual}.",
                option=name,
                value=value,
                wanted=expected,
                actual=type(value).__name__,
            )
    if not 1 <= size <= 1000:
        raise Mistake(
            "beam={size}: expected 1 to 1000, how many texts are kept at every step; 1 is the most probable token.",
            size=size,
        )
    if not 0 <= penalty <= 10:
        raise Mistake(
            "penalty={penalty}: expected 0 (long texts are not helped) to 10; 0.6 to 1 is usual.",
            penalty=penalty,
        )
    if not 1 <= count <= size:
        raise Mistake(
            "best={count}: expected 1 to {size}, no more texts than the beam keeps; give a larger beam for more.",
            count=count,
            size=size,
        )


@torch.no_grad()
def beam(
    step: Callable,
    log_probs: Tensor,
    state,
    most: Sequence[int] | Tensor,
    size: int,
    penalty: float,
    count: int,
    end: int,
) -> list[list[Candidate]]:
    """For every source (B), whose first token has these log p (B, V), the `count` best texts of at most `most` (B,) tokens, the
    best first; fewer where fewer are possible. `step` may give more columns than there are tokens in the vocabulary."""
    check(size, penalty, count)
    device, most = log_probs.device, torch.as_tensor(most)
    limits, most = set(most.tolist()), most.to(device).double()
    rows = torch.arange(
        len(log_probs), device=device
    )  # R sources that are not done; at first all of them
    sums = most.new_zeros(len(rows), 1)  # (R, K) of the live texts; K grows to `size`
    finished = torch.zeros_like(rows)  # (R,) how many texts
    finals = most.new_full(
        (len(rows), count, 5), NEVER
    )  # (R, count, 5) the best of them: score, Σ log p, length, slot, token
    steps, left = [], []
    blind, some = must_wait(log_probs), False  # some: texts that are finished
    for length in range(1, max(limits, default=0) + 1):
        slots = sums.shape[1]
        reached, slot, token = best(log_probs, sums, 2 * size)  # (R, M), the best first
        log_probs = None  # the next are as large
        closes, key = token == end, slot[:, :size]
        if length in limits:
            closes |= (most <= length)[:, None]
        if blind or bool(closes.any()):
            some = True
            new = torch.stack(
                [reached / length**penalty, reached, torch.full_like(reached, length), slot, token],
                -1,
            )[:, :size]
            new[..., 0].masked_fill_(~closes[:, :size], NEVER)
            finished = finished + (new[..., 0] > NEVER).sum(1)
            finals = torch.cat([finals, new], 1)
            finals = finals.take_along_dim(
                finals[..., :1].topk(count, 1).indices, 1
            )  # (R, count, 5)
            dies = closes | ((~closes).cumsum(1) > size)
            reached, key = reached.masked_fill(dies, NEVER), slot.masked_fill(dies, slots)
        # In the order of those they go on from: where each goes on once, no row of the state has to be moved.
        order = key.argsort(dim=1, stable=True)[:, :size]
        sums, slot, token = (part.gather(1, order) for part in (reached, slot, token))  # (R, K)
        steps.append((rows, torch.stack([slot, token])))
        sources = torch.arange(len(rows), device=device)
        if some:
            done = (finished >= size) | (sums.amax(1) / most**penalty <= finals[:, -1, 0])
            sums = sums.masked_fill(done[:, None], NEVER)
            if not blind or length % ASKED == 0:
                sources = (~done).nonzero()[:, 0]
        if len(sources) < len(rows):
            left.append((rows[done], finals[done]))
            rows, finals, sums, slot, token = (
                part[sources] for part in (rows, finals, sums, slot, token)
            )
            finished, most = finished[sources], most[sources]
        if not len(rows) or length >= max(limits):
            break
        moved = sources[:, None] * slots + slot
        if len(steps[-1][0]) > len(rows) or sums.shape[1] > slots:
            state = take(state, moved.flatten())
        elif blind or not torch.equal(moved.flatten(), torch.arange(moved.numel())):
            state = within(state, moved.flatten())
        log_probs, state = step(state, token.flatten())
    return backtrace(steps, [*left, (rows, finals)])


def must_wait(tensor: Tensor) -> bool:
    """Whether to look at its numbers is to wait until a GPU has done all that it was told before."""
    return tensor.is_cuda


def best(log_probs: Tensor, sums: Tensor, many: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of log p (R · K, V) after texts of Σ log p (R, K): the M best sums of every source, from which text each goes on, and with
    which token.

    The M best stand in the M blocks whose best are the best of all blocks; only these are looked through. To find the best of
    every block is thirty times as fast as to put the whole table in order."""
    (sources, slots), width = sums.shape, log_probs.shape[1]
    if width * slots <= many * BLOCK:
        reached = (log_probs.reshape(sources, slots, width) + sums[..., None]).flatten(1)
        reached, place = reached.topk(min(many, slots * width))
        return reached, place // width, place % width
    full = width - width % BLOCK
    tops = log_probs[:, :full].unflatten(1, (-1, BLOCK)).amax(-1)  # (R · K, blocks)
    if full < width:
        tops = torch.cat([tops, log_probs[:, full:].amax(1, keepdim=True)], 1)
    blocks = tops.shape[1]
    at = (
        (tops.view(sources, slots, blocks) + sums[..., None]).flatten(1).topk(many).indices
    )  # (R, M)
    slot, start = at // blocks, at % blocks * BLOCK
    places = start[..., None] + torch.arange(BLOCK, device=at.device)  # (R, M, BLOCK)
    row = torch.arange(sources, device=at.device)[:, None] * slots + slot
    inside = places.clamp(max=width - 1)  # the last block may be short
    reached = (log_probs[row[..., None], inside] + sums.gather(1, slot)[..., None]).masked_fill(
        inside < places, NEVER
    )
    reached, order = reached.flatten(1).topk(many)
    return reached, slot.gather(1, order // BLOCK), inside.flatten(1).gather(1, order)


def backtrace(
    steps: list[tuple[Tensor, Tensor]], finals: list[tuple[Tensor, Tensor]]
) -> list[list[Candidate]]:
    """The texts, from their last tokens back to the first: at every step the live ones say from which slot they go on."""
    rows, finals = (torch.cat(part).cpu().numpy() for part in zip(*finals))
    finals = finals[rows.argsort()]  # (B, count, 5)
    exists = finals[..., 0] > NEVER
    scores, sums = finals[..., 0].tolist(), finals[..., 1].tolist()
    lengths, slot, token = (
        np.where(exists[..., None], finals[..., 2:], 0).astype(np.int64).transpose(2, 0, 1)
    )  # (B, count)
    written = np.zeros((*lengths.shape, int(lengths.max(initial=0))), np.int64)
    steps = list(
        zip(*map(to_cpu, zip(*steps)))
    )  # of numbers of sources (R,), and slots and tokens (2, R, K)
    place = np.zeros(len(finals), np.int64)
    for length in range(written.shape[2], 0, -1):
        sources, live = steps[length - 1]
        place[sources] = np.arange(len(sources))
        on = length < lengths  # what stands at its own length is its last token
        before = live[:, place[:, None], np.where(on, slot, 0)]  # (2, B, count)
        slot, token = np.where(on, before, [slot, token])
        written[..., length - 1] = token
    return [
        [
            Candidate(
                written[row, one, : lengths[row, one]].tolist(), scores[row][one], sums[row][one]
            )
            for one in exists[row].nonzero()[0].tolist()
        ]
        for row in range(len(finals))
    ]


def to_cpu(parts: Sequence[Tensor]) -> list[np.ndarray]:
    """To the CPU, all at once."""
    flat = torch.cat([part.flatten() for part in parts]).cpu()
    return [
        part.view(like.shape).numpy()
        for part, like in zip(flat.split([part.numel() for part in parts]), parts)
    ]
