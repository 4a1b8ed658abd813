"""Holds the path-wise network, the thesis's exploration and AuTO's critic to their definitions."""

from dataclasses import asdict
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from flowsched_gym.baselines.networks.auto_networks import LateActionNetwork, LateActionPolicy
from flowsched_gym.baselines.networks.mixture import MixturePolicy, mix_with_uniform
from flowsched_gym.baselines.networks.pathwise import PathwisePolicy, PathwiseShape
from flowsched_gym.baselines.training.reinforce import Reinforce
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.integrations.sb3 import load_policy, save_model
from flowsched_gym.players import make_policy
from tests.envs.episodes import following, play

ENV_ID = "flowsched_gym:flowsched/AuTOLongFlows-v0"
SLOTS, QUEUES, RATES, PATHS = 12, 4, 3, 3
ARGUMENTS = {"hosts": 4, "flows": 300, "thresholds": (1e4, 1e5, 1e6), "scope": "network", "n_l": SLOTS}
BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
LOGITS = torch.tensor([[2.0, 0.0, -1.0, 0.5], [0.0, 0.0, 0.0, 9.0]])


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def env() -> gym.Env:
    return gym.make(ENV_ID, **ARGUMENTS)


@pytest.fixture(scope="module")
def seen(env) -> torch.Tensor:
    """Collects observations of an episode that the slots are full in, and others."""
    rule = make_policy("random", env, seed=0)
    steps = play(env, following(rule), seed=3)[:-1]
    return torch.as_tensor(np.array([step.observation for step in steps]))


def shape_of(env: gym.Env, *, width: int = 8) -> dict[str, Any]:
    layout = env.unwrapped.layout  # type: ignore[attr-defined]
    return asdict(PathwiseShape.of_layout(layout, env.action_space, width=width))


def policy_for(env: gym.Env) -> PathwisePolicy:
    return PathwisePolicy(env.observation_space, env.action_space, lambda _: 1e-3, shape=shape_of(env))


def loud_policy_for(env: gym.Env) -> PathwisePolicy:
    """Makes a policy whose first scores, which are nearly equal on purpose, differ."""
    policy = policy_for(env)
    with torch.no_grad():
        for scorer in (policy.network.score_path, policy.network.score_rest):
            scorer[-1].weight.mul_(300.0)
    return policy


def least_loaded(policy: PathwisePolicy) -> PathwisePolicy:
    """Sets the weights by hand: fewest long flows on the busier link of the path, the present one where equal."""
    network = policy.network
    with torch.no_grad():
        for weights in network.parameters():
            weights.zero_()
        long_up, long_down, here = 0, 2, 4
        network.read_path.weight[0, long_up] = 1
        network.read_path.weight[1, [long_up, long_down]] = torch.tensor([-1.0, 1.0])
        network.read_path.weight[2, here] = 1
        network.score_path[1].weight[:3, :3] = torch.eye(3)
        network.score_path[-1].weight[0, :3] = torch.tensor([-500.0, -500.0, 1.0])
        network.score_rest[-1].bias[[QUEUES - 1, -1]] = 1
    return policy


def test_weights_set_by_hand_act_as_the_least_loaded_rule(env, seen) -> None:
    rule = make_policy("least-loaded", env, seed=0)
    actions, _ = least_loaded(policy_for(env)).predict(seen.numpy(), deterministic=True)
    expected, _ = rule.predict(seen.numpy())
    assert np.array_equal(actions, expected)
    paths = expected.reshape(len(seen), SLOTS, 3)[..., 2]
    assert len(np.unique(paths)) == PATHS


def test_paths_in_another_order_get_their_scores_in_that_order(env, seen) -> None:
    network, order = loud_policy_for(env).network, [2, 0, 1]
    flows = network.read(seen)
    renamed = flows._replace(up=flows.up[:, :, order], down=flows.down[:, :, order], path=flows.path[:, :, order])
    moved = torch.randint(PATHS, flows.active.shape) * flows.active

    rest, logits = network.logits(flows, torch.tensor(order)[moved])
    other_rest, other = network.logits(renamed, moved)

    assert torch.allclose(other, logits[:, :, order], atol=1e-3)
    assert torch.allclose(other_rest, rest, atol=1e-4)
    assert not torch.allclose(other, logits, atol=0.1)
    assert torch.allclose(network.values(renamed), network.values(flows), atol=1e-5)


