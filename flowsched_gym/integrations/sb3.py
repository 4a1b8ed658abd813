"""Connects with Stable-Baselines3 and sb3-contrib: environments to learn on, and models as policies.

`SB3VecEnv` presents a vector environment as a ``VecEnv``; `setwise_policy` chooses the network that scores slots;
`load_policy` loads a model, whatever its algorithm, and `save_model` writes one without anything pickled; `batched`
has a model act on many observations at once as it acts on each alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.core.errors import ConfigError, MissingDependencyError, shown
from flowsched_gym.envs.policies import Policy, is_pure
from flowsched_gym.integrations.archive import first_sentence
from flowsched_gym.integrations.models import (
    Environment,
    check_finite,
    check_spaces,
    load_policy,
    save_model,
    try_policy,
)
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
    from stable_baselines3.common.policies import ActorCriticPolicy
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

_Masks = Mapping[str, BoolArray | None]
MARGIN: Final = 1e-3
"""Difference of two probabilities below which rounding might change their order; it is hundreds of times smaller."""


def load_saved(path: Path, env: Environment) -> Policy:
    """Loads a model that its own ``save`` wrote, which runs whatever code it brings; see ``load_policy``."""
    content = _read(path)
    check_spaces(path, content["observation_space"], content["action_space"], env)
    algorithm = _algorithm(path, content)
    try:
        torch.set_num_threads(1)
        # A model has all that a policy needs to act, but is not made from an environment.
        model = algorithm.load(path, device="cpu")
        check_finite({name: each.detach().numpy() for name, each in model.policy.named_parameters()})
        try_policy(model.policy)
    except Exception as error:
        reason = first_sentence(error)
        raise ConfigError(f"model {path} cannot be rebuilt as {algorithm.__name__}: {reason}") from error
    return cast(Policy, model)


def batched(model: Any, *, margin: float = MARGIN) -> Policy:
    """Wraps a model so that many episodes can be played with it at once, as a ``BatchedModel``.

    That is a model of Stable-Baselines3 or sb3-contrib, or its network, that chooses among discrete actions by their
    probabilities and has no memory, or makes several choices with masks (``BatchedChoices``); ``margin`` is that of
    ``BatchedModel``. Of a model whose network is pure already it is the network; any other stays as it is.
    """
    policy = _network(model)
    if is_pure(policy):
        return cast(Policy, policy)
    actor = isinstance(policy, (ActorCriticPolicy, MaskableActorCriticPolicy))
    remembers = isinstance(policy, RecurrentActorCriticPolicy)
    space = model.action_space
    if actor and not remembers and isinstance(space, spaces.Discrete) and space.n > 1:
        return BatchedModel(model, margin)
    if isinstance(space, spaces.MultiDiscrete) and type(policy) is MaskableActorCriticPolicy:
        return BatchedChoices(model, margin)
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
        masks = {"action_masks": action_masks} if self._with_masks else {}
        if not deterministic:
            drawn: IntArray = self._model.predict(observation, **masks)[0]
            return drawn, state
        self._policy.set_training_mode(False)
        with torch.no_grad():
            if np.ndim(observation) == 1:
                return self._alone(observation, masks), state
            actions, near = self._together(observation, masks)
            for row in np.flatnonzero(near):
                own_mask = {name: None if mask is None else mask[row] for name, mask in masks.items()}
                actions[row] = self._alone(observation[row], own_mask)
        return actions, state

    def _alone(self, observation: npt.NDArray[np.floating], masks: _Masks) -> IntArray:
        """Chooses the likeliest action of one observation."""
        action: IntArray = self._model.predict(observation, deterministic=True, **masks)[0]
        return action

    def _together(self, observation: npt.NDArray[np.floating], masks: _Masks) -> tuple[IntArray, BoolArray]:
        """Chooses those of many, and tells where others are nearly as likely."""
        policy = self._policy
        distribution = policy.get_distribution(policy.obs_to_tensor(observation)[0], **masks).distribution
        best = distribution.probs.topk(2)
        near: BoolArray = (best.values[:, 0] - best.values[:, 1] < self._margin).cpu().numpy()
        return best.indices[:, 0].cpu().numpy(), near


class BatchedChoices(BatchedModel):
    """A network with masks that makes several choices at once, for many observations as for each alone.

    It takes the likeliest of each choice without the distributions that Stable-Baselines3 makes of them, which take ten
    times as long as ten layers of 300. The margin is one of logits.
    """

    pure: ClassVar[bool] = True

    def __init__(self, model: Any, margin: float = MARGIN) -> None:
        super().__init__(model, margin)
        self._ends = np.cumsum(model.action_space.nvec)[:-1].tolist()

    def _alone(self, observation: npt.NDArray[np.floating], masks: _Masks) -> IntArray:
        action: IntArray = self._together(observation, masks)[0][0]
        return action

    def _together(self, observation: npt.NDArray[np.floating], masks: _Masks) -> tuple[IntArray, BoolArray]:
        policy, allowed = self._policy, masks["action_masks"]
        features = policy.extract_features(policy.obs_to_tensor(observation)[0], policy.pi_features_extractor)
        logits = policy.action_net(policy.mlp_extractor.forward_actor(features)).numpy()
        if allowed is not None:
            logits = np.where(allowed.reshape(logits.shape), logits, -np.inf)
        choices = np.split(logits, self._ends, axis=1)
        least = [np.sort(each, axis=1)[:, -2:] for each in choices if each.shape[1] > 1]
        ahead = np.min([best - second for second, best in (pair.T for pair in least)], axis=0)
        scale = np.maximum(1.0, np.abs(np.where(np.isfinite(logits), logits, 0.0)).max(axis=1))
        near: BoolArray = ahead < self._margin * scale
        return np.stack([each.argmax(axis=1) for each in choices], axis=1), near


def _network(model: Any) -> Any:
    return getattr(model, "policy", model)


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
