"""A window that shows an episode, frame by frame (``render_mode="human"``)."""

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import MissingDependencyError


class Window:
    """A window on the screen; it opens with its first frame.

    Args:
        title: What stands in its bar.
        fps: Frames per second, at most; ``show`` waits for as long as that takes.
    """

    def __init__(self, title: str, fps: int) -> None:
        self._title = title
        self._fps = fps
        self._surface: Any = None

    def show(self, frame: npt.NDArray[np.uint8]) -> None:
        """Shows a frame, (height, width, 3).

        Raises:
            MissingDependencyError: pygame is not installed.
        """
        pygame = _pygame()
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
            _pygame().display.quit()
        self._surface = None

    def _is_open(self) -> bool:
        """Returns whether the one window of pygame is still this one, which another environment may have taken."""
        return self._surface is not None and _pygame().display.get_surface() is self._surface


def _pygame() -> Any:
    try:
        return importlib.import_module("pygame")
    except ImportError as error:
        raise MissingDependencyError("pygame", extra="human", purpose="show a window") from error
