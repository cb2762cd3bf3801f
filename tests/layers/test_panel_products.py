"""Products in panels, alone or shared with other threads, are the library's own; so are the functions of one number."""

import threading
from itertools import pairwise

import numpy as np
import pytest
import torch
from numba import njit
from torch.nn import functional

from wenmai.kernels import functions, sharing
from wenmai.kernels.panels import ACTIVATIONS, WIDE, Panels, padded, panel_product
from wenmai.kernels.self_attention import attend_heads
from wenmai.kernels.sharing import helped, shared_attention, shared_product

BY_NAME = {
    "none": lambda y: y,
    "relu": torch.relu,
    "gelu": functional.gelu,
    "gelu-tanh": lambda y: functional.gelu(y, approximate="tanh"),
}


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rows", [*range(1, 9), 13, 97, 200])
@pytest.mark.parametrize(
    "shape", [(1, 1), (7, 5), (WIDE, 16), (WIDE + 1, 33), (3 * WIDE, 2)], ids=str
)
def test_a_product_in_panels(rows, shape):
    w, b, x = (
        numbers(*shape),
        numbers(shape[0], seed=1),
        numbers(rows, shape[1] + 3, seed=2),
    )  # x may be wider
    for bias in (b, None):
        y = np.full((rows, padded(shape[0])), np.nan, np.float32)
        panels = Panels.of(w, bias)
        with helped(False):
            panel_product(*panels, x.numpy(), y, 0, len(panels.w), 0)
        wanted = functional.linear(x[:, : shape[1]], w, bias)
        torch.testing.assert_close(torch.from_numpy(y[:, : shape[0]]), wanted, rtol=1e-4, atol=1e-4)
        assert (y[:, shape[0] :] == 0).all()


@pytest.mark.parametrize("name", BY_NAME)
def test_what_follows_a_product(name):
    w, b, x = numbers(100, 9), numbers(100, seed=1), 3 * numbers(50, 9, seed=2)
    y = np.empty((50, padded(100)), np.float32)
    with helped(False) as board:
        shared_product(*Panels.of(w, b), x.numpy(), y, board, ACTIVATIONS[name])
    torch.testing.assert_close(
        torch.from_numpy(y[:, :100]),
        BY_NAME[name](functional.linear(x, w, b)),
        rtol=1e-4,
        atol=1e-4,
    )


@njit(nogil=True)
def one_after_another(products, board, times):
    for _ in range(times):
        for at in range(len(products)):
            w, b, x, y = products[at]
            shared_product(w, b, x, y, board, 0)


@pytest.mark.parametrize("helpers", [1, 3])
def test_what_threads_share_is_done_once_and_whole(helpers, monkeypatch):
    """Products of other sizes follow each other at once: nobody may take a chunk of one for that of another."""
    monkeypatch.setattr(sharing, "threads", lambda: helpers + 1)
    monkeypatch.setattr(torch, "get_num_threads", lambda: helpers + 1)
    sharing.pool.cache_clear()
    draw, products, expected = np.random.default_rng(0), [], []
    for at in range(6):
        rows, width, size = (int(n) for n in draw.integers((1, 100, 100), (20, 2000, 300)))
        w, b, x = (
            numbers(width, size, seed=at),
            numbers(width, seed=at + 9),
            numbers(rows, size, seed=at + 20),
        )
        products.append((*Panels.of(w, b), x.numpy(), np.empty((rows, padded(width)), np.float32)))
        expected.append(functional.linear(x, w, b))
    with helped() as board:
        assert board[sharing.HELP] == helpers
        for _ in range(10):
            for *_, y in products:
                y[:] = np.nan
            one_after_another(tuple(products), board, 5)
            for (*_, y), wanted in zip(products, expected):
                torch.testing.assert_close(
                    torch.from_numpy(y[:, : wanted.shape[1]]), wanted, rtol=1e-3, atol=1e-3
                )
        assert board[sharing.DONE] > 0
    assert board[sharing.WORK] == sharing.OVER
    sharing.pool("wenmai-helper", helpers + 1).shutdown(
        wait=True
    )  # all have gone home, or this would never end
    sharing.pool.cache_clear()


def test_one_thread_has_one_board_and_another_its_own(monkeypatch):
    monkeypatch.setattr(sharing, "threads", lambda: 2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    boards = []

    def elsewhere() -> None:
        with helped() as board:
            boards.append(board)

    with helped() as outer, helped(False) as inner:
        assert inner is outer
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
        assert boards[0] is not outer and outer[sharing.WORK] != sharing.OVER
    with pytest.raises(ZeroDivisionError), helped() as failed:
        raise ZeroDivisionError
    assert failed[sharing.WORK] == sharing.OVER
    with helped(False) as nobody:
        assert nobody[sharing.HELP] == 0


@pytest.mark.parametrize("size", [8, WIDE, WIDE + 5])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_attention_of_texts_end_to_end(size, first, shared, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    heads, lengths = 3, [1, 70, 5, 130]
    offsets, width = np.concatenate([[0], np.cumsum(lengths)]), heads * size
    qkv = numbers(int(offsets[-1]), 3 * width + 7)  # it may be wider
    c = np.full((len(lengths) if first else len(qkv), width), np.nan, np.float32)
    if shared:
        with helped() as board:
            shared_attention(qkv.numpy(), c, offsets, heads, np.float32(0.3), first, board)
    else:
        with helped(False):
            for start in range(0, heads * len(lengths), 2):  # heads of two texts at a time too
                attend_heads(
                    qkv.numpy(), c, offsets, heads, np.float32(0.3), first, start, start + 2
                )
    for text, (begin, end) in enumerate(pairwise(offsets)):
        q, k, v = qkv[begin:end, : 3 * width].unflatten(1, (3, heads, size)).permute(1, 2, 0, 3)
        wanted = (
            functional.scaled_dot_product_attention(q, k, v, scale=0.3).transpose(0, 1).flatten(1)
        )
        found = c[text : text + 1] if first else c[begin:end]
        torch.testing.assert_close(
            torch.from_numpy(found), wanted[: len(found)], rtol=1e-4, atol=1e-5
        )


@njit
def each(function, x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = function(x[i])
    return y


def test_functions_of_one_number():
    x = np.linspace(-9, 9, 100_001).astype(np.float32)
    wide = np.linspace(-87, 88, 100_001).astype(np.float32)
    np.testing.assert_allclose(
        each(functions.exp, wide), np.exp(wide.astype(np.float64)), rtol=4e-7
    )
    assert (each(functions.exp, np.array([-np.inf, -1e30, -200], np.float32)) < 1e-37).all()
    exact = torch.from_numpy(x).double()
    np.testing.assert_allclose(each(functions.gelu, x), functional.gelu(exact), atol=2e-6)
    np.testing.assert_allclose(
        each(functions.gelu_by_tanh, x), functional.gelu(exact, approximate="tanh"), atol=2e-6
    )
    for some in (x[:1], x[::997].copy(), np.array([-np.inf, 0, 3, -3e38], np.float32)):
        wanted = torch.from_numpy(some.copy()).softmax(0)
        functions.softmax(some)
        np.testing.assert_allclose(some, wanted, rtol=1e-5, atol=1e-30)
