"""Recurrent: any cell over a sequence, stacked, one way or both ways.

Without a trace the cells that torch has fused kernels for (rnn, relu, lstm, gru) run on them; with one, and for the
others, the step of cells.py is repeated over time on the same weights."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from wenmai.kernels import recurrent as kernel
from wenmai.layers.body import Body
from wenmai.layers.cells import CELLS
from wenmai.layers.dropout import Dropout
from wenmai.layers.trace import Trace

GROWS = ("rnn-residual", "rnn-gated")  # cells whose states have no bounds


class Recurrent(Body):
    """`layers` layers of `hidden` units, the last of `last` of them if said; both ways, the second reads every row from its own
    last real position back to its first. The state is all of theirs side by side (B, S), after the T steps, for rows that are not
    padded. With `normed`, states that may grow without bounds are brought to one scale, and begin anew with every text."""

    stack = "layers"

    def __init__(
        self,
        width: int,
        hidden: int,
        cell: str,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float | nn.Module = 0.0,
        *,
        last: int | None = None,
        weight_dropout: float = 0.0,
        normed: bool = False,
    ):
        super().__init__()
        ways = 2 if bidirectional else 1
        hiddens = [hidden] * (layers - 1) + [last or hidden]
        widths = [width, *(size * ways for size in hiddens[:-1])]
        self.width, self.ways, self.cell, self.weight_dropout = (
            hiddens[-1] * ways,
            ways,
            cell,
            weight_dropout,
        )
        self.layers = nn.ModuleList(
            nn.ModuleList(Direction(size, own, cell) for _ in range(ways))
            for size, own in zip(widths, hiddens)
        )
        self.dropout = dropout if isinstance(dropout, nn.Module) else Dropout(dropout)
        self.norms = (
            nn.ModuleList(nn.LayerNorm(size * ways) for size in hiddens)
            if normed and cell in GROWS
            else None
        )
        self.causal = not bidirectional
        self.carried = self.causal and cell not in GROWS

    @property
    def sizes(self) -> list[int]:
        """Of every state of every direction of every layer, in the order in which they lie."""
        return [way.hidden for ways in self.layers for way in ways for _ in range(way.states)]

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        state: Tensor | None = None,
        trace: Trace | None = None,
    ):
        """x (B, T, E) → y (B, T, H·ways)"""
        states = iter(() if state is None else state.split(self.sizes, 1))
        after = []
        back = reversal(mask, x) if self.ways == 2 else None  # (B, T)
        drop = self.weight_dropout if self.training else 0.0
        for level, directions in enumerate(self.layers):
            x = self.dropout(x) if level else x
            outputs = []
            for way, direction in enumerate(directions):
                first = (
                    None if state is None else tuple(next(states) for _ in range(direction.states))
                )
                scope = trace and trace.under(f"{self.cell}.{level}{'.back' if way else ''}")
                y, last = direction(reorder(x, back) if way else x, first, scope, drop)
                outputs.append(reorder(y, back) if way else y)
                after += last
            x = torch.cat(outputs, -1) if self.ways == 2 else outputs[0]
            x = x if self.norms is None else self.norms[level](x)
        return x if mask is None else x * mask.unsqueeze(-1), mask, torch.cat(after, 1)


def reversal(mask: Tensor | None, x: Tensor) -> Tensor:
    """For every row the positions last real … first, then the padding where it was."""
    steps = torch.arange(x.shape[1], device=x.device)
    if mask is None:
        return steps.flip(0).expand(x.shape[0], -1)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - steps, steps)


def reorder(x: Tensor, index: Tensor) -> Tensor:
    return x.gather(1, index.unsqueeze(-1).expand_as(x))


class Direction(nn.Module):
    """One layer in one direction. The weights have torch's names and order, whichever way they are run."""

    def __init__(self, width: int, hidden: int, cell: str):
        super().__init__()
        self.step, parts, self.states, _ = CELLS[cell]
        self.hidden, gates = hidden, len(parts)
        if cell in ("lstm", "gru"):
            self.fused = {"lstm": nn.LSTM, "gru": nn.GRU}[cell](width, hidden, batch_first=True)
        elif cell in ("rnn", "relu"):
            self.fused = nn.RNN(
                width, hidden, batch_first=True, nonlinearity="relu" if cell == "relu" else "tanh"
            )
        else:
            self.fused = None
            self.weights = nn.ParameterList(
                [
                    torch.empty(gates * hidden, width),
                    torch.empty(gates * hidden, hidden),
                    torch.zeros(gates * hidden),
                ]
            )
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

    def forward(
        self, x: Tensor, state: tuple | None, trace: Trace | None = None, drop: float = 0.0
    ) -> tuple[Tensor, tuple]:
        """`drop`: the share of U that is dropped, for all steps alike (Merity et al. 2018)."""
        if self.fused is not None and trace is None:
            return kernel.run(self.fused, x, state, drop)
        w, u, *biases = self.parameters()
        u = functional.dropout(u, drop) if drop else u
        b, b_u = biases if len(biases) == 2 else (biases[0], None)
        projected = functional.linear(x, w, b)  # (B, T, gates·H), all steps at once
        state = state or tuple(x.new_zeros(len(x), self.hidden) for _ in range(self.states))
        outputs, gates_over_time = [], []
        projected = projected if trace is None else trace.passing("gates", projected)
        for projected_t in projected.unbind(1):
            state, gates = self.step(projected_t, functional.linear(state[0], u, b_u), state)
            state = state if trace is None else (trace.passing("units", state[0]), *state[1:])
            outputs.append(state[0])
            gates_over_time.append(gates)
        y = torch.stack(outputs, 1)  # (B, T, H)
        if trace is not None:
            trace.note("state", y)
            for gate in gates_over_time[0]:
                trace.note(
                    gate, torch.stack([gates[gate] for gates in gates_over_time], 1)
                )  # (B, T, H)
        return y, state
