"""Connects with Stable-Baselines3 and sb3-contrib: environments to learn on, and models as policies.

`SB3VecEnv` presents a vector environment as a ``VecEnv``; `setwise_policy` chooses the network that scores slots;
`load_policy` loads a model, whatever its algorithm, and `save_model` writes one without anything pickled; `batched`
has a model act on many observations at once as it acts on each alone.
"""

import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, SpaceMismatchError, shown
from flowsched_gym.envs.policies import Policy, is_pure
from flowsched_gym.integrations.archive import first_sentence, is_archive
from flowsched_gym.integrations.models import build_policy, read_model, save_model
from flowsched_gym.integrations.sb3_vec_env import SB3VecEnv, make_sb3_vec_env
from flowsched_gym.integrations.setwise import (
    MaskableSetwisePolicy,
    SetwiseFeatures,
    SetwisePolicy,
    setwise_features,
    setwise_policy,
)

try:
    import torch
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
    from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
    from stable_baselines3.common.save_util import load_from_zip_file
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import TD3Policy
except ImportError as error:
    missing = error.name or "stable_baselines3"
    raise MissingDependencyError(missing, extra="train", purpose="load a model file") from None

__all__ = [
    "BatchedModel",
    "MaskableSetwisePolicy",
    "SB3VecEnv",
    "SetwiseFeatures",
    "SetwisePolicy",
    "batched",
    "check_spaces",
    "load_policy",
    "make_sb3_vec_env",
    "save_model",
    "setwise_features",
    "setwise_policy",
]

Environment = gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]

MARGIN: Final = 1e-3
"""Difference of two probabilities below which rounding might change their order; it is hundreds of times smaller."""


