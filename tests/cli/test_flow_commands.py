"""Draws and replays flow files, serves packet files, sends flow files in packets, and checks networks, by commands."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import flowsched_gym
from flowsched_gym.cli.flow_commands import measure
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.workload import draw_flows, make_workload, read_flows
from tests.envs.test_own_network import FILE
from tests.processes import check_refusal, rows_of
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
    parameters = {"thresholds": [1e4, 1e5], "within": "fifo"}
    how = {"parameters": parameters, "topology": "big-switch", "capacity": 250e6}
    records = flowsched_gym.replay(path, discipline="mlfq", **how)

    for thresholds in ("[1e4, 1e5]", "1e4, 1e5"):
        words = ("--param", f"thresholds={thresholds}", "--param", "within=fifo", "--topology", "big-switch")
        flowsched("replay", path, "--discipline", "mlfq", *words, "--link-gbps", 2, "--out", out)
        rows = rows_of(out)
        for column, values in (("completion_s", records.completion_time), ("slowdown", records.slowdown)):
            assert [float(row[column]) for row in rows] == values.tolist()
        assert [row["deadline_met"] == "true" for row in rows] == records.deadline_met.tolist()
        out.unlink()


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


def test_people_read_units_and_nothing_of_what_the_flows_do_not_have(flowsched, flows: Path) -> None:
    def printed(*words: object) -> dict[str, str]:
        outcome = flowsched(*words)
        assert outcome.status == 0, outcome.err
        return {line.split()[0]: " ".join(line.split()[1:]) for line in outcome.out.splitlines()}

    replay = ("replay", flows, "--capacity", 100, "--discipline")
    assert printed(*replay, "srpt").items() >= {
        *(("mean_fct", "2666.7 ms"), ("makespan", "5000.0 ms"), ("goodput", "8e-07 Gbps"), ("mean_slowdown", "1.56")),
        *(("deadline_hit_ratio", "50.0 %"), ("utilisation", "100.0 %"), ("num_flows", "3 flows")),
        *(("deadlines_missed", "1 flows"), ("num_tasks", "1 tasks")),
    }
    assert printed(*replay, "fifo")["deadline_hit_ratio"] == "0.0 %", "there are deadlines, all missed"
    flows.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,0,1,3000,0\n")
    for words in ((*replay, "srpt"), ("replay-packets", flows, "--scheduler", "fifo")):
        assert not {"deadlines_met", "deadline_hit_ratio", "num_tasks", "mean_tct", "drops", "marks"} & {
            *printed(*words)
        }
    packets = ("replay-packets", flows, "--scheduler", "fifo", "--param", "buffer=3e5", "--param", "mark_at=1e5")
    assert printed(*packets).items() >= {("drops", "0 packets"), ("marks", "0 packets")}
    assert json.loads(flowsched(*packets[:4], "--json").out)["drops"] == 0


OWN = """
from flowsched_gym.fluid import Discipline
from flowsched_gym.packets.schedulers import Fifo


class Last(Discipline):
    def __init__(self, sign: int, *, factor: float = 1.0) -> None:
        if sign not in (-1, 1):
            raise ValueError("sign must be -1 or 1")
        self.num_priorities = 0

    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        for row in active[:count]:
            controls.priority[row] = -row


class Mine(Fifo):
    pass
