"""Finds each kind of player from a text or an object, and refuses what is none in one line."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies import FirstSlot
from flowsched_gym.evaluation import evaluate
from flowsched_gym.players import BOUND_POLICY, Kind, find_player, make_policy, told_apart
from flowsched_gym.systems import Action, Information

ARTEMIS = "flowsched/Artemis-v0"
TASKS = "flowsched/TAFETasks-v0"
OWN = """
raise SystemExit("finding a player runs no code of its own")

class Oldest:
    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return 0, state
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the user is, with a policy file and models that are none."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "two.py").write_text(OWN + OWN.replace("Oldest", "Other"))
    (tmp_path / "agent").mkdir()
    for name in ("seed10.zip", "seed9.zip"):
        (tmp_path / "agent" / name).touch()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("edf", Kind.RULE, "edf"),
        ("paced:base=edf,active=5", Kind.RULE, "paced:base=edf,active=5"),
        ("search:base=paced,base.active=6", Kind.PLANNER, "search:base=paced,base.active=6"),
        (BOUND_POLICY, Kind.BOUND, BOUND_POLICY),
        ("own:Oldest", Kind.CLASS, "own:Oldest"),
        ("own.py:Oldest", Kind.CLASS, "own.py:Oldest"),
        ("own.py", Kind.FILE, "own"),
        ("none.zip", Kind.MODEL, "none"),
        ("agent", Kind.MODEL, "agent"),
        ("model:artemis-heavy/cmaes", Kind.MODEL, "cmaes"),
    ],
)
def test_a_text_is_found_whatever_it_names_without_running_it(text: str, kind: Kind, name: str, folder: Path) -> None:
    player = find_player(text, ARTEMIS)

    assert (player.kind, player.name, player.source) == (kind, name, text)
    assert player.learned is (kind is Kind.MODEL)
    assert all(isinstance(each, Action) for each in player.actions)
    assert all(isinstance(each, Information) for each in player.information)


def test_options_reach_the_policy_and_what_it_needs_the_environment() -> None:
    player = find_player("search:base=paced,base.active=6,futures=2", ARTEMIS)
    assert player.options == {"base": "paced:active=6", "futures": 2}
    assert player.arguments({"k": 3}) == {"k": 3, "observation": "full", "defer": "wait"}
    assert find_player("own:Oldest", ARTEMIS).arguments({"k": 3}) == {"k": 3}
    assert find_player("paced:base=edf", ARTEMIS).actions == (Action.GRANT, Action.WAIT)


def test_what_it_knows_depends_on_the_arguments_and_on_what_it_is() -> None:
    blind = (Information.AGES, Information.BYTES_SENT)
    assert find_player("own:Class", TASKS).information == blind
    assert find_player("own:Class", TASKS, {"information": "full"}).information == (*blind, Information.BYTES_LEFT)
    assert find_player("own:Class", gym.make(TASKS, information="full")).information[-1] is Information.BYTES_LEFT
    assert Information.DRAWN_FUTURES in find_player("search", TASKS).information
    assert Information.FUTURE in find_player("search:clairvoyant=true", TASKS).information
    thresholds = "flowsched/AuTOThresholds-v0"
    assert Information.TRAFFIC in find_player("a.zip", thresholds).information
    assert Information.TRAFFIC not in find_player("own:Class", thresholds).information


def test_an_object_plays_as_it_is_and_a_rule_is_made_for_single_and_vector_environments() -> None:
    env, envs = gym.make(ARTEMIS), gym.make_vec(ARTEMIS, 2, vectorization_mode="vector_entry_point")
    rule = make_policy("fifo", env)
    player = find_player(rule, env)
    assert (player.kind, player.name, player.make(env)) == (Kind.OBJECT, "FirstSlot", rule)
    assert isinstance(make_policy("fifo", envs), FirstSlot)
    assert np.shape(make_policy("fifo", envs).predict(envs.reset(seed=0)[0])[0]) == (2,)


def test_models_of_a_folder_come_by_their_seeds_and_those_called_alike_are_told_apart(folder: Path) -> None:
    agent = find_player("agent", ARTEMIS)
    assert [path.name for path in agent.models] == ["seed9.zip", "seed10.zip"]
    with pytest.raises(ConfigError, match=r"policy is 'agent': it has 2 models: name one of them"):
        agent.make(gym.make(ARTEMIS))
    alike = [find_player(text, ARTEMIS) for text in ("a/model.zip", "edf", "b/model.zip")]
    assert [player.name for player in told_apart(alike)] == ["a-model", "edf", "b-model"]
    with pytest.raises(ConfigError, match="policy 'edf' is given twice"):
        told_apart([alike[1], replace(alike[1])])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eedf", r"policy is 'eedf': .* has random, .*did you mean 'edf'.*; it may also be module:Class, file\.py"),
        ("stf", r"policy is 'stf': flowsched/Artemis-v0 has random"),
        ("vdg:Class", r"policy is 'vdg:Class': flowsched/Artemis-v0 has random"),
        ("edf:queue=all", "policy is 'edf:queue=all': queue must be visible or whole"),
        ("fifo:active=5", "fifo has no option 'active': it has none"),
        ("paced:active", "policy is 'paced:active': its options must be key=value,key=value"),
        ("paced:base=" + "x" * 500, "it must have at most 500 letters"),
        ("x" * 1000, "policy is 'xxx"),
        ("none.py", r"none\.py does not exist"),
        ("two.py", r"two\.py has \['Oldest', 'Other'\]: it must have one class"),
        ("empty", r"policy is 'empty': the folder has no model \(\*\.zip\)"),
        ("model:artemis-havy/cmaes", r"no such agent \(did you mean 'artemis-heavy/"),
        ("model:merp-order-tree/cmaes", r"was trained for flowsched/MERPOrder-v0, not for flowsched/Artemis-v0"),
    ],
)
def test_what_is_none_is_refused_in_one_line(text: str, message: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        find_player(text, ARTEMIS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOUND_POLICY, "it takes no actions"),
        ("no_such_module:Class", "No module named 'no_such_module'"),
        ("json:loads", r"the class must have a class method for_env"),
        ("none.zip", r"model is 'none\.zip': there is no such file"),
    ],
)
def test_what_cannot_be_made_says_why(text: str, message: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        make_policy(text, gym.make(ARTEMIS))


class Plain:
    """Has what Stable-Baselines3's models have, and nothing else."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return np.array(0), state


def test_a_class_that_only_predicts_plays_by_its_name_as_the_first_slot_does() -> None:
    short = {"workload": "gather-heavy", "bursts": 2}
    found = [evaluate(ARTEMIS, name, episodes=1, seed=0, kwargs=short) for name in (f"{__name__}:Plain", "fifo")]
    assert repr(found[0].episodes[0].metrics) == repr(found[1].episodes[0].metrics)


def test_an_environment_without_an_id_has_no_policies() -> None:
    with pytest.raises(ConfigError, match="it has no id, by which its policies are found"):
        find_player("edf", gym.make(ARTEMIS).unwrapped.__class__())
