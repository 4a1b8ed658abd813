"""Puts Markdown, HTML and escape codes into what tables are made from."""

import json
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import EpisodeResult, EvaluationResult, Provenance, Run, write_result
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.leaderboard import leaderboard_markdown
from flowsched_gym.leaderboard.table import escaped
from tests.repository import ROOT


def one_result(**changes: object) -> EvaluationResult:
    """Makes a result of two episodes."""
    metrics = dict.fromkeys(METRIC_NAMES, 1.0) | {"deadline_hit_ratio": 0.5}
    actions = np.zeros(3, dtype=np.uint8)
    episodes = tuple(
        EpisodeResult(seed=seed, num_decisions=3, reward=1.0, metrics=metrics, actions=actions) for seed in (0, 1)
    )
    content = {"environment": "flowsched/Artemis-v0", "policy": "edf", "runs": (Run(episodes=episodes),)}
    return EvaluationResult(**content | changes)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x>", r"\<img src=x\>"),
        ("[a](http://b)", r"\[a\](http\://b)"),
        ("[1](http://b)", r"[1\](http\://b)"),
        ("a | b", r"a \| b"),
        ("`x` *y* _z_", r"\`x\` \*y\* \_z\_"),
        ("63.5 [61.0, 66.1]", "63.5 [61.0, 66.1]"),
        ("gather-heavy, burst_rate = 3.5", "gather-heavy, burst_rate = 3.5"),
    ],
)
def test_markdown_shows_a_text_as_it_is(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_arguments_and_commands_of_result_files_stay_text_in_the_leaderboard(tmp_path: Path) -> None:
    result = one_result(
        kwargs={"workload": "<b>[x](http://y)"},
        made=Provenance(command="flowsched `x` <b>", versions={"flowsched-gym": "0.1.0"}),
    )
    write_result(result, tmp_path / "results" / "edf.json")
    page = leaderboard_markdown(tmp_path)
    assert r"### \<b\>\[x\](http\://y)" in page
    assert "- `` flowsched `x` <b> ``, flowsched-gym 0.1.0" in page


@pytest.mark.parametrize("change", [{"memory": 3}, {"rates": []}, {"rates": {"a": {"median": "x"}}}, {"command": 5}])
def test_figures_of_speed_that_are_none_are_one_clear_error(tmp_path: Path, change: dict[str, object]) -> None:
    write_result(one_result(), tmp_path / "results" / "edf.json")
    content = json.loads((ROOT / "benchmarks" / "speed" / "results.json").read_text(encoding="utf-8"))
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "results.json").write_text(json.dumps(content | change))
    with pytest.raises(ConfigError, match=r"speed/results\.json: this is not what benchmarks/speed/run\.py writes"):
        leaderboard_markdown(tmp_path)
