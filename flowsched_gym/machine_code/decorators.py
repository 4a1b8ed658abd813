"""Compiles the rules: one decorator, so that all of them obey the same arithmetic.

Compiling the rules of one environment takes seconds, playing an episode without takes a tenth of one. So the rules that
are called event by event are compiled lazily: where no machine code is on disk yet, they run as the plain functions
that they are, to the same bits, and each is compiled when it has taken ``TIME_BEFORE_COMPILING`` that way.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from types import FrameType, NoneType
from typing import Any, Final, TypeVar, cast

import numpy as np
from numba import config, njit, typeof
from numba._dynfunc import make_function  # type: ignore[import-not-found]  # a module in C
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.extending import overload, register_jitable

from flowsched_gym.core.files import ENDINGS
from flowsched_gym.machine_code.cache import PACKAGE, MachineCode, compiled_alone, machine_code_of, records_of
from flowsched_gym.machine_code.faults import Hook, explain
from flowsched_gym.machine_code.messages import watch_compilations

Function = TypeVar("Function", bound=Callable[..., object])
Result = TypeVar("Result")


class _LinkedLibrary(JITCodeLibrary):
    """Code of a function that compiled code alone calls.

    Numba would optimise it, with all that it calls, and make it ready for Python, a fifth of all compiling.
    """

    def finalize(self) -> None:
        """Links the code of what it calls: it is optimised where it ends up."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]  # Numba has no types
class _LinkedLowering(NativeLowering):
    """Lowering of a function to a ``_LinkedLibrary``."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lowers the function, and makes it known to those that call it."""
        code = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state["library"] = code
        state.flags.no_compile = True
        super().run_pass(state)  # type: ignore[no-untyped-call]
        code.finalize()
        name, found = state.func_id.func_name, state.cr
        # Compiled code finds the function by what Python would call, which has no address: so Numba does for overloads.
        handle = make_function(found.fndesc.lookup_module(), name, "", 0, found.env, (code,))
        state.targetctx.insert_user_function(handle, found.fndesc, [code])
        state.cr = found._replace(cfunc=handle)
        return True


class _LinkedCompiler(CompilerBase):
    """Numba's compiler, with the lowering of functions that compiled code alone calls."""

    def define_pipelines(self) -> list[Any]:
        """Lists the passes."""
        passes: Any = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
        passes.passes = [(_LinkedLowering if each is NativeLowering else each, name) for each, name in passes.passes]
        passes.finalize()
        return [passes]


OPTIONS: Final[dict[str, Any]] = {"fastmath": False, "error_model": "numpy", "no_cfunc_wrapper": True}
LINKED: Final[dict[str, Any]] = {**OPTIONS, "pipeline_class": _LinkedCompiler}
INLINED: Final[dict[str, Any]] = {"_nrt": False, "forceinline": True}

TIME_BEFORE_COMPILING: float = 0.25
"""Time in s that a lazily compiled rule may run as a plain function before it is compiled, which takes 0.1 to 1 s."""
LONGEST_PLAIN: Final = 10_000
"""Elements of an array above which a rule is compiled at once: one plain call could take as long as compiling."""

LLVM_CALLBACKS: Final = "llvmlite.binding.executionengine"
CALLBACK: Final = "_raw_object_cache"
"""Module, and beginning of the names, of the functions by which LLVM hands over what it has compiled."""

_own_hooks: Final[dict[tuple[Any, ...], tuple[type, Hook]]] = {}
"""Functions from outside the package that have been chosen by types of records, and these types."""


def rule(function: Function) -> Function:
    """Compiles a pure function on arrays lazily, caches the machine code on disk, keeps strict floating-point order.

    ``function.py_func`` is the plain function. Without a folder to write to, the code is compiled in each process.

    A rule makes no arrays. So its code is compiled without Numba's counting of references, each of which is an atomic
    instruction: passing a record of arrays from function to function cost fifty times the work on them.
    """
    return _compile(function, lazily=True, _nrt=False)


