"""Finds workloads in every form in which they may be given."""

from pathlib import Path
from typing import Any

import gymnasium
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.workload import FixedWorkload, find_source, make_workload, write_flows
from tests.simulate import make_flows

FLOWS = make_flows([0.0, 1.0], [3.0, 4.0])


def test_a_name_a_source_flows_and_a_file_are_found(tmp_path: Path) -> None:
    source = make_workload("poisson-tree")
    assert find_source("poisson-tree") == source
    assert find_source(source) is source
    assert find_source(FLOWS).draw(3) is FLOWS
    for name in ("flows.csv", "FLOWS.CSV"):
        write_flows(FLOWS, tmp_path / name)
        for form in (tmp_path / name, str(tmp_path / name)):
            found = find_source(form)
            assert isinstance(found, FixedWorkload)
            assert found.draw(0).size.tolist() == [3.0, 4.0]


def test_what_is_no_workload_a_name_that_does_not_exist_and_a_file_that_does_not_are_told_apart() -> None:
    for workload in (7, None, 2.5, ["gather-a1"]):
        with pytest.raises(ConfigError, match=r"workload is .*: it must be a name, a file, a mapping, a Workload or"):
            find_source(workload)
    with pytest.raises(ConfigError, match="workload 'poisson-tre' does not exist"):
        find_source("poisson-tre")
    with pytest.raises(FlowFileError, match=r"none\.parquet"):
        find_source("none.parquet")


@pytest.mark.parametrize("name", ["own.yaml", "own.YML", "own.json"])
def test_a_workload_file_serves_wherever_a_workload_is_taken(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / name
    # JSON is YAML too. The CDF file lies beside the file, not where the process is.
    path.write_text('{"kind": "poisson", "size": "sizes.csv", "load": 0.5, "flows": 4}')
    (path.parent / "sizes.csv").write_text("size_bytes,cdf\n1000,0\n3000,1\n")
    flows = find_source(path).draw(3)

    env: Any = gymnasium.make("flowsched/MERPOrder-v0", workload=str(path), link_gbps=10.0).unwrapped
    vector: Any = gymnasium.make_vec("flowsched/MERPOrder-v0", num_envs=1, workload=path)
    result = evaluate("flowsched/MERPOrder-v0", "srpt", episodes=1, seed=0, kwargs={"workload": path})

    assert flows.num_flows == 4
    assert env.config.workload == "own"
    assert env.source.capacity == 1.25e9, "the network's, as the file gives none"
    assert vector._sources[0].draw(0).num_flows == 4
    assert result.kwargs["workload"]["size"]["points"] == [[1000.0, 0.0], [3000.0, 1.0]]
    assert flowsched_gym.replay(path, discipline="srpt", seed=3).size.tolist() == flows.size.tolist()


def test_a_replay_takes_the_name_of_a_workload_and_suggests_one() -> None:
    records = flowsched_gym.replay("gather-heavy", discipline="edf", topology="big-switch", seed=2)
    assert records.size.tolist() == make_workload("gather-heavy").draw(2).size.tolist()
    with pytest.raises(ConfigError, match=r"'gather-heavi' does not exist \(did you mean 'gather-heavy'"):
        flowsched_gym.replay("gather-heavi", discipline="edf")


def test_a_workload_file_that_is_not_there_or_describes_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml does not exist: a workload file is needed"):
        find_source("none.yaml")
    for content, message in (("- 1", "it must be a mapping"), ("base: [", "this is not YAML"), ("base: x", "'x' does")):
        (tmp_path / "own.yaml").write_text(content)
        with pytest.raises(ConfigError, match=rf"own\.yaml: .*{message}"):
            find_source(tmp_path / "own.yaml")
    for content in ("1", "true", "a: !!int x", "a: !!bool x", "a: !!int ''", r'a: "\Uffffffff"', f"a: {'1' * 5_000}"):
        (tmp_path / "own.yaml").write_text(content)
        with pytest.raises(ConfigError, match=r"own\.yaml: this is not YAML: "):
            find_source(tmp_path / "own.yaml")
