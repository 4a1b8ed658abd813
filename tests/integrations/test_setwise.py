"""Holds the set-wise network to what makes it one: all slots are scored alike, and empty ones take no part."""

from dataclasses import asdict
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.wrappers import FrameStackObservation
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.columns import Column, Encoding, Layout
from flowsched_gym.integrations.sb3 import (
    MaskableSetwisePolicy,
    SetwisePolicy,
    load_policy,
    save_model,
    setwise_features,
    setwise_policy,
)
from flowsched_gym.integrations.setwise import SetwiseNetwork, SetwiseShape

ENV_ID = "flowsched_gym:flowsched/Artemis-v0"
NUM_CONTEXT, NUM_SLOTS, NUM_FEATURES = 3, 5, 4
SHAPE = SetwiseShape(num_context=3, num_slots=5, num_slot_features=4, presence=0, width=8, num_blocks=2)


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)


def observations(batch: int, *, present: list[bool] | None = None) -> torch.Tensor:
    """Draws observations; slots that are not present are zero."""
    context, slots = torch.rand(batch, NUM_CONTEXT), torch.rand(batch, NUM_SLOTS, NUM_FEATURES) + 0.1
    if present is not None:
        slots = slots * torch.tensor(present, dtype=torch.float32).reshape(1, -1, 1)
    return torch.cat([context, slots.flatten(1)], dim=1)


def reorder(observation: torch.Tensor, order: list[int]) -> torch.Tensor:
    slots = observation[:, NUM_CONTEXT:].reshape(-1, NUM_SLOTS, NUM_FEATURES)[:, order]
    return torch.cat([observation[:, :NUM_CONTEXT], slots.flatten(1)], dim=1)


def act_alike(env: gym.Env, one: Any, other: Any) -> bool:
    observation, _ = env.reset(seed=1)
    return one.predict(observation, deterministic=True)[0] == other.predict(observation, deterministic=True)[0]


def test_slots_in_another_order_get_their_scores_in_that_order_but_for_the_place_in_the_queue() -> None:
    network = SetwiseNetwork(SHAPE, 2 * NUM_SLOTS)
    assert network.forward_actor(observations(20)).std(dim=1).max() < 0.05, "untrained scores are nearly equal"
    with torch.no_grad():
        network.score_slots[-1].weight.mul_(100.0)
    order, seen = [3, 0, 4, 1, 2], observations(6)
    actions = [*order, *(NUM_SLOTS + slot for slot in order)]
    assert not torch.allclose(network(reorder(seen, order))[0], network(seen)[0][:, actions], atol=1e-3)

    for encoder in (network.actor, network.critic):
        encoder.get_buffer("position").zero_()
    (logits, values), (swapped, same) = network(seen), network(reorder(seen, order))
    assert torch.allclose(swapped, logits[:, actions], atol=1e-5)
    assert not torch.allclose(swapped, logits, atol=1e-2)
    assert torch.allclose(values, same, atol=1e-5)


def test_an_empty_slot_is_never_chosen_and_changes_nothing() -> None:
    present = [True, False, True, False, False]
    network, seen = SetwiseNetwork(SHAPE, NUM_SLOTS), observations(4, present=present)
    empty = ~torch.tensor(present)
    rubbish = seen.clone()
    rubbish[:, NUM_CONTEXT:].reshape(4, NUM_SLOTS, NUM_FEATURES)[:, empty, 1:] = 7.0
    assert not torch.equal(rubbish, seen)
    assert (torch.softmax(network.forward_actor(seen), dim=-1)[:, empty] == 0).all()
    assert torch.equal(network.forward_actor(rubbish), network.forward_actor(seen))
    assert torch.equal(network.forward_critic(rubbish), network.forward_critic(seen))


def test_with_no_request_at_all_everything_stays_finite() -> None:
    network = SetwiseNetwork(SHAPE, NUM_SLOTS + 1)
    seen = observations(2, present=[False] * NUM_SLOTS)
    logits, values = network(seen)
    assert torch.isfinite(logits).all()
    assert torch.isfinite(values).all()
    assert torch.softmax(logits, dim=-1)[:, -1].tolist() == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(("num_actions", "heads", "others"), [(5, 1, 0), (6, 1, 1), (10, 2, 0)])
def test_actions_are_scored_slot_by_slot_and_the_rest_from_the_summary(num_actions, heads, others) -> None:
    network = SetwiseNetwork(SHAPE, num_actions)
    assert network.forward_actor(observations(3)).shape == (3, num_actions)
    assert network.score_slots[-1].out_features == heads
    assert (0 if network.score_others is None else network.score_others[-1].out_features) == others


