"""Trains for a moment, breaks checkpoints, and holds a run that was interrupted to the one that was not."""

import contextlib
import json
import os
import pickle
import random
import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
import wandb
from stable_baselines3 import A2C

from flowsched_gym.baselines.applications.training_run import train_and_compare
from flowsched_gym.baselines.configuration.hydra_schemas import Vectorization
from flowsched_gym.baselines.training.callbacks import Comparisons, TrainingInterrupted
from flowsched_gym.baselines.training.checkpoints import (
    FORMAT,
    Memory,
    latest_checkpoint,
    load_checkpoint,
    restore_generators,
    save_checkpoint,
)
from flowsched_gym.baselines.training.offline_runs import read_offline_run
from flowsched_gym.baselines.training.trainer import _best_before, train
from flowsched_gym.baselines.training.training_envs import (
    environment_states,
    make_training_envs,
    restore_environments,
    training_seed,
)
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import exit_status
from flowsched_gym.evaluation import read_result
from flowsched_gym.integrations.archive import read_archive, write_archive
from flowsched_gym.integrations.models import read_model
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.players import find_player
from tests.baselines.small_training import compose_training, compose_training_by_numbers, weights_of
from tests.payload import add_payload
from tests.processes import rows_of


def run(folder: Path, *overrides: str) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    return train_and_compare(*compose_training("total_timesteps=600", *overrides), folder, command="a test")


def interrupt_at(monkeypatch: pytest.MonkeyPatch, step: int, *numbers: int) -> None:
    """Has the system ask the training to stop at a comparison."""
    compare = Comparisons.compare

    def compare_and_stop(self: Comparisons) -> float:
        mean = compare(self)
        for number in numbers * (self.num_timesteps >= step):
            os.kill(os.getpid(), number)
        return mean

    monkeypatch.setattr(Comparisons, "compare", compare_and_stop)


def assert_same_weights(first: Path, second: Path) -> None:
    """Compares models bit by bit, optimiser included."""
    left, right = weights_of(first / "model.zip"), weights_of(second / "model.zip")
    assert left.keys() == right.keys()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


