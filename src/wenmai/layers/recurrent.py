"""Recurrent: any cell over a sequence, stacked, one way or both ways.

Without a trace the cells that torch has fused kernels for (rnn, relu, lstm, gru) run on them; with one, and for the
others, the step of cells.py is repeated over time on the same weights.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels.unrolled import Unrolled
from wenmai.layers.cells import CELLS
from wenmai.layers.dropout import Dropout
from wenmai.layers.trace import Trace

warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")  # of weights that were changed
EVEN = 8  # a GPU multiplies matrices up to three times as fast where their sizes are multiples of this


class Recurrent(nn.Module):
    """`layers` layers; both ways, the second reads every row from its own last real position back to its first."""

    def __init__(self, width: int, hidden: int, cell: str, layers: int = 1, bidirectional: bool = False, dropout: float = 0.0):
        super().__init__()
        ways = 2 if bidirectional else 1
        self.width, self.hidden, self.ways, self.cell = hidden * ways, hidden, ways, cell
        sizes = [width] + [self.width] * (layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(Direction(size, hidden, cell, f"{cell}.{level}{'' if way == 0 else '.back'}") for way in range(ways))
            for level, size in enumerate(sizes)
        )
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor, state: Tensor | None = None, trace: Trace | None = None):
        """x (B, T, E) → y (B, T, H·ways); state (B, L·ways·states, H) after the T steps, for rows that are not padded."""
        states = []
        back = reversal(mask) if self.ways == 2 else None  # (B, T)
        for level, directions in enumerate(self.layers):
            x = self.dropout(x) if level else x
            outputs = []
            for way, direction in enumerate(directions):
                if state is None:
                    first = None
                else:
                    at = (level * self.ways + way) * direction.states
                    first = tuple(state[:, at + n] for n in range(direction.states))
                if way == 0:
                    y, last = direction(x, first, trace)
                else:
                    y, last = direction(turn(x, back), first, trace)
                    y = turn(y, back)
                outputs.append(y)
                states += last
            x = torch.cat(outputs, -1) if self.ways == 2 else outputs[0]
        return x * mask.unsqueeze(-1), mask, torch.stack(states, 1)


def reversal(mask: Tensor) -> Tensor:
    """For every row the positions last real … first, then the padding where it was."""
    steps = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - steps, steps)


def turn(x: Tensor, index: Tensor) -> Tensor:
    return x.gather(1, index.unsqueeze(-1).expand_as(x))


class Direction(nn.Module):
    """One layer in one direction. The weights have torch's names and order, whichever way they are run."""

    def __init__(self, width: int, hidden: int, cell: str, name: str):
        super().__init__()
        self.step, gates, self.states = CELLS[cell]
        self.hidden, self.name = hidden, name
        if cell in ("lstm", "gru"):
            self.fused = {"lstm": nn.LSTM, "gru": nn.GRU}[cell](width, hidden, batch_first=True)
        elif cell in ("rnn", "relu"):
            self.fused = nn.RNN(width, hidden, batch_first=True, nonlinearity="relu" if cell == "relu" else "tanh")
        else:
            self.fused = None
            self.weights = nn.ParameterList([torch.empty(gates * hidden, width), torch.empty(gates * hidden, hidden),
                                             torch.zeros(gates * hidden)])  # fmt: skip
        self.start(cell)

    def start(self, cell: str) -> None:
        """First weights: Glorot for the input, orthogonal for the state (Saxe et al. 2014; the identity for relu, Le et
        al. 2015), and gates that begin by remembering (Gers et al. 2000). The residual state grows with every step and
        would soon shut its own tanh, so that it starts with a tenth of the rest's pull: 20 points more on `languages`."""
        w, u, *biases = self.parameters()
        gain = 0.1 if cell == "rnn-residual" else 1.0
        with torch.no_grad():
            for part in w.split(self.hidden):
                nn.init.xavier_uniform_(part)
            for part in u.split(self.hidden):
                nn.init.eye_(part) if cell == "relu" else nn.init.orthogonal_(part, gain)
            for bias in biases:
                bias.zero_()
            remember = {"lstm": 1, "gru": 1, "rnn-coupled": 0, "rnn-gated": 0}.get(cell)
            if remember is not None:
                biases[0][remember * self.hidden : (remember + 1) * self.hidden] = 1.0

    def forward(self, x: Tensor, state: tuple | None, trace: Trace | None, drop: float = 0.0) -> tuple[Tensor, tuple]:
        """`drop`: the share of U that is dropped, for all steps alike (Merity et al. 2018)."""
        if self.fused is not None and trace is None:
            if self.states == 2 and torch.is_grad_enabled() and not x.is_cuda and torch.is_autocast_enabled("cpu"):
                return self.unrolled(x, state, drop)
            uneven = x.is_cuda and (self.hidden % EVEN or x.shape[2] % EVEN)
            if drop or uneven:
                return self.kernel(x, state, drop, EVEN if uneven else 1)
            pair = None if state is None else tuple(s.unsqueeze(0).contiguous() for s in state)
            y, last = self.fused(x, pair if self.states == 2 or pair is None else pair[0])
            return y, tuple(s[0] for s in (last if self.states == 2 else (last,)))
        w, u, *biases = self.parameters()
        u = functional.dropout(u, drop) if drop else u
        b, b_u = biases if len(biases) == 2 else (biases[0], None)
        projected = functional.linear(x, w, b)  # (B, T, gates·H), all steps at once
        state = state or tuple(x.new_zeros(len(x), self.hidden) for _ in range(self.states))
        outputs, notes = [], []
        for projected_t in projected.unbind(1):
            state, gates = self.step(projected_t, functional.linear(state[0], u, b_u), state)
            outputs.append(state[0])
            notes.append(gates)
        y = torch.stack(outputs, 1)  # (B, T, H)
        if trace is not None:
            trace.note(f"{self.name}.state", y)
            for gate in notes[0]:
                trace.note(f"{self.name}.{gate}", torch.stack([gates[gate] for gates in notes], 1))  # (B, T, H)
        return y, state

    def kernel(self, x: Tensor, state: tuple | None, drop: float, even: int) -> tuple[Tensor, tuple]:
        """The fused kernel with a share of U dropped, and with sizes brought to a multiple of `even`: a unit that is added has
        no weights, so that it stays 0."""
        w, u, *biases = self.parameters()
        u = functional.dropout(u, drop) if drop else u
        wide, high = (-size % even for size in (x.shape[2], self.hidden))

        def grown(weight: Tensor, *sides: int) -> Tensor:
            """(gates·H, …) with every gate grown by `high` rows."""
            return (
                functional.pad(weight.unflatten(0, (-1, self.hidden)), (*sides, 0, high)).flatten(0, 1) if wide + high else weight
            )

        weights = [grown(w, 0, wide), grown(u, 0, high), *(grown(b) for b in biases)]
        state = state or tuple(x.new_zeros(len(x), self.hidden) for _ in range(self.states))
        x, first = functional.pad(x, (0, wide)), [functional.pad(s, (0, high)).unsqueeze(0) for s in state]
        mode = self.fused.mode.lower()
        y, *last = getattr(torch._VF, mode)(
            x, first if mode == "lstm" else first[0], weights, True, 1, 0.0, self.training, False, True
        )
        return y[..., : self.hidden], tuple(s[0, :, : self.hidden] for s in last)

    def unrolled(self, x: Tensor, state: tuple | None, drop: float) -> tuple[Tensor, tuple]:
        """An LSTM in 16 bits on a CPU; c stays in 32."""
        w, u, b, b_u = self.parameters()
        u = functional.dropout(u, drop) if drop else u
        kind = torch.get_autocast_dtype("cpu")
        h, c = state or tuple(x.new_zeros(len(x), self.hidden) for _ in range(2))
        with torch.autocast("cpu", enabled=False):
            y, h, c = Unrolled.apply(
                x.transpose(0, 1).to(kind), h.to(kind), c.float(), w.to(kind), u.to(kind), (b + b_u).to(kind)
            )
        return y.transpose(0, 1), (h, c)
