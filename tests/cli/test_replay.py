"""Replays flow files by ``flowsched replay``."""

import json
from pathlib import Path

import pytest
from pyarrow import parquet

import flowsched_gym
from flowsched_gym.cli.flow_commands import measure
from flowsched_gym.flows.metrics import METRIC_NAMES
from tests.cli.conftest import rows_of
from tests.processes import check_refusal
from tests.simulate import make_flows

HEADER = "flow_id,task_id,source,destination,size_bytes,arrival_s,deadline_s"

# At 100 B/s: flow 0 alone for 1 s, then by discipline.
TOY = "0,,1,0,300,0,\n1,0,2,0,100,1,1.5\n2,0,1,0,100,1,1.5\n"


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    path = tmp_path / "flows.csv"
    path.write_text(f"{HEADER}\n{TOY}")
    return path


def test_the_records_are_the_flows_and_what_became_of_them(flowsched, flows: Path, tmp_path: Path) -> None:
    out = tmp_path / "records.csv"

    outcome = flowsched("replay", flows, "--discipline", "srpt", "--capacity", 100, "--out", out)

    assert (outcome.status, outcome.err) == (0, "")
    rows = rows_of(out)
    assert list(rows[0]) == [*HEADER.split(","), "completion_s", "fct_s", "slowdown", "deadline_met"]
    for name, cells in (
        *(("flow_id", ["0", "1", "2"]), ("task_id", ["", "0", "0"]), ("deadline_s", ["", "1.5", "1.5"])),
        ("deadline_met", ["", "true", "false"]),
    ):
        assert [row[name] for row in rows] == cells
    for name, numbers in (("completion_s", [5, 2, 3]), ("fct_s", [5, 1, 2]), ("slowdown", [5 / 3, 1, 2])):
        assert [float(row[name]) for row in rows] == pytest.approx(numbers)


def test_records_of_tasks_keep_cpu_work_and_order(flowsched, tmp_path: Path) -> None:
    path, out = tmp_path / "tasks.csv", tmp_path / "records.csv"
    path.write_text(f"{HEADER},cpu_s,after\n0,0,1,0,100,0,,2,\n1,0,2,0,100,0,,0,0\n")

    flowsched("replay", path, "--discipline", "fifo", "--capacity", 100, "--out", out)

    rows = rows_of(out)
    assert [(float(row["cpu_s"]), row["after"]) for row in rows] == [(2.0, ""), (0.0, "0")]
    assert [float(row["ready_s"]) for row in rows] == [0.0, 3.0]
    assert [float(row["completion_s"]) for row in rows] == [3.0, 4.0]


def test_the_records_hold_the_same_bits_as_the_replay_in_python(flowsched, tmp_path: Path) -> None:
    path, out = tmp_path / "flows.csv", tmp_path / "records.csv"
    flowsched("workload", "gather-heavy", "--flows", 200, "--out", path)
    flowsched("replay", path, "--discipline", "ps", "--topology", "big-switch", "--link-gbps", 2, "--out", out)

    records = flowsched_gym.replay(path, discipline="ps", topology="big-switch", capacity=250e6)
    rows = rows_of(out)
    for column, values in (("completion_s", records.completion_time), ("slowdown", records.slowdown)):
        assert [float(row[column]) for row in rows] == values.tolist()
    assert [row["deadline_met"] == "true" for row in rows] == records.deadline_met.tolist()


def test_as_json_the_metrics_are_one_document_with_null_for_what_is_not_defined(flowsched, flows: Path) -> None:
    outcome = flowsched("replay", flows, "--discipline", "fifo", "--capacity", 100, "--json")

    metrics = json.loads(outcome.out)
    assert tuple(metrics) == METRIC_NAMES
    assert (metrics["num_flows"], metrics["deadline_hit_ratio"]) == (3, 0.0)
    assert (metrics["mean_fct"], metrics["utilisation"]) == pytest.approx((10 / 3, 1.0))
    assert "NaN" not in outcome.out
    flows.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,1,0,100,0\n")
    replay = ("replay", flows, "--discipline", "ps")
    assert json.loads(flowsched(*replay, "--json").out)["deadline_hit_ratio"] is None
    table = flowsched(*replay).out
    assert [name in table for name in ("mean_fct", "deadline_hit_ratio", "nan")] == [True, False, False]


