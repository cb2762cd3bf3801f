"""Recurrent cells: each step is its formula, the fused kernel is the written-out step, and torch reads rows alike."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from wenmai.kernels.recurrent import resized
from wenmai.kernels.unrolled import Unrolled
from wenmai.layers.cells import CELLS
from wenmai.layers.recurrent import Direction, Recurrent, reversal
from wenmai.layers.trace import Trace

E, H = 5, 4
LENGTHS = [7, 3, 1, 0, 5]
FUSED = ("rnn", "relu", "lstm", "gru")


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def by_hand(cell, w, u, b, b_u, x, state):
    """One step in NumPy, from the textbook: x (E,), state a list of (H,); the new state and the gates."""
    h = state[0]

    def gate(n, bend=sigmoid):  # block n of the weights
        part = slice(n * H, (n + 1) * H)
        return bend(w[part] @ x + u[part] @ h + b[part] + b_u[part])

    if cell == "rnn":
        return [gate(0, np.tanh)], {}
    if cell == "relu":
        return [gate(0, lambda z: np.maximum(z, 0))], {}
    if cell == "rnn-residual":
        return [h + gate(0, np.tanh)], {"update": gate(0, np.tanh)}
    if cell == "rnn-coupled":
        f, update = gate(0), gate(1, np.tanh)
        return [f * h + (1 - f) * update], {"forget": f, "update": update}
    if cell == "rnn-gated":
        f, i, update = gate(0), gate(1), gate(2, np.tanh)
        return [f * h + i * update], {"forget": f, "input": i, "update": update}
    if cell == "lstm":
        i, f, update, o = gate(0), gate(1), gate(2, np.tanh), gate(3)
        c = f * state[1] + i * update
        return [o * np.tanh(c), c], {
            "input": i,
            "forget": f,
            "update": update,
            "output": o,
            "cell": c,
        }
    r, z, new = gate(0), gate(1), slice(2 * H, 3 * H)
    n = np.tanh(w[new] @ x + b[new] + r * (u[new] @ h + b_u[new]))
    return [z * h + (1 - z) * n], {"reset": r, "update": z, "new": n}


def random_layers(cell, layers=1, bidirectional=False):
    torch.manual_seed(3)
    body = Recurrent(E, H, cell, layers, bidirectional)
    with torch.no_grad():
        for parameter in body.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.5)
    return body


def a_batch(lengths=LENGTHS):
    x = torch.randn(len(lengths), max(lengths), E, generator=torch.Generator().manual_seed(1))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return x, mask


@pytest.mark.parametrize("cell", CELLS)
def test_each_step_is_its_formula(cell):
    body = random_layers(cell)
    direction = body.layers[0][0]
    w, u, *biases = (parameter.detach().double().numpy() for parameter in direction.parameters())
    b, b_u = biases if len(biases) == 2 else (biases[0], np.zeros_like(biases[0]))
    x, mask = a_batch()
    trace = Trace()
    y, _, last = body(x, mask, trace=trace)
    assert last.shape == (len(x), CELLS[cell][2] * H)
    for row, length in enumerate(LENGTHS):
        state = [np.zeros(H)] * CELLS[cell][2]
        for t in range(length):
            state, gates = by_hand(cell, w, u, b, b_u, x[row, t].double().numpy(), state)
            np.testing.assert_allclose(y[row, t].detach(), state[0], atol=1e-5)
            assert set(trace.notes) == {f"{cell}.0.state"} | {f"{cell}.0.{name}" for name in gates}
            for name, value in gates.items():
                np.testing.assert_allclose(
                    trace[f"{cell}.0.{name}"][row, t].detach(), value, atol=1e-5
                )
        assert not y[row, length:].any()  # padding is 0
        if length == max(LENGTHS):
            np.testing.assert_allclose(last[row].detach(), np.concatenate(state), atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", FUSED)
def test_the_fused_kernel_is_the_written_out_step(cell, bidirectional, layers):
    body, (x, mask) = random_layers(cell, layers, bidirectional), a_batch()
    x.requires_grad_()
    found = []
    for trace in (None, Trace()):
        y, _, state = body(x, mask, trace=trace)
        wish = torch.randn(y.shape, generator=torch.Generator().manual_seed(2))
        found.append([y, state, *torch.autograd.grad((y * wish).sum(), [x, *body.parameters()])])
    assert found[0][0].shape == (5, 7, H * (1 + bidirectional))
    for fast, written in zip(*found):
        torch.testing.assert_close(fast, written, atol=1e-5, rtol=1e-5)


def in_torch(cell, body, layers, bidirectional):
    """torch's own module with the weights of the body."""
    kind = {"lstm": nn.LSTM, "gru": nn.GRU}.get(cell, nn.RNN)
    more = {"nonlinearity": "relu" if cell == "relu" else "tanh"} if kind is nn.RNN else {}
    theirs = kind(E, H, layers, batch_first=True, bidirectional=bidirectional, **more)
    with torch.no_grad():
        for level, directions in enumerate(body.layers):
            for way, direction in enumerate(directions):
                names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                for name, parameter in zip(names, direction.parameters(), strict=True):
                    getattr(theirs, f"{name}_l{level}{'_reverse' if way else ''}").copy_(parameter)
    return theirs


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", FUSED)
def test_torch_with_packed_sequences_gives_the_same(cell, bidirectional, layers):
    body = random_layers(cell, layers, bidirectional)
    lengths = [7, 3, 1, 5]
    x, mask = a_batch(lengths)
    packed = pack_padded_sequence(x, torch.tensor(lengths), batch_first=True, enforce_sorted=False)
    theirs, _ = pad_packed_sequence(
        in_torch(cell, body, layers, bidirectional)(packed)[0], batch_first=True
    )
    torch.testing.assert_close(body(x, mask)[0], theirs, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_the_state_carries_on(cell, trace):
    body, (x, mask) = random_layers(cell, layers=2), a_batch([6, 6])
    whole, _, last = body(x, mask)
    first, _, state = body(x[:, :2], mask[:, :2], trace=Trace() if trace else None)
    second, _, end = body(x[:, 2:], mask[:, 2:], state, trace=Trace() if trace else None)
    assert state.shape == (2, 2 * CELLS[cell][2] * H)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(end, last, atol=1e-5, rtol=1e-5)


def test_the_way_back_begins_at_the_last_real_position():
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]).bool()
    assert reversal(mask, mask).tolist() == [[2, 1, 0, 3, 4], [4, 3, 2, 1, 0], [0, 1, 2, 3, 4]]
    body, (x, mask) = random_layers("gru", bidirectional=True), a_batch([4, 2])
    y = body(x, mask)[0]
    back = random_layers("gru", bidirectional=True).layers[0][1]
    alone, _ = back(x[1:, :2].flip(1), None, None)
    torch.testing.assert_close(y[1:, :2, H:], alone.flip(1), atol=1e-6, rtol=0)


