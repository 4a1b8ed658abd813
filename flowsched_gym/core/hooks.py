"""Hooks of a contract, by which a rule is written once for both engines: its static methods, found by a record's type.

A class that fulfils a contract names the type of what it keeps, a NamedTuple. The compiled engine sees that record
alone; its type leads to the hooks.
"""

from collections.abc import Iterable
from typing import Any

from flowsched_gym.core.errors import ConfigError, listed, shown


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
