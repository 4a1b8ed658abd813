"""Holds the compiled engine to the reference engine where an agent sets thresholds, queues and rate caps anew."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.core.periods import Period
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.decision import DecisionKind
from flowsched_gym.fluid.disciplines import Mlfq
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Routing, RoutingKind, big_switch, multi_plane
from flowsched_gym.workload import LinkChanges, Workload, make_workload
from tests.simulate import network_of

NUM_HOSTS = 8
GROUPS = [0, 0, 0, 1, 1, 1, 0, 1]
SWITCH = big_switch(num_hosts=NUM_HOSTS, delay=1e-5)
PLANES = multi_plane(num_hosts=NUM_HOSTS, num_planes=3, capacity=5e7, delay=1e-5)
ECMP = Routing(RoutingKind.ECMP)


def flows_of(seed: int, *, simultaneous: bool) -> Workload:
    """Draws flows between all hosts; if asked, many of them arrive at the same instants, in whole sizes."""
    drawn = make_workload(
        "poisson-web-search", pattern="all-to-all", num_hosts=NUM_HOSTS, num_flows=150, load=0.7
    ).draw(seed)
    if not simultaneous:
        return drawn
    arrival_time = np.round(drawn.arrival_time / 4e-3) * 4e-3
    return replace(drawn, size=np.ceil(drawn.size / 5e5) * 5e5, arrival_time=arrival_time)


def decide(discipline: Mlfq, number: int, first_row: int, generator: np.random.Generator) -> None:
    """Sets thresholds at random, and queues of some flows."""
    discipline.set_thresholds(np.sort(generator.uniform(1e4, 5e6, (2, 3)), axis=1), number)
    for row in generator.integers(150, size=6).tolist():
        discipline.pin(first_row + row, [None, 0, 2][generator.integers(3)])


def cap(rate_cap: Any, first_row: int, generator: np.random.Generator) -> None:
    """Sets rate caps of some flows at random."""
    for row in generator.integers(150, size=6).tolist():
        rate_cap[first_row + row] = [np.inf, 2e7][generator.integers(2)]


@pytest.mark.parametrize(
    ("within", "rate_caps"),
    [
        ("ps", False),
        # Those of tests/systems/auto have rate caps.
        *(pytest.param(within, True, marks=pytest.mark.exhaustive) for within in ("ps", "fifo")),
    ],
)
@pytest.mark.parametrize("period", [Period(seconds=0.02), Period(flows=11)], ids=["time", "flows"])
def test_both_engines_obey_what_an_agent_sets_after_each_period(within: str, rate_caps: bool, period: Period) -> None:
    limits = [[1e5, 1e6, 3e6]] * 2
    compiled = Mlfq(limits, within, GROUPS)
    batch = BatchSimulation(
        3, 150, SWITCH, compiled, asks=DecisionKind.PERIOD, period=period, log_length=5_000, rate_caps=rate_caps
    )
    workloads = [flows_of(seed, simultaneous=seed > 0) for seed in range(3)]
    for number, workload in enumerate(workloads):
        batch.load(number, workload)
    for number, workload in enumerate(workloads):
        reference = Mlfq(limits, within, GROUPS)
        simulation = Simulation(workload, SWITCH, reference, asks=DecisionKind.PERIOD, period=period, keep_log=True)
        one, other = (np.random.default_rng(number) for _ in range(2))
        simulation.run()
        batch.run(number)
        while simulation.pending is not None:
            assert network_of(batch, number).pending == simulation.pending
            first_row = number * batch.num_rows
            rows = np.s_[first_row : first_row + workload.num_flows]
            assert batch.tables.flows["attained"][rows].tobytes() == simulation.state.attained.tobytes()
            for discipline, caps, place, row, generator in (
                (reference, simulation.controls.rate_cap, 0, 0, one),
                (compiled, batch.tables.flows["rate_cap"], number, first_row, other),
            ):
                decide(discipline, place, row, generator)
                if rate_caps:
                    cap(caps, row, generator)
            simulation.go_on()
            batch.go_on(number)
            simulation.run()
            batch.run(number)

        assert simulation.finished
        assert network_of(batch, number).log == simulation.log


def failing(workload: Workload) -> Workload:
    """Lets host 0 and host 3 lose their links to plane 1 for a while."""
    changes = [(0.05, 16, False), (0.05, 27, False), (0.4, 27, True), (0.5, 16, True)]
    return replace(workload, link_changes=LinkChanges.of(changes))


@pytest.mark.exhaustive
@pytest.mark.parametrize("simultaneous", [False, True])
def test_both_engines_move_flows_to_other_paths_at_the_beginning_of_a_period(simultaneous: bool) -> None:
    period = Period(seconds=0.02)
    batch = BatchSimulation(
        2, 150, PLANES, Mlfq([1e5, 1e6]), routing=ECMP, asks=DecisionKind.PERIOD, period=period, log_length=5_000
    )
    workload = failing(flows_of(5, simultaneous=simultaneous))
    simulation = Simulation(
        workload, PLANES, Mlfq([1e5, 1e6]), routing=ECMP, asks=DecisionKind.PERIOD, period=period, keep_log=True
    )
    batch.load(1, workload)
    generator = np.random.default_rng(6)
    simulation.run()
    batch.run(1)
    num_moved, refused = 0, set()
    while simulation.pending is not None:
        assert network_of(batch, 1).pending == simulation.pending
        assert batch.num_periods(1) == simulation.num_periods == simulation.pending.number + 1  # type: ignore[union-attr]
        for row in np.sort(simulation.links.active[: simulation.links.num_active]).tolist():
            choice, before = int(generator.integers(3)), simulation.controls.path[row]
            for move in (simulation.move, lambda row, choice: network_of(batch, 1).move(row, choice)):
                try:
                    move(row, choice)
                except SimulationError as error:
                    refused.add(str(error))
            num_moved += simulation.controls.path[row] != before
        simulation.go_on()
        batch.go_on(1)
        simulation.run()
        batch.run(1)

    assert simulation.finished
    assert num_moved > 50
    assert refused == {"choice is 1: a link of that path has failed"}
    assert network_of(batch, 1).log == simulation.log


def test_a_flow_that_is_moved_goes_on_over_the_other_path_with_what_is_left() -> None:
    flows = Workload(flow_id=np.arange(2), source=[0, 0], destination=[1, 2], size=[1e7, 1e7], arrival_time=[0.0, 0.0])  # type: ignore[arg-type]  # lists become arrays
    simulation = Simulation(
        flows, PLANES, Mlfq([1e5]), routing=ECMP, asks=DecisionKind.PERIOD, period=Period(seconds=0.1)
    )
    simulation.run()
    for row in (0, 1):
        simulation.move(row, 0)
    simulation.go_on()
    simulation.run()
    simulation.move(1, 2)
    for _ in range(2):
        simulation.go_on()
        simulation.run()

    # Both send half of 5e7 B/s for 0.1 s, and then each alone the 7.5e6 B that are left; two delays of 1e-5 s follow.
    assert simulation.completion_time.tolist() == pytest.approx([0.25002] * 2, rel=1e-12)


def test_moves_that_cannot_be_made_are_refused() -> None:
    how: dict[str, Any] = {"asks": DecisionKind.PERIOD, "period": Period(seconds=0.02)}
    workload = flows_of(3, simultaneous=False)
    batch = BatchSimulation(1, 150, SWITCH, Mlfq([1e5]), **how)
    batch.load(0, workload)
    simulation, routed = (
        Simulation(workload, topology, Mlfq([1e5]), routing=routing, **how)
        for topology, routing in ((SWITCH, None), (PLANES, ECMP))
    )
    moves = simulation.move, routed.move, lambda row, choice: network_of(batch, 0).move(row, choice)
    for move in moves:
        with pytest.raises(SimulationError, match="no period waits to begin"):
            move(0, 3)
    simulation.run()
    routed.run()
    batch.run(0)
    for move, expected in zip(moves, ("no routing", "choice is 3: the flow has", "no routing"), strict=True):
        with pytest.raises(SimulationError, match=expected):
            move(0, 3)


def test_periods_are_asked_for_as_simulations_ask_for_them() -> None:
    with pytest.raises(ConfigError, match="PERIOD needs one, and nothing else has one"):
        BatchSimulation(1, 1, SWITCH, Mlfq([1.0]), asks=DecisionKind.PERIOD)
    with pytest.raises(SimulationError, match="no period waits to begin"):
        network_of(BatchSimulation(1, 1, SWITCH, Mlfq([1.0])), 0).go_on()
