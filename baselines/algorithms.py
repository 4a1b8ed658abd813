"""Builds the learning algorithms of Stable-Baselines3 and sb3-contrib from their configurations."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Final

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from flowsched_gym.baselines.hydra_schemas import (
    A2CConfig,
    AlgorithmConfig,
    FlatConfig,
    MaskablePPOConfig,
    PolicyConfig,
    PPOConfig,
    SetwiseConfig,
    ThesisA2CConfig,
)
from flowsched_gym.baselines.mixture import MixturePolicy, SetwiseMixturePolicy
from flowsched_gym.baselines.setwise import MaskableSetwisePolicy, SetwisePolicy, SetwiseShape
from flowsched_gym.encoders import Layout
from flowsched_gym.errors import ConfigError

__all__ = ["SharedLayers", "algorithm_class", "build_model"]

ACTIVATIONS: Final[Mapping[str, type[nn.Module]]] = {"tanh": nn.Tanh, "relu": nn.ReLU}


class SharedLayers(BaseFeaturesExtractor):
    """Runs the hidden layers that actor and critic share.

    Args:
        observation_space: A one-dimensional box.
        widths: Widths of the layers, at least one.
        activation: Name of the activation.
    """

    def __init__(self, observation_space: Any, widths: list[int], activation: str) -> None:
        """Makes the layers."""
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


def build_model(algorithm: AlgorithmConfig, policy: PolicyConfig, envs: VecEnv, *, seed: int) -> OnPolicyAlgorithm:
    """Makes an untrained model.

    Args:
        algorithm: Settings of the algorithm.
        policy: Settings of the network.
        envs: Training environments, as many as the algorithm wants.
        seed: Seed of weights, draws and minibatches.

    Raises:
        ConfigError: The network does not suit the environment.
    """
    policy_class, policy_kwargs = _policy(algorithm, policy, envs)
    common = {
        "policy_kwargs": policy_kwargs,
        "learning_rate": LinearSchedule(algorithm.learning_rate, algorithm.final_learning_rate, 1.0),
        "n_steps": algorithm.n_steps,
        "gamma": algorithm.gamma,
        "gae_lambda": algorithm.gae_lambda,
        "ent_coef": algorithm.ent_coef,
        "vf_coef": algorithm.vf_coef,
        "max_grad_norm": algorithm.max_grad_norm,
        "normalize_advantage": algorithm.normalize_advantage,
        "seed": seed,
        "device": "cpu",
        "verbose": 0,
    }
    special: dict[str, Any] = {}
    if isinstance(algorithm, PPOConfig):
        names = ("batch_size", "n_epochs", "clip_range", "target_kl")
        special = {name: getattr(algorithm, name) for name in names}
    elif isinstance(algorithm, A2CConfig):
        special = {"use_rms_prop": algorithm.use_rms_prop}
    return algorithm_class(algorithm)(policy_class, envs, **common, **special)


def algorithm_class(algorithm: AlgorithmConfig) -> Callable[..., OnPolicyAlgorithm]:
    """Returns the class of the model that an algorithm trains; it has ``load``."""
    for config, model in ALGORITHMS.items():
        if isinstance(algorithm, config):
            found: Callable[..., OnPolicyAlgorithm] = model
            return found
    raise ConfigError(f"algorithm is {type(algorithm).__name__}: no model is known for it")


ALGORITHMS: Final[Mapping[type[AlgorithmConfig], Any]] = {
    MaskablePPOConfig: MaskablePPO,
    PPOConfig: PPO,
    A2CConfig: A2C,
}
"""Models by configuration, the more special ones first."""


def _policy(algorithm: AlgorithmConfig, policy: PolicyConfig, envs: VecEnv) -> tuple[Any, dict[str, Any]]:
    """Chooses the policy class for a network and an algorithm, and its arguments."""
    kwargs: dict[str, Any]
    classes: tuple[Any, Any, Any]
    if isinstance(policy, SetwiseConfig):
        layout: Layout = envs.get_attr("layout", 0)[0]
        shape = SetwiseShape.of_layout(layout, width=policy.width, num_blocks=policy.num_blocks)
        kwargs = {"shape": asdict(shape)}
        classes = (SetwisePolicy, MaskableSetwisePolicy, SetwiseMixturePolicy)
    else:
        assert isinstance(policy, FlatConfig)
        widths = list(policy.separate)
        kwargs = {"net_arch": {"pi": widths, "vf": widths}, "activation_fn": ACTIVATIONS[policy.activation]}
        if policy.shared:
            kwargs["features_extractor_class"] = SharedLayers
            kwargs["features_extractor_kwargs"] = {"widths": list(policy.shared), "activation": policy.activation}
        classes = ("MlpPolicy", "MlpPolicy", MixturePolicy)
    if isinstance(algorithm, ThesisA2CConfig):
        names = ("initial_epsilon", "final_epsilon", "epsilon_fraction")
        return classes[2], kwargs | {name: getattr(algorithm, name) for name in names}
    return (classes[1] if isinstance(algorithm, MaskablePPOConfig) else classes[0]), kwargs
