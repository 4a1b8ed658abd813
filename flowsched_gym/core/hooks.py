"""Hooks of a contract, by which a rule is written once for both engines: its static methods, found by a record's type.

A class that fulfils a contract names the type of what it keeps, a NamedTuple. The compiled engine sees that record
alone; its type leads to the hooks.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from flowsched_gym.core.errors import ConfigError, FlowSchedError, listed, shown, similar

EXAMPLES: Final = {"thresholds": "1e5,1e6", "queue": "0,1,0", "weights": "2,1", "tags": "0,1,0"}
"""Values of parameters that have no default, as a command line has them."""
Made = TypeVar("Made")


def check_hooks(cls: type, hooks: Iterable[str]) -> None:
    """Checks what a class defines of the hooks of a contract, which are its only public static methods.

    Raises:
        ConfigError: A hook is no static method, or a public static method is none of the hooks.
    """
    for name, member in vars(cls).items():
        is_static = isinstance(member, staticmethod)
        if name in hooks and not is_static:
            raise ConfigError(f"{cls.__name__}.{name} is no static method: hooks are, for Numba to compile them")
        if is_static and name not in hooks and not name.startswith("_"):
            raise ConfigError(f"{cls.__name__} has a static method {name!r}: the hooks are {listed(name, hooks)}")


def derive_record_type(cls: Any, owner: str) -> None:
    """Derives a ``record_type`` of its own for a class from the one that it names, which leads to it as ``owner``.

    Raises:
        ConfigError: It names none, or one that is no NamedTuple.
    """
    base = getattr(cls, "record_type", None)
    if not (isinstance(base, type) and issubclass(base, tuple) and hasattr(base, "_fields")):
        what = "missing" if base is None else shown(base)
        raise ConfigError(f"{cls.__name__}.record_type is {what}: it must be a NamedTuple, the type of what is kept")
    fields = {"__slots__": (), "__module__": cls.__module__, "__doc__": base.__doc__, owner: cls}
    fields["__qualname__"] = f"{cls.__qualname__}.record_type"  # where ``pickle`` finds it
    # Numba calls types by their names: two classes must not be called the same.
    cls.record_type = type(f"{cls.__module__}.{cls.__qualname__}", (base,), fields)


def make_record(keeper: Any, values: Any) -> Any:
    """Makes the record of an object from what its ``new_record`` returns: the values of the fields.

    Raises:
        ConfigError: These are not as many as there are fields.
    """
    try:
        return keeper.record_type(*values)
    except TypeError:
        count = f"{len(values)} values" if isinstance(values, (tuple, list)) else shown(values)
        fields = ", ".join(keeper.record_type._fields) or "none"
        raise ConfigError(
            f"{type(keeper).__name__}.new_record returns {count}: it must return one for each field of record_type, "
            f"which has {fields}"
        ) from None


def make_from(
    cls: type[Made], what: str, parameters: Mapping[str, object] | None, *, beside: Iterable[str] = ()
) -> Made:
    """Makes an object with keyword arguments of its class; ``beside`` are parameters that the caller takes itself.

    Raises:
        ConfigError: A parameter is unknown or missing, or a value is not allowed.
    """
    given, takes = dict(parameters or {}), inspect.signature(cls).parameters
    allowed = [name for name, each in takes.items() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    told = f"it takes {', '.join(allowed) or 'none'}" + f"; there are also {', '.join(beside)}" * bool(beside)
    for name in given:
        if name not in allowed and not any(each.kind is each.VAR_KEYWORD for each in takes.values()):
            raise ConfigError(f"{what} has no parameter {shown(name)}: {told}{similar(name, [*allowed, *beside])}")
    missing = [name for name in allowed if takes[name].default is inspect.Parameter.empty and name not in given]
    if missing:
        example = " ".join(f"--param {name}={EXAMPLES.get(name, '...')}" for name in missing)
        raise ConfigError(f"{what} needs {' and '.join(missing)}, such as {example}: {told}")
    try:
        return cls(**given)
    except FlowSchedError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{what} is not made of {shown(given)}: {error}") from None
