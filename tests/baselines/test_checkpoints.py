"""Breaks checkpoints while they are written and afterwards."""

from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import A2C

from flowsched_gym.baselines.checkpoints import (
    latest_checkpoint,
    load_checkpoint,
    restore_generators,
    save_checkpoint,
)
from flowsched_gym.baselines.hydra_schemas import Vectorization
from flowsched_gym.baselines.training_envs import make_training_envs
from flowsched_gym.errors import ConfigError

ENV_ID = "flowsched_gym:flowsched/Artemis-v0"


def environments(way: Vectorization = Vectorization.native, **kwargs):
    """Makes two small environments."""
    return make_training_envs(ENV_ID, {"bursts": 3, **kwargs}, num_envs=2, seed=0, reward_scale=1.0, vectorization=way)


def learned(way: Vectorization = Vectorization.native) -> A2C:
    """Returns a model that has learned for a moment."""
    return A2C("MlpPolicy", environments(way), n_steps=4, seed=0, device="cpu").learn(16)


@pytest.fixture
def model() -> A2C:
    """Holds such a model."""
    return learned()


def save(model: A2C, folder: Path, *, keep: int = 3) -> Path:
    """Saves a checkpoint."""
    return save_checkpoint(folder, model, memory={"note": 1}, keep=keep)


def test_a_checkpoint_is_found_again_with_all_that_it_remembers(model, tmp_path) -> None:
    path = save(model, tmp_path)

    loaded, state = load_checkpoint(path, A2C, environments())

    assert latest_checkpoint(tmp_path) == path
    assert (loaded.num_timesteps, state.num_timesteps, state.memory) == (16, 16, {"note": 1})


def test_the_newest_of_several_is_the_latest_and_older_ones_go(model, tmp_path) -> None:
    for _ in range(4):
        save(model, tmp_path, keep=2)
        model.learn(8, reset_num_timesteps=False)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000000032", "000000000040"]
    assert latest_checkpoint(tmp_path) == tmp_path / "000000000040"


def test_generators_go_on_where_they_were(model, tmp_path) -> None:
    path = save(model, tmp_path)
    expected = (np.random.random(), torch.rand(1).item(), model.action_space.sample())  # noqa: NPY002 - SB3 uses it

    again, state = load_checkpoint(path, A2C, environments())
    restore_generators(state, again)

    found = (np.random.random(), torch.rand(1).item(), again.action_space.sample())  # noqa: NPY002 - the same
    assert found == expected


def test_a_kill_while_writing_leaves_the_one_before(model, tmp_path, monkeypatch) -> None:
    before = save(model, tmp_path)
    model.learn(8, reset_num_timesteps=False)

    def half_write(path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "save", half_write)
    with pytest.raises(KeyboardInterrupt):
        save(model, tmp_path)

    assert list(tmp_path.iterdir()) == [before]
    assert latest_checkpoint(tmp_path) == before


def test_a_folder_that_a_kill_left_half_written_is_passed_over(model, tmp_path) -> None:
    whole = save(model, tmp_path)
    half = tmp_path / "000000009999"
    half.mkdir()
    (half / "model.zip").write_bytes(b"half")

    assert latest_checkpoint(tmp_path) == whole


@pytest.mark.parametrize("name", ["model.zip", "state.pkl"])
def test_a_damaged_checkpoint_is_one_clear_error(name, model, tmp_path) -> None:
    path = save(model, tmp_path)
    (path / name).write_bytes((path / name).read_bytes()[:100])

    with pytest.raises(ConfigError, match=r"cannot be read.*remove it"):
        load_checkpoint(path, A2C, environments())


@pytest.mark.parametrize(
    ("way", "message"),
    [(Vectorization.native, "with k=10: this one has k=2"), (Vectorization.dummy, "does not repeat its episode")],
    ids=str,
)
def test_environments_of_another_kind_are_refused(way, message, tmp_path) -> None:
    path = save(learned(way), tmp_path)

    with pytest.raises(ConfigError, match=message):
        load_checkpoint(path, A2C, environments(way, k=2))


def test_environments_stepped_in_another_way_are_refused(model, tmp_path) -> None:
    path = save(model, tmp_path)

    with pytest.raises(ConfigError, match=r"stepped by DummyVecEnv: the run was begun with vectorization=native"):
        load_checkpoint(path, A2C, environments(Vectorization.dummy))


def test_there_is_no_latest_checkpoint_where_there_is_none(tmp_path) -> None:
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path / "absent") is None
