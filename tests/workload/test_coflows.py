"""Tells how a file of coflows becomes flows, and what is refused with which words."""

import re
from pathlib import Path

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.workload import coflow_sample, read_coflows

LINES = ["3 2", "7 512 2 0 2 2 2:6.0 1:1", "4 1024 1 1 1 0:0.5"]


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_each_pair_of_a_mapper_and_a_reducer_is_a_flow_with_an_equal_part_of_the_bytes(tmp_path: Path) -> None:
    workload = read_coflows(write(tmp_path / "coflows.txt", *LINES))
    assert workload.flow_id.tolist() == [0, 1, 2, 3, 4]
    assert workload.task_id.tolist() == [7, 7, 7, 7, 4]
    assert workload.source.tolist() == [0, 0, 2, 2, 1]
    assert workload.destination.tolist() == [5, 4, 5, 4, 3]
    assert (workload.size / 2**20).tolist() == [3.0, 0.5, 3.0, 0.5, 0.5]
    assert workload.arrival_time.tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]


def test_the_sample_is_replayed_and_its_first_coflows_alone_are_the_first_flows() -> None:
    workload, first = read_coflows(coflow_sample()), read_coflows(coflow_sample(), coflows=3)
    assert (workload.num_flows, workload.num_hosts) == (64, 12)
    assert set(first.task_id.tolist()) == {1, 2, 3}
    for name in ("flow_id", "task_id", "source", "destination", "size", "arrival_time"):
        assert np.array_equal(getattr(first, name), getattr(workload, name)[: first.num_flows]), name
    # The first two coflows share no port: their bytes leave or arrive at one port, 3 and 8 MB at 1 MB/s.
    alone = read_coflows(coflow_sample(), coflows=2)
    records = flowsched_gym.replay(alone, discipline="ps", topology="big-switch", num_hosts=12, capacity=2.0**20)
    assert task_completion_times(records).tct == pytest.approx([3.0, 8.0])


def test_what_is_not_allowed_is_refused_by_line_and_value(tmp_path: Path) -> None:
    for line, new, words in (
        (0, "0 2", "line 1, number of ports: '0': it must be a whole number from 1 to"),
        (0, "3 2 1", "line 1, word 3: '1': it must be the last of two numbers"),
        (0, "3 1", "line 3: '4 1024 1 1 1 0:0.5': nothing may follow the 1 coflows of line 1"),
        (0, "3 3", "line 4: the file ends: it must have 3 coflows, as in line 1"),
        (1, "", "line 2, coflow: the line ends after 0 words"),
        (1, "7 -1 1 0 1 0:1", "line 2, arrival: '-1': it must be a finite time in ms >= 0"),
        (1, "7 0 0 1 0:1", "line 2, number of mappers: '0': it must be a whole number from 1"),
        (1, "7 0 2 0 1 0:1", "line 2, number of reducers: '0:1': it must be a whole number from 1"),
        (1, "7 0 1 3 1 0:1", "line 2, rack of a mapper: '3': it must be a whole number from 0 to 2"),
        (1, "7 0 1 0 1 3:1", "line 2, rack of a reducer: '3': it must be a whole number from 0 to 2"),
        (1, "7 0 1 0 2 0:1", "line 2, reducer: the line ends after 6 words: it must be rack:MB"),
        (1, "7 0 1 0 1 0:1 1:1", "line 2, word 7: '1:1': it must be the last of 1 mappers and 1 reducers"),
        (1, "7 0 1 0 1 01", "line 2, reducer: '01': it must be rack:MB"),
        (1, "7 0 1 0 1 0:0", "line 2, MB of a reducer: '0': it must be a finite number > 0"),
        (1, "7 0 1 0 1 0:nan", "line 2, MB of a reducer: 'nan': it must be a finite number > 0"),
        (1, "7 0 1 0 1 0:1e306", "line 2, MB of a reducer: '1e306': it must be a finite number > 0"),
        (2, "7 0 1 0 1 0:1", "line 3, coflow: '7': it must be another id than in line 2"),
    ):
        path = write(tmp_path / "coflows.txt", *LINES[:line], new, *LINES[line + 1 :])
        with pytest.raises(FlowFileError, match=f"^{re.escape(f'{path}, {words}')}"):
            read_coflows(path)
    with pytest.raises(FlowFileError, match="nowhere does not exist: a file of coflows is needed"):
        read_coflows(tmp_path / "nowhere")
    for coflows, words in ((0, "an integer >= 1"), (11, "at most 10, as many as")):
        with pytest.raises(ConfigError, match=f"coflows is {coflows}: it must be {words}"):
            read_coflows(coflow_sample(), coflows=coflows)
