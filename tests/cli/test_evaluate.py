"""Evaluates policies by ``flowsched evaluate``."""

import json
import sys
from pathlib import Path

import pytest

from flowsched_gym.evaluation import evaluate, make_environment

POLICY = """
import numpy as np

class Oldest:
    @classmethod
    def for_env(cls, env, *, seed=0):
        print("made for", env.spec.id)
        return cls()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.asarray(0), state


class Broken(Oldest):
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        raise KeyError("no idea")
"""

ARTEMIS = ("flowsched/Artemis-v0", "--episodes", 2, "--seed", 5, "--kwarg", "bursts=5", "--kwarg", "k=3")


def test_the_json_is_the_result_file_of_the_evaluation(flowsched) -> None:
    outcome = flowsched("evaluate", *ARTEMIS, "--policy", "edf", "--json")

    assert outcome.status == 0
    content = json.loads(outcome.out)
    assert content["command"] == (
        "flowsched evaluate flowsched/Artemis-v0 --policy edf --episodes 2 --seed 5 --kwarg bursts=5 --kwarg k=3"
    )
    expected = evaluate(
        "flowsched/Artemis-v0",
        "edf",
        episodes=2,
        seed=5,
        kwargs={"bursts": 5, "k": 3},
        command=content["command"],
    )
    assert content == expected.as_dict()


def test_the_table_has_means_and_says_when_intervals_are_missing(flowsched) -> None:
    outcome = flowsched("evaluate", *ARTEMIS, "--policy", "fifo")

    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "fifo on flowsched/Artemis-v0, 2 episodes:"
    assert "deadline_hit_ratio" in outcome.out
    assert "nan" not in outcome.out
    assert lines[-1] == "Intervals need at least 10 episodes."


def test_an_argument_may_be_the_word_none(flowsched) -> None:
    assert flowsched("evaluate", *ARTEMIS, "--policy", "edf", "--kwarg", "defer=none").status == 0


def test_ten_episodes_give_intervals(flowsched) -> None:
    outcome = flowsched(
        "evaluate", "flowsched/Artemis-v0", "--policy", "random", "--episodes", 10, "--seed", 0, "--kwarg", "bursts=3"
    )

    row = next(line.split() for line in outcome.out.splitlines() if line.startswith("mean_fct"))
    mean, low, high = map(float, row[1:])
    assert low < mean < high
    assert "Intervals need" not in outcome.out


def test_a_users_own_class_is_found_where_the_user_is_and_may_print(
    flowsched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_policies.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    outcome = flowsched("evaluate", *ARTEMIS, "--policy", "my_policies:Oldest", "--json")

    assert outcome.status == 0
    assert outcome.err == "made for flowsched/Artemis-v0\n"
    fifo = json.loads(flowsched("evaluate", *ARTEMIS, "--policy", "fifo", "--json").out)
    assert json.loads(outcome.out)["episodes"] == fifo["episodes"]


def test_what_lies_where_the_user_is_takes_the_place_of_no_installed_module(
    flowsched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "colorsys.py").write_text(POLICY)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)

    outcome = flowsched("evaluate", *ARTEMIS, "--policy", "colorsys:Oldest")

    assert outcome.status == 2
    assert "module colorsys has no 'Oldest'" in outcome.err


def test_a_users_class_that_fails_is_one_line(flowsched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_broken_policies.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    outcome = flowsched("evaluate", *ARTEMIS, "--policy", "my_broken_policies:Broken", "--json")

    assert outcome.status == 1
    assert outcome.out == ""
    assert "unforeseen KeyError: 'no idea'" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Saves a model that was made, but not trained, for the arguments of ``ARTEMIS``."""
    sb3 = pytest.importorskip("stable_baselines3")
    import torch

    torch.set_num_threads(1)
    env = make_environment("flowsched/Artemis-v0", {"bursts": 5, "k": 3})
    sb3.PPO("MlpPolicy", env, device="cpu", seed=0, n_steps=8, batch_size=8).save(tmp_path / "model.zip")
    return tmp_path / "model.zip"


def test_a_model_file_is_a_policy(flowsched, model: Path) -> None:
    outcome = flowsched("evaluate", *ARTEMIS, "--policy", model, "--json")

    assert outcome.status == 0
    content = json.loads(outcome.out)
    assert content["policy"] == "model"
    assert content["episodes"]["seed"] == [5, 6]


def test_a_model_for_other_spaces_is_one_line(flowsched, model: Path) -> None:
    outcome = flowsched("evaluate", *ARTEMIS, "--kwarg", "f=7", "--policy", model, "--json")

    assert outcome.status == 2
    assert outcome.out == ""
    assert f"model {model} was trained with observations" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_damaged_model_file_is_one_line(flowsched, model: Path) -> None:
    model.write_bytes(model.read_bytes()[:1000])

    outcome = flowsched("evaluate", *ARTEMIS, "--policy", model)

    assert outcome.status == 2
    assert f"model {model} cannot be read" in outcome.err
    assert outcome.err.count("\n") == 1


def test_without_sb3_the_pip_command_is_named(flowsched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    monkeypatch.delitem(sys.modules, "flowsched_gym.integrations.sb3", raising=False)

    outcome = flowsched("evaluate", *ARTEMIS, "--policy", tmp_path / "model.zip")

    assert outcome.status == 2
    assert "pip install 'flowsched-gym[train]'" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flowsched/Artemis-v0", "--policy", "none.zip"], "model is 'none.zip': there is no such file"),
        (["flowsched/Artemix-v0", "--policy", "edf"], "environment is 'flowsched/Artemix-v0': it must be one of"),
        (["flowsched/Artemis-v0", "--policy", "eedf"], "policy is 'eedf': flowsched/Artemis-v0 has random, fifo"),
        (["flowsched/Artemis-v0", "--policy", "no_such_module:Class"], "No module named 'no_such_module'"),
        (["flowsched/Artemis-v0", "--policy", "json:Klass"], "module json has no 'Klass'"),
        (["flowsched/Artemis-v0", "--policy", "edf", "--kwarg", "kk=3"], "has no argument 'kk': it has workload"),
        (["flowsched/Artemis-v0", "--policy", "edf", "--kwarg", "k=0"], "k is 0: it must be an integer >= 1"),
        (["flowsched/Artemis-v0", "--policy", "edf", "--kwarg", "k=many"], "k is 'many': it must be an integer >= 1"),
        (["flowsched/Artemis-v0", "--policy", "edf", "--kwarg", "k"], "--kwarg is 'k': it must be key=value"),
        (["flowsched/Artemis-v0", "--policy", "edf", "--kwarg", "workload=none.csv"], "none.csv does not exist"),
        (["flowsched/Artemis-v0", "--policy", "edf", "--kwarg", "workload=none"], "workload 'none' does not exist"),
    ],
)
def test_bad_input_is_one_line(flowsched, arguments: list[str], message: str) -> None:
    outcome = flowsched("evaluate", *arguments, "--episodes", 1, "--seed", 0, "--json")

    assert outcome.status == 2
    assert outcome.out == ""
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
