"""Compiles the rules: one decorator, so that all of them obey the same arithmetic.

Numba caches machine code beside the source, and takes it as stale when that one file changes. But a rule is compiled
into the functions that call it, in other files: an edited rule would go on to be served from their caches. So the stamp
of every cached function is a digest of its source and of all that this imports, and what that imports. Each file of the
cache ends with a digest of its content, so that one that a power loss has cut short is compiled anew.

Compiling the rules of one environment takes seconds, playing an episode without takes a tenth of one. So the rules that
are called event by event are compiled lazily: where no machine code is on disk yet, they run as the plain functions
that they are, to the same bits, and each is compiled when it has taken ``TIME_BEFORE_COMPILING`` that way.
"""

import hashlib
import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Final, TypeVar, cast

import numpy as np
from numba import config, njit, typeof
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.types import BaseNamedTuple, BaseTuple
from numba.extending import overload, register_jitable

from flowsched_gym.model.compiling import is_of_rules, watch_compilations

__all__ = [
    "SteadyRule",
    "allocating_part",
    "allocating_rule",
    "chosen_by_type",
    "compiled_for",
    "compiles",
    "inlined_part",
    "inlined_rule",
    "is_compiled",
    "pasted_rule",
    "rule",
    "source_files",
    "threaded_rule",
]

Function = TypeVar("Function", bound=Callable[..., object])