def engine_function(function: Function) -> Function:
    """Compiles what loops over events or networks, or counts on integers that wrap around, before its first call."""
    return _compile(function, lazily=False, _nrt=False)


def threaded_function(function: Function) -> Function:
    """Does what ``engine_function`` does, and releases Python's global lock, in 0.1 us, so that other threads run."""
    return _compile(function, lazily=False, _nrt=False, nogil=True)


def inlined_rule(function: Function) -> Function:
    """Compiles a rule into the body of each compiled function that calls it.

    For the parts of a loop that hand a record of many arrays on: a call would copy all of it.
    """
    return _compile(function, lazily=True, **INLINED)


def inlined_part(function: Function) -> Function:
    """Compiles a function into the body of compiled code that calls it, and leaves it a plain one in Python.

    To make all parts of a loop ready to be called from Python, with all their arrays, takes as long as to compile them.
    """
    register_jitable(**LINKED, **INLINED)(function)
    return function


def allocating_part(function: Function) -> Function:
    """Does what ``inlined_part`` does for a function that makes arrays of its own, and is not inlined."""
    register_jitable(**LINKED, _nrt=True)(function)
    return function


def pasted_rule(function: Function) -> Function:
    """Pastes the source of a rule into each compiled function that calls it, for one that would be compiled long.

    Without, LLVM would optimise it by itself first, and then once more with each function that it is inlined into. A
    parameter of such a rule cannot be None, as Numba would type what happens otherwise.
    """
    options: Any = {**OPTIONS, "_nrt": False, "inline": "always"}
    return cast(Function, njit(**options)(function)) if compiles() else function


def is_outside(code: Any) -> bool:
    """Returns whether a class or function is none of the package: its own are tested, and indices there not checked."""
    return not code.__module__.startswith(f"{PACKAGE.name}.")


def chosen_by_type(
    choose: Callable[[str, type], Any], *, index: int = -1, checked: Callable[[type], bool] = lambda _: False
) -> Callable[[Function], Function]:
    """Calls, in place of a function, the one that fits one of its arguments, a NamedTuple or None.

    In compiled code, that one alone is compiled.

    Args:
        choose: Finds it by the name of the function and the class of that argument.
        index: Index of the argument.
        checked: By the class of that argument, whether the one that fits raises ``IndexError`` beyond an array's end.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: object) -> object:
            return choose(function.__name__, type(arguments[index]))(*arguments)

        def finder(is_checked: bool) -> Callable[..., Any]:
            def find(*types: Any) -> Any:
                record = getattr(types[index], "instance_class", NoneType)
                if checked(record) != is_checked:
                    return None
                chosen = choose(function.__name__, record)
                if is_outside(chosen):
                    _own_hooks[function, types] = record, Hook(chosen, function, types)
                return chosen

            return find

        for options in ({}, {"boundscheck": True}):
            jit_options: Any = {**LINKED, "_nrt": False, **options}
            overload(call, strict=False, jit_options=jit_options)(finder(bool(options)))
        return cast(Function, call)

    return decorate


def chosen_by_presence(absent: Callable[..., Result], present: Callable[..., Result]) -> Callable[..., Result]:
    """Calls one function where the last argument is None, and another where it is a NamedTuple."""
    return chosen_by_type(lambda name, record: absent if record is NoneType else present)(present)


def allocating_rule(function: Function) -> Function:
    """Compiles a rule that makes arrays of its own."""
    return _compile(function, lazily=True, _nrt=True)


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
    types = _types(arguments)
    with _compiling(dispatcher, types):
        dispatcher.compile(types)
    return cast(Function, dispatcher.get_overload(types))


@contextmanager
def _compiling(dispatcher: Any, types: tuple[Any, ...]) -> Iterator[None]:
    """Lets one process compile a function, others wait; an error names the hook at fault."""
    try:
        with _interrupted_outside_of_llvm(), compiled_alone(dispatcher, types):
            yield
    except Exception as error:
        records = set(records_of(types))
        named = explain(error, dispatcher.py_func, [hook for record, hook in _own_hooks.values() if record in records])
        if named is None:
            raise
        raise named from error


@contextmanager
def _interrupted_outside_of_llvm() -> Iterator[None]:
    """Puts Ctrl-C and other requests to end off while LLVM hands Python what it has compiled.

    There, an exception would be swallowed, and the machine code with it: Numba says "no compiled object yet".
    """
    here = threading.current_thread() is threading.main_thread()
    handlers = ((number, signal.getsignal(number)) for number in ((signal.SIGINT, *ENDINGS) if here else ()))
    before = {number: handler for number, handler in handlers if callable(handler)}
    put_off: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        caller = frame
        while caller is not None and caller.f_globals.get("__name__") != LLVM_CALLBACKS:
            caller = caller.f_back
        if caller is not None and caller.f_code.co_name.startswith(CALLBACK):
            put_off.append(number)
        else:
            before[number](number, frame)

    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in put_off:
            before[number](number, None)


def _types(arguments: tuple[object, ...]) -> tuple[Any, ...]:
    return tuple(typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]  # Numba has no types


def is_compiled(function: Function, *, for_record: type | None = None) -> bool:
    """Returns whether there is machine code of a rule, in this process or on disk, for any types or for a record's."""
    signatures = [*cast(Any, function).signatures, *_kept(function)]
    if for_record is None:
        return bool(signatures)
    return any(getattr(each, "instance_class", None) is for_record for signature in signatures for each in signature)


