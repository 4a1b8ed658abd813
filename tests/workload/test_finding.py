"""Finds workloads in every form in which they may be given."""

from pathlib import Path

import pytest

from flowsched_gym.errors import ConfigError, FlowFileError
from flowsched_gym.workload import FixedWorkload, find_source, make_workload, write_flows
from tests.flows import make_flows

FLOWS = make_flows([0.0, 1.0], [3.0, 4.0])


def test_a_name_a_source_and_flows_are_found() -> None:
    source = make_workload("poisson-tree")
    assert find_source("poisson-tree") == source
    assert find_source(source) is source
    assert find_source(FLOWS).draw(3) is FLOWS


@pytest.mark.parametrize("name", ["flows.csv", "FLOWS.CSV"])
def test_a_file_is_found_as_text_and_as_a_path(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    write_flows(FLOWS, path)
    for form in (path, str(path)):
        found = find_source(form)
        assert isinstance(found, FixedWorkload)
        assert found.draw(0).size.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("workload", [7, None, 2.5, ["gather-a1"]])
def test_what_is_no_workload_is_refused(workload: object) -> None:
    with pytest.raises(
        ConfigError, match=r"workload is .*: it must be a name, a flow file, a mapping, a Workload or a source"
    ):
        find_source(workload)


def test_a_name_that_does_not_exist_and_a_file_that_does_not_are_told_apart() -> None:
    with pytest.raises(ConfigError, match="workload 'poisson-tre' does not exist"):
        find_source("poisson-tre")
    with pytest.raises(FlowFileError, match=r"none\.parquet"):
        find_source("none.parquet")
