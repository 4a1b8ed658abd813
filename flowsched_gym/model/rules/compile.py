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

__all__ = ["allocating_rule", "inlined_rule", "rule"]

Function = TypeVar("Function", bound=Callable[..., object])

OPTIONS: Final[dict[str, Any]] = {"fastmath": False, "error_model": "numpy"}
PACKAGE: Final = Path(__file__).parents[2]
COMPILED_FOLDERS: Final = ("model", "batch", "disciplines", "systems", "workload")


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

    A rule makes no arrays. So its code is compiled without Numba's counting of references, each of which is an atomic
    instruction: passing a record of arrays from function to function cost fifty times the work on them.
    """
    return _compile(function, _nrt=False)


def inlined_rule(function: Function) -> Function:
    """Compiles a rule into the body of each compiled function that calls it.

    For the parts of a loop that hand a record of many arrays on: a call would copy all of it.
    """
    return _compile(function, _nrt=False, forceinline=True)


def allocating_rule(function: Function) -> Function:
    """Compiles a rule that makes arrays of its own."""
    return _compile(function, _nrt=True)


def _compile(function: Function, **options: Any) -> Function:
    """Compiles with the options of all rules and some more."""
    options |= OPTIONS
    try:
        dispatcher = njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return cast(Function, njit(**options)(function))
    dispatcher._cache._cache_file._source_stamp = STAMP
    return cast(Function, dispatcher)