def test_one_link_is_utilised_as_one_however_many_hosts_receive() -> None:
    flows = make_flows([0.0, 0.0], [100.0, 100.0], source=[2, 3], destination=[0, 1])
    last = []
    for topology in ("one-link", "big-switch"):
        records = flowsched_gym.replay(flows, discipline="ps", topology=topology, capacity=100.0)
        assert measure(records, topology=topology, capacity=100.0)["utilisation"] == pytest.approx(1.0)
        last.append(records.completion_time.max())
    assert last[1] == pytest.approx(last[0] / 2)


@pytest.mark.parametrize("thresholds", ["[50, 150]", "5e1, 1.5e2"])
def test_parameters_reach_the_discipline(flowsched, flows: Path, tmp_path: Path, thresholds: str) -> None:
    out = tmp_path / "records.csv"
    parameters = ["--param", f"thresholds={thresholds}", "--param", "within=fifo"]

    assert flowsched("replay", flows, "--discipline", "mlfq", *parameters, "--capacity", 100, "--out", out).status == 0

    expected = flowsched_gym.replay(
        flows, discipline="mlfq", parameters={"thresholds": [50.0, 150.0], "within": "fifo"}, capacity=100.0
    )
    assert [float(row["fct_s"]) for row in rows_of(out)] == expected.fct.tolist()


def test_a_plot_and_parquet_are_written(flowsched, flows: Path, tmp_path: Path) -> None:
    words = "--plot", tmp_path / "picture.png", "--out", tmp_path / "records.parquet"
    assert flowsched("replay", flows, "--discipline", "srpt", "--capacity", 100, *words).status == 0
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    table = parquet.read_table(tmp_path / "records.parquet").to_pydict()
    assert table["completion_s"] == pytest.approx([5.0, 2.0, 3.0])
    assert (table["deadline_met"], table["task_id"]) == ([None, True, False], [None, 0, 0])


def test_the_flow_file_may_be_replaced_by_its_records_columns(flowsched, flows: Path) -> None:
    assert flowsched("replay", flows, "--discipline", "srpt", "--out", flows).status == 0
    outcome = flowsched("replay", flows, "--discipline", "srpt")
    check_refusal(outcome, "unknown columns 'completion_s', 'fct_s', 'slowdown', 'deadline_met'")


def test_bad_input_is_one_line_and_writes_nothing(flowsched, flows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(flows.parent)
    for words, message in (
        ("--discipline edff", "discipline is 'edff': it must be one of fifo, ps"),
        ("--discipline edf --topology big-switch --hosts 2", "topology big-switch has the hosts 0 to 1"),
        ("--discipline edf --param thresholds=5", "discipline edf has no parameter 'thresholds'"),
        ("--discipline edf --plot picture.doc", "picture.doc has the extension '.doc': a picture needs one"),
        ("--discipline edf --plot none/picture.png", "none/picture.png cannot be written: the folder"),
        ("--discipline edf --out none/records.csv", "none/records.csv cannot be written: the folder"),
    ):
        check_refusal(flowsched("replay", flows, "--out", "records.csv", *words.split()), message)
    flows.write_text(f"{HEADER}\n0,,1,0,-5,0,\n")
    wrong = flowsched("replay", flows, "--discipline", "edf", "--out", "records.csv", "--json")
    check_refusal(wrong, f"{flows}, line 2, column size_bytes: '-5': it must be a finite number of bytes > 0")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    without = flowsched("replay", flows, "--discipline", "edf", "--plot", "picture.png")
    check_refusal(without, "pip install 'flowsched-gym[plot]'")
    assert list(flows.parent.iterdir()) == [flows]
    flows.unlink()
    check_refusal(flowsched("replay", flows, "--discipline", "edf"), "does not exist: a flow file is needed")


def test_deadlines_that_look_like_absolute_times_are_one_line_of_warning(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows \x1b[31m.csv"
    rows = "".join(f"{row},1,0,10,{row + 1},{row + 1.5}\n" for row in range(3))
    path.write_text(f"flow_id,source,destination,size_bytes,arrival_s,deadline_s\n{rows}")

    outcome = flowsched("replay", path, "--discipline", "edf", "--json")

    assert (outcome.status, outcome.err.count("\n"), "\x1b" in outcome.err) == (0, 1, False)
    assert outcome.err.startswith("flowsched: warning: ")
    assert "deadline_s grows with arrival_s as an absolute time would" in outcome.err
    assert json.loads(outcome.out)["num_flows"] == 3
