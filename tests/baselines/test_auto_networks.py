"""Holds AuTO's critic to where it reads the action."""

import torch
from gymnasium import spaces
from torch import nn

from flowsched_gym.baselines.networks.auto_networks import LateActionNetwork, LateActionPolicy


def test_the_action_is_read_by_the_last_hidden_layer_alone() -> None:
    network = LateActionNetwork(5, 3, [7, 6, 4], nn.ReLU)
    assert [part.in_features for part in network.read if isinstance(part, nn.Linear)] == [5, 7]
    assert [part.in_features for part in network.join if isinstance(part, nn.Linear)] == [6 + 3, 4]


def test_the_value_bends_with_the_action() -> None:
    torch.manual_seed(0)
    network = LateActionNetwork(2, 1, [16, 16], nn.Tanh)
    places = torch.tensor([[-1.0], [0.0], [1.0]])
    low, middle, high = network(torch.zeros(3, 2), places).flatten().tolist()
    assert abs(low + high - 2 * middle) > 1e-3


def test_a_policy_learns_the_critic_that_it_is_given_and_its_target_begins_as_it() -> None:
    policy = LateActionPolicy(
        spaces.Box(0, 1, (5,)), spaces.Box(-1, 1, (3,)), lambda _: 1e-3, net_arch={"pi": [8], "qf": [7, 6]}, n_critics=2
    )

    learned = {id(weight) for group in policy.critic.optimizer.param_groups for weight in group["params"]}
    assert learned == {id(weight) for weight in policy.critic.parameters()}
    assert isinstance(policy.critic_target.qf1, LateActionNetwork)
    same = zip(policy.critic.parameters(), policy.critic_target.parameters(), strict=True)
    assert all(torch.equal(first, second) for first, second in same)
