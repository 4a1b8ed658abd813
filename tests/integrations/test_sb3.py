"""Holds archives and model files to any algorithm that we know, and to one clear error for everything else.

Archives give back what was put in; models that are asked for many actions at once say what they say to each alone.
"""

import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC, TD3

from benchmarks.agents import small
from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import files_in, folders_in, read_bytes
from flowsched_gym.envs.policies import is_pure
from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.archive import ARRAYS, CONTENT, read_archive, write_archive
from flowsched_gym.integrations.models import build_policy, read_model
from flowsched_gym.integrations.sb3 import MARGIN, BatchedModel, batched, load_policy, save_model
from tests.envs.episodes import play
from tests.payload import add_payload
from tests.repository import ROOT

MODELS = ROOT / "benchmarks" / "models"
AGENTS = [agent for setting in folders_in(MODELS) for agent in folders_in(setting)]
ENV_ID = "flowsched_gym:flowsched/Artemis-v0"
SMALL: dict[str, Any] = {"bursts": 3, "k": 3, "f": 4}
HEAVY: dict[str, Any] = {"workload": "gather-heavy", "k": 3, "f": 10}
KEPT = MODELS / "artemis-heavy" / "ppo" / "seed0.zip"
"""A model of the repository, and the arguments of its environment."""
RECORD = np.dtype([("size", "<f8"), ("host", "<i4"), ("met", "?")], align=True)


