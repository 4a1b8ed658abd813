"""Animations of episodes: some decisions of a policy in a setting, as an animated picture that browsers play."""

import contextlib
import hashlib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import gymnasium

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import replace_when_written
from flowsched_gym.evaluation import make_environment, resolve_policy
from flowsched_gym.evaluation.rollout import rollout
from flowsched_gym.leaderboard.play import Entrant, players
from flowsched_gym.leaderboard.settings import Setting
from flowsched_gym.version import __version__

FOLDER: Final = "episodes"
SKIPPED: Final = 30
"""Decisions at the beginning that are not shown, where an episode is long enough: little competes yet."""
FRAMES: Final = 36
FRAME_MS: Final = 250
LAST_FRAME_MS: Final = 2000
COLOURS: Final = 48
MOST_BYTES: Final = 300_000
COMPRESSION: Final[dict[str, Any]] = {"lossless": True, "quality": 50, "method": 3}
"""How frames are written: a third of the bytes of a GIF, within a second."""
DIGEST_BYTES: Final = 4

Progress = Callable[[int, int], None]


class _Filmed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose last frames are kept, and whose episode is cut off after enough of them."""

    def __init__(self, env: gymnasium.Env[Any, Any], progress: Progress | None) -> None:
        super().__init__(env)
        self.frames: deque[Any] = deque(maxlen=FRAMES)
        self._progress = progress
        self._decisions = 0

    def reset(self, **arguments: Any) -> Any:
        """Begins the episode with a frame."""
        outcome = self.env.reset(**arguments)
        self._keep()
        return outcome

    def step(self, action: Any) -> Any:
        """Takes a decision, and keeps a frame of what has become of it."""
        observation, reward, over, truncated, info = self.env.step(action)
        self._decisions += 1
        self._keep()
        return observation, reward, over, truncated or self._decisions == SKIPPED + FRAMES, info

    def _keep(self) -> None:
        self.frames.append(self.env.render())
        if self._progress is not None:
            self._progress(self._decisions, SKIPPED + FRAMES)


def film_path(folder: Path, setting: Setting, entrant: Entrant) -> Path:
    """Returns where the animation of a policy lies: its name changes with what is played."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    digest.update(repr((__version__, setting.environment, sorted(setting.kwargs.items()), entrant.source)).encode())
    for model in entrant.models[:1]:
        digest.update(model.read_bytes())
    label = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in entrant.label.lower())
    return folder / FOLDER / f"{setting.name}_{label}-{digest.hexdigest()}.webp"


def write_film(
    setting: Setting,
    entrant: Entrant,
    path: Path,
    *,
    seed: int,
    trust: bool = False,
    progress: Progress | None = None,
) -> None:
    """Plays the beginning of an episode and writes it as an animation, whole or not at all.

    Of an agent that was trained several times, the first model plays.

    Args:
        setting: The setting.
        entrant: Who plays.
        path: The animation.
        seed: Seed of the episode.
        trust: Whether models are loaded that bring code.
        progress: Called with the number of decisions taken and of all.

    Raises:
        ConfigError: The policy does not play in this environment, or a model cannot be read.
        MissingDependencyError: Pillow is not installed.
        OSError: The file cannot be written.
    """
    with contextlib.closing(players(setting, entrant, {}, trust=trust)) as playing:
        _, policy, arguments = next(playing)
        env = _Filmed(make_environment(setting.environment, {**arguments, "render_mode": "rgb_array"}), progress)
        try:
            rollout(env, resolve_policy(policy, env, seed=seed) if isinstance(policy, str) else policy, seed=seed)
        finally:
            env.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(list(env.frames), path)


def _write(frames: list[Any], path: Path) -> None:
    """Writes frames in few colours; the first ones are left out as long as the file is too large."""
    from PIL import Image  # noqa: PLC0415 - optional; without it there would be no frames

    pictures = [Image.fromarray(frame) for frame in frames]
    palette = pictures[-1].quantize(COLOURS, dither=Image.Dither.NONE)
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB") for picture in pictures]
    while pictures:
        durations = [FRAME_MS] * (len(pictures) - 1) + [LAST_FRAME_MS]
        with replace_when_written(path) as temporary:
            pictures[0].save(
                temporary,
                format="WEBP",
                save_all=True,
                append_images=pictures[1:],
                duration=durations,
                loop=0,
                **COMPRESSION,
            )
        if path.stat().st_size <= MOST_BYTES:
            return
        pictures = pictures[max(1, len(pictures) // 4) :]
    raise ConfigError(f"{path}: a single frame takes more than {MOST_BYTES:,} bytes")
