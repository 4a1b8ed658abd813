"""Compiles the rules: one decorator, so that all of them obey the same arithmetic."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

__all__ = ["rule"]

Function = TypeVar("Function", bound=Callable[..., object])


def rule(function: Function) -> Function:
    """Compiles a pure function on arrays, caches the machine code on disk and keeps strict floating-point order.

    ``function.py_func`` is the plain function. Without a folder to write to, the code is compiled in each process.
    """
    try:
        return _compile(function, cache=True)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return _compile(function, cache=False)


def _compile(function: Function, *, cache: bool) -> Function:
    """Compiles with the options that all rules share."""
    return cast(Function, njit(cache=cache, fastmath=False, error_model="numpy", boundscheck=False)(function))
