"""Holds result files, their actions and their intervals to what was written, and to clear errors."""

import json
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym import evaluation
from flowsched_gym.core.errors import ConfigError, InvalidAction
from flowsched_gym.evaluation import EpisodeResult, EvaluationResult, Provenance, Run, evaluate, statistics
from flowsched_gym.evaluation.actions import check_action, pack_actions, unpack_actions
from tests.envs.episodes import SHORT, each_environment


def make_result(**changes):
    """Builds a result of twelve episodes."""
    actions = {"num_decisions": 10, "actions": np.arange(10, dtype=np.uint8)}
    metrics = [{"deadline_hit_ratio": 0.05 * row, "mean_tct": math.nan} for row in range(12)]
    episodes = [
        EpisodeResult(seed=7 + row, reward=row / 3, metrics=each, **actions) for row, each in enumerate(metrics)
    ]
    fields: dict[str, Any] = {"environment": "flowsched/Artemis-v0", "kwargs": {"k": 3, "workload": "gather-heavy"}}
    fields |= {"policy": "edf", "source": "edf", "runs": (Run(episodes=tuple(episodes)),)}
    return EvaluationResult(**fields | {"made": Provenance(command="flowsched evaluate")} | changes)


def test_a_result_read_back_is_the_result_bit_by_bit(tmp_path):
    path = tmp_path / "new" / "edf.json"
    result = make_result()
    evaluation.write_result(result, path)
    again = evaluation.read_result(path)
    assert again.values("deadline_hit_ratio").tolist() == result.values("deadline_hit_ratio").tolist()
    assert (again, again.made) == (result, result.made)
    assert evaluation.result_content(again) == evaluation.result_content(result)
    assert math.isnan(again.values("mean_tct")[0])
    assert [file.name for file in path.parent.iterdir()] == ["edf.json"]
    content = json.loads(path.read_text())
    assert content["runs"][0]["episodes"]["metrics"]["mean_tct"] == [None] * 12
    interval = content["intervals"]["deadline_hit_ratio"]
    assert (interval["mean"], interval["num_samples"]) == (pytest.approx(0.275), 12)
    assert interval["low"] < interval["mean"] < interval["high"]


def test_a_workload_of_ones_own_is_kept_whole_and_played_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("size_bytes,cdf\n1000,0\n300000,1\n")
    counts = {"flows_per_burst": 3, "bursts": 2, "load": 0.9}
    workload = {"name": "my sizes", "kind": "gather", "size": "mine.csv", **counts}
    kwargs = {"workload": workload, "k": 2}
    result = evaluate("flowsched/Artemis-v0", "sjf", episodes=2, seed=3, kwargs=kwargs)
    path = tmp_path / evaluation.result_name(result.environment, result.kwargs, result.policy)
    evaluation.write_result(result, path)
    (tmp_path / "mine.csv").unlink()

    read = evaluation.read_result(path)
    again = evaluate("flowsched/Artemis-v0", "sjf", episodes=2, seed=3, kwargs=read.kwargs)

    assert read.kwargs["workload"]["size"]["points"] == [[1000.0, 0.0], [300000.0, 1.0]]
    assert repr(again.runs) == repr(read.runs)


def test_flows_as_columns_are_kept_and_played_again(tmp_path):
    ends = {"source": [0, 1, 2], "destination": [3, 3, 3]}
    flows = {"flow_id": [0, 1, 2], **ends, "size_bytes": [1e5, 2e5, 3e5], "arrival_s": [0.0, 1e-3, 1e-3]}
    kwargs = {"workload": {**flows, "deadline_s": [0.01, None, 0.02], "after": ["", "", "0 1"]}}
    result = evaluate("flowsched/TAFETasks-v0", "las", episodes=1, seed=3, kwargs=kwargs)
    path = tmp_path / "flows.json"
    evaluation.write_result(result, path)

    read = evaluation.read_result(path)
    again = evaluate("flowsched/TAFETasks-v0", "las", episodes=1, seed=3, kwargs=read.kwargs)

    assert read.kwargs["workload"] == kwargs["workload"] | {"task_id": [None] * 3, "after": [None, None, "0 1"]}
    assert repr(again.runs) == repr(result.runs)