@pytest.mark.parametrize("cell", CELLS)
def test_first_weights(cell):
    direction = Recurrent(E, H, cell).layers[0][0]
    _, u, *biases = direction.parameters()
    for part in u.split(H):
        gain = (
            0.1 if cell == "rnn-residual" else 1.0
        )  # its state grows, and would shut its own tanh
        torch.testing.assert_close(part @ part.mT, torch.eye(H) * gain**2, atol=1e-5, rtol=0)
        assert cell != "relu" or torch.equal(part, torch.eye(H))
    remembers = {"lstm": 1, "gru": 1, "rnn-coupled": 0, "rnn-gated": 0}
    total = sum(biases)
    for gate, part in enumerate(total.split(H)):
        assert part.tolist() == [float(remembers.get(cell) == gate)] * H


@pytest.mark.parametrize("steps", [1, 9])
def test_the_unrolled_lstm_is_the_fused_one_and_so_are_its_gradients(steps):
    torch.manual_seed(0)
    layer = Direction(5, 7, "lstm")
    x, first = (
        torch.randn(3, steps, 5, requires_grad=True),
        [torch.randn(3, 7, requires_grad=True) for _ in range(2)],
    )
    w, u, b, b_u = layer.parameters()
    weigh = torch.randn(3, steps, 7)

    def judged(y, last):
        grads = torch.autograd.grad(
            (y * weigh).sum() + last[0].square().sum() + last[1].sum(), [x, *first, w, u, b]
        )
        return [y, *last, *grads]

    wanted = judged(*layer(x, tuple(first), None))
    y, *last = Unrolled.apply(x.transpose(0, 1), *first, w, u, b + b_u)
    for one, other in zip(judged(y.transpose(0, 1), last), wanted):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn", "relu"])
def test_units_that_are_added_change_nothing(cell):
    torch.manual_seed(0)
    layer, x = Direction(10, 13, cell), torch.randn(3, 5, 10)
    for first in (None, tuple(torch.randn(3, 13) for _ in range(layer.states))):
        (y, last), (found, after) = layer(x, first, None), resized(layer.fused, x, first, 0.0, 8)
        for one, other in zip((found, *after), (y, *last)):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_an_lstm_in_sixteen_bits_comes_near():
    torch.manual_seed(0)
    layer, x = Direction(10, 16, "lstm"), torch.randn(3, 5, 10)
    usual, _ = layer(x, None, None)
    with torch.autocast("cpu", torch.bfloat16):
        found, (_, c) = layer(x, None, None)
    assert (
        found.dtype == torch.bfloat16
        and c.dtype == torch.float32
        and (found - usual).norm() < 0.02 * usual.norm()
    )
