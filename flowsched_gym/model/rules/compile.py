"""Compiles the rules: one decorator, so that all of them obey the same arithmetic.

Numba caches machine code beside the source, and takes it as stale when that one file changes. But a rule is compiled
into the functions that call it, in other files: an edited rule would go on to be served from their caches. So the stamp
of every cached function is a digest of the sources of all rules and of the compiled engine.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from numba import njit

__all__ = ["rule"]

Function = TypeVar("Function", bound=Callable[..., object])

OPTIONS: Final[dict[str, Any]] = {"fastmath": False, "error_model": "numpy"}
PACKAGE: Final = Path(__file__).parents[2]
COMPILED_FOLDERS: Final = ("model", "batch", "disciplines")


def _digest() -> str:
    """Digests the sources that compiled code depends on."""
    digest = hashlib.sha256()
    for folder in COMPILED_FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


STAMP: Final = _digest()


def rule(function: Function) -> Function:
    """Compiles a pure function on arrays, caches the machine code on disk and keeps strict floating-point order.

    ``function.py_func`` is the plain function. Without a folder to write to, the code is compiled in each process.
    """
    try:
        dispatcher = njit(cache=True, **OPTIONS)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return cast(Function, njit(**OPTIONS)(function))
    dispatcher._cache._cache_file._source_stamp = STAMP
    return cast(Function, dispatcher)
