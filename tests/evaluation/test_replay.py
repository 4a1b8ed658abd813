"""Tells in which forms flows, arguments and times reach a replay, and how others are refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import FlowSchedError, WorkloadError
from flowsched_gym.evaluation.bounds import deadline_bound
from flowsched_gym.fluid import Records
from flowsched_gym.topology import TOPOLOGIES
from flowsched_gym.workload import (
    FixedWorkload,
    LinkChanges,
    find_source,
    make_workload,
    read_flows,
    workload_from_columns,
)
from tests.simulate import each_engine, make_flows

FLOWS = {
    "flow_id": [3, 5, 9],
    "source": [0, 1, 2],
    "destination": [1, 2, 0],
    "size_bytes": [1e5, 2e5, 3e5],
    "arrival_s": [0.2, 0.1, 0.0],
}


def test_a_path_a_workload_and_a_mapping_give_the_same_records_in_the_order_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "flows.csv"
    rows = (FLOWS, *zip(*FLOWS.values(), strict=True))
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    forms = [str(path), path, read_flows(path), FLOWS, {name: np.array(column) for name, column in FLOWS.items()}]

    for flows in forms:
        records = flowsched_gym.replay(flows, discipline="fifo")
        assert records.flow_id.tolist() == [3, 5, 9]
        assert records.fct.tolist() == pytest.approx([0.0008, 0.0016, 0.0024])
        assert records.deadline_met.all()


def test_arguments_that_are_not_allowed_are_refused() -> None:
    given: dict[str, Any] = {"flows": FLOWS, "discipline": "fifo", "topology": "fat-tree"}
    for arguments, message in (
        ({"flows": [1, 2]}, "flows is list: it must be a path, a Workload or a mapping of columns"),
        ({"discipline": ["fifo"]}, r"discipline is \['fifo'\]: it must be one of fifo, ps"),
        ({"engine": "cuda"}, "engine is 'cuda': it must be one of simpy, compiled"),
        ({"topology": None}, "topology is None: it must be one of one-link"),
        ({"capacity": "1e9"}, "capacity is '1e9': it must be a number"),
        ({"capacity": True}, "capacity is True: it must be a number"),
        ({"capacity": 0}, r"capacity is 0\.0: it must be finite and > 0 B/s"),
        *(({"seed": seed}, f"seed is {seed}: it must be an integer >= 0 and below 2") for seed in (-1, 2**64)),
        ({"num_hosts": "3"}, "num_hosts is '3': it must be an integer"),
        *(({"topology": name, "num_hosts": 10**9}, "num_hosts is") for name in TOPOLOGIES if name != "one-link"),
        ({"parameters": [1]}, r"parameters is \[1\]: it must be a mapping"),
        ({"parameters": {"delay": "1"}}, "delay is '1': it must be a number"),
        ({"parameters": {"weights": [1]}}, "discipline fifo has no parameter 'weights': it takes none"),
        ({"parameters": {"routing": "best"}}, "routing is 'best': it must be one of ecmp, least-loaded"),
        ({"parameters": {"flowlet_gap": 1.0}}, "flowlet_gap is given without a routing"),
        ({"parameters": {"link_changes": 3}}, "link_changes is 3: it must be rows"),
    ):
        with pytest.raises(FlowSchedError, match=message):
            flowsched_gym.replay(**(given | arguments))


def test_flows_choose_paths_as_asked_on_both_engines() -> None:
    workload = make_workload("poisson-fat-tree", num_flows=200).draw(0)

    def completed(engine: str = "simpy", **parameters: object) -> bytes:
        arguments = {"discipline": "merp", "topology": "fat-tree", "parameters": parameters, "engine": engine}
        return flowsched_gym.replay(workload, **arguments).completion_time.tobytes()

    assert completed() == completed(routing="ecmp")
    assert completed() != completed(routing="memr") == completed("compiled", routing="memr")


@each_engine
def test_a_run_tells_how_far_it_is_and_can_be_interrupted(engine: str) -> None:
    flows = make_flows([0.001 * row for row in range(1000)], [1e5] * 1000)
    told: list[tuple[int, int]] = []
    records = flowsched_gym.replay(flows, discipline="srpt", engine=engine, progress=lambda *call: told.append(call))

    assert records.fct.tolist() == flowsched_gym.replay(flows, discipline="srpt", engine="simpy").fct.tolist()
    assert told == sorted(told)
    assert told[-1] == (1000, 1000)
    assert len({done for done, _ in told}) >= 100

    def interrupt(done: int, total: int) -> None:
        if done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flowsched_gym.replay(flows, discipline="srpt", engine=engine, progress=interrupt)


UNIX_TIME = 1.7e9
TICK = 2.0**-22
"""Neighbouring float64 around the Unix time of today, in s."""


def columns(start: float, steps: np.ndarray) -> dict[str, np.ndarray]:
    """Flows of one packet or a few, some of them at the same instant, with deadlines."""
    rows = np.arange(len(steps))
    hosts = {"source": np.ones_like(rows), "destination": np.zeros_like(rows)}
    times = {"arrival_s": start + steps * TICK, "deadline_s": np.full(len(steps), 5e-6)}
    return {"flow_id": rows, "size_bytes": 64.0 * (1 + rows % 5), **hosts, **times}


def replay(start: float, engine: str, discipline: str = "srpt", **parameters: object) -> Records:
    steps = np.random.default_rng(0).integers(0, 2000, size=200)
    steps[17] = 0
    return flowsched_gym.replay(columns(start, steps), discipline=discipline, engine=engine, parameters=parameters)


@pytest.mark.parametrize(
    ("discipline", "engine"), [("srpt", "simpy"), ("las", "simpy"), ("merp", "simpy"), ("srpt", "compiled")]
)
def test_unix_times_give_the_completion_times_that_times_from_0_give(discipline: str, engine: str) -> None:
    near, far = replay(0.0, engine, discipline), replay(UNIX_TIME, engine, discipline)

    assert far.arrival_time.tolist() == far.grant_time.tolist() == (UNIX_TIME + near.arrival_time).tolist()
    assert far.completion_time.tolist() == (UNIX_TIME + near.completion_time).tolist()
    for name in ("fct", "slowdown", "deadline_met"):
        assert getattr(far, name).tobytes() == getattr(near, name).tobytes()
    assert 0 < np.count_nonzero(far.deadline_met) < far.num_flows


@each_engine
def test_a_single_flow_at_the_end_of_float64_is_served_and_flows_that_lose_digits_are_refused(engine: str) -> None:
    late = make_flows([1.79e308], [1e5])
    assert flowsched_gym.replay(late, discipline="srpt", engine=engine).fct[0] == 1e5 / 125_000_000.0
    for arrival, size, message in (
        ([0.0, 1.79e308], [1.0, 1.0], r"in row 1 is 1\.79e\+308 s after the clock starts"),
        ([0.0, 1.79e308], [1.0, 1e305], r"in row 1 takes 1e\+305 B"),
        (
            *([0.0, UNIX_TIME], [1e5, 64.0]),
            r"in row 1 is 1700000000\.0 s .* 64\.0 B take 5\.12e-07 s .*: they must take at least 3\.4e-05 s",
        ),
    ):
        with pytest.raises(WorkloadError, match=message):
            flowsched_gym.replay(make_flows(arrival, size), discipline="srpt", engine=engine)


@each_engine
def test_links_fail_and_come_up_at_the_same_times_on_the_clock(engine: str) -> None:
    def run(start: float) -> Records:
        flows = make_flows([start, start + TICK], [1e3, 1e3], source=[0, 1], destination=[1, 0])
        changes = {"link_changes": [(start, 0, False), (start + 256 * TICK, 0, True)]}
        network = {"topology": "big-switch", "parameters": changes}
        return flowsched_gym.replay(flows, discipline="merp", engine=engine, **network)

    near, far = run(0.0), run(UNIX_TIME)

    assert near.fct[0] == pytest.approx(256 * TICK + 8e-6, rel=1e-12)
    assert far.fct.tolist() == near.fct.tolist()


def test_flows_are_played_on_their_clock_and_links_that_changed_before_change_at_its_start() -> None:
    changes = LinkChanges.of([(0.0, 3, False), (5.0, 2, False), (101.0, 2, True)])
    flows = make_flows([100.0, 104.0], [1.0, 1.0], source=[0, 1], destination=[1, 0])
    on_clock, start = replace(flows, link_changes=changes).on_clock()
    assert start == 100.0
    assert on_clock.arrival_time.tolist() == [0.0, 4.0]
    assert on_clock.link_changes.time.tolist() == [0.0, 0.0, 1.0]

    far = workload_from_columns(columns(UNIX_TIME, np.array([0, 3, 5])))
    for source in (find_source(far), FixedWorkload(workload=far)):
        assert source.draw(0).arrival_time.tolist() == [0.0, 3 * TICK, 5 * TICK]


def test_the_bound_counts_deadlines_on_the_clock() -> None:
    steps = np.arange(50)
    near, far = (
        deadline_bound(workload_from_columns(columns(start, steps)), capacity=125_000_000.0)
        for start in (0.0, UNIX_TIME)
    )

    assert (far.upper, far.lower) == (near.upper, near.lower)
    assert far.upper > 0


def test_a_workload_file_is_drawn_for_the_network_as_in_an_environment(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text('{"kind": "poisson", "size": 1e5, "load": 0.8, "pattern": "all-to-all", "num_flows": 500}')
    links = [{"ends": [host, "a" if host < "h2" else "b"]} for host in ("h0", "h1", "h2")]
    racks: Any = {"hosts": ["h0", "h1", "h2"], "capacity_gbps": 10, "links": [*links, {"ends": ["a", "b"]}]}
    env: Any = gymnasium.make("flowsched/MERPOrder-v0", workload=path, topology=racks).unwrapped
    given = env.source.draw(3)
    found = [
        flowsched_gym.replay(path, discipline="fifo", topology=racks, seed=3, engine="compiled"),
        flowsched_gym.replay_packets(path, scheduler="fifo", topology=racks, seed=3, engine="compiled"),
    ]
    for records in found:
        assert records.arrival_time.tolist() == given.arrival_time.tolist()
        assert records.destination.tolist() == given.destination.tolist()
    slow, fast = (replay_of(path, capacity=each).arrival_time.max() for each in (1.25e8, 1.25e9))
    assert slow == pytest.approx(10 * fast)


def replay_of(path: Path, *, capacity: float) -> Records:
    return flowsched_gym.replay(path, discipline="fifo", topology="big-switch", capacity=capacity, engine="compiled")
