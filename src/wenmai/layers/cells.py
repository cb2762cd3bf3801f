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

from functools import partial

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


# name → (one step, gates side by side in the weights, states a step carries)
CELLS = {
    "rnn": (rnn_step, 1, 1),
    "relu": (partial(rnn_step, activation=Tensor.relu), 1, 1),
    "rnn-residual": (residual_step, 1, 1),
    "rnn-coupled": (coupled_step, 2, 1),
    "rnn-gated": (gated_step, 3, 1),
    "lstm": (lstm_step, 4, 2),
    "gru": (gru_step, 3, 1),
}
