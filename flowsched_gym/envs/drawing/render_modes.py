"""The render modes of environments, what each of them needs, and the window of ``human``."""

import importlib
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import ConfigError, MissingDependencyError, shown


class Package(NamedTuple):
    """What a mode needs: the name that is imported, and what the message says of it."""

    module: str
    name: str
    extra: str
    purpose: str

    def load(self, part: str = "") -> Any:
        """Imports the package, or a part of it."""
        try:
            return importlib.import_module(self.module + part)
        except ImportError as error:
            raise self.missing() from error

    def missing(self) -> MissingDependencyError:
        """Returns the error that tells how to install it."""
        return MissingDependencyError(self.name, extra=self.extra, purpose=self.purpose)


PILLOW: Final = Package("PIL", "Pillow", "plot", "draw frames")
HUMAN: Final = "human"
PYGAME: Final = Package("pygame", "pygame", HUMAN, "show a window")
NEEDED: Final[Mapping[str, tuple[Package, ...]]] = {HUMAN: (PYGAME, PILLOW), "rgb_array": (PILLOW,), "ansi": ()}
"""Packages that a mode needs."""
DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
"""Variables of which one is set where there is a display, but on Windows and macOS."""


class _RenderModes(list[str]):
    """Render modes that can be asked for any mode: Gymnasium takes what they do not contain for a text."""

    def __contains__(self, mode: object) -> bool:
        if not isinstance(mode, str) or mode == HUMAN:  # without ours, Gymnasium opens a window and names its extra
            check_render_mode(mode)
        return super().__contains__(mode)


def check_render_mode(mode: Any) -> None:
    """Refuses what is no render mode, or one whose packages are not installed."""
    if mode is None:
        return
    if not isinstance(mode, str) or mode not in NEEDED:
        raise ConfigError(f"render_mode is {shown(mode)}: it must be None or one of {', '.join(NEEDED)}")
    for package in NEEDED[mode]:
        if find_spec(package.module) is None:
            raise package.missing()


RENDER_MODES: Final = _RenderModes(
    mode for mode, packages in NEEDED.items() if all(find_spec(package.module) for package in packages)
)
"""Modes whose packages are installed. Gymnasium's checks and tools try all that an environment lists."""


def check_display() -> None:
    """Refuses where a window would not be seen: without a display, pygame may draw into memory."""
    pygame, found = PYGAME.load(), sys.platform in ("darwin", "win32") or any(map(os.environ.get, DISPLAYS))
    try:
        if found:
            pygame.display.init()
            found = pygame.display.get_driver() != "offscreen" or bool(os.environ.get("SDL_VIDEODRIVER"))
    except pygame.error:
        found = False
    if not found:
        raise ConfigError("there is no display for a window: `flowsched record` writes a film instead")


def window_is_closed() -> bool:
    """Returns whether somebody has asked to close the window."""
    pygame = PYGAME.load()
    return bool(pygame.event.peek(pygame.QUIT))


class Window:
    """A window on the screen; it opens with its first frame, and ``show`` waits where frames come faster than fps."""

    def __init__(self, title: str, fps: int) -> None:
        self._title = title
        self._fps = fps
        self._surface: Any = None

    def show(self, frame: npt.NDArray[np.uint8]) -> None:
        """Shows a frame, (height, width, 3)."""
        pygame = PYGAME.load()
        size = frame.shape[1], frame.shape[0]
        if not self._is_open() or self._surface.get_size() != size:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._surface = pygame.display.set_mode(size)
            self._clock = pygame.time.Clock()
        self._surface.blit(pygame.surfarray.make_surface(frame.transpose(1, 0, 2)), (0, 0))
        pygame.event.pump()
        self._clock.tick(self._fps)
        pygame.display.flip()

    def close(self) -> None:
        """Closes the window, if it is open."""
        if self._is_open():
            PYGAME.load().display.quit()
        self._surface = None

    def _is_open(self) -> bool:
        """Returns whether the one window of pygame is still this one, which another environment may have taken."""
        return self._surface is not None and PYGAME.load().display.get_surface() is self._surface
