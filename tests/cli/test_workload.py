"""Draws flow files by ``flowsched workload``."""

from pathlib import Path

from flowsched_gym.workload import draw_flows, flow_file, make_workload, read_flows
from tests.processes import check_refusal


def test_exactly_the_first_flows_of_the_draw_are_written(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"

    outcome = flowsched("workload", "gather-a1", "--flows", 25, "--seed", 4, "--out", path)

    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{path}: 25 flows, 7.")
    assert outcome.out.endswith("load 0.24\n")
    expected = draw_flows(make_workload("gather-a1"), num_flows=25, seed=4)
    read = read_flows(path)
    assert read.size.tobytes() == expected.size.tobytes()
    assert read.arrival_time.tobytes() == expected.arrival_time.tobytes()


def test_load_and_other_fields_are_handed_on(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"

    words = "--param", "mix=[[1e5, 0.02, 4]]", "--param", "num_senders=20", "--param", "shuffle=false"
    flowsched("workload", "gather-a1", "--flows", 50, "--load", 0.5, "--out", path, *words)

    config = make_workload("gather-a1", load=0.5, mix=[[1e5, 0.02, 4]], num_senders=20, shuffle=False)
    assert read_flows(path).arrival_time.tolist() == draw_flows(config, num_flows=50, seed=0).arrival_time.tolist()
    assert set(read_flows(path).size) == {1e5}


def test_link_changes_that_a_flow_file_cannot_hold_are_told_of(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    outcome = flowsched("workload", "poisson-fat-tree-failures", "--flows", 20, "--out", path)
    assert outcome.status == 0
    assert outcome.out.endswith(f"load 0.6\n{path}: a flow file holds flows alone: 6 link changes left out\n")
    assert read_flows(path).num_flows == 20


def test_tasks_are_written_with_their_cpu_work_and_order_and_read_again(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    words = ("--flows", 50, "--seed", 2, "--out", path, "--param", "cpu_work=true", "--param", "pattern=dag")
    assert flowsched("workload", "tafe-log", *words).out.endswith("load 0.8\n")
    assert flowsched("workload", "tafe-log", *words, "--param", "arrivals=closed").out.endswith("from 0 s to 0 s\n")

    config = make_workload("tafe-log", cpu_work=True, pattern="dag", arrivals="closed")
    read, drawn = read_flows(path), draw_flows(config, num_flows=50, seed=2)
    assert path.read_text().splitlines()[0].endswith("cpu_s,after")
    assert len(read.arrays) == len(drawn.arrays)
    assert [array.tobytes() for array in read.arrays] == [array.tobytes() for array in drawn.arrays]


def test_an_unstable_load_warns_in_one_line_and_goes_on(flowsched, tmp_path: Path) -> None:
    outcome = flowsched("workload", "gather-a1", "--flows", 9, "--load", 1.5, "--out", tmp_path / "flows.csv")
    assert (outcome.status, outcome.err.count("\n")) == (0, 1)
    assert outcome.err.startswith("flowsched: warning: load is 1.5: from 1 on it is unstable")
    assert read_flows(tmp_path / "flows.csv").num_flows == 9


def test_bad_input_and_a_full_disk_are_one_line_and_write_nothing(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words, message in (
        ("gather-a9", "workload 'gather-a9' does not exist"),
        ("gather-a1 --param burstrate=5", "'gather-a1' has no field 'burstrate' (did you mean 'burst_rate'?)"),
        ("gather-a1 --param burst_rate=fast", "burst_rate is 'fast': it must be a finite number > 0"),
        ("gather-a1 --load 0.5 --param load=0.4", "load is given twice: by --load and by --param"),
        (f"gather-a1 --param num_destinations=1{'0' * 30}", "num_destinations is 1000"),
        (f"poisson-exponential --flows {2**50}", f"num_flows is {2**50}: it must be an integer below {2**48}"),
        ("gather-a1 --out none/flows.csv", "does not exist"),
        ("gather-a1 --out .", "is a folder: a file name is needed"),
    ):
        check_refusal(flowsched("workload", "--flows", 9, "--out", "flows.csv", *words.split()), message)

    def no_space(*_) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(flow_file, "_format_cells", no_space)
    check_refusal(flowsched("workload", "gather-a1", "--flows", 9, "--out", "flows.csv"), "No space left on device")
    assert list(tmp_path.iterdir()) == []
