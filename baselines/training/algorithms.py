"""Builds the learning algorithms of Stable-Baselines3 and sb3-contrib, and REINFORCE, from their configurations."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from itertools import pairwise
from typing import Any, Final

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import is_masking_supported
from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import RolloutReturn, TrainFreq
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from flowsched_gym.baselines.configuration.algorithm_schemas import (
    A2CConfig,
    AlgorithmConfig,
    CmaEsConfig,
    DDPGConfig,
    DistilConfig,
    GradientConfig,
    MaskablePPOConfig,
    OffPolicyConfig,
    PPOConfig,
    ReinforceConfig,
    SACConfig,
    TD3Config,
    ThesisA2CConfig,
)
from flowsched_gym.baselines.configuration.policy_schemas import (
    AutoConfig,
    FlatConfig,
    PathwiseConfig,
    PolicyConfig,
    SetwiseConfig,
    WeightsConfig,
)
from flowsched_gym.baselines.networks.auto_networks import LateActionPolicy
from flowsched_gym.baselines.networks.mixture import MixturePolicy, SetwiseMixturePolicy
from flowsched_gym.baselines.networks.pathwise import PathwisePolicy, PathwiseShape
from flowsched_gym.baselines.training.distillation import Distil
from flowsched_gym.baselines.training.evolution import CmaEs
from flowsched_gym.baselines.training.reinforce import Reinforce
from flowsched_gym.core.errors import ConfigError, listed
from flowsched_gym.envs.policies.scores import weighted_policy
from flowsched_gym.integrations.setwise import MaskableSetwisePolicy, SetwisePolicy, marker_of, setwise_policy
from flowsched_gym.integrations.weighted import WeightedModel
from flowsched_gym.search import SEARCHED

ACTIVATIONS: Final[Mapping[str, type[nn.Module]]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


class SharedLayers(BaseFeaturesExtractor):
    """Hidden layers, at least one, that actor and critic share."""

    def __init__(self, observation_space: Any, widths: list[int], activation: str) -> None:
        super().__init__(observation_space, features_dim=widths[-1])
        sizes = [observation_space.shape[0], *widths]
        layers: list[nn.Module] = []
        for num_inputs, num_outputs in pairwise(sizes):
            layers += [nn.Linear(num_inputs, num_outputs), ACTIVATIONS[activation]()]
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns the last hidden layer, (batch, features_dim)."""
        hidden: torch.Tensor = self.layers(observations)
        return hidden