def _kept(rule: Any) -> list[Any]:
    """Lists the types of arguments for which there is machine code of a rule on disk."""
    return rule._cache.signatures() if isinstance(rule._cache, MachineCode) else []


def _compile(function: Function, *, lazily: bool, **options: Any) -> Function:
    if not compiles():
        return function
    dispatcher = njit(**OPTIONS, **options)(function)
    machine_code = machine_code_of(function)
    if machine_code is not None:
        dispatcher._cache = machine_code
    dispatcher.lazily_compiled = lazily
    dispatcher._compile_for_args = _LazyCompilation(dispatcher) if lazily else _compilation(dispatcher)
    return cast(Function, dispatcher)


class SteadyRule:
    """A rule whose arguments have the same types in each call.

    It is lazily compiled. Its machine code need not find out the types of arguments again, which takes longer than a
    short rule does.
    """

    def __init__(self, function: Function) -> None:
        self._rule = cast(Any, function)
        self._spent = 0.0
        self._code: Callable[..., Any] | None = None

    def __call__(self, *arguments: object) -> Any:
        """Calls the rule."""
        if self._code is None:
            if compiles() and (self._spent > TIME_BEFORE_COMPILING or (not self._spent and _kept(self._rule))):
                self._code = cast(Callable[..., Any], compiled_for(self._rule, *arguments))
            else:
                begin = perf_counter()
                with np.errstate(all="ignore"):  # machine code does not warn of an overflow either
                    result = getattr(self._rule, "py_func", self._rule)(*arguments)
                self._spent += perf_counter() - begin
                return result
        return self._code(*arguments)


def _compilation(dispatcher: Any) -> Callable[..., Any]:
    """Returns what finds the function to call where Numba has no machine code for the types of arguments."""
    compile_for_args = dispatcher._compile_for_args

    def find(*arguments: object, **keywords: object) -> Any:
        with _compiling(dispatcher, _types((*arguments, *keywords.values()))):
            return compile_for_args(*arguments, **keywords)

    return find


class _LazyCompilation:
    """The choice of what a rule runs as, until it has taken so long that it is compiled."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._compile = _compilation(dispatcher)
        # Machine code does not warn of an overflow either.
        self._function = np.errstate(all="ignore")(dispatcher.py_func)
        self._spent = 0.0
        self._begin = 0.0

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        """Returns the function to call with these arguments."""
        self._begin = perf_counter()
        is_short = _longest((*arguments, *keywords.values())) <= LONGEST_PLAIN
        if is_short and self._spent < TIME_BEFORE_COMPILING and (self._spent or not _kept(self._dispatcher)):
            return self._run
        self._spent = TIME_BEFORE_COMPILING
        return self._compile(*arguments, **keywords)

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
