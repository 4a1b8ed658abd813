"""Solves feedback queues by hand whose thresholds an agent sets anew after each period."""

from collections.abc import Callable

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, SimulationError
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.fluid.decision import DecisionKind
from flowsched_gym.fluid.disciplines import Mlfq, Ps
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import big_switch, one_link
from flowsched_gym.workload import Workload
from tests.simulate import make_flows

LINK = one_link(capacity=1.0)


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
    same, apart = (
        Simulation(flows, switch, Mlfq(thresholds, groups=[0, 1, 0])) for thresholds in ([[2.0], [2.0]], [[1.0], [9.0]])
    )
    for simulation in (same, apart):
        simulation.run()

    assert same.records().completion_time.tolist() == [8.0, 8.0]
    # Host 0's flow is demoted at 2 s, when it has sent 1 B, and waits for the other.
    assert apart.records().completion_time.tolist() == [8.0, 5.0]


def test_a_flow_can_be_held_in_a_queue_and_let_go() -> None:
    discipline = Mlfq([2.0])
    simulation = Simulation(
        make_flows([0.0, 0.0], [4.0, 4.0]), LINK, discipline, asks=DecisionKind.PERIOD, period=Period(seconds=3.0)
    )
    simulation.run()
    simulation.go_on()
    simulation.run()  # 3 s: both have sent 1.5 B
    discipline.pin(0, 1)
    simulation.go_on()
    simulation.run()  # 6 s: flow 1 has gone on to 2 B alone, then both share what is below
    assert simulation.state.attained.tolist() == pytest.approx([2.75, 3.25])
    discipline.pin(np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(ConfigError, match="queue is 2: it must be from 0 to 1"):
        discipline.pin(np.array([1, 0]), np.array([0, 2]))
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
    for make, message in (
        (lambda: Mlfq([[1.0], [2.0]], groups=[0, 1, 2]), "groups has 2: thresholds has the groups 0 to 1"),
        (lambda: Simulation(flows, LINK, Mlfq([[1.0], [2.0]], groups=[0, 1])), "groups has 2 hosts: host 2 sends"),
        (lambda: Mlfq([1.0]).pin(0, 2), "queue is 2: it must be from 0 to 1"),
        (lambda: Simulation(flows, LINK, Ps(), asks=DecisionKind.PERIOD), "PERIOD needs one, and nothing else has one"),
        (lambda: Period(seconds=1.0, flows=2), "exactly one is needed"),
        (lambda: Period(seconds=np.nan), "seconds of a period is nan"),
    ):
        with pytest.raises(ConfigError, match=message):
            make()
    with pytest.raises(SimulationError, match="no period waits to begin"):
        Simulation(flows, LINK, Ps()).go_on()
