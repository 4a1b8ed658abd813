"""Presents a vector environment of Gymnasium as the ``VecEnv`` that Stable-Baselines3 learns on.

Both step many environments at once; they differ in how an episode ends and in what an info is. Stable-Baselines3 wants
an ended episode's last observation and summary in a dict of that environment, next to the first observation of the new
one, which is what ``AutoresetMode.SAME_STEP`` knows; and it wants a dict for every environment at every step. Only
those of ended episodes are filled here, so that a step costs the same few array operations for 4 environments and
for 4,096; everything else that the step told is in ``vector_infos``.
"""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec, VectorizeMode
from gymnasium.vector import AutoresetMode, VectorEnv

from flowsched_gym.core.arrays import BoolArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, shown
from flowsched_gym.envs.actions import check_seeds
from flowsched_gym.envs.infos import LazyInfos
from flowsched_gym.registration import find_environment

try:
    from stable_baselines3.common.env_util import is_wrapped
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise MissingDependencyError(missing, extra="train", purpose="train a model or load one") from None


MASKS = "action_masks"
"""Method that MaskablePPO asks the environments for."""


class SB3VecEnv(VecEnv):
    """A vector environment for Stable-Baselines3, equal to ``DummyVecEnv`` of its environments.

    Observations, rewards, ends, terminal observations, masks, and the infos of ended episodes and of resets are those
    of ``DummyVecEnv``, bit for bit. The infos of other steps are empty here; ``vector_infos`` has them as arrays.

    Args:
        envs: A vector environment of this package with ``AutoresetMode.SAME_STEP``, wrapped or not. Its methods
            beyond Gymnasium's, ``action_masks``, ``call``, ``get_attr`` and ``set_attr``, are asked of the innermost.

    Attributes:
        envs: That vector environment.
        vector_infos: Infos of its last reset or step, in Gymnasium's form: an array or mapping for each name, and
            under the name with an underscore which environments have it, (num_envs,) bool.

    Raises:
        ConfigError: The vector environment resets in another mode.
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise ConfigError(
                f"autoreset_mode is {mode}: Stable-Baselines3 needs AutoresetMode.SAME_STEP; "
                "make_sb3_vec_env makes such a vector environment"
            )
        self.envs = envs
        self.vector_infos: Mapping[str, Any] = {}
        self._actions: npt.NDArray[Any] = np.empty(0)
        self._blank: list[dict[str, Any]] = []
        self._next_options: dict[str, Any] = {}
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self.metadata = envs.metadata

    @property
    def spec(self) -> EnvSpec | None:
        """What the vector environment was made from."""
        return self.envs.spec

    def reset(self) -> VecEnvObs:
        """Begins an episode in every environment with the seeds and options kept for this."""
        seeds = None if all(seed is None for seed in self._seeds) else list(self._seeds)
        options = self._next_options
        begins_anew = options.get("reset_mask", np.ones(self.num_envs, dtype=np.bool_))
        observations, self.vector_infos = self.envs.reset(
            seed=seeds,  # type: ignore[arg-type]  # vector environments take a seed for each environment as well
            options=options or None,
        )
        for index in np.flatnonzero(begins_anew).tolist():
            self.reset_infos[index] = _info_of(self.vector_infos, index).copy()
        self._reset_seeds()
        self.set_options(None)
        return cast(VecEnvObs, observations)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Stores the actions, (num_envs,), for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Acts in all environments; those whose episode ends begin the next one at once.

        Returns:
            New arrays of observations, (num_envs, size), rewards, (num_envs,) float32, and ends, (num_envs,) bool;
            and a dict for each environment, which holds, where an episode has ended, its last info,
            ``terminal_observation`` and ``TimeLimit.truncated``. What is costly in it, such as ``episode_metrics``,
            is made when it is first read.
        """
        observations, rewards, terminated, truncated, self.vector_infos = self.envs.step(self._actions)
        dones = terminated | truncated
        infos = self._empty_infos()
        for index in np.flatnonzero(dones).tolist():
            info = infos[index] = _info_of(self.vector_infos["final_info"], index)
            info["TimeLimit.truncated"] = bool(truncated[index] and not terminated[index])
            info["terminal_observation"] = np.array(self.vector_infos["final_obs"][index])
            self.reset_infos[index] = _info_of(self.vector_infos, index).copy()
        return observations, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Closes the environments."""
        self.envs.close()

    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_envs, num_actions), where the environments know masks."""
        base: Any = self.envs.unwrapped
        masks: BoolArray = base.action_masks() if hasattr(base, MASKS) else np.stack(base.call(MASKS))
        return masks

    def seed(self, seed: int | Sequence[int | None] | None = None) -> Sequence[int | None]:
        """Stores seeds for the next reset: environment i begins from ``seed + i``, or from the i-th of a sequence."""
        if seed is None:
            return super().seed(None)
        self._seeds = check_seeds(seed, self.num_envs)
        return self._seeds

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Stores options of all environments for the next reset; a ``ConfigError`` where they are not the same for all.

        ``reset_mask``, (num_envs,) bool, has only some of them begin anew; the observations of the others are then
        those that they showed before.
        """
        if isinstance(options, list):
            if len(options) != self.num_envs or any(entry != options[0] for entry in options):
                raise ConfigError(
                    f"options is {shown(options)}: a vector environment takes one dict for all environments"
                )
            options = options[0]
        self._next_options = dict(options or {})

    def has_attr(self, attr_name: str) -> bool:
        """Returns whether the environments have an attribute."""
        if attr_name == MASKS and hasattr(self.envs.unwrapped, MASKS):
            return True
        return super().has_attr(attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Returns an attribute of each environment asked for."""
        return self._call(attr_name, indices)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Sets an attribute of the environments asked for, which those of a native vector do not have."""
        base: Any = self.envs.unwrapped
        if not hasattr(base, "set_attr"):
            raise AttributeError(f"the environments of {type(base).__name__} have no attributes that can be set")
        values = [value] * self.num_envs if indices is None else list(base.get_attr(attr_name))
        for index in self._get_indices(indices):
            values[index] = value
        base.set_attr(attr_name, values)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method of the environments asked for; an ``AttributeError`` where they have none of that name.

        ``action_masks`` gives a row of one array to each environment; to have the array, call this object's own.
        """
        if method_name == MASKS:
            masks = self.action_masks()
            return list(masks) if indices is None else [masks[index] for index in self._get_indices(indices)]
        if method_name == "render" and indices is None:
            return list(self.envs.render() or [None] * self.num_envs)
        return self._call(method_name, indices, *method_args, **method_kwargs)

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        """Returns for each environment asked for whether it has a wrapper; those of a native vector have none."""
        envs = getattr(self.envs.unwrapped, "envs", None)
        return [envs is not None and is_wrapped(envs[index], wrapper_class) for index in self._get_indices(indices)]

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """Draws a frame of each environment; ``None`` where the render mode is not ``rgb_array``."""
        if self.render_mode != "rgb_array":
            warnings.warn(
                f"render_mode is {shown(self.render_mode)}: there are images with 'rgb_array' alone", stacklevel=2
            )
            return [None] * self.num_envs
        return cast(Sequence[npt.NDArray[np.uint8]], self.envs.render())

    def _call(self, name: str, indices: VecEnvIndices, *args: Any, **kwargs: Any) -> list[Any]:
        base: Any = self.envs.unwrapped
        chosen = list(self._get_indices(indices))
        if indices is not None and hasattr(base, "envs"):
            found = [base.envs[index].get_wrapper_attr(name) for index in chosen]
            return [value(*args, **kwargs) if callable(value) else value for value in found]
        try:
            values = base.call(name, *args, **kwargs)
        except ConfigError as error:
            # What a native vector says of a name that it does not know; Stable-Baselines3 asks in this way.
            raise AttributeError(str(error)) from None
        return [values[index] for index in chosen]

    def _empty_infos(self) -> list[dict[str, Any]]:
        """Returns empty dicts, made anew only if somebody wrote into one: a thousand take a third of a native step."""
        if not self._blank or any(self._blank):
            self._blank = [{} for _ in range(self.num_envs)]
        return self._blank.copy()


