"""Breaks checkpoints while they are written and afterwards."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import A2C

from flowsched_gym.baselines.configuration.hydra_schemas import Vectorization
from flowsched_gym.baselines.training.checkpoints import (
    latest_checkpoint,
    load_checkpoint,
    restore_generators,
    save_checkpoint,
)
from flowsched_gym.baselines.training.training_envs import make_training_envs
from flowsched_gym.core.errors import ConfigError
from tests.payload import add_payload

ENV_ID = "flowsched_gym:flowsched/Artemis-v0"


def environments(way: Vectorization = Vectorization.native, **kwargs):
    return make_training_envs(ENV_ID, {"bursts": 3, **kwargs}, num_envs=2, seed=0, reward_scale=1.0, vectorization=way)


def unlearned(way: Vectorization = Vectorization.native, **kwargs) -> A2C:
    return A2C("MlpPolicy", environments(way, **kwargs), n_steps=4, seed=0, device="cpu")


@pytest.fixture
def model() -> A2C:
    return unlearned().learn(16)


def save(model: A2C, folder: Path, *, keep: int = 3) -> Path:
    return save_checkpoint(folder, model, memory={"note": 1}, keep=keep)


def test_a_checkpoint_is_found_again_with_all_that_it_remembers_and_generators_go_on(model, tmp_path) -> None:
    path = save(model, tmp_path)
    expected = (np.random.random(), torch.rand(1).item(), model.action_space.sample())  # noqa: NPY002 - SB3 uses it

    loaded = unlearned()
    state = load_checkpoint(path, loaded)
    restore_generators(state, loaded)

    found = (np.random.random(), torch.rand(1).item(), loaded.action_space.sample())  # noqa: NPY002 - the same
    assert found == expected
    assert latest_checkpoint(tmp_path) == path
    for name, weights in model.policy.state_dict().items():
        assert torch.equal(loaded.policy.state_dict()[name], weights)
    assert (loaded.num_timesteps, state.num_timesteps, state.memory) == (16, 16, {"note": 1})


def test_the_newest_of_several_is_the_latest_and_older_ones_go(model, tmp_path) -> None:
    for _ in range(4):
        save(model, tmp_path, keep=2)
        model.learn(8, reset_num_timesteps=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000000032.zip", "000000000040.zip"]
    assert latest_checkpoint(tmp_path) == tmp_path / "000000000040.zip"


def test_a_kill_while_writing_leaves_the_one_before(model, tmp_path, monkeypatch) -> None:
    before = save(model, tmp_path)
    model.learn(8, reset_num_timesteps=False)

    def half_write(archive: zipfile.ZipFile, *arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "writestr", half_write)
    with pytest.raises(KeyboardInterrupt):
        save(model, tmp_path)

    assert list(tmp_path.iterdir()) == [before]
    assert latest_checkpoint(tmp_path) == before


def test_a_checkpoint_that_was_cut_off_or_is_of_another_network_is_one_clear_error(model, tmp_path) -> None:
    assert latest_checkpoint(tmp_path) is None
    path = save(model, tmp_path)
    (tmp_path / ".000000009999.zip.0123.tmp.zip").write_bytes(b"half")
    other = A2C("MlpPolicy", environments(), n_steps=4, policy_kwargs={"net_arch": [3]}, device="cpu")

    assert latest_checkpoint(tmp_path) == path
    with pytest.raises(ConfigError, match="is one of another model"):
        load_checkpoint(path, other)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ConfigError, match=r"cannot be read.*remove it"):
        load_checkpoint(path, unlearned())


@pytest.mark.parametrize("name", ["state.pkl", "model.zip", "data"])
def test_a_checkpoint_runs_no_code_that_was_put_into_it(name, model, tmp_path) -> None:
    path = save(model, tmp_path)
    add_payload(path, name, marker=tmp_path / "ran")
    with pytest.raises(ConfigError, match=f"holds .*{name}"):
        load_checkpoint(path, unlearned())
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("way", "message"),
    [(Vectorization.native, "with k=10: this one has k=2"), (Vectorization.dummy, "does not repeat its episode")],
    ids=str,
)
def test_environments_of_another_kind_are_refused(way, message, tmp_path) -> None:
    path = save(unlearned(way).learn(16), tmp_path)
    with pytest.raises(ConfigError, match=message):
        load_checkpoint(path, unlearned(way, k=2))
    other = next(each for each in Vectorization if each != way)
    with pytest.raises(ConfigError, match=f"the run was begun with vectorization={way.value}"):
        load_checkpoint(path, unlearned(other))
