"""Plays the trained agents that come with the package by their names, prints their cards, and hands them on."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

import flowsched_gym
from benchmarks.kept_agents import MOST_BYTES, PAPERS
from flowsched_gym.cli import main
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.packed import packed_file, read_bytes
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.leaderboard import load_suite
from flowsched_gym.leaderboard.suite import CALIBRATION, HEADLINE, VIEW_ARGUMENTS
from flowsched_gym.players.kept import agent_of, folder_of_agents, kept_agents, load_agent
from flowsched_gym.registration import load_target

AGENTS = kept_agents()
ARTEMIS = next(name for name in AGENTS if name.startswith("artemis-heavy/"))
MODELS = Path(__file__).resolve().parents[2] / "benchmarks" / "models"


def test_agents_are_those_of_headline_and_calibration_settings_and_act():
    settings = load_suite("standard").settings
    tiers = (HEADLINE, CALIBRATION)
    kept = {name for name, each in settings.items() if each.tier in tiers and (MODELS / name).is_dir()}
    ranked = {name: agent for name, agent in AGENTS.items() if name not in PAPERS}
    assert {name.partition("/")[0] for name in ranked} == kept
    assert len(ranked) + len(PAPERS) == len(AGENTS)
    assert packed_file(folder_of_agents()).stat().st_size <= MOST_BYTES
    for name, agent in ranked.items():
        assert read_bytes(agent.path) == read_bytes(MODELS / name / f"seed{agent.results['seed']}.zip")
        spec, kwargs = settings[name.partition("/")[0]].spec, settings[name.partition("/")[0]].kwargs
        plays, measured = (load_target(spec.config)(**each) for each in (agent.kwargs, kwargs))
        for each in {field.name for field in fields(plays)} - {*VIEW_ARGUMENTS, "workload", "load"}:
            assert getattr(plays, each) == getattr(measured, each), f"{name} plays where its score was measured"
    agent = flowsched_gym.load_agent(f"model:{ARTEMIS}")
    env = agent.make_env()
    observation, info = env.reset(seed=1)
    action, _ = agent.policy(env).predict(observation, action_masks=info["action_mask"], deterministic=True)
    assert info["action_mask"][int(action)]
    with pytest.raises(ConfigError, match=r"no such agent \(did you mean 'artemis-heavy/"):
        load_agent("artemis-havy/cmaes")


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_agents_act_in_their_environments(name):
    env = AGENTS[name].make_env(flows=200)
    observation, info = env.reset(seed=1)
    masks = {"action_masks": info["action_mask"]} if "action_mask" in info else {}
    assert env.action_space.contains(AGENTS[name].policy(env).predict(observation, deterministic=True, **masks)[0])


@pytest.mark.exhaustive
def test_evaluate_plays_an_agent_with_the_arguments_of_its_training(capsys):
    agent = AGENTS[ARTEMIS]
    pairs = [word for key, value in agent.kwargs.items() for word in ("--kwarg", f"{key}={value}")]
    command = ["evaluate", agent.environment, "--episodes", "1", "--seed", "3", "--json", "--policy"]
    assert main([*command, f"model:{ARTEMIS}"]) == 0
    by_name = json.loads(capsys.readouterr().out)
    assert main([*command, str(agent.path), *pairs]) == 0
    by_file = json.loads(capsys.readouterr().out)
    assert by_name["runs"] == by_file["runs"]
    assert by_name["kwargs"] == by_file["kwargs"]
    other = next(each for each in AGENTS.values() if each.environment != agent.environment)
    assert main([*command, f"model:{other.name}"]) == 2
    assert f"was trained for {other.environment}, not for {agent.environment}" in capsys.readouterr().err


def test_agents_are_listed_and_handed_on(tmp_path, capsys):
    assert main(["models"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed[1:]] == list(AGENTS)
    assert main(["export-card", ARTEMIS, str(tmp_path / "hub")]) == 0
    assert sorted(path.name for path in (tmp_path / "hub").iterdir()) == ["README.md", "config.json", "model.zip"]
    card = (tmp_path / "hub" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: ")
    assert AGENTS[ARTEMIS].results["shown"] in card
    env = AGENTS[ARTEMIS].make_env()
    load_policy(tmp_path / "hub" / "model.zip", env)


def test_a_model_of_ones_own_is_handed_on_without_results(tmp_path, capsys):
    own = MODELS / ARTEMIS / "seed0.zip"
    assert agent_of(str(own)).kwargs == AGENTS[ARTEMIS].kwargs
    assert main(["export-card", str(own), str(tmp_path)]) == 0
    assert "model-index" not in (tmp_path / "README.md").read_text(encoding="utf-8")
    (tmp_path / "alone.zip").write_bytes(read_bytes(own))
    capsys.readouterr()
    assert main(["export-card", str(tmp_path / "alone.zip"), str(tmp_path / "out")]) == 2
    assert "there is no file" in capsys.readouterr().err