@pytest.mark.parametrize(
    ("algorithm", "policy", "kwargs"),
    [
        (PPO, SetwisePolicy, {}),
        (PPO, SetwisePolicy, {"defer": "wait", "f": 1}),
        (A2C, SetwisePolicy, {"observation": "paper"}),
        (MaskablePPO, MaskableSetwisePolicy, {"defer": "to-back"}),
    ],
    ids=["ppo", "ppo, one slot", "a2c", "maskable-ppo"],
)
def test_each_algorithm_learns_saves_and_loads(algorithm, policy, kwargs, tmp_path) -> None:
    env = gym.make(ENV_ID, bursts=2, **kwargs)
    found, policy_kwargs = setwise_policy(env, maskable=algorithm is MaskablePPO, width=4)
    assert found is policy
    model = algorithm(found, env, n_steps=64, policy_kwargs=policy_kwargs, device="cpu").learn(64)
    model.save(tmp_path / "model")
    assert act_alike(env, model, algorithm.load(tmp_path / "model"))


def test_a_network_that_standardises_reads_distances_from_the_mean_and_a_model_file_keeps_them(tmp_path) -> None:
    env = gym.make(ENV_ID, workload="gather-heavy", bursts=20)
    found, policy_kwargs = setwise_policy(env, width=4, standardise=True)
    assert setwise_policy(env, width=4, standardise=True)[1] == policy_kwargs, "episodes from the same seeds"
    shape = SetwiseShape(**policy_kwargs["shape"])
    plain = SetwiseShape(**{**policy_kwargs["shape"], "centre": (), "spread": ()})
    networks = [SetwiseNetwork(each, plain.num_slots) for each in (shape, plain)]
    networks[1].load_state_dict(networks[0].state_dict())
    seen = torch.rand(6, env.observation_space.shape[0]) + 0.1  # type: ignore[index]
    centre, spread = (
        torch.tensor([*values[: shape.num_context], *(values[shape.num_context :] * shape.num_slots)])
        for values in (shape.centre, shape.spread)
    )
    distances = (seen - centre) / spread
    distances[:, shape.num_context + shape.presence :: shape.num_slot_features] = 1.0  # no slot is empty
    with torch.no_grad():
        for network in networks:
            for encoder in (network.actor, network.critic):
                encoder.read_slot.weight[:, shape.presence] = 0.0
    for one, other in zip(networks[0](seen), networks[1](distances), strict=True):
        assert torch.allclose(one, other, atol=1e-5)

    model = PPO(found, env, n_steps=16, batch_size=16, policy_kwargs=policy_kwargs, device="cpu").learn(16)
    save_model(model, tmp_path / "model.zip")
    assert act_alike(env, model, load_policy(tmp_path / "model.zip", env))
    with pytest.raises(ConfigError, match=r"centre and spread are \(1.0,\) and \(\): they must be .* numbers each"):
        SetwiseShape(**{**policy_kwargs["shape"], "centre": (1.0,), "spread": ()})


def test_the_encoder_of_slots_stands_before_any_other_policy_and_in_model_files(tmp_path) -> None:
    env = gym.make(ENV_ID, bursts=2)
    policy_kwargs = setwise_features(env, width=4) | {"net_arch": [8]}
    DQN("MlpPolicy", env, policy_kwargs=policy_kwargs, learning_starts=8, buffer_size=32, device="cpu").learn(16)
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=16, policy_kwargs=policy_kwargs, device="cpu").learn(16)
    layout = env.get_wrapper_attr("layout")
    assert model.policy.features_extractor.features_dim == (layout.num_slots + 2) * 4 + layout.num_context
    save_model(model, tmp_path / "model.zip")
    assert act_alike(env, model, load_policy(tmp_path / "model.zip", env))


def test_environments_without_slots_to_choose_are_refused() -> None:
    for env, message in (
        (gym.make("CartPole-v1"), "it has no layout"),
        (FrameStackObservation(gym.make(ENV_ID), 2), "no wrapper has reshaped"),
        (gym.make("flowsched_gym:flowsched/QCluster-v0"), r"action space is Box.*must be Discrete"),
        (DummyVecEnv([lambda: gym.make("CartPole-v1")]), "it has no layout"),
    ):
        with pytest.raises(ConfigError, match=message):
            setwise_policy(env)
    box = spaces.Box(-1.0, 1.0, (NUM_CONTEXT + NUM_SLOTS * NUM_FEATURES,), np.float32)
    for actions, message in (
        (spaces.Box(0.0, 1.0, (2,)), "must be Discrete"),
        (spaces.Discrete(3), "3 actions are fewer than 5 slots"),
    ):
        with pytest.raises(ConfigError, match=message):
            SetwisePolicy(box, actions, lambda _: 1e-3, shape=asdict(SHAPE))
    column = Column(name="deadline", meaning="", unit="s", encoding=Encoding.FRACTION)
    with pytest.raises(ConfigError, match="it needs a slot column of live, present, size"):
        SetwiseShape.of_layout(Layout(context=(), slot=(column,), num_slots=2), width=4, num_blocks=1)
