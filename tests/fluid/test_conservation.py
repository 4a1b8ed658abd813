"""What no scheduler can break, for every discipline: capacity, bytes, work, causality."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings

from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology, big_switch, one_link
from flowsched_gym.workload import Workload, first_flows
from tests.simulate import VARIANTS, Variant, make_flows, make_simulation, parameters_for, simulate
from tests.strategies import NUM_HOSTS, random_flows, simultaneous_flows

ROUNDING = 1e-9
"""Relative; what float64 loses over a few dozen events is far below."""

EVENT_LIMIT = 10_000
"""A run of eight flows that needs more events than this does not come to an end; some weights are set anew often."""

LINK = one_link(capacity=1.0)
SWITCH = big_switch(num_hosts=NUM_HOSTS, capacity=1.0)

each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=str)


def events(simulation: Simulation) -> Iterator[None]:
    """Runs a simulation to its end and yields after each event."""
    for _ in range(EVENT_LIMIT):
        if simulation.finished:
            return
        simulation.env.step()
        yield
    pytest.fail(f"{simulation.num_delivered} of {simulation.workload.num_flows} flows finished in {EVENT_LIMIT} events")


def link_rates(simulation: Simulation) -> npt.NDArray[np.float64]:
    """Adds up the rates of the flows on each link."""
    total = np.zeros(simulation.topology.num_links)
    for row, rate in enumerate(simulation.state.rate):
        total[links_of(simulation, row)] += rate
    return total


def links_of(simulation: Simulation, row: int) -> npt.NDArray[np.int64]:
    topology, path = simulation.topology, simulation.controls.path[row]
    return topology.path_links[topology.path_start[path] : topology.path_start[path + 1]]


def assert_conserves(simulation: Simulation) -> None:
    """Runs to the end: no link carries more than its capacity, and bytes are neither lost nor made."""
    state, capacity = simulation.state, simulation.topology.capacity
    before = state.attained.copy()
    for _ in events(simulation):
        assert state.rate.min() >= 0
        assert (link_rates(simulation) <= capacity * (1 + ROUNDING)).all()
        assert state.attained + state.remaining == pytest.approx(state.volume, rel=ROUNDING)
        assert (state.attained >= before).all()
        assert (state.remaining >= 0).all()
        before = state.attained.copy()

    assert state.attained.tolist() == state.volume.tolist()
    assert state.remaining.tolist() == [0.0] * len(state.remaining)


@each_variant
@settings(max_examples=10)
@given(workload=random_flows())
def test_no_link_carries_more_than_its_capacity_and_bytes_are_neither_lost_nor_made(variant, workload) -> None:
    assert_conserves(make_simulation(workload, variant, SWITCH))


@pytest.mark.parametrize(
    ("variant", "topology"),
    [
        *((variant, LINK) for variant in VARIANTS),
        *((variant, SWITCH) for variant in VARIANTS if variant != Variant("wfq", "fifo")),
    ],
    ids=lambda value: str(value) if isinstance(value, Variant) else value.name,
)
@settings(max_examples=10)
@given(workload=random_flows())
def test_every_flow_meets_a_full_link(variant: Variant, topology: Topology, workload: Workload) -> None:
    """On one link, it never idles while a flow waits."""
    simulation = make_simulation(workload, variant, topology)
    for _ in events(simulation):
        if simulation.env.peek() > simulation.now:  # the instant is over
            spare = topology.capacity - link_rates(simulation)
            for row in simulation.links.active[: simulation.links.num_active]:
                assert spare[links_of(simulation, row)].min() <= ROUNDING


@each_variant
@pytest.mark.parametrize("topology", [LINK, SWITCH], ids=["one-link", "big-switch"])
@settings(max_examples=10)
@given(workload=random_flows() | simultaneous_flows())
def test_every_flow_finishes_and_none_faster_than_alone(variant, topology: Topology, workload: Workload) -> None:
    records = simulate(workload, variant, topology)
    assert np.isfinite(records.completion_time).all()
    assert records.ideal_fct.tolist() == workload.size.tolist()
    assert (records.slowdown >= 1 - ROUNDING).all()


@each_variant
@settings(max_examples=10)
@given(workload=random_flows())
def test_what_has_finished_does_not_depend_on_flows_that_come_later(variant: Variant, workload: Workload) -> None:
    order = np.argsort(workload.arrival_time, kind="stable")
    workload = make_flows(workload.arrival_time[order], workload.size[order], span=workload.deadline_span[order])
    kept = (workload.num_flows + 1) // 2
    later = workload.arrival_time[kept] if kept < workload.num_flows else np.inf
    parameters = parameters_for(variant, workload)
    fewer = parameters | ({"queue": parameters["queue"][:kept]} if "queue" in parameters else {})

    all_flows = simulate(workload, variant, parameters=parameters)
    first = simulate(first_flows(workload, kept), variant, parameters=fewer)

    early = first.completion_time < later * (1 - ROUNDING)
    assert all_flows.completion_time[:kept][early] == pytest.approx(first.completion_time[early], rel=ROUNDING)


@each_variant
@settings(max_examples=10)
@given(workload=random_flows())
def test_numbering_the_flows_backwards_changes_nothing_but_ties(variant: Variant, workload: Workload) -> None:
    distinct = np.unique(workload.arrival_time, return_index=True)[1]
    arrival, size, span = (
        column[distinct] for column in (workload.arrival_time, workload.size, workload.deadline_span)
    )
    forward = make_flows(arrival, size, span=span)
    backward = make_flows(arrival[::-1], size[::-1], span=span[::-1])
    parameters = parameters_for(variant, forward)
    turned = parameters | ({"queue": parameters["queue"][::-1]} if "queue" in parameters else {})

    one_way = simulate(forward, variant, parameters=parameters)
    other_way = simulate(backward, variant, parameters=turned)

    assert other_way.completion_time[::-1] == pytest.approx(one_way.completion_time, rel=ROUNDING)


@each_variant
@settings(max_examples=10)
@given(workload=random_flows())
def test_twice_the_bytes_on_twice_the_capacity_change_nothing(variant: Variant, workload: Workload) -> None:
    doubled = make_flows(
        workload.arrival_time,
        2 * workload.size,
        span=workload.deadline_span,
        source=workload.source,
        destination=workload.destination,
    )

    slow = simulate(workload, variant, SWITCH)
    fast = simulate(doubled, variant, big_switch(num_hosts=NUM_HOSTS, capacity=2.0))

    # A factor of two changes no mantissa: even the rounding is the same.
    assert fast.completion_time.tolist() == slow.completion_time.tolist()