"""


def test_a_class_of_ones_own_is_named_as_a_file_or_as_in_a_module(flowsched, flows: Path, monkeypatch) -> None:
    monkeypatch.chdir(flows.parent)
    monkeypatch.setattr("sys.path", [*sys.path])
    Path("own_rules.py").write_text(OWN)
    last = ("replay", "flows.csv", "--capacity", 100, "--json", "--param", "sign=1", "--discipline")
    by_file, alone, by_module = (
        json.loads(flowsched(*last, name).out) for name in ("own_rules.py:Last", "own_rules.py", "own_rules:Last")
    )
    assert by_file == alone == by_module
    assert by_file["mean_fct"] == pytest.approx((5 + 2 + 1) / 3), "the last one goes first"
    records = flowsched_gym.replay("flows.csv", discipline="own_rules.py", capacity=100.0, parameters={"sign": 1})
    assert records.fct.tolist() == [5, 2, 1]
    packets = ("replay-packets", "flows.csv", "--json", "--scheduler")
    assert flowsched(*packets, "own_rules.py:Mine").out == flowsched(*packets, "fifo").out


def test_what_is_wrong_with_a_class_of_ones_own_is_one_line(flowsched, flows: Path, monkeypatch) -> None:
    monkeypatch.chdir(flows.parent)
    Path("own_rules.py").write_text(OWN)
    Path("two.py").write_text(f"{OWN}\nclass Other(Last):\n    pass\n")
    Path("faulty.py").write_text("class :\n")
    Path("needy.py").write_text("import a_package_that_is_nowhere\n")
    for words, message in (
        ("own_rules.py", "discipline own_rules.py needs sign, such as --param sign=...: it takes sign, factor"),
        ("own_rules.py --param sing=1", "has no parameter 'sing': it takes sign, factor"),
        ("own_rules.py --param sign=3", "discipline own_rules.py is not made of {'sign': 3}: sign must be -1 or 1"),
        ("own_rules.py:Lost", "discipline is 'own_rules.py:Lost': module own_rules.py has no 'Lost' (did you mean"),
        ("own_rules.py:Mine", "discipline is 'own_rules.py:Mine': it must be a subclass of Discipline"),
        ("two.py", "discipline is 'two.py': file.py:Class must name a subclass of Discipline; it has Last, Other"),
        ("faulty.py", "discipline is 'faulty.py': invalid syntax (faulty.py, line 1)"),
        ("needy.py:A", "discipline is 'needy.py:A': No module named 'a_package_that_is_nowhere'"),
        ("none.py", "discipline is 'none.py': there is no such file"),
        ("nowhere:A", "discipline is 'nowhere:A': No module named 'nowhere'"),
        ("mlfq", "discipline mlfq needs thresholds, such as --param thresholds=1e5,1e6: it takes thresholds, within"),
        ("wfq", "needs queue and weights, such as --param queue=0,1,0 --param weights=2,1: it takes"),
    ):
        check_refusal(flowsched("replay", "flows.csv", "--discipline", *words.split()), message)
    packets = flowsched("replay-packets", "flows.csv", "--scheduler", "own_rules.py:Last")
    check_refusal(packets, "scheduler is 'own_rules.py:Last': it must be a subclass of Scheduler")


def test_one_link_is_utilised_as_one_however_many_hosts_receive() -> None:
    flows = make_flows([0.0, 0.0], [100.0, 100.0], source=[2, 3], destination=[0, 1])
    last = []
    for topology in ("one-link", "big-switch"):
        records = flowsched_gym.replay(flows, discipline="ps", topology=topology, capacity=100.0)
        assert measure(records, topology=topology, capacity=100.0)["utilisation"] == pytest.approx(1.0)
        last.append(records.completion_time.max())
    assert last[1] == pytest.approx(last[0] / 2)


def test_a_plot_and_parquet_are_written(flowsched, flows: Path, tmp_path: Path) -> None:
    words = "--plot", tmp_path / "picture.png", "--out", tmp_path / "records.parquet"
    assert flowsched("replay", flows, "--discipline", "srpt", "--capacity", 100, *words).status == 0
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    table = parquet.read_table(tmp_path / "records.parquet").to_pydict()
    assert table["completion_s"] == pytest.approx([5.0, 2.0, 3.0])
    assert (table["deadline_met"], table["task_id"]) == ([None, True, False], [None, 0, 0])


def test_several_disciplines_are_one_table_and_one_figure(flowsched, flows: Path, tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    words: tuple = ("replay", flows, "--capacity", 1000, *("--discipline", "fifo", "--discipline", "mlfq"))
    words = (*words, "--param", "thresholds=[500]", "--param", "delay=0")
    table = flowsched(*words, "--plot", figure).out.splitlines()
    assert table[0].split() == ["metric", "fifo", "mlfq", "unit"]
    found = json.loads(flowsched(*words, "--json").out)
    alone = json.loads(flowsched(*words[:4], "--discipline", "fifo", "--json").out)
    assert list(found) == ["fifo", "mlfq"]
    assert found["fifo"] == alone != found["mlfq"]
    assert figure.read_bytes().startswith(b"<?xml")
    check_refusal(flowsched(*words, "--param", "alpha=1"), "discipline fifo has no parameter 'alpha'")
    check_refusal(flowsched(*words, "--out", tmp_path / "records.csv"), "--out is given, for the records of one disci")


def test_the_file_that_is_read_is_never_replaced_and_records_are_no_flows(flowsched, flows: Path, monkeypatch) -> None:
    monkeypatch.chdir(flows.parent)
    before, srpt = flows.read_bytes(), ("--discipline", "srpt")
    Path("link.csv").symlink_to(flows)
    for out in (flows, f"./{flows.name}", "link.csv"):
        check_refusal(flowsched("replay", flows, *srpt, "--out", out), "the file that is read: another one is needed")
    packets = ("replay-packets", flows, "--scheduler", "fifo", "--out", "a.csv", "--trace", "a.csv")
    check_refusal(flowsched(*packets), "--out and --trace are both a.csv: two files are needed")
    check_refusal(flowsched("export", flows, "--format", "hpcc", "--out", "link.csv"), "the file that is read")
    assert flows.read_bytes() == before

    assert flowsched("replay", flows, *srpt, "--out", "records.csv").status == 0
    outcome = flowsched("replay", "records.csv", *srpt)
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


def test_exactly_the_first_flows_of_the_draw_in_python_are_written(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    mix = {"mix": [[1e5, 0.02, 4]], "num_senders": 20, "shuffle": False}
    tasks = {"cpu_work": True, "pattern": "dag"}
    for name, load, fields, told in (
        ("gather-a1", {}, {}, "load 0.24\n"),
        ("gather-a1", {"load": 0.5}, mix, "load 0.5\n"),
        ("tafe-log", {}, tasks, "load 0.8\n"),
        ("tafe-log", {}, tasks | {"arrivals": "closed"}, "from 0 s to 0 s\n"),
    ):
        given = [f"--load={value}" for value in load.values()]
        given += [f"--param={key}={json.dumps(value)}" for key, value in fields.items()]
        outcome = flowsched("workload", name, "--flows", 50, "--seed", 4, "--out", path, *given)
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out.startswith(f"{path}: 50 flows, ")
        assert outcome.out.endswith(told)
        read, drawn = read_flows(path), draw_flows(make_workload(name, **load, **fields), num_flows=50, seed=4)
        assert len(read.arrays) == len(drawn.arrays)
        assert [array.tobytes() for array in read.arrays] == [array.tobytes() for array in drawn.arrays]
    assert path.read_text().splitlines()[0].endswith("cpu_s,after")


def test_an_unstable_load_warns_in_one_line_and_goes_on(flowsched, tmp_path: Path) -> None:
    outcome = flowsched("workload", "gather-a1", "--flows", 9, "--load", 1.5, "--out", tmp_path / "flows.csv")
    assert (outcome.status, outcome.err.count("\n")) == (0, 1)
    assert outcome.err.startswith("flowsched: warning: load is 1.5: from 1 on it is unstable")
    assert read_flows(tmp_path / "flows.csv").num_flows == 9


def test_bad_input_of_a_draw_is_one_line_and_writes_nothing(flowsched, tmp_path: Path, monkeypatch) -> None:
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
    assert list(tmp_path.iterdir()) == []


def test_the_trace_has_a_row_for_each_packet(flowsched, tmp_path: Path) -> None:
    packets, out = tmp_path / "packets.csv", tmp_path / "trace.csv"
    packets.write_text("arrival_s,flow_id,size_bytes\n0,7,300\n1,7,300\n1,2,100\n1,3,100\n")

    words = "--scheduler", "pias", "--param", "thresholds=[0]", "--param", "buffer=2", "--capacity", 100
    outcome = flowsched("serve-packets", packets, *words, "--out", out, "--json")

    assert (outcome.status, outcome.err) == (0, "")
    rows = rows_of(out)
    for name, cells in (
        *(("flow_id", ["7", "7", "2", "3"]), ("queue", ["0", "1", "0", "0"]), ("last_seen_s", ["", "0.0", "", ""])),
        *(("start_s", ["0.0", "4.0", "3.0", ""]), ("dropped", ["false", "false", "false", "true"])),
    ):
        assert [row[name] for row in rows] == cells
    summary = json.loads(outcome.out)
    assert (summary["packets"], summary["dropped"], summary["largest_waiting_time"]) == (4, 1, 3)


def test_the_records_of_a_replay_are_those_of_the_call_in_python(flowsched, tmp_path: Path) -> None:
    path, out, trace = tmp_path / "flows.csv", tmp_path / "records.csv", tmp_path / "trace.csv"
    flowsched("workload", "gather-heavy", "--flows", 20, "--out", path)
    parameters = {"buffer": 30_000, "mark_at": 7_500, "transport": "dctcp", "delay": 2e-5}
    given = [word for key, value in parameters.items() for word in ("--param", f"{key}={value}")]

    words = "--scheduler", "fifo", *given, "--out", out, "--trace", trace, "--link-gbps", 10
    assert flowsched("replay-packets", path, *words).status == 0

    how = {"parameters": parameters, "capacity": 1.25e9, "keep_trace": True}
    records = flowsched_gym.replay_packets(path, scheduler="fifo", **how)
    rows = rows_of(out)
    assert [float(row["fct_s"]) for row in rows] == records.fct.tolist()
    for name in ("packets", "drops", "marks", "disordered"):
        assert [int(row[name]) for row in rows] == getattr(records, name).tolist()
    assert records.trace is not None
    assert len(rows_of(trace)) == records.trace.num_packets
    assert np.count_nonzero(records.drops) > 0


def test_a_faulty_packet_file_is_an_error_of_one_line(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "packets.csv"
    for rows, message in (
        (None, "packets.csv"),
        ("flow_id,size_bytes\n1,2\n", "missing column arrival_s"),
        ("flow_id,size_bytes,arrival_s,x\n", "unknown column 'x'"),
        ("flow_id,size_bytes,arrival_s\n", "no packets"),
        ("flow_id,size_bytes,arrival_s\n1,2\n", "line 2: it has 2 cells"),
        ("flow_id,size_bytes,arrival_s\n1,2,now\n", "line 2, arrival_s is 'now'"),
        ("flow_id,size_bytes,arrival_s\n1,0,1\n", "row 0, size_bytes"),
        ("flow_id,size_bytes,arrival_s\n1,5,1\n1,5,0.5\n", "row 1, arrival_s"),
    ):
        if rows is not None:
            path.write_text(rows)
        check_refusal(flowsched("serve-packets", path, "--scheduler", "fifo"), message)


def test_packets_cross_the_topology_of_a_replay_from_the_shell_on_both_engines(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,0,20,1460,0\n")
    network = ("--topology", "leaf-spine", "--hosts", 32, "--link-gbps", 10, "--param", "delay=1e-6", "--param")
    command = ("replay-packets", path, "--scheduler", "fifo", *network, "handshake=true")
    by_class = ("--param", 'buffer={"host": 3e4, "core": 6e4}', "--json", "--engine")

    simpy, compiled = (json.loads(flowsched(*command, *by_class, engine).out) for engine in ("simpy", "compiled"))

    fluid = "replay", path, "--discipline", "mlfq", "--param", "thresholds=[1e4]", *network[:-1], "--json"
    assert json.loads(flowsched(*fluid).out)["mean_fct"] == pytest.approx(1_460 / 1.25e9 + 4e-6)
    # A packet and a SYN of 40 B cross four ports and links, the answer four links; the third packet goes first.
    assert simpy["mean_fct"] == pytest.approx((4 * 1_500 + 5 * 40) / 1.25e9 + 12e-6)
    assert compiled == simpy
    assert simpy["timeouts"] == 0


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "racks.yaml"
    file.write_text(FILE)
    return file


def test_a_network_is_described_and_drawn(flowsched, network: Path, tmp_path: Path) -> None:
    shown = flowsched("network", network, "--plot", tmp_path / "racks.svg")
    assert "4 hosts, 2 switches, 10 links (each direction counted) of 10 Gbps" in shown.out
    assert "0 h0, 1 h1, 2 h2, 3 h3" in shown.out
    assert "h2" in (tmp_path / "racks.svg").read_text()
    facts = json.loads(flowsched("network", network, "--json").out)
    assert (facts["longest_path"], facts["largest_capacity"]) == (3, 1.25e9)


def test_a_replay_takes_the_file_as_its_topology(flowsched, network: Path, tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,0,3,1250000,0\n1,1,2,1250000,0\n")
    metrics = json.loads(flowsched("replay", flows, "--discipline", "ps", "--topology", network, "--json").out)
    # Both cross the cable between the racks, and fill half of their hosts' links.
    assert metrics["mean_fct"] == pytest.approx(2e-3 + 2e-6)
    assert metrics["utilisation"] == pytest.approx(0.5, rel=2e-3)
    network.write_text(FILE.replace("{ends: [h0, left]}", "{ends: [h0, left], capacity_gbps: 1}"))
    metrics = json.loads(flowsched("replay", flows, "--discipline", "ps", "--topology", network, "--json").out)
    assert metrics["utilisation"] is None


def test_a_faulty_network_is_one_line(flowsched, network: Path) -> None:
    network.write_text(FILE.replace("delay_us: 2", "delay_us: soon"))
    outcome = flowsched("network", network)
    assert outcome.status == 2
    assert "racks.yaml, link 4 (left to right): delay_us is 'soon': it must be a finite number >= 0" in outcome.err
