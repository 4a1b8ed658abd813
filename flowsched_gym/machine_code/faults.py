"""Tells which hook cannot be compiled, in which line and why; Numba tells it among pages of an engine's types.

So each hook from outside the package is compiled alone, until one fails.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numba
from numba import njit, types
from numba.core.errors import NumbaError

from flowsched_gym.core.errors import ConfigError, one_line

NUMBA: Final = Path(numba.__file__).parent
LOCATION: Final = re.compile(r'^( *)File "(.+)", line (\d+):$', re.MULTILINE)
FAILURE: Final = re.compile(r"Failed in nopython mode pipeline.*\n(?=( *)\S)")
"""Above what Numba says is wrong, which is indented as the place where it is."""
COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
"""With colorama installed, Numba colours what it says."""
UNBOUND: Final = re.compile(r'due to "TypeError: (.+?)"')
"""Which argument a call lacks, or has too many, behind what Numba says of the types of all of them."""
MAKES_ARRAYS: Final = ("NRT required", "Only accept returning of array passed")
"""What Numba says of code that makes an array or list, where it counts no references."""
RETURNED: Final = {float: types.Number, int: types.Integer, bool: types.Boolean}
LONGEST_REASON: Final = 200


class Hook(NamedTuple):
    """A function that an engine calls in place of a declared one, with arguments of these types of Numba's."""

    function: Callable[..., object]
    declared: Callable[..., object]
    arguments: tuple[Any, ...]


def explain(error: Exception, engine: Callable[..., object], hooks: Iterable[Hook]) -> ConfigError | None:
    """Explains why an engine cannot be compiled; ``None`` where neither a hook nor Numba is at fault."""
    for function, declared, arguments in hooks:
        alone = cast(Any, njit)(_nrt=False)(function)
        try:
            alone.compile(arguments)
        except Exception as fault:  # noqa: BLE001 - Numba's errors have no common root
            return _told(function, fault)
        returned, wanted = alone.nopython_signatures[0].return_type, declared.__annotations__.get("return")
        if wanted in RETURNED and not isinstance(returned, RETURNED[wanted]):
            return _told(function, TypeError(f"it returns {returned}, and must return {wanted.__name__}"))
    return _told(engine, error) if isinstance(error, NumbaError) else None


def _told(function: Callable[..., object], fault: Exception) -> ConfigError:
    text = COLOUR.sub("", str(fault))
    path, line = Path(function.__code__.co_filename), function.__code__.co_firstlineno
    begin = 0
    places = (each for each in LOCATION.finditer(text) if not Path(each[2]).resolve().is_relative_to(NUMBA))
    if place := next(places, None):
        path, line = Path(place[2]).resolve(), int(place[3])
        begin = max((each.end() for each in FAILURE.finditer(text, 0, place.start()) if each[1] == place[1]), default=0)
    else:
        line = getattr(getattr(fault, "loc", None), "line", line)
    said = [each.strip() for each in FAILURE.sub("", text[begin:]).splitlines() if each.strip()]
    reason = " ".join(said[: 2 if said[1:] and said[1].startswith(">>>") else 1])
    if unbound := UNBOUND.search(text):
        reason = f"{unbound[1]}: {reason}"
    if any(each in text for each in MAKES_ARRAYS):
        reason += " (hooks make no arrays or lists)"
    where = f"{function.__qualname__} cannot be compiled: {path}, line {line}"
    return ConfigError(f"{where}: {one_line(reason, LONGEST_REASON)}")
