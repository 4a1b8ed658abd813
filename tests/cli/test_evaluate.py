"""Evaluates policies by ``flowsched evaluate``."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from flowsched_gym.cli import explanation
from flowsched_gym.cli.explanation import effects, explain, watch
from flowsched_gym.evaluation import evaluate, make_environment, read_result, result_content
from flowsched_gym.evaluation.tuning import agreement, fit_rule
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.integrations.models import save_model
from flowsched_gym.players import load_agent, make_policy
from flowsched_gym.registration import find_environment
from tests.processes import check_refusal, rows_of

POLICY = """
import numpy as np

class Oldest:
    @classmethod
    def for_env(cls, env, *, seed=0):
        print("made for", env.spec.id)
        return cls()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.asarray(0), state
"""

ARTEMIS = ("flowsched/Artemis-v0", "--episodes", 2, "--seed", 5, "--kwarg", "bursts=5", "--kwarg", "k=3")


def test_the_measure_of_the_environment_comes_first_and_all_others_on_request(flowsched) -> None:
    words = ("evaluate", *ARTEMIS, "--policy", "fifo", "--policy", "edf")

    few, every = (flowsched(*words, *more).out.splitlines() for more in ((), ("--all",)))

    assert few[-1] == "Intervals need at least 10 episodes."
    assert not any("nan" in line for line in every)
    names = list(dict.fromkeys(line.split()[0] for line in few[2:-2]))
    assert names == ["deadline_hit_ratio", "mean_fct", "p99_fct", "reward"]
    assert [line.split()[2] for line in few[2:4]] == ["fifo", "edf"]
    assert len({line.split()[0] for line in every[2:-1]}) == 4 + 18


def test_flows_of_a_file_are_played_once_by_who_draws_nothing(flowsched, tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    assert flowsched("workload", "gather-a1", "--flows", 30, "--out", flows).status == 0
    words = ("evaluate", "flowsched/Artemis-v0", "--kwarg", f"workload={flows}", "--policy", "edf")

    alone, both = flowsched(*words), flowsched(*words, "--policy", "random", "--json")

    assert alone.err.startswith("flowsched: warning: the flows are given and edf draws nothing")
    assert alone.err.count("\n") == 1
    edf, drawing = (result["runs"][0]["episodes"] for result in json.loads(both.out)["results"])
    assert (len(edf["seed"]), len(drawing["seed"])) == (1, 20)
    assert len(set(drawing["reward"])) > 1, "the flows are the same, the choices are not"
    kwargs = {"workload": str(flows)}
    assert len(evaluate("flowsched/Artemis-v0", "edf", episodes=3, seed=0, kwargs=kwargs, repeat=True).episodes) == 3


def test_without_a_number_of_episodes_there_are_enough_for_intervals(flowsched) -> None:
    words = "evaluate", "flowsched/Artemis-v0", "--policy", "random", "--kwarg", "bursts=2"
    content = json.loads(flowsched(*words, "--json").out)
    text = flowsched(*words).out

    assert content["runs"][0]["episodes"]["seed"] == list(range(20))
    row = next(line.split() for line in text.splitlines() if line.startswith("mean_fct"))
    assert row[1:3] == ["ms", "random"]
    mean, low, high = (float(number.strip("[,]")) for number in row[3:])
    assert low < mean < high
    assert content["intervals"]["mean_fct"]["low"] is not None
    assert "Intervals need" not in text


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Has classes of one's own in a module where the user is, and returns its name."""
    name = f"policies_of_{request.node.name}"
    (tmp_path / f"{name}.py").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_users_class_and_heuristics_stand_beside_each_other(flowsched, own: str) -> None:
    policies = ("--policy", "edf", "--policy", f"{own}:Oldest", "--policy", "fifo")

    text = flowsched("evaluate", *ARTEMIS, *policies).out.splitlines()
    outcome = flowsched("evaluate", *ARTEMIS, *policies, "--json")

    assert outcome.err == f"policy '{own}:Oldest' prints: made for flowsched/Artemis-v0\n"
    assert [line.split()[2] for line in text if line.startswith("mean_fct")] == ["edf", f"{own}:Oldest", "fifo"]
    edf, mine, fifo = json.loads(outcome.out)["results"]
    assert [result["policy"] for result in (edf, mine, fifo)] == ["edf", f"{own}:Oldest", "fifo"]
    assert mine["runs"] == fifo["runs"] != edf["runs"]
    alone = json.loads(flowsched("evaluate", *ARTEMIS, "--policy", "edf", "--json").out)
    assert (edf["runs"], edf["intervals"]) == (alone["runs"], alone["intervals"])
    assert edf["made"]["command"].count("--policy") == 3


def test_what_lies_where_the_user_is_takes_the_place_of_no_installed_module(flowsched, tmp_path, monkeypatch) -> None:
    (tmp_path / "colorsys.py").write_text(POLICY)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    check_refusal(flowsched("evaluate", *ARTEMIS, "--policy", "colorsys:Oldest"), "module colorsys has no 'Oldest'")


