"""Replays flows whose times are far from 0: no digit is lost, or the flows are refused."""

from dataclasses import replace

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import WorkloadError
from flowsched_gym.evaluation.bounds import deadline_bound
from flowsched_gym.fluid import Records
from flowsched_gym.workload import FixedWorkload, LinkChanges, find_source, workload_from_columns
from tests.simulate import make_flows

UNIX_TIME = 1.7e9
TICK = 2.0**-22
"""Neighbouring float64 around the Unix time of today, in s."""

each_engine = pytest.mark.parametrize("engine", ["simpy", "compiled"])


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
def test_a_single_flow_at_the_end_of_float64_is_served(engine: str) -> None:
    flows = {"flow_id": [0], "source": [0], "destination": [1], "size_bytes": [1e5], "arrival_s": [1.79e308]}
    assert flowsched_gym.replay(flows, discipline="srpt", engine=engine).fct[0] == 1e5 / 125_000_000.0


@each_engine
@pytest.mark.parametrize("size", [1.0, 1e305])
def test_flows_at_both_ends_of_float64_are_refused(engine: str, size: float) -> None:
    flows = make_flows([0.0, 1.79e308], [1.0, size])
    with pytest.raises(WorkloadError, match=r"in row 1 (is 1\.79e\+308 s after the clock starts|takes 1e\+305 B)"):
        flowsched_gym.replay(flows, discipline="srpt", engine=engine)


@each_engine
def test_a_flow_shorter_than_the_rounding_of_its_arrival_is_refused_with_what_is_allowed(engine: str) -> None:
    flows = make_flows([0.0, UNIX_TIME], [1e5, 64.0])
    message = (
        r"arrival_time in row 1 is 1700000000\.0 s .* 64\.0 B take 5\.12e-07 s .*: they must take at least 3\.4e-05 s"
    )
    with pytest.raises(WorkloadError, match=message):
        flowsched_gym.replay(flows, discipline="srpt", engine=engine)


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


def test_links_that_changed_before_the_first_arrival_change_at_the_start() -> None:
    changes = LinkChanges.of([(0.0, 3, False), (5.0, 2, False), (101.0, 2, True)])
    flows = make_flows([100.0, 104.0], [1.0, 1.0], source=[0, 1], destination=[1, 0])
    on_clock, start = replace(flows, link_changes=changes).on_clock()

    assert start == 100.0
    assert on_clock.arrival_time.tolist() == [0.0, 4.0]
    assert on_clock.link_changes.time.tolist() == [0.0, 0.0, 1.0]


def test_an_environment_plays_given_flows_on_their_clock() -> None:
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
