"""Plays one episode and keeps its frames as an animated picture."""

from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
from PIL import Image

from flowsched_gym.errors import ConfigError
from flowsched_gym.evaluation.rollout import takes_masks
from flowsched_gym.files import replace_when_written
from flowsched_gym.policies import Policy

__all__ = ["animate"]

MILLISECONDS_PER_FRAME: Final = 150
COLOURS: Final = 128
"""Colours of the palette: frames are drawn, not photographed."""


def animate(
    env: gymnasium.Env[Any, Any], policy: Policy, path: Path, *, seed: int, first: int = 0, most: int = 200
) -> int:
    """Plays an episode and writes its frames, one for each decision, as a GIF.

    Args:
        env: Made with ``render_mode="rgb_array"``.
        policy: Who plays.
        path: The picture, ``.gif``.
        seed: Seed of the episode.
        first: Decisions before the first frame.
        most: Frames at most.

    Returns:
        Number of frames.

    Raises:
        ConfigError: The environment draws no frames, or the episode ends before the first one.
        OSError: The file cannot be written.
    """
    if env.render_mode != "rgb_array":
        raise ConfigError(f"render_mode is {env.render_mode!r}: an animation needs 'rgb_array'")
    with_masks = takes_masks(policy)
    frames: list[Image.Image] = []
    observation, info = env.reset(seed=seed)
    over, decisions = False, 0
    while not over and len(frames) < most:
        if decisions >= first:
            frames.append(Image.fromarray(np.asarray(env.render())))
        masks = {"action_masks": info["action_mask"]} if with_masks else {}
        action, _ = policy.predict(observation, deterministic=True, **masks)
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        decisions += 1
    if not frames:
        raise ConfigError(f"first is {first}: the episode has {decisions} decisions")
    # One palette for all frames lets the file keep only what changes from one to the next.
    palette = frames[len(frames) // 2].quantize(colors=COLOURS)
    flat = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    with replace_when_written(path) as temporary:
        flat[0].save(
            temporary, format="GIF", save_all=True, append_images=flat[1:], duration=MILLISECONDS_PER_FRAME, loop=0
        )
    return len(frames)
