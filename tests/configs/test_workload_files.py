"""Gives the commands workloads of a user's own: every key reaches the environment, or is refused by name."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from flowsched_gym.baselines.run_heuristics import main
from flowsched_gym.cli import main as flowsched
from flowsched_gym.evaluation import EvaluationResult, evaluate, read_result
from flowsched_gym.workload import read_flows
from tests.repository import ROOT

QUIET = ("progress_bar=false", "bound=false", "policies=[edf]", "episodes=1", "hydra.run.dir=out")
MIX = "mix: [{size_kb: 700, deadline_ms: 40, count: 2}]\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts this process beside an empty folder of workload files; returns that."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "own" / "workload"
    folder.mkdir(parents=True)
    return folder


def heuristics(*words: str) -> int:
    """Runs ``flowsched-heuristics`` in this process, without its log; returns its status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["flowsched-heuristics", "--config-dir", "own", *words])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def played(pattern: str = "out/results/*.json") -> list[EvaluationResult]:
    return [read_result(path) for path in sorted(Path().glob(pattern))]


def test_a_mix_of_ones_own_under_the_name_of_the_package_is_played(own: Path) -> None:
    (own / "heavy.yaml").write_text(f"name: gather-heavy\n{MIX}bursts: 3\n")
    assert heuristics(*QUIET, "workload=heavy") == 0
    [result] = played()
    assert result.values("num_flows").tolist() == [6.0]
    mix = [{"size": 700_000.0, "deadline": 0.04, "count": 2}]
    assert result.kwargs["workload"] == {"name": "gather-heavy", "mix": mix, "num_bursts": 3}
    again = evaluate("flowsched/Artemis-v0", "edf", episodes=1, seed=10_000, kwargs=result.kwargs)
    assert repr(again.episodes) == repr(result.episodes)


def test_arguments_beside_a_name_of_the_package_stay_arguments_of_the_environment(own: Path) -> None:
    (own / "short.yaml").write_text("name: gather-heavy\nload: 0.5\nbursts: 3\n")
    assert heuristics(*QUIET, "workload=short") == 0
    [result] = played()
    expected = {"workload": "gather-heavy", "load": 0.5, "bursts": 3, "observation": "full"}
    assert {**result.kwargs, "observation": "full"} == expected


def test_an_argument_that_the_environment_lacks_changes_the_workload(own: Path) -> None:
    (own / "few.yaml").write_text("name: poisson-exponential\nflows: 7\n")
    assert heuristics(*QUIET, "workload=few") == 0
    [result] = played()
    assert result.values("num_flows").tolist() == [7.0]


def test_a_file_may_have_several_workloads_of_which_each_episode_has_one(own: Path) -> None:
    (own / "sizes.csv").write_text("size_bytes,cdf\n1000,0\n3000,1\n")
    (own / "mixed.yaml").write_text(
        "one_of: [{base: gather-heavy, bursts: 3}, {kind: poisson, size: sizes.csv, load: 0.5, flows: 7}]\n"
        "weights: [1, 2]\n"
    )
    assert heuristics(*QUIET, "workload=mixed", "episodes=5") == 0
    [result] = played()
    assert set(result.values("num_flows").tolist()) == {30.0, 7.0}
    assert result.kwargs["workload"]["name"] == "mixed"
    again = evaluate("flowsched/Artemis-v0", "edf", episodes=5, seed=10_000, kwargs=result.kwargs)
    assert repr(again.episodes) == repr(result.episodes)


def test_null_takes_away_what_the_base_has_and_leaves_the_arguments_of_environments(own: Path) -> None:
    (own / "whole.yaml").write_text("base: poisson-fat-tree-failures\nfailures: null\nload: null\nflows: 5\n")
    assert heuristics(*QUIET, "env=merp_route", "workload=whole", "policies=[ecmp]") == 0
    [result] = played()
    assert result.kwargs["workload"]["failures"] is None
    assert "load" not in result.kwargs["workload"]


def test_what_cannot_be_honoured_is_refused_in_one_line_without_advice_to_add_it(own: Path, capsys) -> None:
    based = f"base: gather-a1\n{MIX}"
    for name, content, words, message in (
        ("mine", f"name: mine\nkind: gather\n{MIX}", (), "mine.yaml: workload 'mine': exactly one of burst_rate"),
        (
            "mine",
            "base: gather-a1\nmxi: null\n",
            (),
            "mine.yaml: workload 'mine' has no field 'mxi' (did you mean 'mix'",
        ),
        ("gather-heavy", f"name: gather-heavy\n{MIX}", (), "would not be read: workload=gather-heavy is a file of the"),
        ("mine", based, ("workload=mien",), "workload is 'mien': it must be one of artemis-thesis"),
        ("mine", based, ("workload.loads=3",), "workload has no key 'loads': it has base, mix"),
        ("mine", based, ("env.rewrd=3",), "env has no key 'rewrd': it has"),
        ("mine", based, ("worklod=mine",), "(did you mean 'workload'?)"),
        ("mine", based, ("+epsodes=3",), "'epsodes' (did you mean 'episodes'?)"),
        ("mine", based, ("env.k=abc",), "env.k=abc: Value 'abc'"),
        ("mine", based, ("env.k=[",), "'env.k=[' is no override key=value: "),
    ):
        path = own / f"{name}.yaml"
        path.write_text(content)
        assert heuristics(*QUIET, f"workload={name}", *words) == 2
        err = capsys.readouterr().err.strip()
        assert (message in err, "\n" in err, "To append" in err) == (True, False, False), err
        assert not list(Path().glob("out/results/*"))
        path.unlink()


def test_the_file_and_the_sweep_of_the_documents_run(own: Path) -> None:
    text = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
    [content] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    [command] = re.findall(r"```sh\nflowsched-heuristics (.*?)\n```", text)
    (own / "two-pods.yaml").write_text(content)
    (own / "sizes.csv").write_text("size_bytes,cdf\n1000,0\n300000,1\n")
    words = [word for word in shlex.split(command) if word not in ("--config-dir", "own")]

    quiet = [word for word in QUIET if not word.startswith(("policies", "hydra"))]
    assert heuristics(*words, *quiet, "policies=[equal]", "hydra.sweep.dir=out") == 0
    assert flowsched(["workload", "own/workload/two-pods.yaml", "--flows", "30", "--out", "flows.csv"]) == 0

    variant, named = (result.kwargs.get("workload") for result in played("out/*/results/*_equal.json"))
    assert variant["name"] == "two-pods"
    assert variant["traffic"][1]["size"]["points"] == [[1000.0, 0.0], [300_000.0, 1.0]]
    assert named is None
    assert read_flows("flows.csv").num_flows == 30
