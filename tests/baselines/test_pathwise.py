"""Holds the path-wise network to what makes it one: paths and slots are scored alike, each after those before it."""

from dataclasses import asdict

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv

from flowsched_gym.baselines.networks.pathwise import PathwisePolicy, PathwiseShape
from flowsched_gym.baselines.training.reinforce import Reinforce
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import resolve_policy
from flowsched_gym.integrations.sb3 import load_policy, save_model

ENV_ID = "flowsched_gym:flowsched/AuTOLongFlows-v0"
SLOTS, QUEUES, RATES, PATHS = 12, 4, 3, 3
ARGUMENTS = {"hosts": 4, "flows": 300, "thresholds": (1e4, 1e5, 1e6), "scope": "network", "n_l": SLOTS}


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
    rule = resolve_policy("random", env, seed=0)
    observation, _ = env.reset(seed=3)
    found, over = [observation], False
    while not over:
        observation, _, terminated, truncated, _ = env.step(rule.predict(observation)[0])
        over = terminated or truncated
        found.append(observation)
    return torch.as_tensor(np.array(found[:-1]))


def policy_for(env: gym.Env, *, width: int = 8) -> PathwisePolicy:
    shape = PathwiseShape.of_layout(env.unwrapped.layout, env.action_space, width=width)  # type: ignore[attr-defined]
    return PathwisePolicy(env.observation_space, env.action_space, lambda _: 1e-3, shape=asdict(shape))


def loud(policy: PathwisePolicy) -> PathwisePolicy:
    """Makes the first scores, which are nearly equal on purpose, differ."""
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
    rule = resolve_policy("least-loaded", env, seed=0)
    actions, _ = least_loaded(policy_for(env)).predict(seen.numpy(), deterministic=True)
    expected, _ = rule.predict(seen.numpy())
    assert np.array_equal(actions, expected)
    paths = expected.reshape(len(seen), SLOTS, 3)[..., 2]
    assert len(np.unique(paths)) == PATHS


def test_paths_in_another_order_get_their_scores_in_that_order(env, seen) -> None:
    network, order = loud(policy_for(env)).network, [2, 0, 1]
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
    network = loud(policy_for(env)).network
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
    policy = loud(policy_for(env))
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
    policy = loud(policy_for(env))
    actions, values, log_prob = policy.forward(seen)
    again, rated, entropy = policy.evaluate_actions(seen, actions.float())
    assert torch.equal(again, values)
    assert torch.equal(rated, log_prob)
    assert (entropy > 0).all()


def test_what_is_masked_is_not_chosen(env, seen) -> None:
    policy = loud(policy_for(env))
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
    shape = PathwiseShape.of_layout(env.unwrapped.layout, env.action_space, width=4)  # type: ignore[attr-defined]
    model = algorithm(PathwisePolicy, envs, n_steps=16, policy_kwargs={"shape": asdict(shape)}, seed=0, device="cpu")
    before = [weight.clone() for weight in model.policy.network.score_path.parameters()]

    model.learn(32)
    save_model(model, tmp_path / "model.zip")
    loaded = load_policy(tmp_path / "model.zip", env)

    assert not all(map(torch.equal, model.policy.network.score_path.parameters(), before))
    observation, _ = env.reset(seed=1)
    action = loaded.predict(observation, deterministic=True)[0]
    assert env.action_space.contains(action)
    assert np.array_equal(action, model.predict(observation, deterministic=True)[0])


def test_what_does_not_tell_of_paths_is_refused(env) -> None:
    layout, paper = env.unwrapped.layout, gym.make(ENV_ID, observation="paper")

    with pytest.raises(ConfigError, match=r"pathwise: it needs the slot columns path, attained.*long_up_0"):
        PathwiseShape.of_layout(paper.unwrapped.layout, paper.action_space, width=4)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"pathwise: the action space is Discrete\(3\), it must be MultiDiscrete"):
        PathwiseShape.of_layout(layout, spaces.Discrete(3), width=4)
    with pytest.raises(ConfigError, match=r"pathwise: the action space is .* each slot"):
        PathwiseShape.of_layout(layout, spaces.MultiDiscrete([4, 3, 3]), width=4)
