"""Recurrent: any cell over a sequence, stacked, one way or both ways.

Without a trace the cells that torch has fused kernels for (rnn, relu, lstm, gru) run on them; with one, and for the
others, the step of cells.py is repeated over time on the same weights.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.layers.cells import CELLS
from wenmai.layers.dropout import Dropout
from wenmai.layers.trace import Trace


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
            pair = None if state is None else tuple(s.unsqueeze(0).contiguous() for s in state)
            pair = pair if self.states == 2 or pair is None else pair[0]
            y, last = self.fused(x, pair) if not drop else self.dropped(x, pair, drop)
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

    def dropped(self, x: Tensor, first, drop: float):
        """The fused kernel with other weights for the state."""
        w, u, *biases = self.parameters()
        if first is None:
            zeros = x.new_zeros(1, len(x), self.hidden)
            first = (zeros, zeros) if self.states == 2 else zeros
        weights = [w, functional.dropout(u, drop), *biases]
        if isinstance(self.fused, nn.LSTM):
            y, *last = torch._VF.lstm(x, first, weights, True, 1, 0.0, True, False, True)
            return y, last
        kernel = torch._VF.gru if isinstance(self.fused, nn.GRU) else getattr(torch._VF, self.fused.mode.lower())
        y, last = kernel(x, first, weights, True, 1, 0.0, True, False, True)
        return y, last
