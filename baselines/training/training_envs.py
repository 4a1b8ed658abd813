"""Training environments, and their states for a resumed run.

A native vector environment hands out its state. A simulation by SimPy in progress cannot be written to a file, and need
not be: an episode is a function of its flows and of the actions taken, so what is kept is how the episode began and
which actions followed; playing them again leads to exactly the same state. Either way, taking a checkpoint leaves no
trace in the training.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from flowsched_gym.baselines.configuration.hydra_schemas import Vectorization
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.seeding import FIRST_TRAINING_SEED, SeedStreams
from flowsched_gym.envs import VectorState
from flowsched_gym.integrations.sb3 import SB3VecEnv, make_sb3_vec_env
from flowsched_gym.registration import find_environment

LOGGER: Final = logging.getLogger(__name__)

DIGITS: Final = 6
"""Digits of returns and times in the report of an episode, as ``Monitor`` rounds them."""


class Episode(NamedTuple):
    """The start of an episode and the actions taken since.

    The origin is the seed of its reset, or the state of the environment's generator before a reset without seed.
    """

    origin: Any
    actions: list[Any]


class RepeatableEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment with scaled rewards whose current episode can be played again."""

    def __init__(self, env: gymnasium.Env[Any, Any], reward_scale: float) -> None:
        super().__init__(env)
        self._reward_scale = reward_scale
        self._episode = Episode(None, [])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode and records its origin."""
        origin = self.unwrapped.np_random.bit_generator.state if seed is None else seed
        self._episode = Episode(origin, [])
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Acts and records the action; of the info, only the summary of a finished episode is kept."""
        self._episode.actions.append(action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        # Vector environments copy every info deeply, which takes half as long as the simulation.
        kept = {"episode": info["episode"]} if "episode" in info else {}
        return observation, self._reward_scale * float(reward), terminated, truncated, kept

    def episode(self) -> Episode:
        """Returns the origin and the actions of the current episode."""
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


class ScoredVecEnv(VecEnvWrapper):
    """A native vector environment with scaled rewards, returns of episodes as ``Monitor`` reports them, and states."""

    venv: SB3VecEnv

    def __init__(self, envs: SB3VecEnv, reward_scale: float) -> None:
        super().__init__(envs)
        self._reward_scale = reward_scale
        self._begun = time.monotonic()
        self._returns = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)

    def reset(self) -> VecEnvObs:
        """Begins an episode in every environment."""
        self._returns[:], self._lengths[:] = 0.0, 0
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Acts; the info of a finished episode has its return, before scaling, and its length."""
        observations, rewards, dones, infos = self.venv.step_wait()
        unscaled = rewards.astype(np.float64)
        self._returns += unscaled
        self._lengths += 1
        for index in np.flatnonzero(dones).tolist():
            infos[index]["episode"] = {
                "r": round(float(self._returns[index]), DIGITS),
                "l": int(self._lengths[index]),
                "t": round(time.monotonic() - self._begun, DIGITS),
            }
        self._returns[dones], self._lengths[dones] = 0.0, 0
        # In double precision first, as single environments are scaled: the weights are then the same to the last bit.
        return observations, (self._reward_scale * unscaled).astype(np.float32), dones, infos

    def get_state(self) -> dict[str, Any]:
        """Returns the state of the environments, with returns and lengths of their episodes."""
        envs: Any = self.venv.envs.unwrapped
        state: VectorState = envs.get_state()
        return {"envs": state.content(), "returns": self._returns.copy(), "lengths": self._lengths.copy()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state."""
        envs: Any = self.venv.envs.unwrapped
        envs.set_state(VectorState.of_content(state["envs"], envs.config))
        self._returns[:], self._lengths[:] = state["returns"], state["lengths"]


def make_training_envs(
    env_id: str,
    kwargs: dict[str, Any],
    *,
    num_envs: int,
    seed: int,
    reward_scale: float,
    vectorization: Vectorization,
    wrap: Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]] | None = None,
) -> VecEnv:
    """Makes environments that are stepped together and begin from seeds of their own, which follow from the run's.

    The id has ``flowsched_gym:`` before it; rewards are multiplied by ``reward_scale``. Where each environment is
    wrapped, native ones are single ones on machine code.
    """
    envs: VecEnv
    native = vectorization is Vectorization.native
    if native and wrap is not None:
        kwargs = {**kwargs, "engine": "compiled"}
    if native and wrap is None and find_environment(env_id).vector_entry_point is not None:
        envs = ScoredVecEnv(make_sb3_vec_env(env_id, num_envs, **kwargs), reward_scale)
    else:
        make = partial(_make, env_id, kwargs, reward_scale, wrap)
        makers: list[Callable[[], gymnasium.Env[Any, Any]]] = [make] * num_envs
        envs = SubprocVecEnv(makers) if vectorization is Vectorization.subproc else DummyVecEnv(makers)
    LOGGER.info("%d environments, stepped by %s", num_envs, _description(envs))
    envs.seed(training_seed(seed))
    return envs


def training_seed(seed: int) -> int:
    """Draws the seed of the first environment; the others count up from it. No evaluation uses such large ones."""
    return FIRST_TRAINING_SEED + int(SeedStreams(seed)["training environments"].integers(2**62))


def environment_states(envs: VecEnv) -> dict[str, Any]:
    """Returns the states of training environments: that of their vector, or of each by its episode."""
    if isinstance(envs, ScoredVecEnv):
        return {"native": envs.get_state()}
    return {"episodes": [(origin, np.array(actions)) for origin, actions in envs.env_method("episode")]}


def restore_environments(envs: VecEnv, states: Mapping[str, Any], observations: npt.NDArray[np.floating]) -> None:
    """Restores training environments to what `environment_states` returned and they showed last, (num_envs, size).

    Raises:
        ConfigError: The environments are stepped in another way than those of the run, or one of them arrives at
            another observation: it is not the one that the run was begun with.
    """
    if isinstance(envs, ScoredVecEnv) is not ("native" in states):
        allowed = "native" if "native" in states else "dummy or subproc"
        raise ConfigError(
            f"environments are stepped by {_description(envs)}: the run was begun with vectorization={allowed}"
        )
    if isinstance(envs, ScoredVecEnv):
        envs.set_state(states["native"])
        return
    for index, (origin, actions) in enumerate(states["episodes"]):
        (observation,) = envs.env_method("repeat", Episode(origin, list(actions)), indices=index)
        if not np.array_equal(observation, observations[index]):
            raise ConfigError(
                f"environment {index} does not repeat its episode: "
                "the run was begun with another version of the package"
            )


def _description(envs: VecEnv) -> str:
    return type(envs.venv.envs.unwrapped if isinstance(envs, ScoredVecEnv) else envs).__name__


def _make(
    env_id: str,
    kwargs: dict[str, Any],
    reward_scale: float,
    wrap: Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]] | None,
) -> gymnasium.Env[Any, Any]:
    # Stable-Baselines3 draws no frames in training, and the checker would be asked at every step.
    env: gymnasium.Env[Any, Any] = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    return RepeatableEpisode(Monitor(env if wrap is None else wrap(env)), reward_scale)
