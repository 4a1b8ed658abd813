"""Forges result files and suites: each is refused by one clear line, and nothing that a file names is run."""

import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flowsched_gym.cli.leaderboard_command import _with_published as with_published
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import EvaluationResult, Run, result_content, write_result
from flowsched_gym.leaderboard import Setting, load_suite, play, published_results, verify
from flowsched_gym.players import find_player
from flowsched_gym.systems import Ability, Action, Information
from tests.evaluation.test_results import EPISODES, put

TINY: dict[str, Any] = {
    "schema": "flowsched-suite/1",
    "name": "tiny-v1",
    "seeds": {"training": [1000, 2000], "validation": [100, 109], "test": [0, 9]},
    "settings": {
        "short": {
            "environment": "flowsched/Artemis-v0",
            "kwargs": {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 3},
            "metric": "deadline_hit_ratio",
        }
    },
}
"""A suite of one setting with short episodes."""
WITH_TIER: dict[str, Any] = {
    "tier": "headline",
    "actions": ["grant"],
    "information": ["sizes", "deadlines", "ages"],
    "reference": "clairvoyant-bound",
}
"""What a setting of the second schema has besides."""


def digested(content: dict[str, Any]) -> dict[str, Any]:
    """Gives a content the digest of its writer."""
    text = json.dumps({key: value for key, value in content.items() if key != "digest"}, sort_keys=True)
    return content | {"digest": hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """The content of a result file, and its suite's file."""
    suite_file = tmp_path_factory.mktemp("suite") / "tiny-v1.json"
    suite_file.write_text(json.dumps(TINY))
    suite = load_suite(suite_file)
    result = play(suite, suite.settings["short"], find_player("edf", suite.settings["short"].spec))
    return json.loads(json.dumps(result_content(result))), suite_file


def metric(name: str, value: Any) -> Any:
    """Returns a forgery of a metric of the first episode, and of its mean."""

    def forge(content: dict[str, Any]) -> None:
        values = content["runs"][0]["episodes"]["metrics"][name]
        values[0] = value
        numbers = [each for each in values if isinstance(each, (int, float))]
        content["intervals"][name]["mean"] = sum(numbers) / len(values)

    return forge


def model(**changes: Any) -> Any:
    """Returns a forgery that gives a model to the run."""
    return put("runs", 0, "model", value={"name": "seed0.zip", "digest": "0" * 32, "seed": 0} | changes)


def digits(actions: Any) -> str:
    return np.asarray(actions, dtype=np.uint8).tobytes().hex()


def together(*forgeries: Any) -> Any:
    def forge(content: dict[str, Any]) -> None:
        for each in forgeries:
            each(content)

    return forge


def mine(content: dict[str, Any]) -> None:
    content.update(policy="mine", source="evilmod:Policy")


def twice(content: dict[str, Any]) -> None:
    content["runs"] *= 2


def shortened(content: dict[str, Any]) -> None:
    episodes = content["runs"][0]["episodes"]
    metrics: dict[str, Any] = {name: [] for name in episodes["metrics"]}
    episodes |= {"seed": [], "num_decisions": [], "reward": [], "metrics": metrics}


def as_two(content: dict[str, Any]) -> None:
    """Gives two runs one model, and the second one other actions."""
    together(mine, model(), twice)(content)
    content["runs"] = [content["runs"][0], json.loads(json.dumps(content["runs"][1]))]
    content["runs"][1]["episodes"]["metrics"]["mean_fct"][0] *= 1.001
    values = [run["episodes"]["metrics"]["mean_fct"] for run in content["runs"]]
    content["intervals"]["mean_fct"]["mean"] = float(np.mean(values))


def called(name: str) -> Any:
    return together(mine, put("policy", value=name))


def nested(depth: int) -> Any:
    return json.loads('{"a":' * depth + "1" + "}" * depth)


ACTIONS = ("runs", 0, "actions")
FORGERIES = {
    "a ratio of 7": (metric("deadline_hit_ratio", 7.0), "deadline_hit_ratio is 7.0: it must be from 0 to 1"),
    "a negative count": (metric("num_flows", -5), "num_flows is -5.0"),
    "half a flow": (metric("num_flows", 30.5), "num_flows is 30.5: it must be a whole number"),
    "more finished than there are": (metric("num_finished", 31), "num_finished is 31.0: it must be at most num_flows"),
    "a ratio unlike its counts": (metric("deadline_hit_ratio", 0.123), "by deadlines_met and deadlines_missed"),
    "a negative time": (metric("mean_fct", -1.0), "mean_fct is -1.0: it must be >= 0"),
    "a tail below the median": (metric("p99_fct", 1e-9), "p95_fct is "),
    "a slowdown below 1": (metric("mean_slowdown", 0.5), "mean_slowdown is 0.5: it must be >= 1"),
    "no time of flows that finished": (metric("mean_fct", None), "mean_fct is nan: it must be known"),
    "a huge number": (put("runs", 0, "episodes", "metrics", "goodput", 0, value=10**400), "goodput holds"),
    "a truth value for a number": (put(*EPISODES, "reward", 0, value=True), "reward holds True"),
    "a metric of no kind": (put(*EPISODES, "metrics", "luck", value=[1.0] * 10), "metrics has 'luck'"),
    "other seeds": (put(*EPISODES, "seed", value=list(range(1, 11))), "those of suite tiny-v1 are 0 to 9"),
    "a negative seed": (put(*EPISODES, "seed", 0, value=-1), "seed holds -1"),
    "no episodes": (shortened, "does not hold the actions of 0 decisions"),
    "two runs without models": (twice, "there are 2 without a model"),
    "one model with two outcomes": (as_two, "two have the same model and other episodes"),
    "a model in a heuristic's name": (model(), "policy is 'edf', which is one of the package"),
    "no actions": (put(*ACTIONS, value=None), "actions of edf are missing"),
    "too few actions": (put(*ACTIONS, "data", value=digits([0] * 299)), "does not hold the actions of 300 decisions"),
    "other actions": (put(*ACTIONS, "data", value=digits([9] * 300)), "is not what its actions give"),
    "actions outside the space": (put(*ACTIONS, "data", value=digits([200] * 300)), "action is 200"),
    "a better reward": (
        together(put(*EPISODES, "reward", 0, value=1e6), put("intervals", "reward", "mean", value=None)),
        "intervals, reward has the mean None",
    ),
    "an interval of its own": (put("intervals", "mean_fct", "low", value=0.0), "its intervals are others"),
    "a window": (put("kwargs", "render_mode", value="human"), "kwargs has 'render_mode'"),
    "an easier network": (put("kwargs", "k", value=1), "its arguments are not those of setting short"),
    "a workload that nests deeply": (put("kwargs", "workload", value=nested(400)), "have a kind"),
    "an argument of no environment": (put("kwargs", "luck", value=1), "no argument 'luck'"),
    "another suite": (put("suite", "suite", value="standard-v3"), "was played in suite 'standard-v3'"),
    "another digest of the suite": (put("suite", "digest", value="0" * 32), "was played in suite 'tiny-v1'"),
    "a setting of no suite": (put("suite", "setting", value="easy"), "has no setting 'easy'"),
    "no suite": (put("suite", value=None), "belongs to no suite"),
    "the bound's name": (put("policy", value="clairvoyant-bound"), "policy is 'clairvoyant-bound'"),
    "a heuristic's name": (put("source", value="evilmod:Policy"), "policy is 'edf', which is one of the package"),
    "a heuristic's name in capitals": (put("policy", value="EDF"), "policy is 'EDF', which is one of the package"),
    "learned by its name": (put("policy", value="ppo (learned, 5 seeds)"), "seeds)': the name of a policy must have"),
    "a name that only looks like another": (put("policy", value="\u0435df"), "the name of a policy must have"),
    "a name with a letter for another": (called("skip-Iate"), "policy is 'skip-Iate': it looks like skip-late"),
    "a name with a digit for a letter": (called("f1fo"), "policy is 'f1fo': it looks like fifo"),
    "a published name but for a digit": (called("cmae5"), "policy is 'cmae5': it looks like cmaes"),
    "a path": (called("../../x"), "policy is '../../x': the name of a policy must have"),
    "an option": (called("-rf"), "policy is '-rf': the name of a policy must have"),
    "a device": (called("con"), "policy is 'con': the name of a policy must have"),
    "a date of no day": (put("made", "date", value="x" * 10_000), "made, date is 'xxx"),
    "negative time of work": (put("made", "seconds", value=-1), "made, seconds is -1"),
    "cores of 400 digits": (put("made", "hardware", value={"cores": 10**400}), "made, hardware, 'cores' is 1000"),
    "a key of 10,000 letters": (put("k" * 10_000, value=1), "the file has the key 'kkk"),
    "another reward": (
        together(put(*EPISODES, "reward", 0, value=1.0), put("intervals", "reward", "mean", value=25.8)),
        "is not what its actions give: run 0, episode with seed 0: reward is ",
    ),
}


@pytest.fixture
def forged(honest, tmp_path, monkeypatch):
    """Writes a forged file, which may name a module that must not be imported."""
    (tmp_path / "evilmod.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)

    def write(forge: Any) -> Path:
        content = json.loads(json.dumps(honest[0]))
        forge(content)
        path: Path = tmp_path / "forged.json"
        path.write_text(json.dumps(digested(content)))
        return path

    yield write
    assert "evilmod" not in sys.modules


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_refused_by_one_clear_line(name, honest, forged):
    forge, message = FORGERIES[name]
    path = forged(forge)

    with pytest.raises(ConfigError) as caught:
        verify(path, suite_file=honest[1], fresh_episodes=0)

    reason = str(caught.value)
    assert message in reason
    assert reason.startswith(str(path))
    assert len(reason.removeprefix(str(path))) < 400
    assert reason.isprintable()


def test_a_file_of_a_policy_of_ones_own_is_verified_without_its_code_and_few_episodes_accuse_nobody(honest, forged):
    verified = verify(forged(mine), suite_file=honest[1])
    assert (verified.result.policy, verified.fresh) == ("mine", ())
    (fresh,) = verify(forged(lambda content: None), suite_file=honest[1], fresh_episodes=1).fresh
    assert fresh.agrees is None


def test_a_row_in_the_name_of_a_published_one_does_not_take_its_place():
    suite = load_suite("standard-v3")
    published = next(each for each in published_results(suite) if each.policy == "edf")
    assert published.reference is not None
    setting = published.reference.setting
    first = replace(published.episodes[0], metrics=published.episodes[0].metrics | {"deadline_hit_ratio": 1.0})
    forged = replace(published, runs=(Run(episodes=(first, *published.episodes[1:])),))

    assert with_published([published], suite, {setting})[1] == {(setting, "edf")}
    results, places = with_published([forged], suite, {setting})
    assert places == {(setting, "yours:edf")}
    (kept,) = [each for each in results if each.policy == "edf"]
    assert repr(kept.runs) == repr(published.runs)


def test_the_standard_suite_is_what_it_was_when_it_was_published() -> None:
    suite = load_suite("standard-v3")
    # Its results mean nothing under another content: what changes becomes the next version, the newest by default.
    assert load_suite("standard") == suite
    assert suite.digest == "144fcbe083f87f8e44ecb35c74f00e14"
    assert load_suite("papers-v1").digest == "78abd038c191b8100ebcc592fc7b255e"
    assert (suite.test, suite.validation) == (range(60_000, 60_030), range(50_000, 50_030))
    assert [each.name for each in suite.select(["merp-route", "flowsched/QCluster-v0"])] == [
        *("merp-route", "qcluster-w4", "qcluster-changing-heavy")
    ]


def test_what_is_no_suite_says_where_it_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "tiny.json"
    for place, value, message in (
        (("schema",), "other", "schema is 'other'"),
        (("name",), "tiny", "it must end in its version"),
        (("seeds", "test"), [0, 100], "the seeds of validation and test overlap"),
        (("seeds", "test"), [9, 0], "the first and the last seed"),
        (("settings",), {}, "a setting for each name"),
        (("settings", "short", "metric"), "speed", "metric is 'speed'"),
        (("settings", "short", "environment"), "flowsched/Artemis-v9", "Artemis-v9"),
        (("settings", "short", "kwargs"), {"kk": 3}, "no argument 'kk'"),
        (("more",), 1, "it must be an object with schema, name, seeds, settings"),
    ):
        content = json.loads(json.dumps(TINY))
        put(*place, value=value)(content)
        file.write_text(json.dumps(content))
        with pytest.raises(ConfigError, match=message):
            load_suite(file)


def test_a_setting_of_the_second_schema_says_what_its_agents_may_do_and_what_has_the_score_1(tmp_path: Path) -> None:
    file = tmp_path / "tiny.json"

    def load(**changes: Any) -> Setting:
        settings = {"short": TINY["settings"]["short"] | WITH_TIER | changes}
        file.write_text(json.dumps(TINY | {"schema": "flowsched-suite/2", "settings": settings}))
        return load_suite(file).settings["short"]

    setting = load()
    assert (setting.tier, setting.reference) == ("headline", "clairvoyant-bound")
    assert setting.ability == Ability((Action.GRANT,), (Information.SIZES, Information.DEADLINES, Information.AGES))
    assert "defer" not in setting.arguments(find_player("search", setting.spec))
    waiting = load(actions=["grant", "wait"])
    assert waiting.arguments(find_player("search", setting.spec))["defer"] == "wait"
    assert "defer" not in waiting.arguments(find_player("fifo", setting.spec))
    short = load(kwargs={"workload": {"base": "gather-a1", "mix": [[5e5, 0.04, 5]], "bursts": 2}})
    assert short.kwargs["workload"]["mix"] == [{"size": 5e5, "deadline": 0.04, "count": 5}], "as results keep it"
    for changes, message in (
        ({"tier": "hard"}, "tier is 'hard': it must be one of calibration, headline, shift"),
        ({"actions": ["fly"]}, r"actions is \['fly'\]: it must be a list of some of grant, wait, postpone"),
        ({"information": ["ages", "ages"]}, "it must be a list of some of sizes, deadlines, load, ages"),
        ({"information": "ages"}, "it must be a list"),
        ({"reference": ""}, "reference is '': it must name a policy"),
        ({"more": 1}, "it must be an object with environment, kwargs, metric, tier, actions, information, reference"),
    ):
        with pytest.raises(ConfigError, match=message):
            load(**changes)


def test_verifying_says_what_a_result_may_not_claim_and_where_a_tier_does_not_fit(tmp_path: Path, monkeypatch) -> None:
    settings = {"short": TINY["settings"]["short"] | WITH_TIER}
    file = tmp_path / "tiny-v1.json"
    file.write_text(json.dumps(TINY | {"schema": "flowsched-suite/2", "settings": settings}))
    suite = load_suite(file)

    def notes(policy: str, *published: EvaluationResult) -> tuple[str, ...]:
        monkeypatch.setattr("flowsched_gym.leaderboard.verification.published_results", lambda _: list(published))
        path = tmp_path / f"{policy}.json"
        write_result(played[policy], path)
        return verify(path, suite_file=str(file), fresh_episodes=0).notes

    played = {
        name: play(suite, suite.settings["short"], find_player(name, suite.settings["short"].spec))
        for name in ("random", "edf", "paced")
    }
    assert notes("edf") == ()
    assert notes("paced") == ("it stands apart: beyond short it has the actions wait and the information load",)
    same = replace(played["random"], policy="search", source="search")
    assert notes("random", replace(same, reference=None)) == (), "published for another setting"
    (note,) = notes("random", same)
    assert note == "short is of tier headline, but search is 0.0 % better than the best rule, less than 2 %"