def test_what_json_cannot_hold_is_refused_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "edf.json"
    path.write_text("old")
    with pytest.raises(ConfigError, match=r"argument workload is a set: .* lists and mappings"):
        evaluation.write_result(make_result(kwargs={"workload": {1}}), path)
    with pytest.raises(ValueError, match="Out of range float"):
        evaluation.write_json(math.nan, path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


def test_a_name_says_environment_arguments_and_policy_and_is_that_of_one_workload():
    def of(workload, policy="edf", **kwargs):
        return evaluation.result_name("flowsched/Artemis-v0", {"workload": workload} | kwargs, policy)

    assert of("gather-heavy", "module:My Class", k=3) == "artemis-v0_k-3_workload-gather-heavy_module-my-class.json"
    names = {of({"base": "gather-heavy", "load": load}) for load in (0.5, 0.6)}
    assert len(names) == 2
    assert all(re.fullmatch(r"artemis-v0_workload-gather-heavy-with-load-[0-9a-f]{8}_edf.json", name) for name in names)


def test_the_file_name_has_a_network_by_its_name_and_other_mappings_by_a_digest() -> None:
    racks = {"name": "racks", "hosts": ["a", "b"], "links": [{"ends": ["a", "b"]}]}
    named = evaluation.result_name("flowsched/MERPOrder-v0", {"topology": racks}, "srpt")
    other = evaluation.result_name("flowsched/MERPOrder-v0", {"topology": racks | {"hosts": ["b", "a"]}}, "srpt")
    assert named.startswith("merporder-v0_topology-racks-")
    assert named != other
    figures = evaluation.result_name("flowsched/Artemis-v0", {"transport_figures": {"buffer": 550}}, "edf")
    assert figures.startswith("artemis-v0_transport-figures-")


def put(*place, value):
    """Returns an edit that sets a value somewhere."""

    def edit(content):
        for key in place[:-1]:
            content = content[key]
        content[place[-1]] = value

    return edit


CDF = {"kind": "gather", "size": {"kind": "cdf-file", "path": "/etc/hostname"}}
EPISODES = ("runs", 0, "episodes")


def test_a_file_that_is_no_result_says_where_it_is_wrong(tmp_path):
    path = tmp_path / "edf.json"
    for edit, message in (
        (put("schema", value="other/9"), "schema is 'other/9'"),
        (put("extra", value=1), "the key 'extra'"),
        (lambda content: content.pop("policy"), "no 'policy'"),
        (put("environment", value="flowsched/Artemix-v0"), "environment is 'flowsched/Artemix-v0'"),
        (put("runs", value={}), r"runs is {}: it has the wrong type"),
        (put(*EPISODES, "seed", value=[]), "num_decisions must be a list of 0 values"),
        (put(*EPISODES, "seed", 2, value=7), "the seed 7 twice"),
        (put(*EPISODES, "reward", value=[0.0] * 11), "reward must be a list of 12 values"),
        (put(*EPISODES, "metrics", "mean_tct", 2, value="x"), "mean_tct holds 'x'"),
        (put(*EPISODES, "metrics", "deadline_hit_ratio", 2, value=1.0), "intervals, deadline_hit_ratio"),
        (put("kwargs", "workload", value={"base": "gather-heavy", "burstss": 3}), "no field 'burstss'"),
        (put("kwargs", "workload", value=CDF), "kwargs names a file"),
        (put("kwargs", "k", value=4), "was changed after it was written"),
        (put("kwargs", "workload", value=["\x1b[2J"]), "it must have no control characters"),
        (put("made", "command", value="flowsched \x1b]0;title\x07"), "it must have no control characters"),
        (put("made", "command", value="flowsched a\u202eb.csv"), "it must have no control characters"),
    ):
        content = evaluation.result_content(make_result(made=Provenance(command="flowsched evaluate a\u00a0b.csv")))
        edit(content)
        path.write_text(json.dumps(content))
        with pytest.raises(ConfigError, match=message) as caught:
            evaluation.read_result(path)
        assert str(path) in str(caught.value)


def test_episodes_with_other_metrics_do_not_belong_together():
    episode = EpisodeResult(seed=99, num_decisions=1, reward=0.0, metrics={"mean_fct": 1.0})
    with pytest.raises(ConfigError, match="has no episode"):
        make_result(runs=(Run(episodes=()),))
    with pytest.raises(ConfigError, match="episode 99 of edf has other metrics"):
        make_result(runs=(Run(episodes=(*make_result().episodes, episode)),))
    shorter = Run(episodes=make_result().episodes[1:])
    with pytest.raises(ConfigError, match="a run of edf has other seeds"):
        make_result(runs=(*make_result().runs, shorter))


def test_a_name_that_would_be_more_than_text_and_json_that_is_none_are_one_clear_error(tmp_path):
    path = tmp_path / "edf.json"
    for name in (
        *("\x1b[31mred", "a\nb", "\u202eright to left", "<script>alert(1)</script>", "[edf](http://example.org)"),
        *("a | b", "http://example.org", "x" * 201, ""),
    ):
        path.write_text(json.dumps(evaluation.result_content(make_result()) | {"policy": name}))
        with pytest.raises(ConfigError) as caught:
            evaluation.read_result(path)
        assert str(path) in str(caught.value)
        assert str(caught.value).isprintable()
    for text, message in (
        ("{", "this is not JSON"),
        ("[]", "the file is list"),
        ("[" * 100_000, "nested too deeply"),
        ('{"schema": NaN}', "NaN is no JSON"),
        ("1" * 5_000, "this is not JSON"),
        ('{"schema": 1e999}', "schema is inf: it has the wrong type"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            evaluation.read_result(path)


DISCRETE, BOX = spaces.Discrete(5), spaces.Box(-1.0, 1.0, (2,))


@each_environment
def test_the_actions_in_a_file_give_the_same_numbers_bit_by_bit(spec, tmp_path):
    kwargs = SHORT[spec.id]
    result = evaluate(spec.id, spec.policies[0].name, episodes=2, seed=5, kwargs=kwargs)
    evaluation.write_result(result, tmp_path / "result.json")
    env = evaluation.make_environment(spec.id, kwargs)
    for episode in evaluation.read_result(tmp_path / "result.json").episodes:
        assert repr(evaluation.repeat_actions(env, episode.actions, seed=episode.seed)) == repr(episode)


def test_actions_are_kept_in_the_smallest_type_that_holds_them():
    small = np.random.default_rng(0).integers(0, 10, 10_000)
    packed = pack_actions([small[:4000], small[4000:]])
    assert (packed["dtype"], packed["shape"]) == ("uint8", [])
    assert len(packed["data"]) == 20_000
    for actions, name in (
        (np.array([300]), "uint16"),
        (np.array([70_000]), "uint32"),
        (np.array([[0.5, -0.25]]), "float32"),
        (np.array([[0.1, -0.2]]), "float64"),
    ):
        packed = pack_actions([actions])
        assert packed["dtype"] == name
        assert unpack_actions(packed, [1])[0].tolist() == actions.tolist()


def test_what_holds_no_actions_is_refused() -> None:
    for change, lengths, message in (
        ({"dtype": "object"}, [3], "dtype is 'object'"),
        ({"shape": [0]}, [3], r"shape is \[0\]"),
        ({"shape": [1, 1]}, [3], r"shape is \[1, 1\]"),
        ({"data": "%"}, [3], "data is '%'"),
        ({"data": "0001x2"}, [3], "data is '0001x2'"),
        ({}, [2], "does not hold the actions of 2 decisions"),
        ({}, [4], "does not hold the actions of 4 decisions"),
        ({}, [10**1000], r"does not hold the actions of 1000.* decisions"),
    ):
        packed = pack_actions([np.arange(3)]) | change
        with pytest.raises(ConfigError, match=message):
            unpack_actions(packed, lengths)


def test_what_is_no_action_is_refused_before_it_is_taken():
    for wrong in (1.7, np.nan, "a", None, np.array([1])):
        with pytest.raises(InvalidAction, match=r"policy chose .*: it must be an integer"):
            check_action(wrong, DISCRETE)
    for row in ([0.1, np.nan], [0.1], [[0.1], 2]):
        with pytest.raises(InvalidAction, match=r"it must be finite numbers of shape \(2,\)"):
            check_action(row, BOX)


def test_a_policy_that_returns_an_action_without_a_state_is_named():
    class ActionAlone:
        """Returns both actions of two environments, and no state."""

        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            return np.zeros(len(observation), dtype=np.int64) if observation.ndim > 1 else 0

    kwargs = {"workload": "gather-heavy", "bursts": 2}
    env = evaluation.make_environment("flowsched/Artemis-v0", kwargs)
    with pytest.raises(InvalidAction, match=r"ActionAlone\.predict returned 0: it must be an action and a state"):
        evaluation.rollout(env, ActionAlone(), seed=0)


def test_actions_that_do_not_reach_the_end_or_pass_it_are_refused():
    kwargs = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 2}
    episode = evaluate("flowsched/Artemis-v0", "edf", episodes=1, seed=0, kwargs=kwargs).episodes[0]
    env = evaluation.make_environment("flowsched/Artemis-v0", kwargs)
    with pytest.raises(InvalidAction, match="goes on after its 19 actions"):
        evaluation.repeat_actions(env, episode.actions[:-1], seed=0)
    with pytest.raises(InvalidAction, match="ends after 20 of 21 actions"):
        evaluation.repeat_actions(env, np.append(episode.actions, 0), seed=0)


def test_the_interval_encloses_the_mean_and_is_the_same_for_the_same_seed():
    values = np.random.default_rng(1).normal(5.0, 1.0, 30)
    interval = statistics.bootstrap_interval(values, seed=4)
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low < interval.mean < interval.high
    assert interval == statistics.bootstrap_interval(values, seed=4)
    assert interval != statistics.bootstrap_interval(values, seed=5)


def test_for_many_samples_the_interval_is_that_of_the_normal_distribution():
    values = np.random.default_rng(2).normal(0.0, 1.0, 400)
    interval = statistics.bootstrap_interval(values)
    half = 1.96 * values.std() / np.sqrt(400)
    # 10 000 resamples know a 2.5 % quantile to about 2 % of the half width.
    assert interval.high - interval.mean == pytest.approx(half, rel=0.08)
    assert interval.mean - interval.low == pytest.approx(half, rel=0.08)


def test_nineteen_in_twenty_intervals_contain_the_truth():
    samples = np.random.default_rng(3).normal(0.0, 1.0, (400, 30))
    intervals = [statistics.bootstrap_interval(row, num_resamples=500) for row in samples]
    covered = np.mean([interval.low <= 0 <= interval.high for interval in intervals])
    # Percentile intervals of 30 samples cover a little less than 95 %; 400 trials know it to 2 points.
    assert 0.90 < covered < 0.97


def test_fewer_than_ten_episodes_give_a_mean_but_no_interval():
    interval = statistics.bootstrap_interval(np.arange(statistics.MIN_EPISODES - 1.0))
    assert (interval.mean, interval.known) == (4.0, False)
    assert np.isnan([interval.low, interval.high]).all()
    assert statistics.bootstrap_interval(np.arange(statistics.MIN_EPISODES * 1.0)).known


def test_many_intervals_at_once_are_those_of_each_column():
    generator = np.random.default_rng(8)
    columns = {
        "first": generator.normal(3.0, 1.0, 40),
        "gaps": np.where(np.arange(40) % 3, generator.random(40), np.nan),
        "few": np.where(np.arange(40) < 5, 1.0, np.nan),
        "second": generator.random(40),
        "none": np.full(40, np.nan),
    }
    how = {"seed": 2, "num_resamples": 300, "confidence": 0.9}
    alone = {name: statistics.bootstrap_interval(values, **how) for name, values in columns.items()}
    assert repr(statistics.bootstrap_intervals(columns, **how)) == repr(alone)
    assert statistics.bootstrap_intervals({}) == {}


def test_pairs_are_resampled_together_so_that_their_intervals_are_far_narrower_than_the_values_are_spread():
    generator = np.random.default_rng(6)
    episode = generator.normal(0.0, 10.0, 20)
    ours, theirs = episode + 1.0 + generator.normal(0, 0.1, 20), episode
    difference = statistics.paired_difference(ours, theirs)
    assert difference.low < 1.0 < difference.high
    assert difference.high - difference.low < 0.2
    single = statistics.bootstrap_interval(ours)
    assert single.high - single.low > 5.0
    theirs = generator.uniform(1.0, 100.0, 20)
    ratio = statistics.paired_ratio(1.25 * theirs, theirs)
    assert (ratio.mean, ratio.low, ratio.high) == pytest.approx((1.25, 1.25, 1.25))
    # Widened for few trainings, the interval of what cannot be negative ends at 0.
    few = statistics.paired_ratio(np.outer([1.0, 100.0], np.ones(20)), np.ones(20))
    assert (few.low, few.high > 100.0) == (0.0, True)
    assert statistics.paired_ratio(np.outer([-1.0, 100.0], np.ones(20)), np.ones(20)).low < 0.0


def test_the_interquartile_mean_leaves_a_quarter_out_at_each_end_and_what_has_no_value_counts_nowhere():
    assert statistics.interquartile_mean(np.array([100.0, 1.0, 2.0, 3.0, 4.0, -50.0, 2.0, 3.0])) == 2.5
    assert statistics.bootstrap_interval([0.0] * 11 + [1e9], statistic=statistics.interquartile_mean).mean == 0.0
    interval = statistics.bootstrap_interval([1.0, np.nan] * 10)
    assert (interval.mean, interval.low, interval.high, interval.num_samples) == (1.0, 1.0, 1.0, 10)


@settings(max_examples=20)
@given(st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=40), st.integers(1, 50))
def test_drawing_in_blocks_gives_the_same_interval(values, block):
    whole = statistics.bootstrap_interval(values, num_resamples=50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "BLOCK_SIZE", block * len(values))
        assert statistics.bootstrap_interval(values, num_resamples=50) == whole


def test_an_interval_holds_its_estimate_whatever_it_is_of_and_stays_what_it_is_in_another_process():
    values = np.random.default_rng(9).uniform(100.0, 101.0, 50)
    spread = statistics.bootstrap_interval(values, statistic=lambda drawn: drawn.std(axis=-1))
    assert spread.low < spread.mean < spread.high < 1.0
    for interval in (spread, statistics.paired_difference(values, values[::-1])):
        assert pickle.loads(pickle.dumps(interval)) == interval
    assert np.isnan(statistics.paired_difference(np.stack([values, values + 1.0]), values).p_value)


def test_an_argument_that_is_not_allowed_is_named():
    for call, message in (
        (lambda: statistics.bootstrap_interval(np.zeros((2, 2, 2))), r"values has shape \(2, 2, 2\)"),
        (lambda: statistics.bootstrap_interval([1.0], confidence=1.0), "confidence is 1.0"),
        (lambda: statistics.bootstrap_interval(np.arange(30.0), confidence=2.0), "confidence is 2.0"),
        (lambda: statistics.bootstrap_interval([1.0], num_resamples=0), "num_resamples is 0"),
        (lambda: statistics.bootstrap_interval([1.0], seed=-1), "seed is -1"),
        (lambda: statistics.paired_difference([1.0], [1.0, 2.0]), "values has 1 episodes, baseline 2"),
        (lambda: statistics.paired_ratio([1.0, 1.0], [1.0, 0.0]), "baseline is 0 in row 1"),
        (lambda: statistics.Interval(mean=0.0, low=0.0, high=0.0, num_samples=-1), "num_samples is -1"),
    ):
        with pytest.raises(ConfigError, match=message):
            call()
