"""Draws flow files by ``flowsched workload``."""

from pathlib import Path

import pytest

from flowsched_gym.workload import draw_flows, make_workload, read_flows, table_file


def test_exactly_the_first_flows_of_the_draw_are_written(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"

    outcome = flowsched("workload", "gather-a1", "--flows", 25, "--seed", 4, "--out", path)

    assert outcome.status == 0
    assert outcome.err == ""
    assert outcome.out.startswith(f"{path}: 25 flows, 7.")
    assert outcome.out.endswith("load 0.24\n")
    expected = draw_flows(make_workload("gather-a1"), num_flows=25, seed=4)
    read = read_flows(path)
    assert read.size.tobytes() == expected.size.tobytes()
    assert read.arrival_time.tobytes() == expected.arrival_time.tobytes()


def test_load_and_other_fields_are_handed_on(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"

    flowsched(
        "workload", "gather-a1", "--flows", 50, "--load", 0.5, "--out", path,
        "--param", "mix=[[1e5, 0.02, 4]]", "--param", "num_senders=20", "--param", "shuffle=false",
    )  # fmt: skip

    config = make_workload("gather-a1", load=0.5, mix=[[1e5, 0.02, 4]], num_senders=20, shuffle=False)
    assert read_flows(path).arrival_time.tolist() == draw_flows(config, num_flows=50, seed=0).arrival_time.tolist()
    assert set(read_flows(path).size) == {1e5}


def test_traffic_of_clusters_that_changes_is_drawn(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"

    flowsched("workload", "auto-changing", "--flows", 1000, "--seed", 3, "--param", "change_every=0.1", "--out", path)

    expected = draw_flows(make_workload("auto-changing", change_every=0.1), num_flows=1000, seed=3)
    assert read_flows(path).arrival_time.tolist() == expected.arrival_time.tolist()


def test_link_changes_that_a_flow_file_cannot_hold_are_told_of(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"

    outcome = flowsched("workload", "poisson-fat-tree-failures", "--flows", 20, "--out", path)

    assert outcome.status == 0
    assert outcome.out.endswith(f"load 0.6\n{path}: a flow file holds flows alone: 6 link changes left out\n")
    assert read_flows(path).num_flows == 20


def test_an_unstable_load_warns_in_one_line_and_goes_on(flowsched, tmp_path: Path) -> None:
    outcome = flowsched("workload", "gather-a1", "--flows", 9, "--load", 1.5, "--out", tmp_path / "flows.csv")

    assert outcome.status == 0
    assert outcome.err == (
        "flowsched: warning: load is 1.5: from 1 on it is unstable, queues and completion times grow without bound\n"
    )
    assert read_flows(tmp_path / "flows.csv").num_flows == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gather-a9"], "workload 'gather-a9' does not exist"),
        (
            ["gather-a1", "--param", "burstrate=5"],
            "workload 'gather-a1' has no field 'burstrate' (did you mean 'burst_rate'?)",
        ),
        (["gather-a1", "--param", "burst_rate"], "--param is 'burst_rate': it must be key=value"),
        (["gather-a1", "--param", "burst_rate=fast"], "burst_rate is 'fast': it must be a finite number > 0"),
        (["gather-a1", "--load", "0.5", "--param", "burst_rate=5"], "exactly one of burst_rate and load"),
        (["auto-clusters", "--load", "0.5"], "workload 'auto-clusters' has no field 'load': it has traffic, num_hosts"),
        (["gather-a1", "--load", "0.5", "--param", "load=0.4"], "load is given twice: by --load and by --param"),
        (["gather-a1", "--param", "num_destinations=1" + "0" * 30], "num_destinations is 1000"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    flowsched, tmp_path: Path, arguments: list[str], message: str
) -> None:
    outcome = flowsched("workload", *arguments, "--flows", 9, "--out", tmp_path / "flows.csv")

    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.startswith("flowsched: error: ")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gather-a1", "poisson-exponential"])
def test_more_flows_than_any_computer_could_hold_are_refused(flowsched, tmp_path: Path, name: str) -> None:
    outcome = flowsched("workload", name, "--flows", 10**20, "--out", tmp_path / "flows.csv")

    assert outcome.status == 2
    assert outcome.err == f"flowsched: error: num_flows is {10**20}: it must be an integer below {2**48}\n"


def test_a_place_that_cannot_be_written_to_is_an_error(flowsched, tmp_path: Path) -> None:
    into_nothing = flowsched("workload", "gather-a1", "--flows", 9, "--out", tmp_path / "none" / "flows.csv")
    into_folder = flowsched("workload", "gather-a1", "--flows", 9, "--out", tmp_path)

    assert (into_nothing.status, into_folder.status) == (2, 2)
    assert "does not exist" in into_nothing.err
    assert "is a folder: a file name is needed" in into_folder.err


def test_a_full_disk_is_an_error_of_one_line(flowsched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_file, "_format_cells", no_space)
    outcome = flowsched("workload", "gather-a1", "--flows", 9, "--out", tmp_path / "flows.csv")

    assert outcome.status == 2
    assert "No space left on device" in outcome.err
    assert list(tmp_path.iterdir()) == []
