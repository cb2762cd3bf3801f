"""Products, and attention, that several threads share, a chunk at a time, inside machine code.

Who needs one puts it up, and all threads that are there take chunks of its panels, or heads, until none is left: a thread that is
late, or that the system has put aside for another program, is waited for only if it holds a chunk. Nobody is woken, since those
who help look for work all the time, from `helped` until the text that they help with is written.

    board[WORK]     the number of the work · 2³² + the number of the next chunk: taken by compare and exchange, so that whoever
                    looked at an older one takes nothing of a newer
    board[DONE]     how many chunks were done, of all works
    board[HELP]     how many help
    board[WHAT:]    what is to be done: addresses of what is read and written, and their sizes
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import local

import numpy as np
import torch
from llvmlite import binding, ir
from numba import carray, types
from numba.extending import intrinsic
from torch import Tensor

from wenmai.data.storage.caches import c_function, njit
from wenmai.data.storage.threads import pool, threads
from wenmai.kernels import panels
from wenmai.kernels.panels import NONE, WIDE, Panels, by_address, floats_at
from wenmai.kernels.self_attention import attend_heads

WORK, DONE, HELP, WHAT = 0, 8, 16, 24  # apart by as much as a processor fetches at once
KIND, ALL, SHARE = range(
    3
)  # of WHAT: the kind of work, how many panels or heads it has, and how many of them are a chunk
SIZE = 12  # of WHAT
PRODUCT, ATTENTION = range(2)
NUMBER = 1 << 32
CLOSED = NUMBER - 1  # as a chunk: none is left
OVER = -1  # as WORK: nothing more will be put up
PATIENT = 50_000  # looks at a board, some ten microseconds
CHUNK = 1 << 17  # products of two numbers: fewer are not worth the exchange
FEW = 1 << 14  # keys and values, likewise
ENOUGH = 1 << 26  # products of two numbers, from which it pays to call for help


@contextmanager
def helped(wanted: bool = True) -> Iterator[np.ndarray]:
    """A board that others look at meanwhile, if there are cores for them. Inside another of this thread's, the same one: who
    helps stays."""
    if (board := getattr(HERE, "board", None)) is not None:
        yield board
        return
    board = np.zeros(WHAT + SIZE, np.int64)
    board[HELP] = min(threads(), torch.get_num_threads()) - 1 if wanted else 0
    compiled()
    if not board[HELP]:
        yield board
        return
    try:
        HERE.board = board
        for _ in range(board[HELP]):
            pool("wenmai-helper", threads()).submit(help_out, board)
        yield board
    finally:
        HERE.board, board[WORK] = None, OVER


HERE = local()


@cache
def compiled() -> None:
    """What is called by its address is there."""
    binding.add_symbol(panels.PRODUCT, panels.product_at())
    binding.add_symbol(PERFORM, perform_at())
    binding.add_symbol(WORK_OFF, work_off_at())


def address(array: np.ndarray) -> int:
    return array.ctypes.data


@intrinsic
def integers_at(typing_context, place):
    def code(context, builder, signature, values):
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.int64)(types.int64), code


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
        return builder.atomic_rmw(
            "add", place_of(context, builder, signature, values), values[2], "acq_rel"
        )

    return types.int64(BOARD, types.intp, types.int64), code


@intrinsic
def exchanged(typing_context, board, place, old, new):
    """Whether board[place] was `old` and is now `new`."""

    def code(context, builder, signature, values):
        pair = builder.cmpxchg(
            place_of(context, builder, signature, values),
            values[2],
            values[3],
            "acq_rel",
            "acquire",
        )
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


@c_function(types.void(types.int64, types.int64, types.int64), error_model="numpy")
def perform_at(place, start, end):
    """Of the work that lies at this place, the panels or heads from `start` to `end`."""
    what = carray(integers_at(place), SIZE)
    if what[KIND] == PRODUCT:
        many, w, b, x, y = what[ALL], what[3], what[4], what[5], what[6]
        size, rows, x_width, activation = what[7], what[8], what[9], what[10]
        by_address(w, b, x, x_width, y, many * WIDE, size, rows, start, end, activation)
    else:
        qkv, c, offsets, rows, qkv_width, width, heads = (
            what[3],
            what[4],
            what[5],
            what[6],
            what[7],
            what[8],
            what[9],
        )
        texts, factor, first = (
            what[ALL] // heads,
            np.int32(what[10]).view(np.float32),
            what[11] != 0,
        )
        attend_heads(
            matrix(qkv, rows, qkv_width),
            matrix(c, texts if first else rows, width),
            carray(integers_at(offsets), texts + 1),
            heads,
            factor,
            first,
            start,
            end,
        )


PERFORM = "wenmai_perform"
perform = types.ExternalFunction(PERFORM, types.void(types.int64, types.int64, types.int64))


@njit(cache=True, nogil=True)
def chunk_done(board, work):
    """Does the next chunk of this work, unless it is all taken; or another by now."""
    what = board[WHAT:]
    start, end = work % NUMBER * what[SHARE], min((work % NUMBER + 1) * what[SHARE], what[ALL])
    if start >= end or not exchanged(board, WORK, work, work + 1):
        return False
    perform(what.ctypes.data, start, end)
    added(board, DONE, 1)
    return True


@njit(cache=True, nogil=True)
def shared_product(w, b, x, y, board, activation):
    """y = φ(x Wᵀ + b), with whoever looks at the board; w, b as in Panels, y (B, padded(N))."""
    many, size, _ = w.shape
    what = cleared(board)
    what[KIND], what[ALL], what[SHARE] = PRODUCT, many, max(1, CHUNK // (WIDE * size * len(x)))
    what[3], what[4], what[5], what[6] = w.ctypes.data, b.ctypes.data, x.ctypes.data, y.ctypes.data
    what[7], what[8], what[9], what[10] = size, x.shape[0], x.shape[1], activation
    work_off(board.ctypes.data)


def multiplied(panels: Panels, x: Tensor) -> Tensor:
    """x (…, K) → (…, padded(N))"""
    rows = np.ascontiguousarray(x.detach().numpy()).reshape(-1, x.shape[-1])
    y = np.empty((len(rows), len(panels.b)), np.float32)
    with helped(len(rows) * panels.w.size >= ENOUGH) as board:
        shared_product(*panels, rows, y, board, NONE)
    return torch.from_numpy(y).view(*x.shape[:-1], -1)


@njit(cache=True, nogil=True)
def shared_attention(qkv, c, offsets, heads, factor, first, board):
    """As attend_heads, all of them, with whoever looks at the board."""
    many = (len(offsets) - 1) * heads
    what = cleared(board)
    what[KIND], what[ALL], what[SHARE] = (
        ATTENTION,
        many,
        many if qkv.size < FEW else max(1, many // 8),
    )
    what[3], what[4], what[5] = qkv.ctypes.data, c.ctypes.data, offsets.ctypes.data
    what[6], what[7], what[8], what[9] = qkv.shape[0], qkv.shape[1], c.shape[1], heads
    what[10], what[11] = np.float32(factor).view(np.int32), first
    work_off(board.ctypes.data)


@njit(cache=True, nogil=True)
def cleared(board):
    """Where the next work may be written: nobody can take a chunk until it is put up."""
    put(board, WORK, looked_at(board, WORK) // NUMBER * NUMBER + CLOSED)
    return board[WHAT:]


@c_function(types.void(types.int64), error_model="numpy")
def work_off_at(place):
    """Does what is on the board at this place, with whoever helps."""
    board = carray(integers_at(place), WHAT + SIZE)
    what = board[WHAT:]
    if board[HELP] == 0 or what[ALL] <= what[SHARE]:
        perform(what.ctypes.data, 0, what[ALL])
        return
    done, chunks = looked_at(board, DONE), (what[ALL] + what[SHARE] - 1) // what[SHARE]
    put(board, WORK, (looked_at(board, WORK) // NUMBER + 1) * NUMBER)
    while chunk_done(board, looked_at(board, WORK)):
        pass
    wait_for(board, done + chunks)


WORK_OFF = "wenmai_work_off"
work_off = types.ExternalFunction(WORK_OFF, types.void(types.int64))


@njit(cache=True, nogil=True)
def wait_for(board, chunks):
    """Until so many are done. Whoever has taken the last may be waiting for this very core, and is given it."""
    looks = 0
    while looked_at(board, DONE) < chunks:
        looks += 1
        if looks > PATIENT:
            yield_core()
