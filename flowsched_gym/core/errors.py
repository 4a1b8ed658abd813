"""Every error that the package raises on purpose, and the words of their messages.

The tree::

    FlowSchedError
    ├── ConfigError (ValueError)             an argument, option or name that is not allowed
    │   ├── SpaceMismatchError               a model or policy made for other spaces
    │   └── UnknownArgumentError (TypeError) an argument that an environment does not have
    ├── WorkloadError (ValueError)           flows that cannot be simulated
    │   └── FlowFileError                    the same, found in a flow file
    ├── InvalidAction (ValueError)           an action outside the action space
    ├── PolicyError (RuntimeError)           a policy that raises, or ends, instead of acting
    ├── SimulationError (RuntimeError)       a call that the simulation cannot serve in its state
    └── MissingDependencyError (ImportError) an optional package that is not installed

Warnings derive from ``FlowSchedWarning``, a ``UserWarning``. The message of each is one printable line of at most
``LONGEST_MESSAGE`` characters, whatever names and values it repeats.
"""

import difflib
import re
import reprlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = [
    "ConfigError",
    "FlowFileError",
    "FlowSchedError",
    "FlowSchedWarning",
    "InvalidAction",
    "MissingDependencyError",
    "PolicyError",
    "SimulationError",
    "SpaceMismatchError",
    "UnknownArgumentError",
    "WorkloadError",
    "listed",
    "naming",
    "one_line",
    "shown",
    "similar",
]

LONGEST_LINE: Final = 500
"""Characters of a line on standard error."""
LONGEST_MESSAGE: Final = LONGEST_LINE - 30
"""Characters of a message, so that a command can put its name before it; of a longer one the middle is left out."""
LONGEST_BITS: Final = 13_000
"""Length of a whole number that is written out."""
DIGITS_PER_BIT: Final = 0.30103
"""Decimal digits for each bit: the logarithm of 2 to the base 10."""


class _OneLine(Exception):  # noqa: N818 - the root of errors and warnings
    """What has a message that fits on a screen."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message, LONGEST_MESSAGE))


class FlowSchedError(_OneLine):
    """Root of all errors that flowsched-gym raises on purpose."""


class ConfigError(FlowSchedError, ValueError):
    """An argument, option or name that is not allowed."""


class SpaceMismatchError(ConfigError):
    """A model or policy made for other spaces than the environment's."""


class UnknownArgumentError(ConfigError, TypeError):
    """An argument that an environment does not have, as a wrong keyword is in Python."""


class WorkloadError(FlowSchedError, ValueError):
    """Flows that cannot be simulated."""


class FlowFileError(WorkloadError):
    """A fault in a flow file: file, line, column, value and what is allowed."""


class InvalidAction(FlowSchedError, ValueError):  # noqa: N818 - the name is part of the public contract
    """An action outside the action space."""


class PolicyError(FlowSchedError, RuntimeError):
    """A policy that raises an exception, or ends its process, instead of acting."""


class SimulationError(FlowSchedError, RuntimeError):
    """A call that the simulation cannot serve in its present state."""


class MissingDependencyError(FlowSchedError, ImportError):
    """An optional package that is not installed, and the pip command of the extra that brings it, or another one."""

    def __init__(self, package: str, *, purpose: str, extra: str = "", how: str = "") -> None:
        how = how or f"pip install 'flowsched-gym[{extra}]'"
        super().__init__(f"{package} is needed to {purpose}: {how}")


class FlowSchedWarning(_OneLine, UserWarning):
    """Root of all warnings that flowsched-gym gives."""


class _Shown(reprlib.Repr):
    """A ``repr`` for messages: whole where it is short, and never an error itself."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = self.maxarray = 20
        self.maxstring = self.maxother = 200
        self.maxlong = 500
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        """Counts the digits of whole numbers that are too long; Python writes 4,300 of them at most."""
        if x.bit_length() > LONGEST_BITS:
            return f"an integer of about {int(x.bit_length() * DIGITS_PER_BIT) + 1} digits"
        return super().repr_int(x, level)


_SHOWN: Final = _Shown()


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Escapes what would not print, and leaves out the middle of a long text: its end says what is allowed."""
    half = (longest - 40) // 2
    if len(text) > longest:
        text = f"{text[:half]} [... {len(text) - 2 * half} characters ...] {text[-half:]}"
    if not text.isprintable():
        escaped = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
        return one_line("".join(escaped), longest)
    return text


def shown(value: object) -> str:
    """Writes a value for a message, on one line, cut where it is long."""
    return re.sub(r"\n\s*", " ", _SHOWN.repr(value))


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Puts a place before the message of a ``ConfigError``, where there is one."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}" if where else str(error)) from None


def similar(name: object, known: Iterable[str]) -> str:
    """Returns `` (did you mean 'edf'?)`` with the most similar known name, or nothing where none is similar.

    Upper and lower case, and ``_``, ``-`` and spaces, count as the same.
    """
    if not isinstance(name, str):
        return ""
    plain = {_plain(each): str(each) for each in known}
    found = difflib.get_close_matches(_plain(name), plain, n=1)
    return f" (did you mean {plain[found[0]]!r}?)" if found else ""


def listed(name: object, known: Iterable[str]) -> str:
    """Lists known names for a message, ``none`` if there is none, and suggests the one that was probably meant."""
    names = list(known)
    return f"{', '.join(names) or 'none'}{similar(name, names)}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")
