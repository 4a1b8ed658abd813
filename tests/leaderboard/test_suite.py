"""Holds suites to their files, and to what may stand in one."""

import json
from pathlib import Path
from typing import Any

import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.leaderboard import load_suite

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


def test_the_standard_suite_is_what_it_was_when_it_was_published() -> None:
    suite = load_suite("standard-v1")
    assert suite == load_suite("standard")
    # Its results mean nothing under another content: what changes becomes standard-v2.
    assert suite.digest == "2a43f7951b145fad1804480386116250"
    assert (suite.test, suite.validation) == (range(10_000, 10_030), range(20_000, 20_030))
    assert [each.name for each in suite.select(["merp-route", "flowsched/QCluster-v0"])] == [
        *("merp-route", "qcluster-w4", "qcluster-changing", "qcluster-w6-fq")
    ]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schema",), "other", "schema is 'other'"),
        (("name",), "tiny", "it must end in its version"),
        (("seeds", "test"), [0, 100], "the seeds of validation and test overlap"),
        (("seeds", "test"), [9, 0], "the first and the last seed"),
        (("settings",), {}, "a setting for each name"),
        (("settings", "short", "metric"), "speed", "metric is 'speed'"),
        (("settings", "short", "environment"), "flowsched/Artemis-v9", "Artemis-v9"),
        (("settings", "short", "kwargs"), {"kk": 3}, "no argument 'kk'"),
        (("more",), 1, "it must be an object with schema, name, seeds, settings"),
    ],
)
def test_what_is_no_suite_says_where_it_is_wrong(
    tmp_path: Path, path: tuple[str, ...], value: Any, message: str
) -> None:
    content = json.loads(json.dumps(TINY))
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "tiny.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=message):
        load_suite(file)


def test_unknown_suites_and_settings_are_named_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"suite is 'standrad': it must be .*standard-v1"):
        load_suite("standrad")
    with pytest.raises(ConfigError, match=r"--env is 'artemis-havy': suite standard-v1 has .*artemis-heavy"):
        load_suite("standard").select(["artemis-havy"])
