"""The render modes of environments, and what each of them needs."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError, MissingDependencyError, shown

PILLOW: Final = ("PIL", "Pillow", "plot", "draw frames")
PYGAME: Final = ("pygame", "pygame", "human", "show a window")
NEEDED: Final[Mapping[str, tuple[tuple[str, str, str, str], ...]]] = {
    "human": (PILLOW, PYGAME),
    "rgb_array": (PILLOW,),
    "ansi": (),
}
"""Packages that a mode needs: import name, name, the extra that brings it, and what for."""


class _RenderModes(list[str]):
    """Render modes that can be asked for any mode: Gymnasium takes what they do not contain for a text."""

    def __contains__(self, mode: object) -> bool:
        """Tells whether a mode is one of them.

        Raises:
            ConfigError: It is no text.
        """
        if not isinstance(mode, str):
            check_render_mode(mode)
        return super().__contains__(mode)


def check_render_mode(mode: Any) -> None:
    """Refuses what is no render mode, or one whose packages are not installed.

    Raises:
        ConfigError: There is no such mode.
        MissingDependencyError: A package is missing.
    """
    if mode is None:
        return
    if not isinstance(mode, str) or mode not in NEEDED:
        raise ConfigError(f"render_mode is {shown(mode)}: it must be None or one of {', '.join(NEEDED)}")
    for module, name, extra, purpose in NEEDED[mode]:
        if find_spec(module) is None:
            raise MissingDependencyError(name, extra=extra, purpose=purpose)


RENDER_MODES: Final = _RenderModes(
    mode for mode, packages in NEEDED.items() if all(find_spec(name) for name, *_ in packages)
)
"""Modes whose packages are installed. Gymnasium's checks and tools try all that an environment lists."""
