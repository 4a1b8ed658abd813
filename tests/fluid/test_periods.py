"""Solves queues by hand whose thresholds an agent sets anew after each period; both engines obey it alike."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.disciplines import Mlfq, Ps
from flowsched_gym.fluid.rules.routing.choose_path import move
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Routing, RoutingKind, big_switch, multi_plane, one_link
from flowsched_gym.workload import LinkChanges, Workload, make_workload
from tests.fluid.twins import Twins
from tests.simulate import make_flows, network_of

LINK = one_link(capacity=1.0)
NUM_HOSTS = 8
GROUPS = [0, 0, 0, 1, 1, 1, 0, 1]
SWITCH = big_switch(num_hosts=NUM_HOSTS, delay=1e-5)
PLANES = multi_plane(num_hosts=NUM_HOSTS, num_planes=3, capacity=5e7, delay=1e-5)
ECMP = Routing(RoutingKind.ECMP)


def go_through(simulation: Simulation, act: Callable[[int], None] = lambda number: None) -> list[tuple[float, float]]:
    """Runs to the end; returns when each period began, and what the first flow had sent by then."""
    begun = []
    simulation.run()
    while simulation.pending is not None:
        assert simulation.pending == PeriodDecision(len(begun))
        act(len(begun))
        begun.append((simulation.now, float(simulation.state.attained[0])))
        simulation.go_on()
        simulation.run()
    assert simulation.finished
    return begun


def play(workload: Workload, discipline: Mlfq, period: Period, thresholds: dict[int, list[float]]) -> list[float]:
    """Runs to the end; before some periods, by number, the thresholds change. Returns when flows complete."""
    simulation = Simulation(workload, LINK, discipline, asks=DecisionKind.PERIOD, period=period)
    go_through(simulation, lambda number: discipline.set_thresholds(thresholds.get(number, discipline.thresholds())))
    return simulation.records().completion_time.tolist()


def test_an_agent_is_asked_at_the_beginning_and_after_each_period_until_all_have_finished() -> None:
    asks = DecisionKind.PERIOD
    one = Simulation(make_flows([0.5], [5.0]), LINK, Mlfq([1.0]), asks=asks, period=Period(seconds=2.0))
    assert go_through(one) == [(0.0, 0.0), (2.0, 1.5), (4.0, 3.5)]
    # Three finish at one instant and end one period; the fourth ends the episode.
    flows = make_flows([0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 6.0])
    simulation = Simulation(flows, LINK, Ps(), asks=asks, period=Period(flows=2))
    assert len(go_through(simulation)) == simulation.num_periods == 2


def test_new_thresholds_demote_flows_at_once_and_let_others_rise_again() -> None:
    flows = make_flows([0.0, 2.0], [9.0, 4.0])

    # One queue for both: shared from 2 on.
    assert play(flows, Mlfq([100.0]), Period(seconds=2.0), {}) == [13.0, 10.0]
    # At 4 s flow 0 (3 B) and flow 1 (1 B) are told apart by a threshold of 2 B, until flow 1 has sent that.
    assert play(flows, Mlfq([100.0]), Period(seconds=4.0), {1: [2.0]}) == [13.0, 9.0]
    # Flow 0 is demoted at 4 s, after 3 B, and rises again at 5 s when the threshold does.
    assert play(flows, Mlfq([3.0]), Period(seconds=5.0), {}) == [13.0, 8.0]
    assert play(flows, Mlfq([3.0]), Period(seconds=5.0), {1: [100.0]}) == [13.0, 9.0]


def test_hosts_of_different_groups_obey_different_thresholds() -> None:
    switch = big_switch(num_hosts=3, capacity=1.0)
    flows = make_flows([0.0, 0.0], [4.0, 4.0], source=[0, 1], destination=[2, 2])
    # In the second case host 0's flow is demoted at 2 s, when it has sent 1 B, and waits for the other.
    for thresholds, completed in (([[2.0], [2.0]], [8.0, 8.0]), ([[1.0], [9.0]], [8.0, 5.0])):
        simulation = Simulation(flows, switch, Mlfq(thresholds, groups=[0, 1, 0]))
        simulation.run()
        assert simulation.records().completion_time.tolist() == completed


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=pytest.mark.exhaustive)])
def test_hosts_of_different_groups_have_different_queues_by_size(engine) -> None:
    flows = make_flows([0.0, 0.0], [4.0, 4.0], source=[0, 1], destination=[2, 2])
    for thresholds, completed in (([[4.0], [4.0]], [8.0, 8.0]), ([[3.0], [4.0]], [8.0, 4.0])):
        own: Any = {"thresholds": thresholds, "groups": [0, 1, 0]}
        network: Any = {"topology": "big-switch", "capacity": 1.0, "num_hosts": 3, "engine": engine}
        assert replay(flows, discipline="qsjf", parameters=own, **network).completion_time.tolist() == completed


def test_a_flow_can_be_held_in_a_queue_and_let_go() -> None:
    discipline = Mlfq([2.0])
    simulation = Simulation(
        make_flows([0.0, 0.0], [4.0, 4.0]), LINK, discipline, asks=DecisionKind.PERIOD, period=Period(seconds=3.0)
    )
    simulation.run()
    simulation.go_on()
    simulation.run()  # 3 s: both have sent 1.5 B
    discipline.record.pinned[0], discipline.record.changed[0] = 1, 1
    simulation.go_on()
    simulation.run()  # 6 s: flow 1 has gone on to 2 B alone, then both share what is below
    assert simulation.state.attained.tolist() == pytest.approx([2.75, 3.25])
    discipline.record.pinned[:], discipline.record.changed[0] = (0, 1), 1
    simulation.go_on()
    simulation.run()

    assert simulation.records().completion_time.tolist() == pytest.approx([7.25, 8.0])


def test_a_cap_on_the_rate_leaves_the_rest_to_others() -> None:
    simulation = Simulation(
        make_flows([0.0, 0.0], [4.0, 4.0]), LINK, Ps(), asks=DecisionKind.PERIOD, period=Period(seconds=100.0)
    )
    simulation.controls.rate_cap[0] = 0.25
    go_through(simulation)
    assert simulation.records().completion_time.tolist() == pytest.approx([16.0, 4.0 / 0.75])


def test_thresholds_that_are_not_allowed_change_nothing() -> None:
    for thresholds, message in (
        ([1.0, float("nan")], "thresholds is .*nan.*: they must be finite, > 0 B and increasing"),
        ([2.0, 2.0], "they must be finite, > 0 B and increasing"),
        ([1.0], r"thresholds has shape \(1, 1\): it must have \(1, 2\)"),
        ([[1.0, 2.0], [1.0]], "there must be a group, and each must have as many"),
        ("many", "thresholds is 'many'"),
    ):
        discipline = Mlfq([1.0, 3.0])
        simulation = Simulation(
            make_flows([0.0], [5.0]), LINK, discipline, asks=DecisionKind.PERIOD, period=Period(flows=1)
        )
        simulation.run()
        with pytest.raises(ConfigError, match=message):
            discipline.set_thresholds(thresholds)  # type: ignore[arg-type]
        assert discipline.thresholds().tolist() == [[1.0, 3.0]]


def test_what_does_not_go_together_is_refused() -> None:
    flows = make_flows([0.0], [1.0], source=[2], destination=[0])
    asks = DecisionKind.PERIOD
    for make, message in (
        (lambda: Mlfq([[1.0], [2.0]], groups=[0, 1, 2]), "groups has 2: thresholds has the groups 0 to 1"),
        (lambda: Simulation(flows, LINK, Mlfq([[1.0], [2.0]], groups=[0, 1])), "groups has 2 hosts: host 2 sends"),
        (lambda: Simulation(flows, LINK, Ps(), asks=asks), "PERIOD needs one, and nothing else has one"),
        (lambda: BatchSimulation(1, 1, SWITCH, Mlfq([1.0]), asks=asks), "PERIOD needs one, and nothing else has one"),
        (lambda: Period(seconds=1.0, flows=2), "exactly one is needed"),
        (lambda: Period(seconds=np.nan), "seconds of a period is nan"),
    ):
        with pytest.raises(ConfigError, match=message):
            make()
    for engine in (Simulation(flows, LINK, Ps()), network_of(BatchSimulation(1, 1, SWITCH, Mlfq([1.0])), 0)):
        with pytest.raises(SimulationError, match="no period waits to begin"):
            engine.go_on()


def flows_of(seed: int, *, simultaneous: bool) -> Workload:
    """Draws flows between all hosts; if asked, many of them arrive at the same instants, in whole sizes."""
    drawn = make_workload(
        "poisson-web-search", pattern="all-to-all", num_hosts=NUM_HOSTS, num_flows=150, load=0.7
    ).draw(seed)
    if not simultaneous:
        return drawn
    arrival_time = np.round(drawn.arrival_time / 4e-3) * 4e-3
    return replace(drawn, size=np.ceil(drawn.size / 5e5) * 5e5, arrival_time=arrival_time)


def act(discipline: Mlfq, rate_cap: Any, number: int, first_row: int, generator: np.random.Generator) -> None:
    """Sets thresholds at random, and queues and, if there are, rate caps of some flows."""
    discipline.set_thresholds(np.sort(generator.uniform(1e4, 5e6, (2, 3)), axis=1), number)
    for row in generator.integers(150, size=6).tolist():
        discipline.record.pinned[first_row + row] = [-1, 0, 2][generator.integers(3)]
    if rate_cap is not None:
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
    limits, how = [[1e5, 1e6, 3e6]] * 2, {"asks": DecisionKind.PERIOD, "period": period}
    compiled = Mlfq(limits, within, GROUPS)
    batch = BatchSimulation(3, 150, SWITCH, compiled, log_length=5_000, rate_caps=rate_caps, **how)
    workloads = [flows_of(seed, simultaneous=seed > 0) for seed in range(3)]
    for number, workload in enumerate(workloads):
        batch.load(number, workload)
    for number, workload in enumerate(workloads):
        reference = Mlfq(limits, within, GROUPS)
        simulation, network = Simulation(workload, SWITCH, reference, keep_log=True, **how), network_of(batch, number)
        caps, compiled_caps = (
            (simulation.controls.rate_cap, batch.tables.flows["rate_cap"]) if rate_caps else (None, None)
        )
        one, other = (np.random.default_rng(number) for _ in range(2))
        simulation.run()
        network.run()
        while simulation.pending is not None:
            assert network.pending == simulation.pending
            first_row = number * batch.num_rows
            rows = np.s_[first_row : first_row + workload.num_flows]
            assert batch.tables.flows["attained"][rows].tobytes() == simulation.state.attained.tobytes()
            act(reference, caps, 0, 0, one)
            act(compiled, compiled_caps, number, first_row, other)
            for engine in (simulation, network):
                engine.go_on()
                engine.run()

        assert simulation.finished
        assert network.log == simulation.log


def tell_to_move(engine: Simulation | CompiledSimulation, row: int, choice: int) -> None:
    """Moves a flow as rules do."""
    none: Any = None
    decision = engine.decision(none, none)
    move(decision, decision.first_row + row, choice)


@pytest.mark.exhaustive
@pytest.mark.parametrize("simultaneous", [False, True])
def test_both_engines_move_flows_to_other_paths_at_the_beginning_of_a_period(simultaneous: bool) -> None:
    # Host 0 and host 3 lose their links to plane 1 for a while.
    changes = LinkChanges.of([(0.05, 16, False), (0.05, 27, False), (0.4, 27, True), (0.5, 16, True)])
    workload = replace(flows_of(5, simultaneous=simultaneous), link_changes=changes)
    how: dict[str, Any] = {"routing": ECMP, "asks": DecisionKind.PERIOD, "period": Period(seconds=0.02)}
    twins = Twins(workload, PLANES, lambda: Mlfq([1e5, 1e6]), **how)
    simulation, generator = twins.simulation, np.random.default_rng(6)
    num_moved = num_stayed = 0
    while simulation.pending is not None:
        assert twins.network.pending == simulation.pending
        assert twins.batch.num_periods(twins.number) == simulation.num_periods == simulation.pending.number + 1
        for row in np.sort(simulation.links.active[: simulation.links.num_active]).tolist():
            choice, before = int(generator.integers(3)), simulation.controls.path[row]
            for engine in (simulation, twins.network):
                tell_to_move(engine, row, choice)
            after = simulation.controls.path[row]
            assert twins.network.controls.path[row] == after
            num_moved += after != before
            num_stayed += after % 3 != choice
        twins.tell("go_on")
        twins.run()

    twins.finish()
    assert num_moved > 50
    assert num_stayed > 0, "no link had failed where a flow was to go"


def test_a_flow_that_is_moved_goes_on_over_the_other_path_with_what_is_left() -> None:
    flows = make_flows([0.0, 0.0], [1e7, 1e7], source=[0, 0], destination=[1, 2])
    how: dict[str, Any] = {"asks": DecisionKind.PERIOD, "period": Period(seconds=0.1)}
    simulation = Simulation(flows, PLANES, Mlfq([1e5]), routing=ECMP, **how)
    simulation.run()
    for row in (0, 1):
        tell_to_move(simulation, row, 0)
    simulation.go_on()
    simulation.run()
    tell_to_move(simulation, 1, 2)
    for _ in range(2):
        simulation.go_on()
        simulation.run()

    # Both send half of 5e7 B/s for 0.1 s, and then each alone the 7.5e6 B that are left; two delays of 1e-5 s follow.
    assert simulation.completion_time.tolist() == pytest.approx([0.25002] * 2, rel=1e-12)
