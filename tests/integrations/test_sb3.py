"""Holds the loading of models to any algorithm that we know, and to one clear error for everything else."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3

from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.models import build_policy, read_model
from flowsched_gym.integrations.sb3 import load_policy, save_model
from tests.payload import add_payload
from tests.repository import ROOT

MODELS = ROOT / "benchmarks" / "models"
ENV_ID = "flowsched_gym:flowsched/Artemis-v0"
SMALL = {"bursts": 3, "k": 3, "f": 4}
NET = {"net_arch": [4]}


def artemis(**kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(ENV_ID, **SMALL | kwargs)


class Continuous(gym.Env[Any, Any]):
    """Has continuous actions, and nothing else."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


def save(algorithm: Any, env: gym.Env[Any, Any], folder: Path, **kwargs: Any) -> Path:
    """Saves an untrained model."""
    path = folder / "model.zip"
    algorithm("MlpPolicy", env, policy_kwargs=dict(NET), device="cpu", **kwargs).save(path)
    return path


def test_a_loaded_model_acts_as_the_saved_one(tmp_path) -> None:
    env = artemis()
    model = PPO("MlpPolicy", env, device="cpu", seed=3)
    model.save(tmp_path / "model.zip")
    save_model(model, tmp_path / "own.zip")
    env_kwargs = {"episodes": 2, "seed": 5, "kwargs": SMALL}

    before = evaluate("flowsched/Artemis-v0", model, **env_kwargs)
    after = evaluate("flowsched/Artemis-v0", load_policy(tmp_path / "model.zip", env, trust=True), **env_kwargs)
    own = evaluate("flowsched/Artemis-v0", load_policy(tmp_path / "own.zip", env), **env_kwargs)

    assert after.episodes == before.episodes
    assert own.episodes == before.episodes


@pytest.mark.parametrize("algorithm", [PPO, A2C, MaskablePPO, DDPG, TD3, SAC], ids=lambda algorithm: algorithm.__name__)
def test_weights_and_numbers_are_all_that_it_takes_to_act_as_a_model(algorithm, tmp_path) -> None:
    numbers = algorithm in (DDPG, TD3, SAC)
    env = Continuous() if numbers else artemis()
    model = algorithm("MlpPolicy", env, device="cpu", seed=3, **({"buffer_size": 10} if numbers else {}))
    save_model(model, tmp_path / "model.zip")
    observations = np.stack([env.observation_space.sample() for _ in range(50)])

    model.save(tmp_path / "foreign.zip")
    loaded, foreign = load_policy(tmp_path / "model.zip", env), load_policy(tmp_path / "foreign.zip", env, trust=True)

    assert type(foreign) is algorithm
    actions = model.predict(observations, deterministic=True)[0]
    for policy in (loaded, foreign):
        assert np.array_equal(policy.predict(observations, deterministic=True)[0], actions)
        assert policy.predict(observations)[0].shape == actions.shape


def test_a_model_acts_in_a_vector_environment(tmp_path) -> None:
    path = save(PPO, artemis(), tmp_path)
    envs = gym.make_vec(ENV_ID, num_envs=3, **SMALL)
    policy = load_policy(path, envs, trust=True)
    observations, _ = envs.reset(seed=0)

    actions, _ = policy.predict(observations)
    assert envs.action_space.contains(actions)
    with pytest.raises(SpaceMismatchError, match=r"the environment has Box\(.*, \(\d+,\), float32\)"):
        load_policy(path, gym.make_vec(ENV_ID, num_envs=3, **SMALL | {"f": 9}), trust=True)


def test_a_model_that_is_made_of_something_else_is_not_written(tmp_path) -> None:
    class Odd(torch.nn.Tanh):
        pass

    model = PPO("MlpPolicy", artemis(), device="cpu", policy_kwargs={"activation_fn": Odd})

    with pytest.raises(ConfigError, match=r"model is made of .*Odd: a model file may hold ActorCriticPolicy"):
        save_model(model, tmp_path / "model.zip")

    assert list(tmp_path.iterdir()) == []


