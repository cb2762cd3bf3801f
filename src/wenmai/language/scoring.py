"""What a network says of a running text, token by token, as it reads on.

A body that carries a state reads the text once, from end to end. Another looks back on `context` tokens and no further: it reads
windows of them that lie over one another, and from each only the last `stride` tokens are taken, which have seen the most:

    ├────────── context ──────────┤
                 ├────────── context ──────────┤     every token is said from at least context − stride before it;
                                ├───stride─────┤     a stride of 1 gives every token all that the network can see

Windows do not wait for one another, so that many are read at once."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from wenmai.data.examples.batches import by_length
from wenmai.errors import Mistake
from wenmai.models.network import Network
from wenmai.models.token_scores import TokenScores

READ = 1 << 14  # tokens that are read at once
TABLE = 1 << 22  # numbers of a table (tokens, V) that are held at once
COLUMNS = 20  # that a text is read in, where it is judged quickly


class Reader:
    """Reads on from text to text; the first opens as a line does, after the `end` of the line before it."""

    def __init__(self, network: Network, end: int, stride: int | None = None):
        self.network, self.state, self.past = network, None, np.array([end], np.int64)
        self.stride = stride_of(network, stride)

    @torch.no_grad()
    def read(self, tokens: np.ndarray) -> Iterator[TokenScores]:
        known, network = np.concatenate([self.past, tokens]), self.network
        if network.carried:
            for start in range(0, len(known) - 1, READ):
                piece = known[start : start + READ + 1]
                y, self.state = network.hidden(as_tensor(piece[None, :-1]), self.state)
                yield token_scores(network, y[0], piece[1:])
            self.past = known[-1:]
            return
        for starts, size, first in windows(
            len(known) - 1, len(self.past) - 1, network.context, self.stride
        ):
            pieces = known[starts[:, None] + np.arange(size + 1)]  # (B, size + 1)
            y, _ = network.hidden(as_tensor(pieces[:, :-1]), None)
            yield token_scores(network, y[:, first:].flatten(0, 1), pieces[:, first + 1 :].ravel())
        self.past = known[-(network.context - self.stride + 1) :]

    def log_probs(self, tokens: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(scores.log_probs for scores in self.read(tokens))])


def as_tensor(tokens: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(tokens, np.int64))


def stride_of(network: Network, stride: int | None) -> int | None:
    """None where there are no windows."""
    if network.carried:
        return None
    if stride is not None and not 1 <= stride <= network.context:
        raise Mistake(
            "stride={stride}: expected 1 to {most}, how many tokens this model looks back on.",
            stride=stride,
            most=network.context,
        )
    return stride or max(1, network.context - network.context // 2)


def windows(
    count: int, done: int, steps: int, stride: int
) -> Iterator[tuple[np.ndarray, int, int]]:
    """(where some windows start, their size, the first step of each that counts), so that of `count` steps all but those done
    count once, in their order."""
    first = min(steps, count)
    if done < first:
        yield np.zeros(1, np.int64), first, done
        done = first
    window_ends = done + stride * np.arange(1, (count - done) // stride + 1)  # where windows end
    for ends in (
        np.array_split(window_ends, -(-len(window_ends) * steps // READ))
        if len(window_ends)
        else ()
    ):
        yield ends - steps, steps, steps - stride
    done = int(window_ends[-1]) if len(window_ends) else done
    if done < count:
        yield np.array([count - steps]), steps, steps - (count - done)


def token_scores(network: Network, y: Tensor, targets: np.ndarray) -> TokenScores:
    """Of these tokens, each said from its y. The whole vocabulary is written out for some of the tokens at a time."""
    rows, columns = max(1, TABLE // network.head.width), as_tensor(targets).to(y.device)
    pieces = zip(y.split(rows), columns.split(rows))
    log_probs = torch.cat(
        [network.head.outputs(part).gather(1, column[:, None])[:, 0] for part, column in pieces]
    )
    return TokenScores(targets, log_probs.double().cpu().numpy(), y)


@torch.no_grad()
def lines_alone(network: Network, end: int, tokens: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Σ log p of every line, each as if nothing stood before it."""
    sums, lengths = np.empty(len(starts) - 1), np.diff(starts)
    for rows in by_length(np.minimum(lengths, READ), READ):
        longest = int(lengths[rows].max())
        if longest > (READ if network.carried else network.context):
            for at in rows:
                sums[at] = Reader(network, end).log_probs(tokens[starts[at] : starts[at + 1]]).sum()
            continue
        places = np.minimum(starts[rows][:, None] + np.arange(longest), len(tokens) - 1)
        targets, real = tokens[places], np.arange(longest) < lengths[rows][:, None]  # (B, T)
        y, _ = network.hidden(
            as_tensor(np.concatenate([np.full((len(rows), 1), end), targets[:, :-1]], 1)), None
        )
        each = token_scores(network, y.flatten(0, 1), targets.ravel()).log_probs.reshape(
            targets.shape
        )
        sums[rows] = (each * real).sum(1)
    return sums


@torch.no_grad()
def quick_loss(network: Network, tokens: np.ndarray) -> float:
    """Mean −log p of a text, quickly: read in columns side by side, of which each begins without a past."""
    total, state, count = 0.0, None, len(tokens) - 1
    steps = 512 if network.carried else network.context
    if network.carried:
        columns = max(1, min(COLUMNS, count // 1000))
        length = count // columns
        starts, batches = np.arange(columns) * length, range(0, length, steps)
        places = [(starts + at, min(steps, length - at)) for at in batches]
    else:
        starts = np.arange(0, max(1, count - steps + 1), steps)
        places = [
            (part, min(steps, count))
            for part in np.array_split(starts, -(-len(starts) * steps // READ))
        ]
    count_read = 0
    for begins, size in places:
        piece = tokens[begins[:, None] + np.arange(size + 1)]
        y, after = network.hidden(as_tensor(piece[:, :-1]), state)
        target = as_tensor(piece[:, 1:]).to(network.device)
        total += network.head.outputs(y).gather(2, target.unsqueeze(-1)).sum(dtype=torch.float64)
        state, count_read = after if network.carried else None, count_read + target.numel()
    return -float(total) / max(1, count_read)
