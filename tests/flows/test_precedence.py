"""Flows that wait for others, in files, mappings and workloads."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym.core.errors import FlowFileError, WorkloadError
from flowsched_gym.workload import Precedence, Workload, read_flows, with_future, workload_from_columns, write_flows
from flowsched_gym.workload.source import first_flows


def chain(after: Sequence[object], **columns: Sequence[object]) -> Workload:
    """Makes flows of 1 B from host 0 to host 1 with the ids 0, 1, ..."""
    ids = list(range(len(after)))
    ends: dict[str, Sequence[object]] = {
        "source": [0] * len(ids),
        "destination": [1] * len(ids),
        "size_bytes": [1.0] * len(ids),
    }
    rest: dict[str, Sequence[object]] = {"flow_id": ids, "arrival_s": [0.0] * len(ids), "after": after}
    return workload_from_columns({**ends, **rest, **columns})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_flow_file_brings_back_who_waits_and_what_a_cpu_does_first(tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    workload = chain(["", 0, [0, 1], "2 1", None], cpu_s=[0.5, None, 0.0, 1e-9, 2])
    path = tmp_path / f"flows.{suffix}"
    write_flows(workload, path)
    again = read_flows(path)
    assert again.after is not None
    assert again.after.earlier.tolist() == [0, 0, 1, 1, 2]
    assert again.after.later.tolist() == [1, 2, 2, 3, 3]
    assert again.cpu_time is not None
    assert again.cpu_time.tolist() == [0.5, 0.0, 0.0, 1e-9, 2.0]
    assert again.has_stages


def test_depth_counts_the_longest_chain_before_a_flow() -> None:
    pairs = Precedence.of({1: [0], 2: [0, 1], 3: [2], 5: [0]})
    assert pairs.depth(np.arange(6)).tolist() == [0, 1, 2, 3, 0, 1]


def test_a_flow_that_could_never_begin_and_cpu_work_that_is_no_time_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    columns = "flow_id,source,destination,size_bytes,arrival_s"
    for cells, message in (
        (["", "7"], "line 3, column after: 7: it must be ids of other flows"),
        (["", "1"], "line 3, column after: 1: it must be"),
        (["", "0 x"], "line 3, column after: '0 x': it must be"),
        (["", "0.5"], "line 3, column after: '0.5': it must be"),
        (["1", "0"], r"column after: flows wait for each other \(0 after 1 after 0\)"),
    ):
        rows = "".join(f"{row},0,1,5,0,{cell}\n" for row, cell in enumerate(cells))
        path.write_text(f"{columns},after\n{rows}")
        with pytest.raises(FlowFileError, match=message):
            read_flows(path)
    for value in ("-1", "nan", "inf", "x"):
        path.write_text(f"{columns},cpu_s\n0,0,1,5,0,{value}\n")
        with pytest.raises(FlowFileError, match=r"line 2, column cpu_s: .* it must be a finite time in s >= 0, or"):
            read_flows(path)
    with pytest.raises(WorkloadError, match=r"mapping: after is .* it must be a sequence of 1 entries"):
        workload_from_columns({key: [1.0] for key in columns.split(",")} | {"destination": [0], "after": ["", ""]})


def test_another_future_keeps_those_that_are_waited_for() -> None:
    past = chain(["", "2", "", "2"], arrival_s=[0.0, 0.0, 5.0, 6.0])
    future = chain(["", "0", "1"], arrival_s=[0.0, 7.0, 8.0])
    joined = with_future(past, future, now=1.0)
    assert joined.arrival_time.tolist() == [0.0, 0.0, 5.0, 7.0, 8.0]
    assert joined.after is not None
    assert [*zip(joined.after.earlier.tolist(), joined.after.later.tolist(), strict=True)] == [(2, 1), (4, 5)]


def test_the_first_flows_wait_for_each_other_alone() -> None:
    after = first_flows(chain(["", "0", "1 3", ""]), 3).after
    assert after is not None
    assert after.later.tolist() == [1, 2]
