"""Products with some vectors, as fast as a processor can multiply, or read.

    y = φ(W x + b),   W (N, K) laid out as panels (N / WIDE, K, WIDE)

A panel is WIDE rows of W, number by number: of one x_k after another, its weights stand side by side. So W is read from the first
number to the last in the order in which it lies, which memory is made for, and a panel's sums of up to six rows of x stay in
registers until they are done. Nothing that Numba compiles by itself does: it is told instruction by instruction (LLVM's), the
same for any processor, with as many numbers side by side as this one has room for.

It is compiled once, and called by its address: Numba puts all that a function calls into it, and would compile it again for each
of those that lead here."""

from typing import NamedTuple

import numba
import numpy as np
import torch
from llvmlite import binding, ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from wenmai.data.storage.caches import c_function, njit
from wenmai.kernels.functions import gelu, gelu_by_tanh

ROWS = 6  # of x, whose sums a processor has registers for
BLOCK = 96  # of x, that a cache holds
NONE, RELU, GELU, GELU_TANH = range(4)
ACTIVATIONS = {"none": NONE, "relu": RELU, "gelu": GELU, "gelu-tanh": GELU_TANH}


def lanes() -> tuple[int, int]:
    """(how many numbers a register holds, how many registers side by side are a panel)"""
    features = numba.config.CPU_FEATURES or binding.get_host_cpu_features().flatten()
    return (16, 4) if "+avx512f" in features else (8, 2) if "+avx" in features else (4, 4)


LANES, VECTORS = lanes()
WIDE = LANES * VECTORS
VECTOR, INTEGER = ir.VectorType(ir.FloatType(), LANES), ir.IntType(64)


class Panels(NamedTuple):
    """A copy of W, and of b, with zeros behind the last row."""

    w: np.ndarray  # (panels, K, WIDE)
    b: np.ndarray  # (panels · WIDE,)

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor | None) -> "Panels":
        rows, size = weight.shape
        many = -(-rows // WIDE)
        w, b = torch.zeros(many, size, WIDE), torch.zeros(many * WIDE)
        whole = rows // WIDE
        w[:whole] = weight.detach()[: whole * WIDE].view(whole, WIDE, size).transpose(1, 2)
        w[whole:, :, : rows - whole * WIDE] = weight.detach()[whole * WIDE :].T
        if bias is not None:
            b[:rows] = bias.detach()
        return cls(w.numpy(), b.numpy())


def padded(size: int) -> int:
    """The width of what a product is written to."""
    return -(-size // WIDE) * WIDE


def tile(rows: int):
    """Code for a panel and so many rows of x: y[row + r, panel · WIDE + v] = b + Σ_k w[panel, k, v] x[row + r, k]; all by their
    addresses."""

    @intrinsic
    def code(typing_context, w, b, x, x_width, y, y_width, size, panel, row):
        return types.void(*[types.int64] * 9), lambda *given: written(rows, *given)

    return code


def written(many: int, context, builder, signature, values):
    w, b, x, x_width, y, y_width, size, panel, row = values
    w, b, x, y = (builder.inttoptr(place, ir.FloatType().as_pointer()) for place in (w, b, x, y))

    def vector(start, place):
        return builder.bitcast(builder.gep(start, [place]), VECTOR.as_pointer())

    def moved(place, by: int):
        return builder.add(place, ir.Constant(INTEGER, by))

    first = builder.mul(panel, ir.Constant(INTEGER, WIDE))
    weights, steps = builder.gep(w, [builder.mul(first, size)]), [LANES * v for v in range(VECTORS)]
    rows = [moved(row, r) for r in range(many)]
    starts = [builder.gep(x, [builder.mul(at, x_width)]) for at in rows]
    bias = [builder.load(vector(b, moved(first, step)), align=4) for step in steps]
    sums = [
        [cgutils.alloca_once_value(builder, one) for one in bias] for _ in rows
    ]  # which become registers
    nothing, zeros = (
        ir.Constant(VECTOR, ir.Undefined),
        ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES),
    )
    with cgutils.for_range(builder, size) as loop:
        at = builder.mul(loop.index, ir.Constant(INTEGER, WIDE))
        column = [builder.load(vector(weights, moved(at, step)), align=4) for step in steps]
        for start, own in zip(starts, sums):
            one = builder.insert_element(
                nothing,
                builder.load(builder.gep(start, [loop.index])),
                ir.Constant(ir.IntType(32), 0),
            )
            many_times = builder.shuffle_vector(one, nothing, zeros)
            for some, total in zip(column, own):
                made = builder.fmul(some, many_times, flags=("contract",))
                builder.store(builder.fadd(made, builder.load(total), flags=("contract",)), total)
    for at, own in zip(rows, sums):
        for step, total in zip(steps, own):
            place = builder.add(builder.mul(at, y_width), moved(first, step))
            builder.store(builder.load(total), vector(y, place), align=4)
    return context.get_dummy_value()


one_row, two_rows, three_rows, four_rows, five_rows, six_rows = map(tile, range(1, ROWS + 1))
NUMBERS = types.void(*[types.int64] * 11)


@c_function(NUMBERS, error_model="numpy")
def product_at(w, b, x, x_width, y, y_width, size, rows, start, end, activation):
    """y = φ(x Wᵀ + b) of the panels from `start` to `end`. Rows of x are shared out evenly, as many at once as a cache holds."""
    for first in range(0, rows, BLOCK):
        last = min(first + BLOCK, rows)
        groups = (last - first + ROWS - 1) // ROWS
        for panel in range(start, end):
            for group in range(groups):
                row = first + (last - first) * group // groups
                many = first + (last - first) * (group + 1) // groups - row
                if many == 6:
                    six_rows(w, b, x, x_width, y, y_width, size, panel, row)
                elif many == 5:
                    five_rows(w, b, x, x_width, y, y_width, size, panel, row)
                elif many == 4:
                    four_rows(w, b, x, x_width, y, y_width, size, panel, row)
                elif many == 3:
                    three_rows(w, b, x, x_width, y, y_width, size, panel, row)
                elif many == 2:
                    two_rows(w, b, x, x_width, y, y_width, size, panel, row)
                else:
                    one_row(w, b, x, x_width, y, y_width, size, panel, row)
            if activation != NONE:
                activate(
                    carray(floats_at(y), (rows, y_width))[
                        first:last, panel * WIDE : panel * WIDE + WIDE
                    ],
                    activation,
                )


PRODUCT = "wenmai_panel_product"
by_address = types.ExternalFunction(PRODUCT, NUMBERS)


@njit(cache=True, nogil=True)
def panel_product(w, b, x, y, start, end, activation):
    """The same of arrays: w and b as in Panels, x (B, ≥ K), y (B, padded(N))."""
    by_address(
        w.ctypes.data,
        b.ctypes.data,
        x.ctypes.data,
        x.shape[1],
        y.ctypes.data,
        y.shape[1],
        w.shape[1],
        len(x),
        start,
        end,
        activation,
    )


@intrinsic
def floats_at(typing_context, place):
    """The address of a number as a pointer, for carray."""

    def code(context, builder, signature, values):
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.int64), code


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def activate(y, activation):
    for row in range(len(y)):
        if activation == GELU:
            for i in range(WIDE):
                y[row, i] = gelu(y[row, i])
        elif activation == GELU_TANH:
            for i in range(WIDE):
                y[row, i] = gelu_by_tanh(y[row, i])
        else:
            for i in range(WIDE):
                y[row, i] = max(y[row, i], np.float32(0))