def num_updates(decisions: int, *, every: int, after: int = 0) -> int:
    """Counts the updates of a training: one ``every`` so many decisions, the last on fewer, none before ``after``."""
    return 0 if decisions <= after else -(-decisions // every) - after // every


class _CountedUpdates:
    """A model that counts its updates."""

    num_timesteps: int
    _total_timesteps: int
    _current_progress_remaining: float

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """Does nothing: progress is made by updates (`_begin_update`), and this is called before one."""

    def _begin_update(self, *, every: int, after: int = 0) -> None:
        made = num_updates(self.num_timesteps, every=every, after=after)
        self._current_progress_remaining = 1.0 - made / num_updates(self._total_timesteps, every=every, after=after)

    def _steps_left(self, num_envs: int) -> int:
        return -(-(self._total_timesteps - self.num_timesteps) // num_envs)


class _CountedRollouts(_CountedUpdates):
    """A model of an algorithm that learns from its last rollout."""

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Any, n_rollout_steps: int, *args: Any
    ) -> bool:
        """Collects a rollout, which is shorter where fewer steps are left of the training."""
        self._begin_update(every=n_rollout_steps * env.num_envs)
        steps = rollout_buffer.buffer_size = min(n_rollout_steps, self._steps_left(env.num_envs))
        collected: bool = super().collect_rollouts(env, callback, rollout_buffer, steps, *args)  # type: ignore[misc]
        return collected


class _CountedMemories(_CountedUpdates):
    """A model of an algorithm that learns from a replay buffer."""

    def collect_rollouts(
        self, env: VecEnv, *, train_freq: TrainFreq, learning_starts: int = 0, **kwargs: Any
    ) -> RolloutReturn:
        """Collects the decisions before a round of updates, fewer where fewer are left of the training."""
        self._begin_update(every=train_freq.frequency * env.num_envs, after=learning_starts)
        steps = min(train_freq.frequency, self._steps_left(env.num_envs))
        collected: RolloutReturn = super().collect_rollouts(  # type: ignore[misc]
            env, train_freq=train_freq._replace(frequency=steps), learning_starts=learning_starts, **kwargs
        )
        return collected


def counting_updates(algorithm: type[BaseAlgorithm]) -> type[BaseAlgorithm]:
    """Returns an algorithm, by the same name, whose models count their updates: schedules fall from one to the next.

    Stable-Baselines3 counts decisions and looks at them after a rollout: a schedule that ends at 0 makes the last
    update with 0, which for a training of a single rollout is the only one. It also rounds decisions up to whole
    rollouts, so that algorithms with other rollouts make other numbers of them: here the last rollout takes what is
    left.
    """
    part = _CountedMemories if issubclass(algorithm, OffPolicyAlgorithm) else _CountedRollouts
    return type(algorithm.__name__, (part, algorithm), {"__doc__": algorithm.__doc__})


def build_model(algorithm: AlgorithmConfig, policy: PolicyConfig, envs: VecEnv, *, seed: int) -> BaseAlgorithm:
    """Makes an untrained model; the seed is that of weights, draws and minibatches.

    Raises:
        ConfigError: The algorithm or the network does not suit the environment, or they do not suit each other.
    """
    _check_suits(algorithm, policy, envs)
    settings: dict[str, Any] = {
        field.name: getattr(algorithm, field.name) for field in fields(algorithm) if field.name not in OWN_SETTINGS
    }
    if isinstance(algorithm, CmaEsConfig):
        return CmaEs(WeightedModel, envs, seed=seed, policy_kwargs=_weights(policy, envs), **settings)
    assert isinstance(algorithm, GradientConfig | DistilConfig)
    if isinstance(algorithm, DDPGConfig):
        num_actions = get_action_dim(envs.action_space)
        settings["action_noise"] = NormalActionNoise(
            np.zeros(num_actions), np.full(num_actions, algorithm.action_sigma)
        )
    if isinstance(algorithm, ReinforceConfig):
        settings["baseline_column"] = _column(algorithm.baseline_column, envs)
    policy_class, policy_kwargs = _policy(algorithm, policy, envs)
    last = algorithm.final_learning_rate if isinstance(algorithm, GradientConfig) else 0.0
    model_class = next(model for config, model in ALGORITHMS.items() if isinstance(algorithm, config))
    model: BaseAlgorithm = model_class(
        policy_class,
        envs,
        policy_kwargs=policy_kwargs,
        learning_rate=LinearSchedule(algorithm.learning_rate, last, 1.0),
        seed=seed,
        device="cpu",
        verbose=0,
        **settings,
    )
    return model


ALGORITHMS: Final[Mapping[type[AlgorithmConfig], Any]] = {
    DistilConfig: Distil,
    MaskablePPOConfig: counting_updates(MaskablePPO),
    PPOConfig: counting_updates(PPO),
    A2CConfig: counting_updates(A2C),
    ReinforceConfig: counting_updates(Reinforce),
    TD3Config: counting_updates(TD3),
    DDPGConfig: counting_updates(DDPG),
    SACConfig: counting_updates(SAC),
}
"""Models by configuration, the more special ones first."""

MASKED: Final = (MaskablePPOConfig, ReinforceConfig, DistilConfig)
"""Algorithms whose networks take masks."""

OWN_SETTINGS: Final = frozenset(
    {
        *("name", "num_envs", "reward_scale", "learning_rate", "final_learning_rate", "final_ent_coef"),
        *("initial_epsilon", "final_epsilon", "epsilon_fraction", "action_sigma", "thresholds", "period_flows"),
    }
)
"""Settings that are no arguments of the models."""


def _check_suits(algorithm: AlgorithmConfig, policy: PolicyConfig, envs: VecEnv) -> None:
    """Refuses algorithms and networks that cannot learn in these environments."""
    space, off_policy = envs.action_space, isinstance(algorithm, OffPolicyConfig)
    numbers = isinstance(space, spaces.Box)
    described = f"the environment has {type(space).__name__}"
    name = f"algorithm is {algorithm.name}"
    if off_policy and not numbers:
        raise ConfigError(f"{name}: it needs actions of numbers (Box), {described}")
    if isinstance(algorithm, MASKED) and not is_masking_supported(envs):
        raise ConfigError(f"{name}: it needs an environment with action masks; {described} without masks")
    if isinstance(algorithm, DistilConfig) and envs.get_attr("spec", [0])[0].id not in SEARCHED:
        raise ConfigError(f"{name}: it needs an environment that search plays in, {listed('', SEARCHED)}")
    if isinstance(algorithm, ThesisA2CConfig) and not isinstance(space, spaces.Discrete):
        raise ConfigError(f"{name}: it chooses one slot (Discrete), {described}")
    if isinstance(policy, WeightsConfig) is not isinstance(algorithm, CmaEsConfig):
        raise ConfigError(f"policy weights learns by cmaes, and cmaes learns it alone: {name}")
    if isinstance(policy, SetwiseConfig) and not isinstance(space, spaces.Discrete):
        raise ConfigError(f"policy is setwise: it chooses one slot (Discrete), {described}")
    if isinstance(policy, PathwiseConfig) and not isinstance(algorithm, MASKED):
        raise ConfigError(f"policy is pathwise: it learns by maskable_ppo, reinforce or distil; {name}")
    if isinstance(policy, AutoConfig) and not isinstance(algorithm, DDPGConfig):
        raise ConfigError(f"policy is auto: its critic reads actions, as those of ddpg and td3 do; {name}")
    if isinstance(policy, FlatConfig):
        if policy.shared and (off_policy or isinstance(algorithm, ReinforceConfig)):
            raise ConfigError(f"policy.shared is {list(policy.shared)}: {algorithm.name} shares none with a critic")
        if policy.start_std is not None and (not numbers or isinstance(algorithm, DDPGConfig)):
            raise ConfigError(
                f"policy.start_std is {policy.start_std}: ppo, a2c and sac draw actions of numbers; {name}, {described}"
            )


def _column(name: str | None, envs: VecEnv) -> int | None:
    """Finds a column of the observation, that of the first slot where slots have it."""
    if name is None:
        return None
    columns = [column.removesuffix("[0]") for column in envs.get_attr("layout", 0)[0].column_names]
    if name not in columns:
        allowed = [column for column in columns if "[" not in column]
        raise ConfigError(f"algorithm.baseline_column is {name!r}: it must be one of {listed(name, allowed)}")
    return columns.index(name)


def _markers(envs: VecEnv, name: str) -> list[int]:
    """Finds the places in an observation that tell for each action whether its slot is empty.

    The action beyond those of slots, if there is one, is always there, and so is a request in slot 0.
    """
    layout = envs.get_attr("layout", 0)[0]
    places = range(layout.size)[layout.slot_slice(marker_of(layout, f"algorithm is {name}"))]
    assert isinstance(envs.action_space, spaces.Discrete)
    return [places[action % len(places)] for action in range(int(envs.action_space.n))]


def _weights(policy: PolicyConfig, envs: VecEnv) -> dict[str, Any]:
    """Returns the arguments of a policy of a few weights."""
    assert isinstance(policy, WeightsConfig)
    layout = envs.get_attr("layout", 0)[0]
    shape = weighted_policy(layout, envs.action_space, width=policy.width, constant=policy.constant)
    return {"kind": type(shape).__name__, "sizes": shape._asdict(), "rule": policy.rule}


def _policy(algorithm: AlgorithmConfig, policy: PolicyConfig, envs: VecEnv) -> tuple[Any, dict[str, Any]]:
    """Chooses the policy class for a network and an algorithm, and its arguments."""
    kwargs: dict[str, Any]
    classes: tuple[Any, Any, Any]
    if isinstance(policy, AutoConfig):
        return LateActionPolicy, {"net_arch": {"pi": list(policy.actor), "qf": list(policy.critic)}}
    if isinstance(policy, PathwiseConfig):
        found = PathwiseShape.of_layout(envs.get_attr("layout", 0)[0], envs.action_space, width=policy.width)
        return PathwisePolicy, {"shape": asdict(found)}
    if isinstance(policy, FlatConfig) and isinstance(algorithm, OffPolicyConfig):
        widths = list(policy.separate)
        return "MlpPolicy", {"net_arch": widths, "activation_fn": ACTIVATIONS[policy.activation]}
    if isinstance(policy, SetwiseConfig):
        _, kwargs = setwise_policy(
            envs, width=policy.width, num_blocks=policy.num_blocks, standardise=policy.standardise
        )
        classes = (SetwisePolicy, MaskableSetwisePolicy, SetwiseMixturePolicy)
    else:
        assert isinstance(policy, FlatConfig)
        widths = list(policy.separate)
        critic = [] if isinstance(algorithm, ReinforceConfig) else widths
        kwargs = {"net_arch": {"pi": widths, "vf": critic}, "activation_fn": ACTIVATIONS[policy.activation]}
        if policy.shared:
            kwargs["features_extractor_class"] = SharedLayers
            kwargs["features_extractor_kwargs"] = {"widths": list(policy.shared), "activation": policy.activation}
        classes = ("MlpPolicy", "MlpPolicy", MixturePolicy)
    if isinstance(algorithm, ThesisA2CConfig):
        names = ("initial_epsilon", "final_epsilon", "epsilon_fraction")
        kwargs |= {name: getattr(algorithm, name) for name in names}
        return classes[2], kwargs | {"marked_by": _markers(envs, algorithm.name)}
    return (classes[1] if isinstance(algorithm, MASKED) else classes[0]), kwargs
