"""Prefetching: memory is asked for what a loop will read some steps later, and answers while the loop goes on.

What lies in no particular order comes from main memory, some hundred steps of the processor away. A loop that knows its places
ahead waits for none of them, if it asks AHEAD steps before (Mowry, Lam & Gupta 1992).
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

AHEAD = 32  # steps of a loop that does little in each

BYTE, NUMBER, ADDRESS = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
TO_READ, KEPT, DATA = 0, 3, 1  # what llvm.prefetch is told


@intrinsic
def ask(_, array, at):
    """ask(array, at): array[at] will be wanted. Nothing is read: a place outside the array does no harm."""

    def build(context, builder, signature, args):
        struct = make_array(signature.args[0])(context, builder, args[0])
        step = builder.mul(args[1], builder.extract_value(struct.strides, 0))
        place = builder.inttoptr(builder.add(builder.ptrtoint(struct.data, ADDRESS), step), BYTE)
        kind = ir.FunctionType(ir.VoidType(), [BYTE, NUMBER, NUMBER, NUMBER])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [place, NUMBER(TO_READ), NUMBER(KEPT), NUMBER(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.int64), build