OPTIONS: Final[dict[str, Any]] = {"fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}
INLINED: Final[dict[str, Any]] = {"_nrt": False, "forceinline": True}
PACKAGE: Final = Path(__file__).parents[2]
LOGGER: Final = logging.getLogger(__name__)

TIME_BEFORE_COMPILING: float = 0.25
"""Time in s that a lazily compiled rule may run as a plain function before it is compiled, which takes 0.1 to 1 s."""
COMPILED_AT_ONCE: Final = frozenset(f"{__package__}.sharing.{name}" for name in ("allocation_cache", "incremental"))
"""Modules of rules that are not lazily compiled: they loop over networks, or count on integers that wrap around."""
LONGEST_PLAIN: Final = 10_000
"""Elements of an array above which a rule is compiled at once: one plain call could take as long as compiling."""
DIGEST_SIZE: Final = 16
"""Bytes of the digest at the end of each file of the cache."""
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
        for name in re.findall(r"\w+", names):
            candidates += [(folder / name).with_suffix(".py"), folder / name / "__init__.py"]
        imported += [candidate for candidate in candidates if candidate.is_file()]
    if not path.is_relative_to(PACKAGE):
        # A user's own system: whatever stands beside it may be a part of it.
        imported += sorted(path.parent.glob("*.py"))
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


def threaded_rule(function: Function) -> Function:
    """Compiles a rule beside which other threads run: it releases Python's global lock, which takes 0.1 us."""
    return _compile(function, _nrt=False, nogil=True)


def inlined_rule(function: Function) -> Function:
    """Compiles a rule into the body of each compiled function that calls it.

    For the parts of a loop that hand a record of many arrays on: a call would copy all of it. Parts that are no public
    rules are called by compiled code alone, and stay plain functions in Python: to make all of them ready to be called
    with all these arrays from there takes as long as to compile them.
    """
    if is_of_rules(function) and not function.__name__.startswith("_"):
        return _compile(function, **INLINED)
    return inlined_part(function)


def inlined_part(function: Function) -> Function:
    """Compiles a function into the body of compiled code that calls it, and leaves it a plain one in Python."""
    register_jitable(**OPTIONS, **INLINED)(function)
    return function


def allocating_part(function: Function) -> Function:
    """Does what ``inlined_part`` does for a function that makes arrays of its own, and is not inlined."""
    register_jitable(**OPTIONS, _nrt=True)(function)
    return function


def pasted_rule(function: Function) -> Function:
    """Pastes the source of a rule into each compiled function that calls it, for one that would be compiled long.

    Without, LLVM would optimise it by itself first, and then once more with each function that it is inlined into. A
    parameter of such a rule cannot be None, as Numba would type what happens otherwise.
    """
    options: Any = {**OPTIONS, "_nrt": False, "inline": "always"}
    return cast(Function, njit(**options)(function)) if compiles() else function


def chosen_by_type(choose: Callable[[str, type], Any], *, index: int = -1) -> Callable[[Function], Function]:
    """Calls, in place of a function, the one that fits one of its arguments, a NamedTuple or None.

    In compiled code, that one alone is compiled.

    Args:
        choose: Finds it by the name of the function and the class of that argument.
        index: Index of the argument.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: object) -> object:
            return choose(function.__name__, type(arguments[index]))(*arguments)

        def find(*types: Any) -> Any:
            return choose(function.__name__, getattr(types[index], "instance_class", type(None)))

        overload(call, strict=False, jit_options=cast(Any, {**OPTIONS, "_nrt": False}))(find)
        return cast(Function, call)

    return decorate


def allocating_rule(function: Function) -> Function:
    """Compiles a rule that makes arrays of its own."""
    return _compile(function, _nrt=True)


def compiles() -> bool:
    """Returns whether there is machine code: ``NUMBA_DISABLE_JIT=1`` switches it off, to debug the plain functions."""
    return not cast(Any, config).DISABLE_JIT


def compiled_for(function: Function, *arguments: object) -> Function:
    """Returns the machine code of a rule for arguments of the types of these, and of no others.

    A call then need not find out the types of its arguments, which takes 0.2 us for each array.
    """
    dispatcher = cast(Any, function)
    if not compiles():
        return function
    types = tuple(typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]  # Numba has no types
    dispatcher.compile(types)
    return cast(Function, dispatcher.get_overload(types))


def is_compiled(function: Function, *, for_record: type | None = None) -> bool:
    """Returns whether there is machine code of a rule, in this process or on disk.

    Args:
        function: The rule.
        for_record: A type that one of its arguments has; ``None`` if any will do.
    """
    rule = cast(Any, function)
    signatures = list(rule.signatures)
    if isinstance(rule._cache, _Cache):
        signatures += [key[0] for key in rule._cache._cache_file._load_index()]  # type: ignore[no-untyped-call]  # Numba's
    if for_record is None:
        return bool(signatures)
    return any(getattr(each, "instance_class", None) is for_record for signature in signatures for each in signature)


def _compile(function: Function, **options: Any) -> Function:
    if not compiles():
        return function
    dispatcher = njit(**OPTIONS, **options)(function)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        if folder := _given_folder():
            _tell_of_unwritable(folder)
    if is_of_rules(function) and function.__module__ not in COMPILED_AT_ONCE:
        dispatcher._compile_for_args = _LazyCompilation(dispatcher)
    return cast(Function, dispatcher)


def _given_folder() -> str:
    """Returns where the user wants machine code to be kept, empty without a wish."""
    return str(cast(Any, config).CACHE_DIR)


@cache
def _tell_of_unwritable(folder: str) -> None:
    """Warns, once in a process, that the folder for machine code cannot be written to."""
    LOGGER.warning("NUMBA_CACHE_DIR is %r, which cannot be written to: machine code serves this process alone", folder)


def _record_sources(types: Iterable[Any]) -> Iterator[Path]:
    """Finds the sources of the NamedTuples among types, and within them."""
    for each in types:
        if isinstance(each, BaseTuple):
            yield from _record_sources(cast(Any, each))
            if isinstance(each, BaseNamedTuple):
                yield Path(inspect.getfile(cast(Any, each).instance_class))


class _CacheFiles(IndexDataCacheFile):
    """The index and the machine code of one rule, each file sealed by a digest."""

    def save(self, key: object, data: object) -> None:
        """Saves machine code.

        Numba numbers the files, so that two processes that begin at once may give one number to code for different
        types, and the index of the one then leads to the code of the other. Here each has a name of its own.
        """
        name = hashlib.blake2b(repr(key).encode(), digest_size=DIGEST_SIZE).hexdigest()
        name = self._load_index().get(key, f"{self._index_name.removesuffix('.nbi')}.{name}.nbc")
        self._save_data(name, data)  # type: ignore[no-untyped-call]  # Numba's
        self._save_index(self._load_index() | {key: name})  # type: ignore[no-untyped-call]  # Numba's

    def _load_index(self) -> dict[Any, str]:
        """Reads the index; one that is damaged is empty, and overwritten when the rule has been compiled."""
        try:
            overloads: dict[Any, str] = super()._load_index()  # type: ignore[no-untyped-call]  # Numba has no types
        except Exception as error:  # noqa: BLE001 - a damaged pickle may raise anything
            LOGGER.warning("machine code is compiled anew: %s cannot be read: %r", self._index_path, error)
            return {}
        # An index of another version is empty, whether sealed or not.
        return overloads if not overloads or self._is_whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        """Reads machine code."""
        path = self._data_path(name)  # type: ignore[no-untyped-call]  # Numba's
        if not self._is_whole(path):
            raise OSError(f"{path} is damaged")
        return super()._load_data(name)  # type: ignore[no-untyped-call]  # Numba's

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BinaryIO]:
        """Seals what is written. Unpickling stops before the digest."""
        content = BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + self._seal(content.getvalue()))

    def _is_whole(self, path: str) -> bool:
        """Compares a file with its digest, and warns where they differ."""
        content = Path(path).read_bytes()
        whole = content[-DIGEST_SIZE:] == self._seal(content[:-DIGEST_SIZE])
        if not whole:
            LOGGER.warning("machine code is compiled anew: %s is damaged", path)
        return whole

    def _seal(self, content: bytes) -> bytes:
        """Digests a content and the version, so that no index is served with the machine code of another version."""
        return hashlib.blake2b(self._version.encode() + content, digest_size=DIGEST_SIZE).digest()


class _CachePlace(CompileResultCacheImpl):
    """Where machine code is kept: where the user says, and only without a word beside the source or in the home."""

    def __init__(self, function: Callable[..., object]) -> None:
        if _given_folder():
            # The first is the user's folder; the names of these classes differ between versions of Numba.
            self._locator_classes = self._locator_classes[:1]
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba's


class _Cache(FunctionCache):
    """Machine code on disk, kept for as long as no source changes."""

    _impl_class = _CachePlace

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]  # Numba's
        self._source = Path(function.__code__.co_filename)
        found, stamp = self._cache_file, _stamp(self._source)
        # Elsewhere Numba looks at the time of the change.
        own = stamp if function.__module__.startswith(PACKAGE.name) else found._source_stamp
        self._cache_file = _CacheFiles(self.cache_path, self._impl.filename_base, own)  # type: ignore[no-untyped-call]  # Numba's
        # The version is compared before the rest of a file is read, which may name classes that are gone.
        self._cache_file._version = f"{found._version} {stamp}"

    def _index_key(self, signature: Any, codegen: object) -> tuple[object, ...]:
        """Adds the sources of records to what machine code is known by, since a record's type chooses functions."""
        known = source_files(self._source)
        stamps = [_stamp(path) for path in sorted(set(_record_sources(signature))) if path not in known]
        return (*super()._index_key(signature, codegen), *stamps)  # type: ignore[no-untyped-call]  # Numba's

    def save_overload(self, signature: object, data: object) -> None:
        """Writes machine code; where the disk is full or the folder gone, it serves this process alone."""
        try:
            super().save_overload(signature, data)  # type: ignore[no-untyped-call]  # Numba's
        except OSError as error:
            LOGGER.warning("machine code is not kept in %s: %s", self.cache_path, error)


class SteadyRule:
    """A rule whose arguments have the same types in each call.

    It is lazily compiled. Its machine code need not find out the types of arguments again, which takes longer than a
    short rule does.

    Args:
        function: The rule.
    """

    def __init__(self, function: Function) -> None:
        """Looks for nothing yet."""
        self._rule = cast(Any, function)
        self._spent = 0.0
        self._code: Callable[..., Any] | None = None

    def __call__(self, *arguments: object) -> Any:
        """Calls the rule."""
        if self._code is None:
            if compiles() and (self._spent > TIME_BEFORE_COMPILING or self._is_cached()):
                self._code = cast(Callable[..., Any], compiled_for(self._rule, *arguments))
            else:
                begin = perf_counter()
                with np.errstate(all="ignore"):  # machine code does not warn of an overflow either
                    result = getattr(self._rule, "py_func", self._rule)(*arguments)
                self._spent += perf_counter() - begin
                return result
        return self._code(*arguments)

    def _is_cached(self) -> bool:
        """Looks, before the first call, whether there is machine code on disk."""
        cache = self._rule._cache
        return self._spent == 0.0 and isinstance(cache, _Cache) and bool(cache._cache_file._load_index())  # type: ignore[no-untyped-call]  # Numba has no types


class _LazyCompilation:
    """The choice of what a rule runs as; Numba consults it where it has no machine code for the argument types.

    Args:
        dispatcher: The compiled rule.
    """

    def __init__(self, dispatcher: Any) -> None:
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
        if self._spent < TIME_BEFORE_COMPILING and longest <= LONGEST_PLAIN and not self._is_cached():
            return self._run
        self._spent = TIME_BEFORE_COMPILING
        return cast(Callable[..., object], self._compile(*arguments, **keywords))

    def _is_cached(self) -> bool:
        """Looks, before the first call, whether there is machine code on disk."""
        if self._spent > 0.0 or not isinstance(self._cache, _Cache):
            return False
        return bool(self._cache._cache_file._load_index())  # type: ignore[no-untyped-call]  # Numba has no types

    def _run(self, *arguments: object, **keywords: object) -> object:
        """Runs the plain function; returns Python's own numbers as machine code does."""
        result = _as_python(self._function(*arguments, **keywords))
        self._spent += perf_counter() - self._begin
        return result


def _longest(argument: object) -> int:
    """Returns the number of elements of an array, or of the longest one among others."""
    if isinstance(argument, tuple):
        return max(map(_longest, argument), default=0)
    return argument.size if isinstance(argument, np.ndarray) else 0


def _as_python(result: object) -> object:
    if isinstance(result, tuple):
        return tuple(_as_python(each) for each in result)
    return result.item() if isinstance(result, np.generic) else result


watch_compilations()
