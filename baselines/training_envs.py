"""Makes the environments that a policy learns in, and lets a resumed run find them as it left them.

A simulation in progress cannot be written to a file. It need not be: an episode is a function of its flows and of the
actions taken, so what is kept is how the episode began and which actions followed; playing them again leads to exactly
the same state, and taking a checkpoint leaves no trace in the training.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

from flowsched_gym.baselines.hydra_schemas import Workers
from flowsched_gym.errors import ConfigError
from flowsched_gym.seeding import SeedStreams

__all__ = ["Episode", "RepeatableEpisode", "make_training_envs", "repeat_episodes", "training_seed"]

FIRST_TRAINING_SEED: Final = 2**32
"""Training episodes begin from seeds at or above this, those of evaluations lie below it."""


class Episode(NamedTuple):
    """Tells how an episode came to where it is.

    Attributes:
        origin: Seed of its reset, or the state of the environment's generator before a reset without seed.
        actions: Actions since then.
    """

    origin: Any
    actions: list[Any]


class RepeatableEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Remembers how the current episode began and what was done, and scales the rewards.

    Args:
        env: The environment.
        reward_scale: What each reward is multiplied by.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], reward_scale: float) -> None:
        """Wraps the environment."""
        super().__init__(env)
        self._reward_scale = reward_scale
        self._episode = Episode(None, [])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode and remembers from what."""
        origin = self.unwrapped.np_random.bit_generator.state if seed is None else seed
        self._episode = Episode(origin, [])
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Acts and remembers the action; of the info, only the summary of a finished episode is handed on."""
        self._episode.actions.append(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        # Vector environments copy every info deeply, which takes half as long as the simulation.
        kept = {"episode": info["episode"]} if "episode" in info else {}
        return observation, self._reward_scale * float(reward), terminated, truncated, kept

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Returns which actions do what they say."""
        masks: npt.NDArray[np.bool_] = self.env.get_wrapper_attr("action_masks")()
        return masks

    def episode(self) -> Episode:
        """Returns how the current episode came to where it is."""
        return self._episode

    def repeat(self, episode: Episode) -> Any:
        """Plays an episode again up to where it was, and returns its last observation."""
        if isinstance(episode.origin, int):
            observation, _ = self.reset(seed=episode.origin)
        else:
            self.unwrapped.np_random.bit_generator.state = episode.origin
            observation, _ = self.reset()
        for action in episode.actions:
            observation, *_ = self.step(action)
        return observation


def make_training_envs(
    env_id: str, kwargs: dict[str, Any], *, num_envs: int, seed: int, reward_scale: float, workers: Workers
) -> VecEnv:
    """Makes environments that are stepped together and begin from seeds of their own.

    Args:
        env_id: Id with ``flowsched_gym:`` before it.
        kwargs: Arguments of the environment.
        num_envs: How many.
        seed: Seed of the training run.
        reward_scale: What each reward is multiplied by.
        workers: Whether they live in this process or each in one of its own.
    """
    make = partial(_make, env_id, kwargs, reward_scale)
    makers: Sequence[Callable[[], gymnasium.Env[Any, Any]]] = [make] * num_envs
    envs: VecEnv = SubprocVecEnv(list(makers)) if workers is Workers.subprocess else DummyVecEnv(list(makers))
    envs.seed(training_seed(seed))
    return envs


def training_seed(seed: int) -> int:
    """Draws the seed of the first environment; the others count on from it. No evaluation uses such large ones."""
    return FIRST_TRAINING_SEED + int(SeedStreams(seed)["training environments"].integers(2**62))


def repeat_episodes(envs: VecEnv, episodes: Sequence[Episode], observations: npt.NDArray[np.floating]) -> None:
    """Brings environments to where they were.

    Args:
        envs: The environments.
        episodes: One for each of them.
        observations: What they showed last, (num_envs, size).

    Raises:
        ConfigError: An environment arrives at another observation: it is not the one that the run was begun with.
    """
    for index, episode in enumerate(episodes):
        (observation,) = envs.env_method("repeat", episode, indices=index)
        if not np.array_equal(observation, observations[index]):
            raise ConfigError(
                f"environment {index} does not repeat its episode: "
                "the run was begun with another version of the package"
            )


def _make(env_id: str, kwargs: dict[str, Any], reward_scale: float) -> gymnasium.Env[Any, Any]:
    """Makes one environment."""
    # Stable-Baselines3 draws no frames in training, and the checker would be asked at every step.
    env: gymnasium.Env[Any, Any] = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    return RepeatableEpisode(Monitor(env), reward_scale)
