"""Products that several threads share, a chunk at a time, inside machine code.

Who needs a product puts it up, and all threads that are there take chunks of the panels of W until none is left: a thread that is
late, or that the system has put aside for another program, is waited for only if it holds a chunk. Nobody is woken, since those
who help look for work all the time, from `helped` until the text that they help with is written.

    board[WORK]     the number of the product · 2³² + the number of the next chunk: taken by compare and exchange, so that whoever
                    looked at an older product takes nothing of a newer one
    board[DONE]     how many chunks were done, of all products
    board[WHAT:]    addresses of W, b, x and y; panels of W, its K; rows of x, their width; panels of a chunk
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
import torch
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from wenmai.data.storage.caches import njit
from wenmai.data.storage.threads import threads
from wenmai.kernels.panels import WIDE, panel_product

WORK, DONE, WHAT = 0, 8, 16  # apart by as much as a processor fetches at once
NUMBER = 1 << 32
OVER = -1  # as WORK: nothing more will be put up
PATIENT = 2000  # looks at a board, some microseconds
CHUNK = 1 << 15  # products of two numbers: fewer are not worth the exchange


@contextmanager
def helped(wanted: bool = True) -> Iterator[np.ndarray]:
    """A board that others look at meanwhile, if there are cores for them; else an empty one."""
    helpers = min(threads(), torch.get_num_threads()) - 1 if wanted else 0
    if helpers < 1:
        yield NOBODY
        return
    board = np.zeros(WHAT + 9, np.int64)
    for _ in range(helpers):
        pool().submit(help_out, board)
    try:
        yield board
    finally:
        board[WORK] = OVER


NOBODY = np.zeros(0, np.int64)


@cache
def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads(), "wenmai-helper")


def address(array: np.ndarray) -> int:
    return array.ctypes.data


@intrinsic
def floats_at(typing_context, place):
    """The address of a number as a pointer, for carray."""

    def code(context, builder, signature, values):
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.int64), code


@njit(cache=True, nogil=True)
def vector(place, size):
    return carray(floats_at(place), size)


@njit(cache=True, nogil=True)
def matrix(place, rows, size):
    return carray(floats_at(place), (rows, size))


@njit(cache=True, nogil=True)
def panels_at(place, many, size):
    return carray(floats_at(place), (many, size, WIDE))


def place_of(context, builder, signature, values):
    """The pointer to values[0][values[1]] of an array of int64."""
    array = context.make_array(signature.args[0])(context, builder, values[0])
    return builder.gep(array.data, [values[1]])


if os.name == "posix":
    yield_core = types.ExternalFunction("sched_yield", types.intc())
else:

    @njit(cache=True, nogil=True)
    def yield_core():
        pass


BOARD = types.Array(types.int64, 1, "C")


@intrinsic
def looked_at(typing_context, board, place):
    def code(context, builder, signature, values):
        return builder.load_atomic(place_of(context, builder, signature, values), "acquire", 8)

    return types.int64(BOARD, types.intp), code


@intrinsic
def put(typing_context, board, place, value):
    def code(context, builder, signature, values):
        builder.store_atomic(values[2], place_of(context, builder, signature, values), "release", 8)
        return context.get_dummy_value()

    return types.void(BOARD, types.intp, types.int64), code


@intrinsic
def added(typing_context, board, place, value):
    """board[place] += value, at once"""

    def code(context, builder, signature, values):
        return builder.atomic_rmw("add", place_of(context, builder, signature, values), values[2], "acq_rel")

    return types.int64(BOARD, types.intp, types.int64), code


@intrinsic
def exchanged(typing_context, board, place, old, new):
    """Whether board[place] was `old` and is now `new`."""

    def code(context, builder, signature, values):
        pair = builder.cmpxchg(place_of(context, builder, signature, values), values[2], values[3], "acq_rel", "acquire")
        return builder.zext(builder.extract_value(pair, 1), ir.IntType(8))

    return types.uint8(BOARD, types.intp, types.int64, types.int64), code


@njit(cache=True, nogil=True)
def help_out(board):
    looks = 0
    while True:
        work = looked_at(board, WORK)
        if work == OVER:
            return
        looks = 0 if chunk_done(board, work) else looks + 1
        if looks > PATIENT:
            yield_core()


@njit(cache=True, nogil=True)
def chunk_done(board, work):
    """Does the next chunk of this work, unless it is all taken; or another by now."""
    what = board[WHAT:]
    w, b, x, y, panels, size, rows, x_width, share = (what[0], what[1], what[2], what[3], what[4], what[5], what[6], what[7],
                                                      what[8])  # fmt: skip
    start = work % NUMBER * share
    if start >= panels or not exchanged(board, WORK, work, work + 1):
        return False
    panel_product(panels_at(w, panels, size), vector(b, panels * WIDE), matrix(x, rows, x_width), matrix(y, rows, panels * WIDE),
                  start, min(start + share, panels))  # fmt: skip
    added(board, DONE, 1)
    return True


@njit(cache=True, nogil=True)
def shared_product(w, b, x, y, board):
    """y = x Wᵀ + b, with whoever looks at the board; w, b as in Panels, y (B, padded(N))."""
    panels, size, _ = w.shape
    share = max(1, CHUNK // (WIDE * size * len(x)))
    if len(board) == 0 or panels <= share:
        panel_product(w, b, x, y, 0, panels)
        return
    done, chunks = looked_at(board, DONE), (panels + share - 1) // share
    board[WHAT], board[WHAT + 1], board[WHAT + 2], board[WHAT + 3] = w.ctypes.data, b.ctypes.data, x.ctypes.data, y.ctypes.data
    board[WHAT + 4], board[WHAT + 5], board[WHAT + 6], board[WHAT + 7] = panels, size, x.shape[0], x.shape[1]
    board[WHAT + 8] = share
    put(board, WORK, (looked_at(board, WORK) // NUMBER + 1) * NUMBER)
    while chunk_done(board, looked_at(board, WORK)):
        pass
    wait_for(board, done + chunks)


@njit(cache=True, nogil=True)
def wait_for(board, chunks):
    """Until so many are done. Whoever has taken the last may be waiting for this very core, and is given it."""
    looks = 0
    while looked_at(board, DONE) < chunks:
        looks += 1
        if looks > PATIENT:
            yield_core()
