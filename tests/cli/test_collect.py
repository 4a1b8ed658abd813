"""Collects datasets, and holds every transition that Minari reads from them to the environment."""

import builtins
import errno
import os
import resource

import gymnasium as gym
import minari
import numpy as np
import pytest

from flowsched_gym.registration import ENVIRONMENTS, check_arguments, find_environment
from tests.envs.episodes import SHORT
from tests.processes import check_refusal

ARTEMIS = ("flowsched/Artemis-v0", "--kwarg", "bursts=3", "--kwarg", "k=3")


def check_equal_to_the_environment(dataset: minari.MinariDataset) -> None:
    """Takes the kept actions again from the kept seeds, in the single environment of the dataset's specification."""
    env = dataset.recover_environment()
    assert env.observation_space == dataset.observation_space
    assert env.action_space == dataset.action_space
    assert env.spec.max_episode_steps > 10**9, "d3rlpy needs a number, which cuts no episode"
    for episode, its in zip(dataset, dataset.storage.get_episode_metadata(range(len(dataset))), strict=True):
        seen, info = env.reset(seed=its["seed"])
        for step, action in enumerate(episode.actions):
            assert np.array_equal(episode.observations[step], seen)
            assert np.array_equal(episode.infos.get("action_mask", [None] * (step + 1))[step], info.get("action_mask"))
            seen, reward, terminated, truncated, info = env.step(action)
            assert episode.rewards[step] == reward
            assert (episode.terminations[step], episode.truncations[step]) == (terminated, truncated)
        assert terminated or truncated
        assert np.array_equal(episode.observations[-1], seen)
        assert len(episode.observations) == len(episode) + 1
        for name, value in info.get("episode_metrics", {}).items():
            assert its[name] == pytest.approx(value, rel=0, nan_ok=True)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_every_transition_is_the_one_that_the_environment_gives(env_id, flowsched, tmp_path) -> None:
    spec, out = find_environment(env_id), tmp_path / "own" / "dataset"
    limit = {"max_decisions": 7} if "max_decisions" in check_arguments(spec, ()) else {}
    kwargs = [f"{name}={list(value) if isinstance(value, tuple) else value}" for name, value in SHORT[env_id].items()]
    kwargs += [f"{name}={value}" for name, value in limit.items()]
    given = [word for each in kwargs for word in ("--kwarg", each)]
    rule = spec.baselines[-1]

    words = ("--policy", "random", "--policy", rule, "--episodes", 3, "--seed", 9, "--out", out)
    outcome = flowsched("collect", env_id, *words, *given)

    assert (outcome.status, outcome.err) == (0, "")
    dataset = minari.MinariDataset(out)
    check_equal_to_the_environment(dataset)
    facts = list(dataset.storage.get_episode_metadata(range(6)))
    assert [each["seed"] for each in facts] == list(range(9, 15))
    assert [each["policy"] for each in facts] == ["random"] * 3 + [rule] * 3
    assert [path.name for path in out.parent.iterdir()] == ["dataset"], "nothing temporary is left"


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system reserves no space")
@pytest.mark.parametrize("fault", ["a limit", "a full disk"])
def test_a_dataset_that_has_no_room_ends_in_one_line_and_leaves_nothing(fault, flowsched, tmp_path, monkeypatch):
    words = ("collect", *ARTEMIS, "--policy", "random", "--episodes", 2)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert flowsched(*words, "--out", tmp_path / "before").status == 0
    if fault == "a full disk":

        def fill(*_: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "posix_fallocate", fill)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        outcome = flowsched(*words, "--out", tmp_path / "data")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    check_refusal(outcome, {"a limit": "File too large", "a full disk": "No space left on device"}[fault])
    assert str(tmp_path / "data") in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["before"]


def test_episodes_of_different_lengths_are_whole_and_rules_may_see_more_than_is_kept(flowsched, tmp_path) -> None:
    out = tmp_path / "dataset"
    kwargs = ("--kwarg", 'workload={"base": "gather-heavy", "bursts": 3}', "--kwarg", "defer=to-back", "--kwarg", "k=2")
    words = ("--policy", "postpone-late", "--episodes", 70, "--out", out)

    assert flowsched("collect", "flowsched/Artemis-v0", *words, *kwargs).status == 0

    dataset = minari.MinariDataset(out)
    assert len(dataset) == 70, "more than are played again at once"
    assert len({len(episode) for episode in dataset}) > 1
    check_equal_to_the_environment(dataset)


def test_what_exists_is_refused_and_what_fails_leaves_nothing(flowsched, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words, out = ("collect", *ARTEMIS, "--episodes", 2, "--out"), "dataset"
    failed = flowsched(*words, out, "--policy", "fifo", "--policy", "postpone-late")
    assert failed.status == 2
    assert "policy postpone-late needs the actions" in failed.err
    assert list(tmp_path.iterdir()) == []
    assert flowsched(*words, out, "--policy", "fifo").status == 0
    again = flowsched(*words, out, "--policy", "fifo")
    assert (again.status, again.err.count("\n")) == (2, 1)
    assert f"{out} is there already" in again.err


def test_without_its_extra_the_pip_command_is_named(flowsched, tmp_path, monkeypatch) -> None:
    found = builtins.__import__

    def without(name, *others):
        if name.startswith("minari"):
            raise ImportError(name="minari")
        return found(name, *others)

    monkeypatch.delitem(__import__("sys").modules, "flowsched_gym.integrations.minari", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    outcome = flowsched("collect", *ARTEMIS, "--policy", "fifo", "--episodes", 1, "--out", tmp_path / "dataset")
    assert outcome.status == 2
    assert outcome.err == "flowsched: error: minari is needed to write datasets: pip install 'flowsched-gym[minari]'\n"


def test_flows_that_are_given_are_played_once_by_who_draws_nothing(flowsched, tmp_path) -> None:
    flows, out = tmp_path / "flows.csv", tmp_path / "dataset"
    assert flowsched("workload", "gather-a1", "--flows", 30, "--out", flows).status == 0
    words = ("--policy", "edf", "--policy", "random", "--episodes", 4, "--kwarg", f"workload={flows}", "--out", out)
    outcome = flowsched("collect", "flowsched/Artemis-v0", *words)
    assert "edf draws nothing" in outcome.err
    policies = [each["policy"] for each in minari.MinariDataset(out).storage.get_episode_metadata(range(5))]
    assert policies == ["edf"] + ["random"] * 4
    assert gym.make(minari.MinariDataset(out).env_spec).spec.kwargs["workload"]
