"""Trains for a moment, and holds a run that was interrupted to the one that was not."""

import csv
import json
import os
import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import torch

from flowsched_gym.baselines.training.callbacks import Comparisons, TrainingInterrupted
from flowsched_gym.baselines.training.checkpoints import latest_checkpoint
from flowsched_gym.baselines.training.trainer import train
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import read_result
from flowsched_gym.integrations.sb3 import load_policy
from tests.baselines.small_training import compose_training, compose_training_by_numbers, weights_of


def run(folder: Path, *overrides: str) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    return train(*compose_training(*overrides), folder, command="a test")


def interrupt_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Has the system ask the training to stop at a comparison."""
    compare = Comparisons.compare

    def compare_and_stop(self: Comparisons) -> None:
        compare(self)
        if self.num_timesteps >= step:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Comparisons, "compare", compare_and_stop)


def assert_same_weights(first: Path, second: Path) -> None:
    """Compares models bit by bit, optimiser included."""
    left, right = weights_of(first / "model.zip"), weights_of(second / "model.zip")
    assert left.keys() == right.keys()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


def curves(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="", encoding="utf-8") as file:
        return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in csv.DictReader(file)]


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
    assert [row["timesteps"] for row in rows if row["evaluation/deadline_hit_ratio"]] == ["0", "256", "512"]
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
    assert sidecar["num_timesteps"] == 640


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(finished, tmp_path) -> None:
    run(tmp_path / "again")
    run(tmp_path / "other", "seed=1")
    assert_same_weights(finished, tmp_path / "again")
    with pytest.raises(AssertionError):
        assert_same_weights(finished, tmp_path / "other")


# The memory is full before the end, and actions are still drawn uniformly when the run is stopped.
REMEMBERING = (
    *("algorithm.train_freq=4", "algorithm.gradient_steps=2", "algorithm.batch_size=16"),
    *("algorithm.buffer_size=400", "algorithm.learning_starts=300"),
)


@pytest.mark.parametrize(
    ("compose", "settings"),
    [
        (compose_training, ("algorithm=ppo", "vectorization=dummy")),
        (compose_training, ("algorithm=reinforce",)),
        (compose_training_by_numbers, ("algorithm=sac", *REMEMBERING)),
        *(
            pytest.param(*each, marks=pytest.mark.exhaustive)
            for each in (
                (compose_training, ("algorithm=maskable_ppo",)),
                (compose_training, ("algorithm=a2c_thesis",)),
                (compose_training_by_numbers, ("algorithm=ddpg", *REMEMBERING)),
            )
        ),
    ],
    ids=["ppo", "reinforce", "sac", "maskable_ppo", "a2c_thesis", "ddpg"],
)
def test_a_run_that_is_stopped_and_resumed_ends_as_one_that_was_not(compose, settings, tmp_path, monkeypatch) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    for folder in (whole, stopped):
        folder.mkdir()
    train(*compose(*settings), whole)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 256)
        with pytest.raises(TrainingInterrupted):
            train(*compose(*settings), stopped)
    stopped_at = latest_checkpoint(stopped / "checkpoints")
    assert not (stopped / "model.zip").exists()

    train(*compose(*settings, "resume=true"), stopped)

    assert stopped_at is not None
    assert int(stopped_at.stem) == 256
    assert_same_weights(whole, stopped)
    assert curves(whole) == curves(stopped)


def test_comparing_more_often_changes_nothing_in_the_weights(finished, tmp_path) -> None:
    run(tmp_path / "watched", "evaluation.interval=64", "evaluation.interim_episodes=2", "checkpoints.interval=64")
    assert_same_weights(finished, tmp_path / "watched")


def test_to_resume_a_finished_run_trains_no_further_and_to_overwrite_begins_anew(finished, tmp_path) -> None:
    run(tmp_path / "run", "algorithm.gamma=0.5")
    run(tmp_path / "run", "overwrite=true")
    run(tmp_path / "run", "resume=true")
    assert_same_weights(finished, tmp_path / "run")
    assert len(curves(tmp_path / "run")) == 7


def test_a_run_is_neither_written_over_by_accident_nor_resumed_nor_begun_with_what_is_wrong(finished, tmp_path):
    with pytest.raises(ConfigError, match=r"resume=true continues.*overwrite=true throws"):
        run(finished)
    with pytest.raises(ConfigError, match=r"it differs in algorithm\.gamma \(0\.98 then, 0\.9 now\)"):
        run(finished, "resume=true", "algorithm.gamma=0.9")
    with pytest.raises(ConfigError, match=r"evaluation.metric is 'num_tokens'.*deadline_hit_ratio"):
        run(tmp_path / "run", "evaluation.metric=num_tokens")
    with pytest.raises(ConfigError, match=r"'best'.*edf"):
        run(tmp_path / "other", "evaluation.baselines=[best]")
