"""Holds the thesis's exploration to its definition: an epsilon share of the uniform distribution, reduced linearly."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from flowsched_gym.baselines.networks.mixture import MixturePolicy, mix_with_uniform
from flowsched_gym.core.errors import ConfigError

LOGITS = torch.tensor([[2.0, 0.0, -1.0, 0.5], [0.0, 0.0, 0.0, 9.0]])


def policy(**changes: Any) -> MixturePolicy:
    """Makes a policy of two inputs and four actions."""
    torch.manual_seed(0)
    box, schedule = spaces.Box(-1.0, 1.0, (2,), np.float32), {"initial_epsilon": 1.0, "final_epsilon": 0.2}
    return MixturePolicy(box, spaces.Discrete(4), lambda _: 1e-3, **{**schedule, "epsilon_fraction": 0.5, **changes})


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_probabilities_are_a_mixture_with_the_uniform_distribution(epsilon: float) -> None:
    mixed = mix_with_uniform(LOGITS, torch.tensor(epsilon)).exp()
    expected = (1 - epsilon) * torch.softmax(LOGITS, dim=-1) + epsilon / 4
    assert torch.allclose(mixed, expected, atol=1e-6)
    assert torch.allclose(mixed.sum(dim=-1), torch.ones(2))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_gradients_stay_finite_at_both_ends(epsilon: float) -> None:
    logits = LOGITS.clone().requires_grad_()
    mix_with_uniform(logits, torch.tensor(epsilon))[:, 0].sum().backward()
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
