"""Holds result files to what was written, and to clear errors when they are not what they should be."""

import json
import math
import re

import numpy as np
import pytest

from flowsched_gym import evaluation
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import EpisodeResult, EvaluationResult, Provenance, Run


def make_result(**changes):
    """Builds a result of twelve episodes."""
    episodes = tuple(
        EpisodeResult(
            seed=7 + row,
            num_decisions=10,
            reward=row / 3,
            metrics={"deadline_hit_ratio": 0.05 * row, "mean_tct": math.nan},
            actions=np.arange(10, dtype=np.uint8),
        )
        for row in range(12)
    )
    fields = {
        "environment": "flowsched/Artemis-v0",
        "kwargs": {"k": 3, "workload": "gather-heavy"},
        "policy": "edf",
        "source": "edf",
        "runs": (Run(episodes=episodes),),
        "made": Provenance(command="flowsched evaluate"),
    }
    return EvaluationResult(**(fields | changes))


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
    result = evaluation.evaluate("flowsched/Artemis-v0", "sjf", episodes=2, seed=3, kwargs=kwargs)
    path = tmp_path / evaluation.result_name(result.environment, result.kwargs, result.policy)
    evaluation.write_result(result, path)
    (tmp_path / "mine.csv").unlink()

    read = evaluation.read_result(path)
    again = evaluation.evaluate("flowsched/Artemis-v0", "sjf", episodes=2, seed=3, kwargs=read.kwargs)

    assert read.kwargs["workload"]["size"]["points"] == [[1000.0, 0.0], [300000.0, 1.0]]
    assert repr(again.runs) == repr(read.runs)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "edf.json"
    evaluation.write_result(make_result(), path)
    before = path.read_text()
    with pytest.raises(ConfigError, match=r"argument workload is a set: .* lists and mappings"):
        evaluation.write_result(make_result(kwargs={"workload": {1}}), path)
    with pytest.raises(ValueError, match="Out of range float"):
        evaluation.write_json(math.nan, path)
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["edf.json"]


def test_a_name_says_environment_arguments_and_policy_and_is_that_of_one_workload():
    def of(workload, policy="edf", **kwargs):
        return evaluation.result_name("flowsched/Artemis-v0", {"workload": workload} | kwargs, policy)

    assert of("gather-heavy", "module:My Class", k=3) == "artemis-v0_k-3_workload-gather-heavy_module-my-class.json"
    names = {of({"base": "gather-heavy", "load": load}) for load in (0.5, 0.6)}
    assert len(names) == 2
    assert all(re.fullmatch(r"artemis-v0_workload-gather-heavy-with-load-[0-9a-f]{8}_edf.json", name) for name in names)


def put(*place, value):
    """Returns an edit that sets a value somewhere."""

    def edit(content):
        for key in place[:-1]:
            content = content[key]
        content[place[-1]] = value

    return edit


CDF = {"kind": "gather", "size": {"kind": "cdf-file", "path": "/etc/hostname"}}
EPISODES = ("runs", 0, "episodes")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
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
    ],
)
def test_a_file_that_is_no_result_says_where_it_is_wrong(tmp_path, edit, message):
    path = tmp_path / "edf.json"
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