def curves(folder: Path) -> list[dict[str, str]]:
    rows = rows_of(folder / "progress.csv")
    return [{name: value for name, value in row.items() if not name.startswith("time/")} for row in rows]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a small training with its default algorithm."""
    folder = tmp_path_factory.mktemp("finished")
    run(folder)
    return folder


def test_a_training_leaves_model_results_table_figure_and_curves(finished) -> None:
    names = {path.name for path in finished.iterdir()}
    assert {"model.zip", "model.json", "run.json", "result.json", "comparison.md", "comparison.png"} <= names
    assert not [name for name in names if name.startswith(".")]
    rows = curves(finished)
    assert len(rows) == 7
    assert [row["timesteps"] for row in rows if row["evaluation/deadline_hit_ratio"]] == ["0", "256", "512", "640"]
    results = {result.policy: result for result in map(read_result, (finished / "results").iterdir())}
    assert {"ppo", "edf", "feasible-first"} <= set(results)
    assert {tuple(result.seeds) for result in results.values()} == {(10_000, 10_001)}

    result = json.loads((finished / "result.json").read_text(encoding="utf-8"))
    learned, best = (results[name].interval("deadline_hit_ratio").mean for name in ("ppo", result["best_heuristic"]))
    assert result["estimate"]["mean"] == learned
    assert result["ratio_to_best_heuristic"]["mean"] == learned / best
    sidecar = json.loads((finished / "model.json").read_text(encoding="utf-8"))
    env = gym.make(sidecar["environment"], **sidecar["kwargs"])
    observation, _ = env.reset(seed=0)
    assert env.action_space.contains(load_policy(finished / "model.zip", env).predict(observation)[0])
    assert len(sidecar["columns"]) == len(observation)
    assert {"flowsched-gym", "torch", "stable-baselines3"} <= sidecar["versions"].keys()
    assert (result["total_timesteps"], result["num_timesteps"], sidecar["num_timesteps"]) == (600, 640, 640)
    assert "640 decisions, 600 requested" in (finished / "comparison.md").read_text(encoding="utf-8")


def test_the_best_model_of_the_validation_episodes_is_kept_also_by_a_run_that_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    means = iter([0.5, 0.9, 0.9, 0.7, 0.9, 0.6, 0.8])
    compare = Comparisons._play
    kept: dict[int, Any] = {}

    def play(self: Comparisons, policy: Any) -> Any:
        values = compare(self, policy)
        if hasattr(self, "model"):
            kept[self.num_timesteps] = {name: value.clone() for name, value in self.model.policy.state_dict().items()}
            return 0 * values + next(means)
        return values

    monkeypatch.setattr(Comparisons, "_play", play)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 512, signal.SIGTERM)
        with pytest.raises(TrainingInterrupted):
            train(*compose_training(), tmp_path)
    train(*compose_training("resume=true"), tmp_path)

    sidecar = json.loads((tmp_path / "best.json").read_text(encoding="utf-8"))
    assert sidecar["validation"] == {"metric": "deadline_hit_ratio", "mean": 0.9, "first_seed": 20_000, "episodes": 1}
    assert (sidecar["num_timesteps"], list(kept)) == (256, [0, 256, 512, 640])
    best, last = (read_model(tmp_path / name)["weights"] for name in ("best.zip", "model.zip"))
    assert all(torch.equal(best[name], value) for name, value in kept[256].items())
    assert not all(torch.equal(best[name], value) for name, value in last.items())
    assert find_player(str(tmp_path), "flowsched/Artemis-v0").models == (tmp_path / "model.zip",)
    for metric, before in (("deadline_hit_ratio", 0.9), ("mean_fct", None)):  # a mean of another metric tells nothing
        assert _best_before(compose_training("resume=true", f"evaluation.metric={metric}")[0], tmp_path) == before


def test_a_run_of_weights_and_biases_ends_with_the_trained_network(tmp_path) -> None:
    result = run(tmp_path, "logger=wandb", "evaluation.interval=100000", "total_timesteps=192")
    wandb.teardown()  # waits for the process that writes the file
    kept = read_offline_run(tmp_path)
    first, *_, last = curves(tmp_path)
    assert (first["timesteps"], last["timesteps"]) == ("0", "192")
    evaluated = [each["evaluation/deadline_hit_ratio"] for each in kept.history if "evaluation/ratio_to_edf" in each]
    assert len(evaluated) == 2
    assert (
        kept.summary["evaluation/deadline_hit_ratio"] == evaluated[-1] == float(last["evaluation/deadline_hit_ratio"])
    )
    assert kept.summary["train/loss"] == float(last["train/loss"])
    assert kept.summary["final/deadline_hit_ratio"] == result["estimate"]["mean"]


def test_the_same_seed_gives_the_same_weights_however_often_it_is_compared_and_another_others(finished, tmp_path):
    run(tmp_path / "watched", "evaluation.interval=64", "evaluation.interim_episodes=2", "checkpoints.interval=64")
    run(tmp_path / "other", "seed=1")
    assert_same_weights(finished, tmp_path / "watched")
    with pytest.raises(AssertionError):
        assert_same_weights(finished, tmp_path / "other")


# The memory is full before the end, and actions are still drawn uniformly when the run is stopped.
REMEMBERING = (
    *("algorithm.train_freq=4", "algorithm.gradient_steps=2", "algorithm.batch_size=16"),
    *("algorithm.buffer_size=400", "algorithm.learning_starts=300"),
)
STOPPED = {"ppo": ("vectorization=dummy",), "reinforce": (), "sac": REMEMBERING}
RARELY_STOPPED = {"maskable_ppo": (), "a2c_thesis": (), "ddpg": REMEMBERING}


@pytest.mark.parametrize(
    "algorithm", [*STOPPED, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in RARELY_STOPPED)]
)
def test_a_run_that_is_stopped_and_resumed_ends_as_one_that_was_not(algorithm, tmp_path, monkeypatch) -> None:
    more = (STOPPED | RARELY_STOPPED)[algorithm]
    settings = (f"algorithm={algorithm}", *more)
    compose = compose_training_by_numbers if more is REMEMBERING else compose_training
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for folder in (whole, stopped):
        folder.mkdir()
    train(*compose(*settings), whole)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 256, signal.SIGTERM, signal.SIGHUP)
        with pytest.raises(TrainingInterrupted) as caught:
            train(*compose(*settings), stopped)
    assert exit_status(caught.value) == 143
    assert int(latest_checkpoint(stopped / "checkpoints").stem) == 256
    assert not (stopped / "model.zip").exists()

    train(*compose(*settings, "resume=true"), stopped)

    assert_same_weights(whole, stopped)
    assert curves(whole) == curves(stopped)


def test_to_resume_a_finished_run_trains_no_further_and_to_overwrite_begins_anew(finished, tmp_path) -> None:
    run(tmp_path / "run", "algorithm.gamma=0.5")
    run(tmp_path / "run", "overwrite=true")
    run(tmp_path / "run", "resume=true")
    assert_same_weights(finished, tmp_path / "run")
    assert len(curves(tmp_path / "run")) == 7


def test_a_run_is_neither_written_over_by_accident_nor_resumed_nor_begun_with_what_is_wrong(
    finished, tmp_path, monkeypatch
):
    for folder, overrides, message in (
        (finished, (), r"resume=true continues.*overwrite=true throws"),
        (finished, ("resume=true", "algorithm.gamma=0.9"), r"algorithm\.gamma \(0\.98 then, 0\.9 now\)"),
        (tmp_path / "run", ("evaluation.metric=num_tokens",), "metric is 'num_tokens'.*deadline_hit_ratio"),
        (tmp_path / "other", ("evaluation.baselines=[best]",), "'best'.*edf"),
        (tmp_path / "far", ("algorithm.learning_rate=1e20",), r"diverged: after \d+ .*learning_rate is 1e\+20"),
    ):
        with pytest.raises(ConfigError, match=message):
            run(folder, *overrides)
    assert not (tmp_path / "far" / "model.zip").exists()
    nan = torch.full((1, 2), torch.nan)
    monkeypatch.setattr("stable_baselines3.PPO.learn", lambda *_, **__: torch.distributions.Categorical(logits=nan))
    with pytest.raises(ConfigError, match="diverged: after 0 decisions"):
        run(tmp_path / "near")


native, dummy, subproc = Vectorization
"""Ways to step environments together."""
in_each_way = pytest.mark.parametrize("way", [native, dummy], ids=lambda way: way.value)

SMALL: dict[str, Any] = {"bursts": 3, "k": 3, "f": 4}


def make(*, way: Vectorization = native, seed: int = 0, reward_scale: float = 1.0, num_envs: int = 2, **kwargs: Any):
    """Makes small environments."""
    how = {"num_envs": num_envs, "seed": seed, "reward_scale": reward_scale, "vectorization": way}
    return make_training_envs("flowsched_gym:flowsched/Artemis-v0", SMALL | kwargs, **how)


def unlearned(way: Vectorization = native, **kwargs) -> A2C:
    return A2C("MlpPolicy", make(way=way, **kwargs), n_steps=4, seed=0, device="cpu")


@pytest.fixture
def model() -> A2C:
    return unlearned().learn(16)


MEMORY = Memory(comparison_due_at=20, checkpoint_due_at=32, pending_log={"rollout/ep_rew_mean": 0.5})


def save(model: A2C, folder: Path, *, keep: int = 3) -> Path:
    return save_checkpoint(folder, model, memory=MEMORY, keep=keep)


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
    assert (loaded.num_timesteps, state.num_timesteps, state.memory) == (16, 16, MEMORY)


def test_older_checkpoints_go_when_a_newer_one_is_written(model, tmp_path, monkeypatch) -> None:
    for _ in range(4):
        save(model, tmp_path, keep=2)
        model.learn(8, reset_num_timesteps=False)
    monkeypatch.setattr("flowsched_gym.baselines.training.checkpoints.write_archive", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(model, tmp_path, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000000032.zip", "000000000040.zip"]
    assert latest_checkpoint(tmp_path) == tmp_path / "000000000040.zip"


def test_a_checkpoint_that_was_cut_off_or_is_of_another_network_is_one_clear_error(model, tmp_path) -> None:
    assert latest_checkpoint(tmp_path) is None
    path = save(model, tmp_path)
    (tmp_path / ".000000009999.zip.0123.tmp.zip").write_bytes(b"half")
    other = A2C("MlpPolicy", make(), n_steps=4, policy_kwargs={"net_arch": [3]}, device="cpu")

    assert latest_checkpoint(tmp_path) == path
    with pytest.raises(ConfigError, match="is one of another model"):
        load_checkpoint(path, other)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ConfigError, match=r"cannot be read.*remove it"):
        load_checkpoint(path, unlearned())


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("generators", "python", [1, 2, 3]),
        ("generators", "numpy", {"bit_generator": "MT19937"}),
        ("generators", "torch", np.zeros(3)),
        ("generators", "actions", {"bit_generator": "Philox"}),
        ("memory", "pending_log", [1]),
        ("memory", "checkpoint_due_at", "soon"),
    ],
)
def test_a_checkpoint_whose_states_are_no_states_is_one_clear_error(part, name, value, model, tmp_path) -> None:
    path = save(model, tmp_path)
    content = read_archive(path, "checkpoint", FORMAT)
    content[part][name] = value
    write_archive(path, content)
    drawn = random.getstate()
    with pytest.raises(ConfigError, match=f"checkpoint {path} is one of another model"):
        load_checkpoint(path, unlearned())
    assert random.getstate() == drawn


@pytest.mark.parametrize("name", ["state.pkl", "model.zip", "data"])
def test_a_checkpoint_runs_no_code_that_was_put_into_it(name, model, tmp_path) -> None:
    path = save(model, tmp_path)
    add_payload(path, name, marker=tmp_path / "ran")
    with pytest.raises(ConfigError, match=f"holds .*{name}"):
        load_checkpoint(path, unlearned())
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("way", "message"), [(native, "with k=3: this one has k=2"), (dummy, "does not repeat its episode")], ids=str
)
def test_environments_of_another_kind_are_refused(way, message, tmp_path) -> None:
    path = save(unlearned(way).learn(16), tmp_path)
    with pytest.raises(ConfigError, match=message):
        load_checkpoint(path, unlearned(way, k=2))
    other = next(each for each in Vectorization if each != way)
    with pytest.raises(ConfigError, match=f"the run was begun with vectorization={way.value}"):
        load_checkpoint(path, unlearned(other))


def act(envs: Any, rng: np.random.Generator, steps: int) -> list[Any]:
    """Acts at random and returns what was seen, paid and ended."""
    history = []
    for _ in range(steps):
        observations, rewards, dones, _ = envs.step(rng.integers(0, SMALL["f"], envs.num_envs))
        history.append((observations.tolist(), rewards.tolist(), dones.tolist()))
    return history


@in_each_way
@pytest.mark.parametrize("steps", [0, 17, 31], ids=lambda steps: f"after {steps}")
def test_environments_go_on_as_if_they_had_never_stopped(steps: int, way: Vectorization) -> None:
    envs = make(way=way)
    observations = envs.reset()
    if steps:
        observations = np.array(act(envs, np.random.default_rng(1), steps)[-1][0], dtype=np.float32)
    states = pickle.loads(pickle.dumps(environment_states(envs)))
    others = make(way=way, seed=99)

    restore_environments(others, states, observations)

    assert act(others, np.random.default_rng(2), 80) == act(envs, np.random.default_rng(2), 80)


@pytest.mark.exhaustive
def test_all_ways_to_step_environments_give_the_same() -> None:
    # Three times 0.3 is another number in single precision, of rewards here, than in double, of those of processes.
    for one, other, scale in ((native, dummy, 0.3), (dummy, subproc, 1.0)):
        first = make(way=one, reward_scale=scale, k=8)
        with contextlib.closing(make(way=other, reward_scale=scale, k=8)) as second:
            assert type(first) is not type(second)
            assert first.reset().tolist() == second.reset().tolist()
            history = act(first, np.random.default_rng(4), 80)
            assert history == act(second, np.random.default_rng(4), 80)
            assert max(max(rewards) for _, rewards, _ in history) > 0.8
            if other is subproc:
                here, there = ([each.actions for each in envs.env_method("episode")] for envs in (first, second))
                assert here == there
                assert second.env_method("action_masks")[0].shape == (SMALL["f"],)


def test_a_training_draws_from_seeds_of_its_own_and_none_is_one_of_an_evaluation() -> None:
    seeds = [training_seed(seed) for seed in range(50)]
    assert min(seeds) >= 2**32
    assert len(set(seeds)) == 50


@in_each_way
def test_rewards_are_scaled_but_the_reported_return_is_not(way: Vectorization) -> None:
    envs = make(reward_scale=0.25, num_envs=1, way=way)
    envs.reset()
    paid, done = 0.0, False
    while not done:
        _, rewards, dones, infos = envs.step(np.zeros(1, dtype=np.int64))
        paid, done = paid + float(rewards[0]), bool(dones[0])

    assert infos[0]["episode"]["r"] > 0
    assert paid == pytest.approx(0.25 * infos[0]["episode"]["r"])
