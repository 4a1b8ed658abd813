"""Holds drawn tasks to their laws: sizes, patterns, arrivals, deadlines and CPU work; reads coflows from a file."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.workload import (
    Constant,
    JobWorkload,
    TaskWorkload,
    Workload,
    coflow_sample,
    make_workload,
    read_coflows,
)
from flowsched_gym.workload.tasks import PATTERNS
from tests.simulate import LEAST_P_VALUE

COFLOWS = ["3 2", "7 512 2 0 2 2 2:6.0 1:1", "4 1024 1 1 1 0:0.5"]
LINK = 125e6
MANY = replace(make_workload("tafe-log"), num_tasks=4000)


def waits(flows: Workload) -> dict[int, list[int]]:
    """Returns the earlier flows of each flow that waits."""
    found: dict[int, list[int]] = {}
    if flows.after is not None:
        for earlier, later in zip(flows.after.earlier.tolist(), flows.after.later.tolist(), strict=True):
            found.setdefault(later, []).append(earlier)
    return found


def small(pattern: str, **fields: Any) -> Workload:
    """Draws five tasks of three or four flows for two clients."""
    given = {"size": Constant(value=1e4), "num_tasks": 5, "min_flows": 3, "max_flows": 4, "num_clients": 2}
    return TaskWorkload(pattern=pattern, **(given | fields)).draw(2)


def test_totals_are_log_uniform_and_split_by_exponential_shares_among_two_to_eight_flows() -> None:
    flows = MANY.draw(5)
    counts, total = np.bincount(flows.task_id), np.bincount(flows.task_id, weights=flows.size)
    assert stats.kstest(total, stats.loguniform(1e5, 1e7).cdf).pvalue > LEAST_P_VALUE
    assert stats.chisquare(np.bincount(counts)[2:]).pvalue > LEAST_P_VALUE
    assert (counts.min(), counts.max()) == (2, 8)
    # Of two exponential numbers the first has a uniform share of their sum.
    first = np.searchsorted(flows.task_id, np.flatnonzero(counts == 2))
    share = flows.size[first] / (flows.size[first] + flows.size[first + 1])
    assert stats.kstest(share, stats.uniform.cdf).pvalue > LEAST_P_VALUE
    factor = flows.deadline_span[np.searchsorted(flows.task_id, np.arange(4000))] / (total / LINK)
    assert stats.kstest(factor, stats.uniform(2, 8).cdf).pvalue > LEAST_P_VALUE
    assert (flows.deadline_span == flows.deadline_span[np.searchsorted(flows.task_id, flows.task_id)]).all()


def test_poisson_arrivals_offer_the_load_to_the_link_and_with_cpu_work_to_a_cpu() -> None:
    for load in (0.8, 0.9):
        flows = replace(MANY, load=load, cpu_work=True).draw(6)
        seconds = flows.arrival_time[-1]
        # Totals over two decades have a standard deviation of 1.1 times their mean: 3 % of the sum are 1.5 of its own.
        assert flows.size.sum() / LINK / seconds == pytest.approx(load, rel=0.06)
        assert flows.cpu_time.sum() / seconds == pytest.approx(load, rel=0.06)
        ratio = flows.size / (flows.cpu_time * LINK)
        assert stats.kstest(ratio, stats.uniform(0.5, 1).cdf).pvalue > LEAST_P_VALUE
    plain = MANY.draw(6)
    assert not plain.has_stages
    np.testing.assert_allclose(plain.size, flows.cpu_time * LINK, rtol=1e-15)


def test_flows_of_a_sequence_follow_each_other_and_aggregates_follow_all_workers() -> None:
    sequence = small("sequential", arrivals="at-once")
    assert waits(sequence) == {
        flow: [flow - 1]
        for flow in range(1, sequence.num_flows)
        if sequence.task_id[flow] == sequence.task_id[flow - 1]
    }
    tree = small("partition-aggregate", arrivals="at-once")
    for task in range(5):
        *workers, last = np.flatnonzero(tree.task_id == task).tolist()
        assert waits(tree)[last] == workers
        # Workers send to the aggregator, and that to the client.
        assert set(tree.destination[workers].tolist()) == {tree.source[last]}
        assert tree.destination[last] == task % 2
    assert len(waits(tree)) == 5
    assert tree.source.min() >= 2


def test_each_flow_of_a_graph_but_the_first_follows_one_or_two_earlier_ones_of_its_task() -> None:
    flows = replace(MANY, pattern="dag", num_tasks=200).draw(1)
    first = np.searchsorted(flows.task_id, flows.task_id)
    after = waits(flows)
    assert set(after) == set(np.flatnonzero(first != np.arange(flows.num_flows)).tolist())
    for later, earlier in after.items():
        assert first[later] <= min(earlier) <= max(earlier) < later
        assert len(set(earlier)) == len(earlier) <= 2
    assert {len(earlier) for earlier in after.values()} == {1, 2}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_in_a_closed_loop_a_clients_next_task_follows_all_flows_of_its_last_one(pattern: str) -> None:
    flows = small(pattern, arrivals="closed")
    assert not flows.arrival_time.any()
    before: dict[int, set[int]] = {}
    for flow in range(flows.num_flows):
        direct = waits(flows).get(flow, [])
        before[flow] = {*direct, *(far for earlier in direct for far in before[earlier])}
    for task in range(5):
        last = {flow for old in range(task % 2, task, 2) for flow in np.flatnonzero(flows.task_id == old).tolist()}
        for flow in np.flatnonzero(flows.task_id == task).tolist():
            assert {each for each in before[flow] if flows.task_id[each] != task} == last


@pytest.mark.parametrize(
    "config",
    [
        *(replace(MANY, pattern=pattern, num_tasks=30, cpu_work=True) for pattern in PATTERNS),
        replace(make_workload("tafe-short", pattern="dag"), num_tasks=30),
        replace(make_workload("tafe-web-search"), num_tasks=30),
        JobWorkload(num_tasks=250),
    ],
    ids=lambda config: getattr(config, "pattern", "jobs"),
)
def test_more_tasks_leave_the_first_ones_as_they_are(config: TaskWorkload | JobWorkload) -> None:
    flows, more = config.draw(9), replace(config, num_tasks=config.num_tasks + 7).draw(9)
    num_flows = flows.num_flows
    for name in ("source", "destination", "size", "arrival_time", "deadline_span", "task_id", "cpu_time"):
        assert getattr(flows, name).tolist() == getattr(more, name)[:num_flows].tolist()
    assert waits(flows) == {later: earlier for later, earlier in waits(more).items() if later < num_flows}
    assert set(np.unique([flows.source, flows.destination])) == set(range(config.num_hosts))
    assert config.draw(10).size[0] != flows.size[0]


def test_jobs_keep_the_proportions_of_the_trace_and_offer_their_load() -> None:
    flows = JobWorkload(num_tasks=200, mean_size=4e5, load=0.5).draw(3)
    assert flows.num_flows == 1090
    assert flows.size.mean() == pytest.approx(4e5)
    assert flows.cpu_time.mean() == pytest.approx(4e5 / LINK)
    assert flows.size.sum() / LINK / flows.arrival_time[-1] == pytest.approx(0.5, rel=0.02)
    # The slice's first job begins with 3 instances of 0.008117 and 7 s, then 1 of 0.004079 and 1 s, on half a CPU each.
    shrunk = flows.size[:-1] / flows.size[1:], flows.cpu_time[:-1] / flows.cpu_time[1:]
    assert (np.isclose(shrunk[0], 3 * 0.008117 / 0.004079) & np.isclose(shrunk[1], 7.0)).any()
    counts = np.bincount(flows.task_id)
    assert (counts.min(), counts.max()) == (2, 23)
    assert JobWorkload(cpu_work=False).draw(3).has_stages is False


def test_short_and_long_tasks_are_what_they_are_named() -> None:
    short, long = (make_workload(name, tasks=500).draw(1) for name in ("tafe-short", "tafe-long"))
    assert np.bincount(short.task_id, weights=short.size).max() <= 1e5
    assert np.bincount(long.task_id, weights=long.size).min() >= 1e7 * (1 - 1e-12)


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_each_pair_of_a_mapper_and_a_reducer_is_a_flow_with_an_equal_part_of_the_bytes(tmp_path: Path) -> None:
    workload = read_coflows(write(tmp_path / "coflows.txt", COFLOWS[0], "", *COFLOWS[1:], " "))
    assert workload.flow_id.tolist() == [0, 1, 2, 3, 4]
    assert workload.task_id.tolist() == [7, 7, 7, 7, 4]
    assert workload.source.tolist() == [0, 0, 2, 2, 1]
    assert workload.destination.tolist() == [5, 4, 5, 4, 3]
    assert (workload.size / 2**20).tolist() == [3.0, 0.5, 3.0, 0.5, 0.5]
    assert workload.arrival_time.tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]


def test_traces_may_lack_the_first_line_and_have_reducers_that_receive_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "coflows.txt", "1 0 1 2 2 1:1.0 4:0", "2 5 1 0 1 2:2.0")
    workload = read_coflows(path)
    # The highest rack is 4, though it receives nothing: rack r receives as host 5 + r.
    assert (workload.source.tolist(), workload.destination.tolist()) == ([2, 0], [6, 7])
    assert (workload.size / 2**20).tolist() == [1.0, 2.0]
    assert read_coflows(path, coflows=1).destination.tolist() == [6]
    with pytest.raises(ConfigError, match="coflows is 3: it must be at most 2"):
        read_coflows(path, coflows=3)
    workload = read_coflows(write(tmp_path / "coflows.txt", "3 2", "1 0 1 0 2 1:0.0 2:5.0", "2 0 1 0 1 1:0"))
    assert (workload.flow_id.tolist(), workload.task_id.tolist(), workload.destination.tolist()) == ([0], [1], [5])
    with pytest.raises(FlowFileError, match="no flow: a reducer must receive more than 0 MB"):
        read_coflows(write(tmp_path / "coflows.txt", "3 1", "1 0 1 0 1 1:0"))
    (tmp_path / "coflows.txt").write_bytes("3 1\n".encode("utf-16"))
    with pytest.raises(FlowFileError, match="line 1 has NUL characters, as UTF-16 text has: it must be a file of cof"):
        read_coflows(tmp_path / "coflows.txt")


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
        (1, "7", "line 2, arrival: the line ends after 1 words"),
        (1, "7 -1 1 0 1 0:1", "line 2, arrival: '-1': it must be a finite time in ms >= 0"),
        (1, "7 0 0 1 0:1", "line 2, number of mappers: '0': it must be a whole number from 1"),
        (1, "7 0 2 0 1 0:1", "line 2, number of reducers: '0:1': it must be a whole number from 1"),
        (1, "7 0 1 3 1 0:1", "line 2, rack of a mapper: '3': it must be a whole number from 0 to 2"),
        (1, "7 0 1 0 1 3:1", "line 2, rack of a reducer: '3': it must be a whole number from 0 to 2"),
        (1, "7 0 1 0 2 0:1", "line 2, reducer: the line ends after 6 words: it must be rack:MB"),
        (1, "7 0 1 0 1 0:1 1:1", "line 2, word 7: '1:1': it must be the last of 1 mappers and 1 reducers"),
        (1, "7 0 1 0 1 01", "line 2, reducer: '01': it must be rack:MB"),
        (1, "7 0 1 0 1 0:-1", "line 2, MB of a reducer: '-1': it must be a finite number >= 0"),
        (1, "7 0 1 0 1 0:nan", "line 2, MB of a reducer: 'nan': it must be a finite number >= 0"),
        (1, "7 0 1 0 1 0:1e306", "line 2, MB of a reducer: '1e306': it must be a finite number >= 0"),
        (2, "7 0 1 0 1 0:1", "line 3, coflow: '7': it must be another id than in line 2"),
    ):
        path = write(tmp_path / "coflows.txt", *COFLOWS[:line], new, *COFLOWS[line + 1 :])
        with pytest.raises(FlowFileError, match=f"^{re.escape(f'{path}, {words}')}"):
            read_coflows(path)
    with pytest.raises(FlowFileError, match="nowhere does not exist: a file of coflows is needed"):
        read_coflows(tmp_path / "nowhere")
    for coflows, words in ((0, "an integer >= 1"), (11, "at most 10, as many as")):
        with pytest.raises(ConfigError, match=f"coflows is {coflows}: it must be {words}"):
            read_coflows(coflow_sample(), coflows=coflows)
