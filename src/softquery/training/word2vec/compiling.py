"""Compiled functions, and how they ask the memory for something before it is needed."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function at its first call, without the interpreter's lock, and keep the result."""
    settings = {"fastmath": True, "nogil": True, "error_model": "numpy"}
    try:
        return cast(Function, njit(cache=True, **settings)(function))
    except RuntimeError:  # neither the package's folder nor the user's can be written to
        return cast(Function, njit(**settings)(function))


def _fetch(typing: Any, table: Any, row: Any, place: Any) -> Any:
    """Code that asks the memory for an element, and does not wait for it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        array = make_array(kind)(context, builder, arguments[0])
        spot = cgutils.get_item_pointer(
            context, builder, kind, array, arguments[1:], wraparound=False
        )
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
        # To be written to (1), kept in all caches (3), data and not code (1).
        builder.call(call, [builder.bitcast(spot, byte), number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, types.intp, types.intp), code


fetch: Callable[..., None] = intrinsic(_fetch)
"""`fetch(table, row, place)`, inside of compiled functions."""