def artemis(**kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(ENV_ID, **SMALL | kwargs)


class Continuous(gym.Env[Any, Any]):
    """Has continuous actions, and nothing else."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


def save(env: gym.Env[Any, Any], folder: Path) -> Path:
    """Saves an untrained model as Stable-Baselines3 does."""
    PPO("MlpPolicy", env, policy_kwargs={"net_arch": [4]}, device="cpu").save(folder / "model.zip")
    return folder / "model.zip"


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


def test_a_model_that_is_made_of_something_else_is_not_written(tmp_path) -> None:
    class Odd(torch.nn.Tanh):
        pass

    model = PPO("MlpPolicy", artemis(), device="cpu", policy_kwargs={"activation_fn": Odd})
    with pytest.raises(ConfigError, match=r"model is made of .*Odd: a model file may hold ActorCriticPolicy"):
        save_model(model, tmp_path / "model.zip")
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_stable_baselines3_is_not_loaded_untrusted_and_the_message_says_why(tmp_path) -> None:
    env = artemis()
    path = save(env, tmp_path)
    with pytest.raises(ConfigError, match=r"was not written by flowsched-gym.*which runs any code.*--trust"):
        load_policy(path, env)
    with pytest.raises(ConfigError, match=r"absent\.zip.*no such file"):
        load_policy(tmp_path / "absent.zip", env)


def test_a_kept_model_runs_no_code_that_was_put_into_it(tmp_path) -> None:
    path, marker, env = tmp_path / "model.zip", tmp_path / "ran", gym.make(ENV_ID, **HEAVY)
    for name in ("data", "policy.pth", "pytorch_variables.pth", CONTENT, ARRAYS, "../evil.pkl", "a/b", "\u202e.pkl"):
        path.write_bytes(read_bytes(KEPT))
        add_payload(path, name, marker=marker)
        for trust in (True, False):
            with pytest.raises(ConfigError, match=r"holds .*: allowed are content\.json and arrays\.safetensors"):
                load_policy(path, env, trust=trust)
    assert not marker.exists()


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: "-".join(agent.relative_to(MODELS).parts))
def test_every_kept_model_is_of_numbers_and_names_and_fits_its_sidecar(agent) -> None:
    models = files_in(agent, ".zip")
    assert models
    for path in models:
        sidecar = read_json(path.with_suffix(".json"))
        content = read_model(path)
        assert content["origin"] == sidecar
        assert content["algorithm"] == sidecar["algorithm"]
        assert type(build_policy(path, content)).__name__ == sidecar["policy"]


def test_a_network_is_kept_in_half_precision_without_its_critic_and_few_weights_as_they_are(tmp_path) -> None:
    env = artemis()
    save_model(PPO("MlpPolicy", env, device="cpu", seed=3), path := tmp_path / "model.zip")
    (tmp_path / "small.zip").write_bytes(small(path))
    before, after = (read_model(each)["weights"] for each in (path, tmp_path / "small.zip"))
    for name, weights in before.items():
        critic = name.startswith(("value_net.", "mlp_extractor.value_net."))
        assert torch.equal(after[name], torch.zeros_like(weights) if critic else weights.half().float()), name
    assert load_policy(tmp_path / "small.zip", env).predict(env.observation_space.sample())[0] in env.action_space
    few = MODELS / "artemis-heavy" / "cmaes" / "seed0.zip"
    assert small(few) == read_bytes(few)


def test_a_model_for_other_spaces_is_refused_with_both_named_and_acts_in_a_vector_of_its_own(tmp_path) -> None:
    path = save(artemis(), tmp_path)
    for kwargs, both in (
        ({"f": 6}, r"Box\(-1 to 1, \(32,\), float32\).*Box\(-1 to 1, \(46,\), float32\)"),
        ({"defer": "wait"}, r"Discrete\(4\).*Discrete\(5\)"),
        ({"observation": "paper"}, r"\(32,\).*\(8,\)"),
    ):
        with pytest.raises(SpaceMismatchError, match=both):
            load_policy(path, artemis(**kwargs), trust=True)
    fitting, other = (gym.make_vec(ENV_ID, num_envs=3, **SMALL | kwargs) for kwargs in ({}, {"f": 9}))
    actions, _ = load_policy(path, fitting, trust=True).predict(fitting.reset(seed=0)[0])
    assert fitting.action_space.contains(actions)
    with pytest.raises(SpaceMismatchError, match=r"the environment has Box\(.*, \(\d+,\), float32\)"):
        load_policy(path, other, trust=True)


@pytest.mark.parametrize(
    "algorithm", [(DQN, "MlpPolicy"), (TRPO, "MlpPolicy"), (RecurrentPPO, "MlpLstmPolicy")], ids=lambda a: a[0].__name__
)
def test_other_algorithms_are_refused_by_the_name_of_their_policy(algorithm, tmp_path) -> None:
    env, (model, policy) = artemis(), algorithm
    kwargs = {"buffer_size": 10} if model is DQN else {}
    model(policy, env, device="cpu", **kwargs).save(tmp_path / "model.zip")
    with pytest.raises(ConfigError, match="one of PPO, A2C, MaskablePPO, DDPG, TD3 or SAC"):
        load_policy(tmp_path / "model.zip", env, trust=True)


def test_a_damaged_file_is_one_clear_error(tmp_path) -> None:
    env = artemis()
    path = save(env, tmp_path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for damage in (whole[: len(whole) // 2], b"", {"policy.pth": b"rubbish"}, {"data": b"{}"}, {"data": None}):
        if isinstance(damage, bytes):
            path.write_bytes(damage)
        else:
            with zipfile.ZipFile(path, "w") as archive:
                for name, content in (members | damage).items():
                    if content is not None:
                        archive.writestr(name, content)
        with pytest.raises(ConfigError) as error:
            load_policy(path, env, trust=True)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)


def records(*shape: int) -> Any:
    """Makes records that all differ."""
    made = np.zeros(shape, RECORD)
    made["host"] = np.arange(made.size).reshape(shape)
    return made


def read_back(value: object, path: Path) -> Any:
    write_archive(path, {"format": "test", "value": value})
    return read_archive(path, "value", "test")["value"]


@pytest.mark.parametrize(
    "value",
    [
        records(4),
        records(4, 6)[::2, ::3],
        records(0, 2),
        records()[...],
        np.array([(1, (2.0, 3.0)), (4, (5.0, 6.0))], [("one", "i8"), ("pair", "f8", (2,))]),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6)[::-2],
        np.array(True),
    ],
    ids=["records", "strided", "none", "one", "of arrays", "columns first", "backwards", "one value"],
)
def test_arrays_keep_their_values_types_and_shapes(value: Any, tmp_path: Path) -> None:
    read = read_back(value, tmp_path / "archive")
    assert (read.dtype, read.shape) == (value.dtype, value.shape)
    np.testing.assert_array_equal(read, value)


def test_keys_may_be_what_keys_of_mappings_are_names_alike_and_tensors_come_back_as_tensors(tmp_path: Path) -> None:
    value = {(1, "a"): 2.5, np.int64(4): [b"x"], "$array": None, 7: (True, {})}
    assert read_back(value, tmp_path / "archive") == value
    found = read_back({"a.b": np.zeros(2), "a": {"b": torch.arange(6)[::2]}}, tmp_path / "archive")
    assert found["a.b"].tolist() == [0.0, 0.0]
    assert torch.equal(found["a"]["b"], torch.arange(0, 6, 2))


def test_what_an_archive_cannot_hold_is_refused_by_its_place(tmp_path: Path) -> None:
    arrays = np.array([None]), np.array(["text"]), np.zeros(2, [("inner", RECORD)])
    for value in (*arrays, np.complex128(2), {frozenset([1]): 2}, object()):
        with pytest.raises(TypeError, match=r"^outer\.inner"):
            write_archive(tmp_path / "archive", {"format": "test", "outer": {"inner": value}})
    assert list(tmp_path.iterdir()) == []


def new(algorithm: Any, env: gym.Env[Any, Any]) -> Any:
    """Makes an untrained model with clear preferences."""
    torch.set_num_threads(1)
    model = algorithm("MlpPolicy", env, device="cpu", seed=1, policy_kwargs={"net_arch": [16]})
    with torch.no_grad():
        model.policy.action_net.weight.mul_(100.0)
    return model


def look(env: gym.Env[Any, Any], count: int = 60) -> tuple[Any, Any]:
    """Returns observations and masks of random episodes."""
    steps = [step for seed in range(3) for step in play(env, seed=seed)[:-1]][:count]
    return np.stack([step.observation for step in steps]), np.stack([step.info["action_mask"] for step in steps])


@pytest.mark.parametrize("algorithm", [PPO, A2C, MaskablePPO], ids=lambda algorithm: algorithm.__name__)
def test_a_batch_gets_the_actions_of_each_observation_alone(algorithm: Any) -> None:
    env = artemis()
    model = new(algorithm, env)
    observations, masks = look(env)
    policy: Any = batched(model)
    options = [{"action_masks": mask} if algorithm is MaskablePPO else {} for mask in masks]
    alone = [
        int(model.predict(row, deterministic=True, **each)[0]) for row, each in zip(observations, options, strict=True)
    ]
    assert is_pure(policy)
    assert len(set(alone)) > 1
    assert policy.predict(observations, deterministic=True, action_masks=masks)[0].tolist() == alone
    for row, mask, action in zip(observations, masks, alone, strict=True):
        assert policy.predict(row, deterministic=True, action_masks=mask)[0] == action


@pytest.mark.parametrize("margin", [MARGIN, 100.0], ids=["batch", "alone"])
def test_several_choices_with_masks_are_those_of_the_model(margin: float) -> None:
    env = gym.make("flowsched/AuTOLongFlows-v0", hosts=4, flows=200, n_l=3, thresholds=[1e5, 1e6])
    model = MaskablePPO("MlpPolicy", env, policy_kwargs={"net_arch": [16]}, seed=1, device="cpu")
    with torch.no_grad():
        model.policy.action_net.weight.mul_(100.0)
    observations, masks = look(env)
    policy: Any = batched(model, margin=margin)
    assert is_pure(policy)
    alone = np.stack(
        [
            model.predict(row, deterministic=True, action_masks=mask)[0]
            for row, mask in zip(observations, masks, strict=True)
        ]
    )
    assert len(np.unique(alone, axis=0)) > 3
    assert np.array_equal(policy.predict(observations, deterministic=True, action_masks=masks)[0], alone)
    assert np.array_equal(policy.predict(observations[0], deterministic=True, action_masks=masks[0])[0], alone[0])
    torch.manual_seed(5)
    drawn = model.predict(observations[0], action_masks=masks[0])[0]
    torch.manual_seed(5)
    assert np.array_equal(policy.predict(observations[0], action_masks=masks[0])[0], drawn)


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
    model = load_policy(KEPT, gym.make(ENV_ID, **HEAVY))
    alone, together = (
        evaluate(ENV_ID.partition(":")[2], each, episodes=3, seed=3, kwargs=HEAVY | {"bursts": 30})
        for each in (model, batched(model))
    )
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