def test_a_file_of_stable_baselines3_is_not_loaded_untrusted_and_the_message_says_why(tmp_path) -> None:
    env = artemis()
    path = save(PPO, env, tmp_path)
    with pytest.raises(ConfigError, match=r"was not written by flowsched-gym.*which runs any code.*--trust"):
        load_policy(path, env)
    with pytest.raises(ConfigError, match=r"absent\.zip.*no such file"):
        load_policy(tmp_path / "absent.zip", env)


@pytest.mark.parametrize(("name", "trust"), [("data", True), ("policy.pth", True), ("evil.pkl", False)])
def test_a_kept_model_runs_no_code_that_was_put_into_it(name, trust, tmp_path) -> None:
    path, marker = tmp_path / "ppo.zip", tmp_path / "ran"
    shutil.copy(MODELS / "artemis-heavy" / "ppo" / "seed0.zip", path)
    add_payload(path, name, marker=marker)
    with pytest.raises(ConfigError, match=rf"holds .*{name}.*: allowed are content\.json and arrays\.safetensors"):
        load_policy(path, gym.make(ENV_ID, workload="gather-heavy", k=3, f=10), trust=trust)
    assert not marker.exists()


@pytest.mark.parametrize(
    "path", sorted(MODELS.glob("*/*/*.zip")), ids=lambda path: "-".join(path.relative_to(MODELS).with_suffix("").parts)
)
def test_every_kept_model_is_of_numbers_and_names_and_fits_its_sidecar(path) -> None:
    sidecar = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    content = read_model(path)
    assert content["origin"] == sidecar
    assert content["algorithm"] == sidecar["algorithm"]
    assert type(build_policy(path, content)).__name__ == sidecar["policy"]


def test_a_model_for_other_spaces_is_refused_with_both_named(tmp_path) -> None:
    path = save(PPO, artemis(), tmp_path)
    for kwargs, both in (
        ({"f": 6}, r"Box\(-1 to 1, \(32,\), float32\).*Box\(-1 to 1, \(46,\), float32\)"),
        ({"defer": "wait"}, r"Discrete\(4\).*Discrete\(5\)"),
        ({"observation": "paper"}, r"\(32,\).*\(8,\)"),
    ):
        with pytest.raises(SpaceMismatchError, match=both):
            load_policy(path, artemis(**kwargs), trust=True)


@pytest.mark.parametrize(
    "algorithm", [(DQN, "MlpPolicy"), (TRPO, "MlpPolicy"), (RecurrentPPO, "MlpLstmPolicy")], ids=lambda a: a[0].__name__
)
def test_other_algorithms_are_refused_by_the_name_of_their_policy(algorithm, tmp_path) -> None:
    env, (model, policy) = artemis(), algorithm
    kwargs = {"buffer_size": 10} if model is DQN else {}
    model(policy, env, device="cpu", **kwargs).save(tmp_path / "model.zip")
    with pytest.raises(ConfigError, match="one of PPO, A2C, MaskablePPO, DDPG, TD3 or SAC"):
        load_policy(tmp_path / "model.zip", env, trust=True)


def replace(path: Path, member: str, content: bytes | None) -> None:
    """Gives a member of an archive another content, or takes it out."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, old in members.items():
            if name != member:
                archive.writestr(name, old)
            elif content is not None:
                archive.writestr(name, content)


def test_a_damaged_file_is_one_clear_error(tmp_path) -> None:
    env = artemis()
    path = save(PPO, env, tmp_path)
    whole = path.read_bytes()
    for content, member, changed in (
        (whole[: len(whole) // 2], None, None),
        (b"", None, None),
        (whole, "policy.pth", b"rubbish"),
        (whole, "data", b"{}"),
        (whole, "data", None),
    ):
        path.write_bytes(content)
        if member:
            replace(path, member, changed)
        with pytest.raises(ConfigError) as error:
            load_policy(path, env, trust=True)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)
