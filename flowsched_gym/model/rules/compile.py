"""Compiles the rules: one decorator, so that all of them obey the same arithmetic.

Numba caches machine code beside the source, and takes it as stale when that one file changes. But a rule is compiled
into the functions that call it, in other files: an edited rule would go on to be served from their caches. So the stamp
of every cached function is a digest of its source and of all that this imports, and what that imports.

Compiling the rules of one environment takes seconds, playing an episode without takes a tenth of one. So the rules that
are called event by event are patient: where no machine code is on disk yet, they run as the plain functions that they
are, to the same bits, and each is compiled when it has taken ``PATIENCE`` that way.
"""

import hashlib
import logging
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeVar, cast

import numpy as np
from numba import njit, typeof
from numba.core.caching import FunctionCache
from numba.extending import register_jitable

__all__ = ["allocating_rule", "compiled_for", "inlined_rule", "rule", "source_files"]

Function = TypeVar("Function", bound=Callable[..., object])

OPTIONS: Final[dict[str, Any]] = {"fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}
RULES: Final = __name__.removesuffix("compile")
"""How the names of the modules with public rules begin."""
PACKAGE: Final = Path(__file__).parents[2]
LOGGER: Final = logging.getLogger(__name__)

PATIENCE: float = 0.25
"""Time in s that a patient rule may take as a plain function before it is compiled, which takes 0.1 to 1 s."""
PATIENT: Final = frozenset(
    f"flowsched_gym.model.rules.{name}"
    for name in (
        "candidates",
        "competing",
        "completions",
        "congestion",
        "contenders",
        "expansion",
        "feedback",
        "finished_flows",
        "filling",
        "limits",
        "liveness",
        "long_flows",
        "memr",
        "observation",
        "ordering",
        "path_observation",
        "progress",
        "routing",
        "selection",
        "sharing",
        "slowdowns",
        "summary",
        "sums",
        "tokens",
        "transport",
        "virtual_deadlines",
    )
)
"""Modules with rules of single events. Others loop over networks or flows, or count on integers that wrap around."""
LONGEST_PATIENT: Final = 10_000
"""Elements of an array that is too long for patience: one plain call could take as long as compiling."""
IMPORT: Final = re.compile(rf"^from ({PACKAGE.name}[\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
"""An import of this package's, which all are of this form."""


@cache
def _read(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """Digests a source, and lists the sources of this package that it imports."""
    source = path.read_bytes()
    imported = []
    for module, names in IMPORT.findall(source.decode()):
        folder = PACKAGE.parent.joinpath(*module.split("."))
        candidates = [folder.with_suffix(".py"), folder / "__init__.py"]
        candidates += [(folder / name).with_suffix(".py") for name in re.findall(r"\w+", names)]
        imported += [candidate for candidate in candidates if candidate.is_file()]
    return hashlib.sha256(source).digest(), tuple(imported)


@cache
def source_files(path: Path) -> tuple[Path, ...]:
    """Returns the sources that compiled code in a file of this package may be made of, that file included."""
    found, new = {path}, [path]
    while new:
        fresh = {imported for each in new for imported in _read(each)[1]} - found
        found |= fresh
        new = list(fresh)
    return tuple(sorted(found))


@cache
def _stamp(path: Path) -> str:
    """Digests the sources that compiled code in a file depends on."""
    return hashlib.sha256(b"".join(_read(source)[0] for source in source_files(path))).hexdigest()


def rule(function: Function) -> Function:
    """Compiles a pure function on arrays, caches the machine code on disk and keeps strict floating-point order.

    ``function.py_func`` is the plain function. Without a folder to write to, the code is compiled in each process.

    A rule makes no arrays. So its code is compiled without Numba's counting of references, each of which is an atomic
    instruction: passing a record of arrays from function to function cost fifty times the work on them.
    """
    return _compile(function, _nrt=False)


def inlined_rule(function: Function) -> Function:
    """Compiles a rule into the body of each compiled function that calls it.

    For the parts of a loop that hand a record of many arrays on: a call would copy all of it. Parts that are no public
    rules are called by compiled code alone, and stay plain functions in Python: to make all of them ready to be called
    with all these arrays from there takes as long as to compile them.
    """
    options = {"_nrt": False, "forceinline": True}
    if function.__module__.startswith(RULES) and not function.__name__.startswith("_"):
        return _compile(function, **options)
    register_jitable(**OPTIONS, **options)(function)
    return function


def allocating_rule(function: Function) -> Function:
    """Compiles a rule that makes arrays of its own."""
    return _compile(function, _nrt=True)


def compiled_for(function: Function, *arguments: object) -> Function:
    """Returns the machine code of a rule for arguments of the types of these, and of no others.

    A call then need not find out the types of its arguments, which takes 0.2 us for each array.
    """
    dispatcher = cast(Any, function)
    if not hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT is set
        return function
    types = tuple(typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]  # Numba has no types
    dispatcher.compile(types)
    return cast(Function, dispatcher.get_overload(types))


def _compile(function: Function, **options: Any) -> Function:
    """Compiles with the options of all rules and some more."""
    dispatcher = njit(**OPTIONS, **options)(function)
    if dispatcher is function:  # NUMBA_DISABLE_JIT is set
        return function
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
    if function.__module__ in PATIENT:
        dispatcher._compile_for_args = _Patience(dispatcher)
    return cast(Function, dispatcher)


class _Cache(FunctionCache):
    """Keeps machine code on disk for as long as no source changes."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Looks for a folder to write to."""
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba has no types
        # The version is compared before the rest of a file is read, which may name classes that are gone.
        stamp = _stamp(Path(function.__code__.co_filename))
        self._cache_file._version = f"{self._cache_file._version} {stamp}"
        if function.__module__.startswith(PACKAGE.name):  # elsewhere Numba looks at the time of the change
            self._cache_file._source_stamp = stamp

    def save_overload(self, signature: object, data: object) -> None:
        """Writes machine code; where the disk is full or the folder gone, it serves this process alone."""
        try:
            super().save_overload(signature, data)  # type: ignore[no-untyped-call]  # Numba has no types
        except OSError as error:
            LOGGER.warning("machine code is not kept in %s: %s", self.cache_path, error)


class _Patience:
    """Chooses what a rule runs as. Numba asks it whenever there is no machine code for the types of the arguments.

    Args:
        dispatcher: The compiled rule.
    """

    def __init__(self, dispatcher: Any) -> None:
        """Keeps how Numba would choose."""
        # Machine code does not warn of an overflow either.
        self._function = np.errstate(all="ignore")(dispatcher.py_func)
        self._cache = dispatcher._cache
        self._compile = dispatcher._compile_for_args
        self._spent = 0.0
        self._begin = 0.0

    def __call__(self, *arguments: object, **keywords: object) -> Callable[..., object]:
        """Returns the function to call with these arguments."""
        self._begin = perf_counter()
        longest = _longest((*arguments, *keywords.values()))
        if self._spent < PATIENCE and longest <= LONGEST_PATIENT and not self._is_cached():
            return self._run
        self._spent = PATIENCE
        return cast(Callable[..., object], self._compile(*arguments, **keywords))

    def _is_cached(self) -> bool:
        """Looks, before the first call, whether there is machine code on disk."""
        if self._spent > 0.0 or not isinstance(self._cache, _Cache):
            return False
        return bool(self._cache._cache_file._load_index())  # type: ignore[no-untyped-call]  # Numba has no types

    def _run(self, *arguments: object, **keywords: object) -> object:
        """Runs the plain function, and returns Python's own numbers as machine code does."""
        result = _as_python(self._function(*arguments, **keywords))
        self._spent += perf_counter() - self._begin
        return result


def _longest(argument: object) -> int:
    """Returns the number of elements of an array, or of the longest one among others."""
    if isinstance(argument, tuple):
        return max(map(_longest, argument), default=0)
    return argument.size if isinstance(argument, np.ndarray) else 0


def _as_python(result: object) -> object:
    """Turns NumPy's numbers into Python's."""
    if isinstance(result, tuple):
        return tuple(_as_python(each) for each in result)
    return result.item() if isinstance(result, np.generic) else result