@pytest.mark.parametrize("policies", [("edf",), ("edf", "fifo")], ids=["one", "two"])
def test_json_is_written_as_it_is_printed_and_csv_has_a_row_for_each_metric(flowsched, tmp_path, policies) -> None:
    words = ["evaluate", *ARTEMIS, *(word for policy in policies for word in ("--policy", policy))]
    outcome = flowsched(*words, "--json", "--out", tmp_path / "results.json")
    content = json.loads(outcome.out)
    assert json.loads((tmp_path / "results.json").read_text()) == content
    if len(policies) == 1:
        options = "--policy edf --episodes 2 --seed 5 --kwarg bursts=5 --kwarg k=3"
        assert content["made"]["command"] == f"flowsched evaluate flowsched/Artemis-v0 {options}"
        assert read_result(tmp_path / "results.json").policy == "edf"
        expected = evaluate("flowsched/Artemis-v0", "edf", episodes=2, seed=5, kwargs={"bursts": 5, "k": 3})
        for key in ("environment", "kwargs", "policy", "runs", "intervals"):
            assert content[key] == result_content(expected)[key]

    flowsched(*words, "--out", tmp_path / "results.csv")
    rows = rows_of(tmp_path / "results.csv")
    fct = [row for row in rows if row["metric"] == "mean_fct"]
    found = [(row["policy"], row["unit"], row["low"], row["num_episodes"]) for row in fct]
    assert found == [(policy, "s", "", "2") for policy in policies]
    assert {row["metric"] for row in rows} == {"reward", *METRIC_NAMES}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.csv", "results.json"]


def untrained() -> PPO:
    """Makes a model, which is not trained, for the arguments of ``ARTEMIS``."""
    torch.set_num_threads(1)
    env = make_environment("flowsched/Artemis-v0", {"bursts": 5, "k": 3})
    return PPO("MlpPolicy", env, device="cpu", seed=0, n_steps=8, batch_size=8)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(untrained(), tmp_path / "model.zip")
    return tmp_path / "model.zip"


@pytest.mark.exhaustive
def test_a_file_of_stable_baselines3_plays_the_same_where_it_is_trusted(flowsched, model: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.zip"
    untrained().save(foreign)

    refused = flowsched("evaluate", *ARTEMIS, "--policy", foreign, "--json")
    trusted = flowsched("evaluate", *ARTEMIS, "--policy", foreign, "--trust", "--json")
    own = flowsched("evaluate", *ARTEMIS, "--policy", model, "--json")

    check_refusal(refused, "which runs any code that the file brings; if you trust who made it, say so by --trust")
    assert json.loads(trusted.out)["runs"] == json.loads(own.out)["runs"]
    assert "--trust" in json.loads(trusted.out)["made"]["command"]


def test_models_and_heuristics_stand_beside_each_other(flowsched, model: Path) -> None:
    other = model.parent / "other" / "model.zip"
    other.parent.mkdir()
    shutil.copy(model, other)

    outcome = flowsched("evaluate", *ARTEMIS, "--policy", model, "--policy", "edf", "--policy", other, "--json")

    first, edf, second = json.loads(outcome.out)["results"]
    assert [first["policy"].endswith("-model"), edf["policy"], second["policy"]] == [True, "edf", "other-model"]
    assert first["runs"] == second["runs"]
    assert edf["kwargs"]["observation"] == "full", "a heuristic sees what it needs"


def test_a_model_that_does_not_fit_or_that_nobody_can_read_is_one_line(flowsched, model, monkeypatch):
    words = "evaluate", *ARTEMIS, "--policy", model
    check_refusal(flowsched(*words, "--kwarg", "f=7"), f"model {model} was trained with observations")
    (model.parent / "without").mkdir()
    (model.parent / "without" / "stable_baselines3.py").write_text("raise ImportError(name='stable_baselines3')")
    monkeypatch.syspath_prepend(model.parent / "without")
    check_refusal(flowsched(*words), "pip install 'flowsched-gym[train]'")


def test_bad_input_is_one_line_before_anything_is_played(flowsched, monkeypatch) -> None:
    monkeypatch.setattr("flowsched_gym.evaluation.runner.rollout", None)
    for words, message in (
        ("--policy none.zip", "model is 'none.zip': there is no such file"),
        ("--policy eedf", "policy is 'eedf': flowsched/Artemis-v0 has random, fifo"),
        ("--policy no_such_module:Class", "No module named 'no_such_module'"),
        ("--policy edf --policy edf", "policy 'edf' is given twice"),
        ("--policy edf --policy model#1.zip", "--policy is 'model#1'"),
        ("--policy edf --out x.txt", "--out is 'x.txt': its extension must be one"),
        ("--policy edf --out none/x.csv", "none/x.csv cannot be written: the folder"),
        ("--policy edf --kwarg kk=3", "has no argument 'kk': it has workload"),
        ("--policy edf --kwarg k=many", "k is 'many': it must be an integer >= 1"),
        ("--policy edf --kwarg workload=none.csv", "none.csv does not exist"),
    ):
        command = ("evaluate", "flowsched/Artemis-v0", *words.split(), "--episodes", 1, "--seed", 0, "--json")
        check_refusal(flowsched(*command), message)


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch):
    """Returns an environment with short episodes, and an agent of a few weights there, given by weights of columns."""
    monkeypatch.setattr(explanation, "FITTED", range(2))
    monkeypatch.setattr(explanation, "JUDGED", range(2, 6))
    env: Any = make_environment("flowsched/Artemis-v0", {"workload": "gather-heavy", "bursts": 30, "k": 3, "f": 10})
    model = load_agent("artemis-heavy/cmaes").policy(env)

    def weighing(**weights: float):
        features = model.shape.features(env.unwrapped.layout, ("grant",))
        model.set_weights(np.array([weights.get(each.name, 0.0) * (each.power == 1) for each in features]))
        return model

    return env, weighing


