"""Puts policies onto leaderboards by ``flowsched leaderboard``."""

import json
from pathlib import Path

import pytest

from flowsched_gym.evaluation import read_result
from tests.leaderboard.test_suite import TINY
from tests.processes import check_refusal

AGENT = """
from flowsched_gym.core.errors import ConfigError


class Youngest:
    \"\"\"Grants the youngest request that it sees.\"\"\"

    @classmethod
    def for_env(cls, env, *, seed):
        if "Artemis" not in type(env.unwrapped).__name__:
            raise ConfigError("Youngest grants tokens")
        return cls(env.get_wrapper_attr("layout"))

    def __init__(self, layout):
        self.layout = layout

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        present = self.layout.slot_column(observation, "present")
        return max(0, int(present.sum()) - 1), state
"""


@pytest.fixture
def folder(tiny: Path) -> Path:
    (tiny / "youngest.py").write_text(AGENT)
    return tiny


def test_a_policy_of_ones_own_gets_onto_a_leaderboard_and_is_verified(
    flowsched, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda below: 0)  # of honest claims some differ from fresh episodes
    run = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "youngest:Youngest")
    outcome = flowsched(*run, "--policy", "edf")
    path = folder / "leaderboard" / "short_youngest.json"
    assert outcome.status == 0, outcome.err
    assert "minus " in outcome.out
    assert "Yours, which nobody has verified: Youngest, edf" in outcome.out
    result = read_result(path)
    assert result.seeds == list(range(10))
    assert result.made.versions["flowsched-gym"]
    assert result.made.hardware["cores"]

    def verified(file: Path, *words: str) -> str:
        found = flowsched("leaderboard", "verify", file, "--suite", "tiny-v1.json", *words)
        assert found.status == 0, found.err
        return found.out

    alone, played = verified(path), verified(path, "--policy", "youngest:Youngest")
    assert f"{path}: the actions give every number: Youngest on short, 10 episodes" in alone
    assert "who chose the actions is not known" in alone
    assert "youngest:Youngest in other episodes, seeds " in played
    assert "agrees" in played
    assert "edf in other episodes" in verified(path.with_name("short_edf.json"))

    before = path.stat().st_mtime_ns
    assert "2 were there already" in flowsched(*run, "--policy", "edf").err
    assert path.stat().st_mtime_ns == before

    table = flowsched("leaderboard", "table", "--suite", "tiny-v1.json", "--json")
    assert {each["policy"] for each in json.loads(table.out)["results"]} == {"Youngest", "edf"}


def test_results_of_a_suite_that_changed_are_refused_in_one_line(flowsched, folder: Path) -> None:
    flowsched("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "edf")
    verify = ("leaderboard", "verify", folder / "leaderboard" / "short_edf.json", "--suite", "tiny-v1.json")
    (folder / "tiny-v1.json").write_text(json.dumps(TINY | {"seeds": TINY["seeds"] | {"validation": [100, 110]}}))

    check_refusal(flowsched(*verify), "was played in suite 'tiny-v1' with digest")
    check_refusal(flowsched("leaderboard", "table"), "holds a result of edf of suite tiny-v1")


def test_models_that_bring_code_are_refused(flowsched, folder: Path) -> None:
    import gymnasium as gym
    from stable_baselines3 import PPO

    env = gym.make("flowsched/Artemis-v0", **TINY["settings"]["short"]["kwargs"])
    PPO("MlpPolicy", env, n_steps=8, batch_size=8).save(folder / "foreign.zip")
    outcome = flowsched("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "foreign.zip")
    assert outcome.status == 2
    assert "foreign.zip was not written by flowsched-gym" in outcome.err
    assert list((folder / "leaderboard").iterdir()) == []


def test_bad_input_ends_with_status_2_and_a_clear_line(flowsched, folder: Path) -> None:
    listed = flowsched("leaderboard", "run", "--list", "--env", "flowsched/MERPRoute-v0").out.splitlines()
    assert [line.split()[0] for line in listed] == ["merp-route", "merp-route-failures"]
    for words, message in (
        ("run --policy edf --env artemis-hevy", "--env is 'artemis-hevy'"),
        ("run --policy none.zip --env artemis-heavy", "there is no such file"),
        ("run --policy edf --policy fifo --label mine", "it names one policy"),
        ("run --policy youngest:Youngest --label edf", "the name 'edf' of a policy of the package"),
        ("run --policy youngest:Youngest --label a(learned,5)", "the name of a policy must have"),
        ("run --policy nobody --env artemis-heavy", "policy 'nobody' does not play here"),
        ("run --policy edf --env artemis-heavy --kwarg k=4", "would change the setting"),
        ("table none", "there is no such folder"),
        ("verify none.json", "none.json"),
    ):
        outcome = flowsched("leaderboard", *words.split())
        assert (outcome.status, outcome.out, message in outcome.err) == (2, "", True), words