def make_sb3_vec_env(
    env_id: str,
    num_envs: int,
    seed: int | Sequence[int | None] | None = None,
    *,
    vectorization_mode: VectorizeMode | str | None = None,
    **kwargs: Any,
) -> SB3VecEnv:
    """Makes environments for Stable-Baselines3 that are stepped together.

    Args:
        env_id: Id of an environment of this package, with or without ``flowsched_gym:`` before it.
        num_envs: How many.
        seed: Seed of the first, the others count on from it; or one for each; ``None`` for none.
        vectorization_mode: As in ``gymnasium.make_vec``: by default the native vector environment where there is one,
            else ``sync``.
        **kwargs: Arguments of the environment.
    """
    has_native = find_environment(env_id).vector_entry_point is not None
    default = VectorizeMode.VECTOR_ENTRY_POINT if has_native else VectorizeMode.SYNC
    mode = default
    if vectorization_mode is not None:
        name = vectorization_mode.value if isinstance(vectorization_mode, VectorizeMode) else vectorization_mode
        check_choice("vectorization_mode", name, tuple(each.value for each in VectorizeMode))
        mode = VectorizeMode(name)
    autoreset: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}
    if mode is VectorizeMode.VECTOR_ENTRY_POINT:
        envs = gymnasium.make_vec(env_id, num_envs, mode, **{"finished": True, **autoreset, **kwargs})
    else:
        envs = gymnasium.make_vec(env_id, num_envs, mode, vector_kwargs=autoreset, **kwargs)
    vec_env = SB3VecEnv(envs)
    if seed is not None:
        vec_env.seed(seed)
    return vec_env


def _info_of(infos: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Returns the info of one environment from those of a vector environment, each value made when it is first read."""
    names = [
        name
        for name in infos
        if name not in ("final_obs", "final_info") and f"_{name}" in infos and infos[f"_{name}"][index]
    ]
    return LazyInfos({}, {name: partial(_value_of, infos, name, index) for name in names})


def _value_of(infos: Mapping[str, Any], name: str, index: int) -> Any:
    values = infos[name]
    if isinstance(values, Mapping):
        return _info_of(values, index).copy()
    value = values[index]
    if isinstance(value, np.generic):
        return value.item()
    # A row would keep the whole array alive.
    return value.copy() if isinstance(value, np.ndarray) else value