def test_a_slot_sees_where_those_before_it_have_gone_and_not_those_behind(env, seen) -> None:
    network = loud_policy_for(env).network
    full = seen[network.read(seen).active.all(dim=1)][:20]
    flows = network.read(full)
    paths = torch.zeros(flows.active.shape, dtype=torch.int64)
    changed = paths.clone()
    changed[:, 5] = 1

    _, before = network.logits(flows, paths)
    _, after = network.logits(flows, changed)

    assert torch.equal(after[:, :6], before[:, :6])
    shared = (flows.shares_up + flows.shares_down)[:, :, 5] > 0
    assert shared.any()
    assert ((after - before).abs().amax(dim=-1) > 1e-4)[shared].float().mean() > 0.9
    assert torch.equal(after[~shared], before[~shared])


def test_draws_come_as_often_as_their_log_probabilities_say(env, seen) -> None:
    policy = loud_policy_for(env)
    two = seen[policy.network.read(seen).active.sum(dim=1) == 2][:1]
    with torch.no_grad():
        actions, _, log_prob = policy.forward(two.expand(20_000, -1))

    drawn, first, counts = np.unique(actions.numpy(), axis=0, return_index=True, return_counts=True)
    expected = log_prob.exp()[torch.as_tensor(first)].numpy() * len(actions)

    often = expected > 50
    assert often.sum() >= 4
    # Five standard deviations of a count.
    assert counts[often] == pytest.approx(expected[often], abs=5 * float(np.sqrt(expected.max())))
    assert len(np.unique(drawn[:, 6:])) == 1


def test_what_is_drawn_is_rated_alike_when_learned_from(env, seen) -> None:
    policy = loud_policy_for(env)
    actions, values, log_prob = policy.forward(seen)
    again, rated, entropy = policy.evaluate_actions(seen, actions.float())
    assert torch.equal(again, values)
    assert torch.equal(rated, log_prob)
    assert (entropy > 0).all()


def test_what_is_masked_is_not_chosen(env, seen) -> None:
    policy = loud_policy_for(env)
    masks = np.ones((len(seen), SLOTS, QUEUES + RATES + PATHS), dtype=bool)
    masks[:, :, [0, QUEUES, QUEUES + RATES + 1]] = False

    drawn, _ = policy.predict(seen.numpy(), action_masks=masks.reshape(len(seen), -1))

    active = policy.network.read(seen).active.numpy()
    queue, step, path = np.moveaxis(drawn.reshape(len(seen), SLOTS, 3), 2, 0)
    assert (queue[active] != 0).all()
    assert (step[active] != 0).all()
    assert set(path[active]) == {0, 2}
    assert (drawn.reshape(len(seen), SLOTS, 3)[~active] == 0).all()


@pytest.mark.parametrize("algorithm", [MaskablePPO, Reinforce], ids=["maskable-ppo", "reinforce"])
def test_what_was_trained_acts_the_same_after_loading(algorithm, tmp_path) -> None:
    envs = DummyVecEnv([lambda: gym.make(ENV_ID, **ARGUMENTS)])
    env = envs.envs[0]
    shape = {"shape": shape_of(env, width=4)}
    model = algorithm(PathwisePolicy, envs, n_steps=16, policy_kwargs=shape, seed=0, device="cpu")
    before = [weight.clone() for weight in model.policy.network.score_path.parameters()]

    model.learn(32)
    save_model(model, tmp_path / "model.zip")
    loaded = load_policy(tmp_path / "model.zip", env)

    assert not all(map(torch.equal, model.policy.network.score_path.parameters(), before))
    observation, _ = env.reset(seed=1)
    action = loaded.predict(observation, deterministic=True)[0]
    assert env.action_space.contains(action)
    assert np.array_equal(action, model.predict(observation, deterministic=True)[0])


