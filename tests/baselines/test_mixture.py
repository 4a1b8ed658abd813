"""Holds the thesis's exploration and AuTO's critic to their definitions."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch import nn

from flowsched_gym.baselines.networks.auto_networks import LateActionNetwork, LateActionPolicy
from flowsched_gym.baselines.networks.mixture import MixturePolicy, mix_with_uniform
from flowsched_gym.core.errors import ConfigError

LOGITS = torch.tensor([[2.0, 0.0, -1.0, 0.5], [0.0, 0.0, 0.0, 9.0]])


def policy(**changes: Any) -> MixturePolicy:
    """Makes a policy of two inputs and four actions."""
    torch.manual_seed(0)
    box, schedule = spaces.Box(-1.0, 1.0, (2,), np.float32), {"initial_epsilon": 1.0, "final_epsilon": 0.2}
    return MixturePolicy(box, spaces.Discrete(4), lambda _: 1e-3, **{**schedule, "epsilon_fraction": 0.5, **changes})


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_probabilities_are_a_mixture_with_the_uniform_distribution_and_their_gradients_finite(epsilon: float) -> None:
    logits = LOGITS.clone().requires_grad_()
    mixed = mix_with_uniform(logits, torch.tensor(epsilon))
    expected = (1 - epsilon) * torch.softmax(LOGITS, dim=-1) + epsilon / 4
    assert torch.allclose(mixed.exp(), expected, atol=1e-6)
    mixed[:, 0].sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert bool((logits.grad != 0).any()) == (epsilon < 1)


def test_the_probability_whose_logarithm_is_learned_from_is_that_of_the_draw() -> None:
    actor = policy(initial_epsilon=0.4, final_epsilon=0.4)
    seen = torch.rand(5, 2)
    actions, _, drawn = actor(seen)

    _, learned, _ = actor.evaluate_actions(seen, actions)

    logits = actor.action_net(actor.mlp_extractor.forward_actor(seen))
    mixture = 0.6 * torch.softmax(logits, dim=-1) + 0.4 / 4
    assert torch.allclose(learned, drawn, atol=1e-6)
    assert torch.allclose(learned.exp(), mixture.gather(1, actions.reshape(-1, 1)).squeeze(1), atol=1e-6)


def test_epsilon_falls_linearly_and_then_stays() -> None:
    actor = policy()
    values = []
    for done in (0.0, 0.25, 0.5, 0.75, 1.0):
        actor.set_progress(done)
        values.append(float(actor.epsilon))
    assert values == pytest.approx([1.0, 0.6, 0.2, 0.2, 0.2])


def test_the_most_likely_action_is_that_of_the_actor_even_while_all_is_chance() -> None:
    actor = policy()
    with torch.no_grad():
        actor.action_net.weight.zero_()
        actor.action_net.bias.copy_(torch.tensor([0.0, 0.0, 3.0, 0.0]))
    actions, _ = actor.predict(np.zeros((6, 2), dtype=np.float32), deterministic=True)
    assert actions.tolist() == [2] * 6


def test_actions_that_are_no_choice_are_refused() -> None:
    box = spaces.Box(-1.0, 1.0, (2,), np.float32)
    with pytest.raises(ConfigError, match="not Discrete"):
        MixturePolicy(box, box, lambda _: 1e-3, initial_epsilon=1.0, final_epsilon=0.0, epsilon_fraction=1.0)


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