def test_effects_are_in_units_and_what_follows_from_other_columns_is_part_of_theirs(explained) -> None:
    env, weighing = explained
    model = weighing(slack=0.5, time_left=1.0)
    seen = watch(env, model, range(2), "mean_fct")
    found, notes = effects(env, model, model.shape, seen)
    by_name = {each.name: each for each in found}
    assert not {"grant: slack", "grant: postponed", "grant: present"} & by_name.keys(), "folded, and constant"
    assert any(note.startswith("grant: slack is folded into these") and "+1 time_left" in note for note in notes)
    time_left = by_name["grant: time_left"]
    unit, low, high, best = time_left.cells
    assert (unit, best) == ("ms", "")
    assert time_left.change == pytest.approx(time_left.swing)
    # Both columns rise by the same time, and are squashed by 20 ms.
    layout = env.unwrapped.layout
    shown = [1e3 * layout.slot_column(seen.observations, name)[seen.masks] for name in ("time_left", "slack")]
    assert float(low) == pytest.approx(np.percentile(shown[0], 10), rel=0.01)
    late = np.median(shown[0]) - np.median(shown[1])
    ends = [x / (abs(x) + 20) + 0.5 * (x - late) / (abs(x - late) + 20) for x in map(float, (low, high))]
    assert time_left.change == pytest.approx(ends[1] - ends[0], rel=0.02)


def test_a_rule_of_a_few_numbers_stands_for_an_agent_where_it_keeps_enough_of_its_gain(explained, monkeypatch) -> None:
    env, weighing = explained
    spec = find_environment("flowsched/Artemis-v0")
    evolved = load_agent("artemis-heavy/cmaes").policy(env)
    monkeypatch.setattr(explanation, "LEAST_GAIN", 0.5)
    table, _, rest = explain(env, evolved, spec, ["lifo"]).partition("nearest rule of a few numbers: ")
    assert [line.split()[:3] for line in table.splitlines()[3:4]] == [["grant:", "time_left", "ms"]]
    assert re.search(r"% of the decisions in 4 episodes, and says ([5-9]|10) of 10 of the gain over lifo\n", rest)
    assert "episodes, but the model gains nothing over lifo\n" in explain(env, weighing(size=-20.0), spec, ["lifo"])
    monkeypatch.setattr(explanation, "LEAST_GAIN", 2.0)
    lost = explain(env, evolved, spec, ["lifo"])
    assert "of the gain over lifo, and does not stand for the model\n" in lost


def test_a_rule_is_fitted_to_the_choices_of_another_with_other_numbers(explained) -> None:
    env, _ = explained
    other = make_policy("in-time:margin_transmissions=0,margin_ms=-40,target_ms=20,slot_ms=0", env)
    seen = watch(env, other, range(2), "mean_fct")
    rule = find_environment("flowsched/Artemis-v0").named_policies["in-time"]
    (before, usual), (after, found) = fit_rule(env, rule, seen.observations, seen.actions)
    assert usual.startswith("in-time:transmissions=3,slot_ms=2,target_ms=0,")
    assert before < 0.9 < 0.95 < after == agreement(make_policy(found, env), seen.observations, seen.actions)
    waits = find_environment("flowsched/Artemis-v0").named_policies["paced-in-time"]
    assert fit_rule(env, waits, seen.observations, seen.actions) == [], "it cannot wait here"


def test_a_network_is_explained_by_the_rule_that_is_nearest_and_its_loss(flowsched, monkeypatch) -> None:
    monkeypatch.setattr(explanation, "FITTED", range(1))
    monkeypatch.setattr(explanation, "JUDGED", range(1, 3))
    words = ("evaluate", *ARTEMIS, "--policy", "model:artemis-heavy/distilled", "--policy", "fifo", "--explain")
    outcome = flowsched(*words)
    assert outcome.status == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "model:artemis-heavy/distilled: a network: its weights say nothing to a reader"
    assert lines[1].startswith("nearest rule of a few numbers: ")
    assert "of the gain over fifo" in lines[2] or "gains nothing over fifo" in lines[2]
    assert lines[3].startswith("deadlines met, %: the model ")
