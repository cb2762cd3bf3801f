"""Recurrent cells, each one step of time on a page. The road from the plain RNN to the LSTM is one change at a time.

With u = tanh(W_u x_t + U_u h_{t−1} + b_u) and every gate σ(W x_t + U h_{t−1} + b):

    rnn           h_t = tanh(W x_t + U h_{t−1} + b), or relu          Elman 1990; relu: Le et al. 2015
    rnn-residual  h_t = h_{t−1} + u                                   nothing is ever forgotten, and h grows
    rnn-coupled   h_t = f·h_{t−1} + (1 − f)·u                         what is forgotten makes room for what is new
    rnn-gated     h_t = f·h_{t−1} + i·u                               the two are decided apart
    lstm          c_t = f·c_{t−1} + i·u,  h_t = o·tanh(c_t)           Hochreiter & Schmidhuber 1997; f: Gers et al. 2000
    gru           h_t = z·h_{t−1} + (1 − z)·n,                        Cho et al. 2014, reset after the product
                  n = tanh(W_n x_t + b + r·(U_n h_{t−1} + b'))

A step takes the projected input W x_t + b (all gates side by side), the state (B, H) or a pair of them, and the
recurrent part U h_{t−1}; it returns the new state and the gates by name."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from torch import Tensor


def rnn_step(x: Tensor, u: Tensor, state: tuple, activation=Tensor.tanh):
    h = activation(x + u)  # (B, H)
    return (h,), {}


def residual_step(x: Tensor, u: Tensor, state: tuple):
    update = (x + u).tanh()  # (B, H)
    return (state[0] + update,), {"update": update}


def coupled_step(x: Tensor, u: Tensor, state: tuple):
    f, update = (x + u).chunk(2, -1)  # each (B, H)
    f, update = f.sigmoid(), update.tanh()
    return (f * state[0] + (1 - f) * update,), {"forget": f, "update": update}


def gated_step(x: Tensor, u: Tensor, state: tuple):
    f, i, update = (x + u).chunk(3, -1)  # each (B, H)
    f, i, update = f.sigmoid(), i.sigmoid(), update.tanh()
    return (f * state[0] + i * update,), {"forget": f, "input": i, "update": update}


def lstm_step(x: Tensor, u: Tensor, state: tuple):
    i, f, update, o = (x + u).chunk(4, -1)  # each (B, H), in the order torch keeps them
    i, f, update, o = i.sigmoid(), f.sigmoid(), update.tanh(), o.sigmoid()
    c = f * state[1] + i * update
    return (o * c.tanh(), c), {"input": i, "forget": f, "update": update, "output": o, "cell": c}


def gru_step(x: Tensor, u: Tensor, state: tuple):
    xr, xz, xn = x.chunk(3, -1)  # each (B, H)
    ur, uz, un = u.chunk(3, -1)
    r, z = (xr + ur).sigmoid(), (xz + uz).sigmoid()
    n = (xn + r * un).tanh()
    return (z * state[0] + (1 - z) * n,), {"reset": r, "update": z, "new": n}


class Cell(NamedTuple):
    step: Callable
    parts: tuple[str, ...]  # that lie side by side in the weights: gates, and the one that is new
    states: int  # that a step carries
    new: str  # which of the parts is no gate

    @property
    def gates(self) -> tuple[str, ...]:
        return tuple(part for part in self.parts if part != self.new)


CELLS = {
    "rnn": Cell(rnn_step, ("state",), 1, "state"),
    "relu": Cell(partial(rnn_step, activation=Tensor.relu), ("state",), 1, "state"),
    "rnn-residual": Cell(residual_step, ("update",), 1, "update"),
    "rnn-coupled": Cell(coupled_step, ("forget", "update"), 1, "update"),
    "rnn-gated": Cell(gated_step, ("forget", "input", "update"), 1, "update"),
    "lstm": Cell(lstm_step, ("input", "forget", "update", "output"), 2, "update"),
    "gru": Cell(gru_step, ("reset", "update", "new"), 1, "new"),
}
