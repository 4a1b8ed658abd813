"""Films of episodes (.gif, .mp4), with a frame for each decision, and pictures of a single decision (.png)."""

from collections import deque
from functools import cache
from importlib.util import find_spec
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.wrappers import TimeLimit

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import Progress, check_target, replace_when_written
from flowsched_gym.envs.drawing import draw_frame
from flowsched_gym.envs.drawing.canvas import Colours
from flowsched_gym.envs.drawing.render_modes import PILLOW, Package
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation.rollout import rollout

if TYPE_CHECKING:
    from PIL import Image as PillowImage

MP4: Final = ".mp4"
FILM_SUFFIXES: Final = (".gif", MP4, ".png")
FFMPEG: Final = Package("imageio_ffmpeg", "imageio-ffmpeg", "video", "write .mp4 files")
FRAMES: Final = 150
SKIPPED: Final = 60
"""Decisions before the first frame of a long episode: its queues are empty when it begins."""
MILLISECONDS_PER_SECOND: Final = 1000
MILLISECONDS_PER_FRAME: Final = 150
FRAMES_OF_THE_END: Final = 15
"""How often the last frame is repeated, so that it can be read before the film begins anew."""
SHADES: Final = 5
"""Shades of each colour on the way to white, for the edges of letters."""


class _Filmed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Draws each decision of an episode, and keeps the last ones."""

    def __init__(self, env: gymnasium.Env[Any, Any], most: int, progress: Progress | None) -> None:
        super().__init__(env)
        self.frames: deque[PillowImage.Image] = deque(maxlen=most)
        self._progress, self._num_drawn, self._most = progress, 0, SKIPPED + most

    def reset(self, **how: Any) -> tuple[Any, dict[str, Any]]:
        begun = super().reset(**how)
        self._draw()
        return begun

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        stepped = super().step(action)
        self._draw()
        return stepped

    def _draw(self) -> None:
        # Now, because panels look at the episode as it is when they are drawn.
        self.frames.append(in_few_colours(draw_frame(self.get_wrapper_attr("panels")())))
        self._num_drawn += 1
        if self._progress is not None:
            self._progress(self._num_drawn, self._most)


def check_film(path: str | PathLike[str]) -> None:
    """Finds out whether a film could be written, before an episode is played; raises what that would."""
    suffix = Path(path).suffix.lower()
    if suffix not in FILM_SUFFIXES:
        raise ConfigError(f"{path} has the extension {suffix!r}: it must be one of {', '.join(FILM_SUFFIXES)}")
    for package in (PILLOW, *[FFMPEG] * (suffix == MP4)):
        if find_spec(package.module) is None:
            raise package.missing()
    check_target(path)


def record_film(
    env: gymnasium.Env[Any, Any],
    policy: Policy,
    path: str | PathLike[str],
    *,
    seed: int,
    frames: int = FRAMES,
    progress: Progress | None = None,
) -> int:
    """Plays an episode and writes its film, or of a ``.png`` its middle frame; returns its number of frames.

    Of a long episode, the first ``SKIPPED`` decisions and those after the last frame are left out; of one that is
    shorter than both, the end is shown. ``progress`` is called with the number of decisions that are drawn, and their
    largest number. Raises what `check_film` and `rollout` raise.
    """
    check_film(path)
    filmed = _Filmed(env, frames, progress)
    rollout(TimeLimit(filmed, SKIPPED + frames - 1), policy, seed=seed)
    drawn, suffix = list(filmed.frames), Path(path).suffix.lower()
    with replace_when_written(path) as temporary:
        if suffix == MP4:
            _write_mp4(drawn, temporary)
        elif suffix == ".png":
            drawn[len(drawn) // 2].save(temporary, format="PNG", optimize=True)
        else:
            times = [MILLISECONDS_PER_FRAME] * (len(drawn) - 1) + [MILLISECONDS_PER_FRAME * FRAMES_OF_THE_END]
            drawn[0].save(temporary, format="GIF", save_all=True, append_images=drawn[1:], duration=times, loop=0)
    return len(drawn)


def in_few_colours(frame: npt.NDArray[np.uint8]) -> "PillowImage.Image":
    """Makes a picture, with the same palette for all frames, so that a file keeps only what changes between them."""
    image = PILLOW.load(".Image")
    few: PillowImage.Image = image.fromarray(frame).quantize(palette=_palette(), dither=image.Dither.NONE)
    return few


@cache
def _palette() -> "PillowImage.Image":
    shaded = (
        *(Colours.INK, Colours.MUTED, Colours.ACCENT, Colours.BLUE),
        *(Colours.ORANGE, Colours.RED, Colours.GREY, Colours.DARK_ORANGE),
    )
    colours = [Colours.PAPER, Colours.WHITE, Colours.LINE, Colours.TRACK, Colours.WINDOW]
    for colour, step in product(shaded, range(SHADES)):
        red, green, blue = (round(value + (255 - value) * step / SHADES) for value in colour)
        colours.append((red, green, blue))
    image: PillowImage.Image = PILLOW.load(".Image").new("P", (1, 1))
    image.putpalette([value for colour in colours for value in colour])
    return image


def _write_mp4(frames: list["PillowImage.Image"], path: Path) -> None:
    fps = MILLISECONDS_PER_SECOND / MILLISECONDS_PER_FRAME
    writer = FFMPEG.load().write_frames(str(path), frames[0].size, fps=fps, macro_block_size=8)
    writer.send(None)
    for frame in frames + frames[-1:] * (FRAMES_OF_THE_END - 1):
        writer.send(frame.convert("RGB").tobytes())
    writer.close()