def load_policy(path: str | PathLike[str], env: Environment, *, trust: bool = False) -> Policy:
    """Loads a model of PPO, A2C, MaskablePPO, DDPG, TD3 or SAC to act in an environment.

    A file of `save_model` holds numbers and names. One that the model's own ``save`` wrote holds pickled objects:
    rebuilding them runs code that the file brings.

    Sets torch to one thread: on networks this small a second one gains nothing, and on a busy machine the two wait for
    each other so long that an evaluation takes minutes for seconds.

    Args:
        path: The model file (``.zip``) that `save_model` or the model's own ``save`` wrote.
        env: The environment that it will act in, wrapped or not, or the vector environment.
        trust: Whether a file of the model's own ``save`` is loaded, whatever code it brings.

    Returns:
        The network, or the model where its own ``save`` wrote it, on the CPU; its ``predict`` takes ``action_masks``
        if it was trained with masks.

    Raises:
        ConfigError: There is no such file, or it is no model of one of these algorithms, or it is damaged, or it is to
            be trusted first.
        SpaceMismatchError: The model was trained with other spaces.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"model is {str(path)!r}: there is no such file")
    if is_archive(path):
        own = read_model(path)
        if not _scores_like_slots(own, env):
            check_spaces(path, own["observation_space"], own["action_space"], env)
        torch.set_num_threads(1)
        built: Any = build_policy(path, own)
        if hasattr(built, "play_in"):
            built.play_in(env)
        return cast(Policy, built)
    if not zipfile.is_zipfile(path):
        raise ConfigError(f"model {path} cannot be read: it is no zip file, or it is cut off")
    if not trust:
        raise ConfigError(
            f"model {path} was not written by flowsched-gym: to load it, its pickled parts are rebuilt, which runs any "
            "code that the file brings; if you trust who made it, say so by --trust "
            "(trust=true in Hydra, trust=True in Python)"
        )
    content = _read(path)
    check_spaces(path, content["observation_space"], content["action_space"], env)
    algorithm = _algorithm(path, content)
    try:
        torch.set_num_threads(1)
        # A model has all that a policy needs to act, but is not made from an environment.
        return cast(Policy, algorithm.load(path, device="cpu"))
    except Exception as error:
        reason = first_sentence(error)
        raise ConfigError(f"model {path} cannot be rebuilt as {algorithm.__name__}: {reason}") from error


def _scores_like_slots(content: Mapping[str, Any], env: Environment) -> bool:
    """Returns whether a model of few weights scores slots with the columns of an environment, however many it has."""
    sizes, names = content["arguments"].get("sizes", {}), content["origin"].get("columns")
    if "num_kinds" not in sizes or not names or not hasattr(env.unwrapped, "layout"):
        return False
    layout, action_space = env.unwrapped.layout, getattr(env, "single_action_space", env.action_space)
    num_actions = sizes["num_kinds"] * layout.num_slots + sizes["num_others"]
    same = [list(dict.fromkeys(name.partition("[")[0] for name in each)) for each in (names, layout.column_names)]
    return same[0] == same[1] and isinstance(action_space, spaces.Discrete) and action_space.n == num_actions


def check_spaces(
    path: Path, observation_space: spaces.Space[Any], action_space: spaces.Space[Any], env: Environment
) -> None:
    """Refuses a model, lying at a path, that was made for other spaces: a ``SpaceMismatchError`` that holds both."""
    single = "single_" if isinstance(env, VectorEnv) else ""
    for name, trained, given in (
        ("observations", observation_space, getattr(env, f"{single}observation_space")),
        ("actions", action_space, getattr(env, f"{single}action_space")),
    ):
        if not _same_space(trained, given):
            descriptions = [_describe(trained), _describe(given)]
            if descriptions[0] == descriptions[1]:
                descriptions = [str(trained), str(given)]
            raise SpaceMismatchError(
                f"model {path} was trained with {name} {descriptions[0]}, the environment has {descriptions[1]}: "
                "give the environment the arguments of the training"
            )


def batched(model: Any, *, margin: float = MARGIN) -> Policy:
    """Wraps a model so that many episodes can be played with it at once, as a ``BatchedModel``.

    That is a model of Stable-Baselines3 or sb3-contrib, or its network, that chooses among discrete actions by their
    probabilities and has no memory; ``margin`` is that of ``BatchedModel``. Of a model whose network is pure already it
    is the network; any other stays as it is.
    """
    policy = _network(model)
    if is_pure(policy):
        return cast(Policy, policy)
    actor = isinstance(policy, (ActorCriticPolicy, MaskableActorCriticPolicy))
    remembers = isinstance(policy, RecurrentActorCriticPolicy)
    space = model.action_space
    if actor and not remembers and isinstance(space, spaces.Discrete) and space.n > 1:
        return BatchedModel(model, margin)
    return cast(Policy, model)


class BatchedModel:
    """A model of discrete actions that acts on each observation of a batch as it acts on that observation alone.

    A network adds its products in another order for a batch than for one observation, so that probabilities differ in
    their last bits: by up to 2e-6 on the models of ``benchmarks/models``. Where two actions are as good as equally
    likely, either may then win, and a result would depend on how many episodes are played at once. So where the two
    likeliest actions of an observation are nearer to each other than the margin, it is asked alone. With a margin of 0,
    nothing is: that takes a tenth of the time as long as a model has learned little, and a result may depend on the
    size of the batch.
    """

    pure: ClassVar[bool] = True

    def __init__(self, model: Any, margin: float = MARGIN) -> None:
        self._model = model
        self._margin = margin
        self._policy = _network(model)
        self._with_masks = isinstance(self._policy, MaskableActorCriticPolicy)

    def predict(
        self,
        observation: npt.NDArray[np.floating],
        state: Any = None,
        episode_start: BoolArray | None = None,
        deterministic: bool = False,
        action_masks: BoolArray | None = None,
    ) -> tuple[IntArray, Any]:
        """Chooses actions of one observation, (size,), or of many, (batch, size); see ``Policy``.

        ``action_masks``, of the actions that are allowed, are for models that take them.
        """
        masks: dict[str, Any] = {"action_masks": action_masks} if self._with_masks else {}
        if not deterministic or np.ndim(observation) == 1:
            alone: IntArray = self._model.predict(observation, deterministic=deterministic, **masks)[0]
            return alone, state
        policy = self._policy
        policy.set_training_mode(False)
        with torch.no_grad():
            distribution = policy.get_distribution(policy.obs_to_tensor(observation)[0], **masks).distribution
        best = distribution.probs.topk(2)
        actions: IntArray = best.indices[:, 0].cpu().numpy()
        near = best.values[:, 0] - best.values[:, 1] < self._margin
        for row in np.flatnonzero(near.cpu().numpy()):
            own_mask = {name: None if mask is None else mask[row] for name, mask in masks.items()}
            actions[row] = self._model.predict(observation[row], deterministic=True, **own_mask)[0]
        return actions, state


def _network(model: Any) -> Any:
    return model if isinstance(model, BasePolicy) else model.policy


def _same_space(trained: spaces.Space[Any], given: spaces.Space[Any]) -> bool:
    """Compares spaces; bounds of boxes may differ by the rounding of their storage."""
    if isinstance(trained, spaces.Box) and isinstance(given, spaces.Box):
        same_bounds = trained.shape == given.shape and (
            np.allclose(trained.low, given.low) and np.allclose(trained.high, given.high)
        )
        return same_bounds and trained.dtype == given.dtype
    return bool(trained == given)


def _describe(space: spaces.Space[Any]) -> str:
    if isinstance(space, spaces.Box):
        return f"Box({space.low.min():g} to {space.high.max():g}, {space.shape}, {space.dtype})"
    return str(space)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content, parameters, _ = load_from_zip_file(path, device="cpu")
    except Exception as error:  # a damaged pickle may raise anything
        raise ConfigError(f"model {path} cannot be read: {first_sentence(error)}") from error
    needed = ("policy_class", "observation_space", "action_space")
    if content is None or not parameters or any(content.get(name) is None for name in needed):
        raise ConfigError(f"model {path} is no model of Stable-Baselines3: it holds no policy and spaces")
    for name in needed:
        if isinstance(content[name], (str, dict)):
            raise ConfigError(f"model {path}: {name} is {shown(content[name])}, which cannot be rebuilt here")
    return content


def _algorithm(path: Path, content: Mapping[str, Any]) -> type[BaseAlgorithm]:
    """Finds the algorithm by the class of its policy and the names of its settings."""
    policy = content["policy_class"]
    if isinstance(policy, type):
        if issubclass(policy, MaskableActorCriticPolicy):
            return MaskablePPO
        if issubclass(policy, ActorCriticPolicy) and not issubclass(policy, RecurrentActorCriticPolicy):
            if "clip_range" in content:
                return PPO
            if "cg_damping" not in content:  # which TRPO has
                return A2C
        if issubclass(policy, SACPolicy):
            return SAC
        if issubclass(policy, TD3Policy):
            # DDPG is TD3 without noise on the target's action and without delay.
            return DDPG if content.get("policy_delay") == 1 and content.get("target_noise_clip") == 0 else TD3
    raise ConfigError(
        f"model {path} has the policy {shown(policy)}: it must be one of PPO, A2C, MaskablePPO, DDPG, TD3 or SAC"
    )
