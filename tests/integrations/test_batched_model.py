"""Holds models that are asked for many actions at once to what they say to each observation alone."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, PPO, SAC

from flowsched_gym.envs.policies import is_pure
from flowsched_gym.evaluation import evaluate, make_environment
from flowsched_gym.integrations.sb3 import MARGIN, BatchedModel, batched, load_policy
from tests.integrations.test_sb3 import Continuous

ARTEMIS = "flowsched/Artemis-v0"
SMALL: dict[str, Any] = {"bursts": 3, "k": 3, "f": 4}
MODELS = Path(__file__).parents[2] / "benchmarks" / "models"


def artemis(**kwargs: Any) -> gym.Env[Any, Any]:
    return make_environment(ARTEMIS, SMALL | kwargs)


def new(algorithm: Any, env: gym.Env[Any, Any], **kwargs: Any) -> Any:
    """Makes an untrained model with clear preferences."""
    torch.set_num_threads(1)
    model = algorithm("MlpPolicy", env, device="cpu", seed=1, policy_kwargs={"net_arch": [16]}, **kwargs)
    with torch.no_grad():
        model.policy.action_net.weight.mul_(100.0)
    return model


def look(env: gym.Env[Any, Any], count: int = 60) -> tuple[Any, Any]:
    """Returns observations and masks of random episodes."""
    observations, masks = [], []
    env.action_space.seed(0)
    over = True
    for seed in range(count):
        if over:
            observation, info = env.reset(seed=seed)
        observations.append(observation)
        masks.append(info["action_mask"])
        observation, _, terminated, truncated, info = env.step(env.action_space.sample())
        over = terminated or truncated
    return np.stack(observations), np.stack(masks)


@pytest.mark.parametrize("algorithm", [PPO, A2C, MaskablePPO], ids=lambda algorithm: algorithm.__name__)
def test_a_batch_gets_the_actions_of_each_observation_alone(algorithm: Any) -> None:
    env = artemis()
    model = new(algorithm, env)
    observations, masks = look(env)
    policy: Any = batched(model)

    with_masks = algorithm is MaskablePPO
    alone = [
        int(model.predict(row, deterministic=True, **({"action_masks": mask} if with_masks else {}))[0])
        for row, mask in zip(observations, masks, strict=True)
    ]

    assert is_pure(policy)
    assert len(set(alone)) > 1
    assert policy.predict(observations, deterministic=True, action_masks=masks)[0].tolist() == alone
    assert [
        int(policy.predict(row, deterministic=True, action_masks=mask)[0])
        for row, mask in zip(observations, masks, strict=True)
    ] == alone


@pytest.mark.parametrize("algorithm", [PPO, MaskablePPO], ids=lambda algorithm: algorithm.__name__)
def test_where_actions_are_nearly_equally_likely_the_model_is_asked_alone(algorithm, monkeypatch) -> None:
    env = artemis()
    model = new(algorithm, env)
    observations, masks = look(env, 8)
    with torch.no_grad():
        model.policy.action_net.weight.zero_()
        model.policy.action_net.bias.copy_(torch.tensor([0.0, 0.2, 0.2 + MARGIN, 0.1]))
    asked: list[tuple[Any, dict[str, Any]]] = []

    def alone(observation: Any, **options: Any) -> tuple[Any, None]:
        asked.append((observation, options))
        return np.asarray(3), None

    monkeypatch.setattr(model, "predict", alone)

    actions, _ = BatchedModel(model).predict(observations, deterministic=True, action_masks=np.ones_like(masks))

    assert actions.tolist() == [3] * 8, "what the model says alone counts"
    assert [observation.tolist() for observation, _ in asked] == observations.tolist()
    assert all(options["deterministic"] for _, options in asked)
    if algorithm is MaskablePPO:
        assert [options["action_masks"].shape for _, options in asked] == [(4,)] * 8


def test_a_published_model_acts_the_same_in_a_batch() -> None:
    kwargs = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 30}
    env = make_environment(ARTEMIS, kwargs)
    model = load_policy(MODELS / "artemis-heavy" / "ppo" / "seed0.zip", env)
    alone = evaluate(ARTEMIS, model, episodes=3, seed=3, kwargs=kwargs)
    together = evaluate(ARTEMIS, batched(model), episodes=3, seed=3, kwargs=kwargs)
    assert together.episodes == alone.episodes


def test_a_batched_model_draws_as_the_model_does() -> None:
    model = new(PPO, artemis())
    observations, _ = look(artemis())
    torch.manual_seed(5)
    expected = model.predict(observations)[0]
    torch.manual_seed(5)
    assert batched(model).predict(observations)[0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: RecurrentPPO("MlpLstmPolicy", artemis(), device="cpu", policy_kwargs={"net_arch": [4]}),
        lambda: PPO("MlpPolicy", Continuous(), device="cpu"),
        lambda: SAC("MlpPolicy", Continuous(), device="cpu", buffer_size=10),
        lambda: PPO("MlpPolicy", artemis(f=1), device="cpu"),
    ],
    ids=["memory", "continuous actions", "no probabilities", "one action"],
)
def test_other_models_stay_as_they_are(make: Any) -> None:
    model = make()
    assert batched(model) is model
    assert not is_pure(model)
