"""Serves packet files and sends flow files in packets, by ``flowsched serve-packets`` and ``replay-packets``."""

import json
from pathlib import Path

import numpy as np
import pytest

import flowsched_gym
from tests.cli.conftest import rows_of
from tests.processes import check_refusal


@pytest.fixture
def packets(tmp_path: Path) -> Path:
    path = tmp_path / "packets.csv"
    path.write_text("arrival_s,flow_id,size_bytes\n0,7,300\n1,7,300\n1,2,100\n1,3,100\n")
    return path


def test_the_trace_has_a_row_for_each_packet(flowsched, packets: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.csv"

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
    parameters = {"buffer": 20, "mark_at": 5, "transport": "dctcp", "delay": 2e-5}
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


def test_packets_cross_a_fabric_of_the_papers_capacity_from_the_shell(flowsched, tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    path.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,0,20,1460,0\n")
    scheduler = ("--scheduler", "pias", "--param", "thresholds=[1e4]")
    command = ("replay-packets", path, *scheduler, "--topology", "leaf-spine", "--json")

    outcome = flowsched(*command, "--engine", "compiled", "--hosts", 32)

    assert outcome.status == 0
    # Four transmissions, two of them at four times the rate, four links and the hosts.
    assert json.loads(outcome.out)["mean_fct"] == pytest.approx(2.5 * 1_500 / 1.25e9 + 4e-7 + 2e-5)
    assert "needs 'compiled'" in flowsched(*command).err
