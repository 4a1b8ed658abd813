"""The networks of AuTO's threshold agent, whose critic reads the action before its last layer.

The paper (section 4.2) draws an actor with two hidden layers of 600 neurons, and a critic of three layers into which
the action is fed before the last one. Were that the output layer, values would be linear in the action and the best
action always at an end of its range; so the three are hidden layers here, and the output follows.
"""

from itertools import pairwise
from typing import Any

import torch
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.td3.policies import TD3Policy
from torch import nn


class LateActionNetwork(nn.Module):
    """A critic that reads the action before the last of its hidden layers, at least one."""

    def __init__(self, num_features: int, num_actions: int, widths: list[int], activation: type[nn.Module]) -> None:
        super().__init__()
        sizes = [num_features, *widths[:-1]]
        layers = [(nn.Linear(inputs, outputs), activation()) for inputs, outputs in pairwise(sizes)]
        self.read = nn.Sequential(*(part for layer in layers for part in layer))
        self.join = nn.Sequential(
            nn.Linear(sizes[-1] + num_actions, widths[-1]), activation(), nn.Linear(widths[-1], 1)
        )

    def forward(self, features: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Returns values, (batch, 1), of actions, (batch, num_actions), at features, (batch, num_features)."""
        values: torch.Tensor = self.join(torch.cat([self.read(features), actions], dim=1))
        return values


class LateActionCritic(ContinuousCritic):
    """As many such networks as the algorithm has critics; arguments are those of ``ContinuousCritic``."""

    def __init__(
        self,
        observation_space: Any,
        action_space: Any,
        net_arch: list[int],
        features_extractor: BaseFeaturesExtractor,
        features_dim: int,
        activation_fn: type[nn.Module] = nn.ReLU,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            observation_space, action_space, net_arch, features_extractor, features_dim, activation_fn, **kwargs
        )
        num_actions = get_action_dim(action_space)
        self.q_networks = [
            LateActionNetwork(features_dim, num_actions, net_arch, activation_fn) for _ in range(self.n_critics)
        ]
        for index, network in enumerate(self.q_networks):
            self.add_module(f"qf{index}", network)

    def forward(self, obs: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Returns the values by each critic, (batch, 1) each."""
        with torch.set_grad_enabled(not self.share_features_extractor and torch.is_grad_enabled()):
            features = self.extract_features(obs, self.features_extractor)
        return tuple(network(features, actions) for network in self.q_networks)

    def q1_forward(self, obs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Returns the values by the first critic, (batch, 1)."""
        with torch.no_grad():
            features = self.extract_features(obs, self.features_extractor)
        values: torch.Tensor = self.q_networks[0](features, actions)
        return values


class LateActionPolicy(TD3Policy):
    """Policy of DDPG and TD3 with these critics; arguments are those of ``TD3Policy``."""

    def make_critic(self, features_extractor: BaseFeaturesExtractor | None = None) -> ContinuousCritic:
        """Returns the critics."""
        arguments = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return LateActionCritic(**arguments).to(self.device)
