"""Asks memory for what will be needed soon.

A thousand networks do not fit into the caches. Each is touched in a few indices that follow from each other (network,
destination, queue, flows), so that the processor cannot look ahead by itself; told a few networks before, it does.
"""

from typing import Any, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

READ, KEEP, DATA = 0, 3, 1
BYTE: Final = ir.IntType(8)
WORD: Final = ir.IntType(32)


def _prefetch(typing_context: Any, array: Any, index: Any, offset: Any) -> tuple[Signature, Any]:
    """Types the call, and writes its code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole: Any = make_array(signature.args[0])  # type: ignore[no-untyped-call]  # Numba has no types
        item = cgutils.get_item_pointer(  # type: ignore[no-untyped-call]
            context, builder, signature.args[0], whole(context, builder, arguments[0]), [arguments[1]]
        )
        address = builder.gep(builder.bitcast(item, BYTE.as_pointer()), [arguments[2]], source_etype=BYTE)
        hint = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), WORD, WORD, WORD]), "llvm.prefetch.p0"
        )
        builder.call(hint, [address, WORD(READ), WORD(KEEP), WORD(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


prefetch: Any = intrinsic(_prefetch)
"""``prefetch(array, index, offset)`` brings the cache line that lies ``offset`` bytes behind the beginning of
``array[index]`` nearer, in compiled code; it changes nothing."""
