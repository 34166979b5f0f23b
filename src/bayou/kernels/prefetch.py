"""Prefetch memory for a later token while the current token is processed.

A draw ends in branches that a processor cannot predict, so it does not read ahead by itself. Without the
hint, every token waits for its row of counts from main memory.
"""

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 16  # float32 numbers in a cache line


def _nothing(array, row, column):
    """The hint in uncompiled code: nothing."""


@intrinsic
def _hint(typingctx, array, row, column):
    """``llvm.prefetch`` of ``array[row, column]``, for reading, to stay in all caches."""
    del typingctx

    def generate(context, builder, signature, arguments):
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        indices = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(arguments[1:], signature.args[1:], strict=True)
        ]
        shapes = cgutils.unpack_tuple(builder, struct.shape)
        strides = cgutils.unpack_tuple(builder, struct.strides)
        place = cgutils.get_item_pointer2(
            context, builder, struct.data, shapes, strides, signature.args[0].layout, indices
        )
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        name = "llvm.prefetch.p0i8" if "i8" in str(byte) else "llvm.prefetch.p0"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        numbers = [ir.Constant(flag, n) for n in (0, 3, 1)]
        builder.call(function, [builder.bitcast(place, byte), *numbers])
        return context.get_dummy_value()

    return types.void(array, row, column), generate


prefetch = _nothing if config.DISABLE_JIT else _hint