def test_what_does_not_tell_of_paths_or_leaves_no_choice_is_refused(env) -> None:
    layout = env.unwrapped.layout
    with pytest.raises(ConfigError, match=r"pathwise: it needs the slot columns path, attained.*long_up_0"):
        shape_of(gym.make(ENV_ID, observation="paper"))
    with pytest.raises(ConfigError, match=r"pathwise: the action space is Discrete\(3\), it must be MultiDiscrete"):
        PathwiseShape.of_layout(layout, spaces.Discrete(3), width=4)
    with pytest.raises(ConfigError, match=r"pathwise: the action space is .* each slot"):
        PathwiseShape.of_layout(layout, spaces.MultiDiscrete([4, 3, 3]), width=4)


def policy(**changes: Any) -> MixturePolicy:
    """Makes a policy of two inputs, which tell of two actions each."""
    schedule = {"marked_by": [0, 1, 0, 1], "initial_epsilon": 1.0, "final_epsilon": 0.2, "epsilon_fraction": 0.5}
    return MixturePolicy(BOX, spaces.Discrete(4), lambda _: 1e-3, **schedule | changes)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_probabilities_are_a_mixture_with_the_uniform_distribution_and_their_gradients_finite(epsilon: float) -> None:
    logits = LOGITS.clone().requires_grad_()
    waiting = torch.tensor([True, False, True, True]).expand_as(LOGITS)
    mixed = mix_with_uniform(logits, torch.tensor(epsilon), waiting)
    expected = (1 - epsilon) * torch.softmax(LOGITS, dim=-1) + epsilon * waiting / 3
    assert torch.allclose(mixed.exp(), expected, atol=1e-6)
    mixed[:, 0].sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert bool((logits.grad != 0).any()) == (epsilon < 1)


def test_the_probability_whose_logarithm_is_learned_from_is_that_of_the_draw() -> None:
    actor = policy(initial_epsilon=0.4, final_epsilon=0.4)
    seen = torch.rand(5, 2) * torch.tensor([[1.0, 0.0]] * 4 + [[1.0, 1.0]])  # the second and fourth slot are empty
    actions, _, drawn = actor(seen)

    _, learned, _ = actor.evaluate_actions(seen, actions)

    logits = actor.action_net(actor.mlp_extractor.forward_actor(seen))
    mixture = 0.6 * torch.softmax(logits, dim=-1) + 0.4 * torch.tensor([[0.5, 0, 0.5, 0]] * 4 + [[0.25] * 4])
    assert torch.allclose(learned, drawn, atol=1e-6)
    assert torch.allclose(learned.exp(), mixture.gather(1, actions.reshape(-1, 1)).squeeze(1), atol=1e-6)


def test_epsilon_falls_linearly_and_then_stays() -> None:
    actor = policy()
    for done, epsilon in ((0.0, 1.0), (0.25, 0.6), (0.5, 0.2), (0.75, 0.2), (1.0, 0.2)):
        actor.set_progress(done)
        assert float(actor.epsilon) == pytest.approx(epsilon)


def test_the_most_likely_action_is_that_of_the_actor_even_while_all_is_chance() -> None:
    actor = policy()
    with torch.no_grad():
        actor.action_net.weight.zero_()
        actor.action_net.bias.copy_(torch.tensor([0.0, 0.0, 3.0, 0.0]))
    actions, _ = actor.predict(np.zeros((6, 2), dtype=np.float32), deterministic=True)
    assert actions.tolist() == [2] * 6


def test_the_action_is_read_by_the_last_hidden_layer_alone_and_the_value_bends_with_it() -> None:
    network = LateActionNetwork(5, 3, [7, 6, 4], nn.ReLU)
    assert [part.in_features for part in network.read if isinstance(part, nn.Linear)] == [5, 7]
    assert [part.in_features for part in network.join if isinstance(part, nn.Linear)] == [6 + 3, 4]

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
