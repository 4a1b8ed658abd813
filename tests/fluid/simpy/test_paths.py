"""Solves networks by hand in which links fail, flows choose paths, and an agent is asked for paths and orders."""

from dataclasses import replace

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, SimulationError, WorkloadError
from flowsched_gym.fluid import EventKind, Transport
from flowsched_gym.fluid.decision import DecisionKind, PathDecision
from flowsched_gym.fluid.disciplines import Fifo, Ps, Ranked, Srpt
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology, leaf_spine, make_routing, one_link, tree9
from flowsched_gym.workload import LinkChanges, Workload
from tests.simulate import make_flows

SPINES = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=2, capacity=1.0)
"""Hosts 0 and 1, and 2 and 3; leaf 0 reaches spine s by link 8 + s, leaf 1 is reached from it by link 14 + s."""
UP = (8, 9)
FAR = 2


def flows(*rows: tuple[float, float], changes: list[tuple[float, int, bool]] | None = None) -> Workload:
    """Builds flows (arrival, size) that cross the spines, each from a host of its own in turn."""
    sources = [place % 2 for place in range(len(rows))]
    workload = make_flows(*zip(*rows, strict=True), source=sources, destination=[FAR + place for place in sources])
    return workload if changes is None else replace(workload, link_changes=LinkChanges.of(changes))


def completions(simulation: Simulation) -> list[float]:
    """Runs to the end; returns when flows complete."""
    simulation.run()
    assert simulation.finished
    return simulation.records().completion_time.tolist()


def test_a_flow_whose_paths_all_fail_waits_and_loses_nothing() -> None:
    changes = [(4.0, UP[0], False), (4.0, UP[1], False), (7.0, UP[1], True)]
    simulation = Simulation(flows((0.0, 10.0), changes=changes), SPINES, Ps(), keep_log=True)
    simulation.run(until=6.0)

    assert simulation.state.attained.tolist() == [4.0]
    assert simulation.state.rate.tolist() == [0.0]
    assert completions(simulation) == [13.0]
    assert simulation.log is not None
    assert [event for event in simulation.log if event[1] is EventKind.LINK_CHANGE] == [
        (4.0, EventKind.LINK_CHANGE, UP[0]),
        (4.0, EventKind.LINK_CHANGE, UP[1]),
        (7.0, EventKind.LINK_CHANGE, UP[1]),
    ]


def test_a_flow_whose_path_fails_goes_on_by_another_at_once() -> None:
    changes = [(4.0, UP[0], False), (5.0, UP[0], True), (6.0, UP[1], False)]
    assert completions(Simulation(flows((0.0, 10.0), changes=changes), SPINES, Ps())) == [10.0]


def test_flows_share_the_one_spine_that_is_left_and_do_not_come_back_by_themselves() -> None:
    workload = flows((0.0, 8.0), (0.0, 8.0), changes=[(2.0, UP[0], False), (4.0, UP[0], True)])
    simulation = Simulation(workload, SPINES, Ps(), routing=make_routing("least-loaded"))
    # Alone on a spine each until 2, then half a spine each.
    assert completions(simulation) == [14.0, 14.0]


def test_a_flow_that_arrives_sees_those_before_it_at_the_same_instant() -> None:
    simulation = Simulation(flows((0.0, 5.0), (0.0, 5.0)), SPINES, Ps(), routing=make_routing("least-loaded"))
    assert completions(simulation) == [5.0, 5.0]
    assert np.diff(simulation.controls.path).tolist() != [0]


def test_a_flow_that_waits_for_its_handshake_is_given_a_live_path_too() -> None:
    slow = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=2, capacity=1.0, delay=0.25)
    workload = flows((0.0, 10.0), changes=[(1.0, UP[0], False), (1.5, UP[0], True), (1.5, UP[1], False)])
    simulation = Simulation(workload, slow, Ps(), transport=Transport(handshake_round_trips=1.0))
    assert completions(simulation) == [2.0 + 10.0 + 1.0]


def test_changes_that_leave_a_flow_waiting_for_ever_are_refused() -> None:
    for changes, message in (
        ([(1.0, 16, False)], r"link of link changes is 16 in row 0: topology leaf-spine has the links 0 to 15"),
        ([(1.0, UP[0], False), (2.0, UP[1], False)], r"leave the flow in row 0 none of its 2 paths"),
        ([(1.0, 0, False)], r"leave the flow in row 0 none of its 2 paths"),
    ):
        with pytest.raises(WorkloadError, match=message):
            Simulation(flows((0.0, 10.0), changes=changes), SPINES, Ps())


def test_tokens_and_changing_paths_do_not_go_together() -> None:
    with pytest.raises(ConfigError, match="flows with tokens keep their paths"):
        Simulation(flows((0.0, 1.0)), SPINES, Ps(), num_tokens=1, routing=make_routing("ecmp"))


def test_an_agent_chooses_among_live_paths_and_is_not_asked_where_one_is_left() -> None:
    workload = flows((0.0, 4.0), (0.0, 4.0), (2.0, 4.0), changes=[(1.0, UP[1], False)])
    simulation = Simulation(workload, SPINES, Ps(), asks=DecisionKind.PATH)
    with pytest.raises(SimulationError, match="no path waits for a decision"):
        simulation.take_path(0)
    simulation.run()
    first = simulation.pending
    assert isinstance(first, PathDecision)
    assert first.row == 0
    with pytest.raises(SimulationError, match="choice is 2: the flow has the paths 0 to 1"):
        simulation.take_path(2)
    assert simulation.take_path(0) == 0
    simulation.run()
    assert isinstance(simulation.pending, PathDecision)
    assert simulation.pending.row == 1
    assert simulation.links.active[: simulation.links.num_active].tolist() == [0]
    simulation.take_path(0)
    # Two share spine 0 until 2, then three until 11; the third flow has no choice.
    assert completions(simulation) == pytest.approx([11.0, 11.0, 12.0], rel=1e-12)

    three = leaf_spine(num_leaves=2, num_spines=3, hosts_per_leaf=2, capacity=1.0)
    simulation = Simulation(flows((1.0, 4.0), changes=[(0.0, 9, False)]), three, Ps(), asks=DecisionKind.PATH)
    simulation.run()
    with pytest.raises(SimulationError, match="choice is 1: a link of that path has failed"):
        simulation.take_path(1)
    simulation.take_path(2)
    assert completions(simulation) == [5.0]


def play(workload: Workload, topology: Topology, choices: list[int]) -> tuple[list[list[int]], list[float]]:
    """Puts flows first by their rows, in turn; returns who competed at each pending, and when flows complete."""
    simulation = Simulation(workload, topology, Ranked(), asks=DecisionKind.ORDER)
    competed = []
    for row in choices:
        simulation.run()
        assert simulation.pending is not None
        rows = simulation.pending.rows.tolist()  # type: ignore[union-attr]  # an OrderDecision
        competed.append(rows)
        assert simulation.serve_first(rows.index(row)) == row
    return competed, completions(simulation)


def test_an_agent_is_asked_who_goes_first_at_arrivals_and_completions() -> None:
    workload = make_flows([0.0, 1.0, 2.0], [4.0, 1.0, 3.0])
    competed, completed = play(workload, one_link(capacity=1.0), [1, 2])
    # 1 overtakes 0 and ends at 2, when 2 arrives; 2 overtakes in turn, and 0 is alone from 5 on.
    assert competed == [[0, 1], [0, 2]]
    assert completed == [8.0, 2.0, 5.0]


def test_flows_that_nobody_chose_keep_their_order_of_arrival_behind_those_that_were() -> None:
    workload = make_flows([0.0, 0.0, 0.0, 1.0], [3.0, 1.0, 2.0, 1.0])
    competed, completed = play(workload, one_link(capacity=1.0), [2, 2, 0, 3])
    assert competed == [[0, 1, 2], [0, 1, 2, 3], [0, 1, 3], [1, 3]]
    assert completed == [5.0, 7.0, 2.0, 6.0]


def test_on_a_tree_only_flows_that_share_a_link_with_one_that_begins_or_ends_compete() -> None:
    workload = make_flows([0.0, 1.0, 2.0], [9.0, 9.0, 4.0], source=[0, 3, 0], destination=[1, 4, 2])
    competed, completed = play(workload, tree9(capacity=1.0), [2])
    assert competed == [[0, 2]]
    assert completed == [13.0, 10.0, 6.0]


def test_an_order_needs_a_discipline_that_can_be_told() -> None:
    with pytest.raises(ConfigError, match="asks is ORDER: the discipline must be Ranked, it is Fifo"):
        Simulation(make_flows([0.0], [1.0]), one_link(), Fifo(), asks=DecisionKind.ORDER)
    simulation = Simulation(make_flows([0.0, 0.0], [1.0, 1.0]), one_link(), Ranked(), asks=DecisionKind.ORDER)
    with pytest.raises(SimulationError, match="no order waits for a decision"):
        simulation.serve_first(0)
    simulation.run()
    with pytest.raises(SimulationError, match="index is 2: flows compete at the indices 0 to 1"):
        simulation.serve_first(2)


def test_the_routing_matters_and_hashes_do_not_move_flows_without_failures() -> None:
    workload = flows(*((float(place), 6.0) for place in range(8)))
    routings = (None, make_routing("ecmp"), make_routing("least-loaded"))
    by_hash, by_rule, by_load = (
        completions(Simulation(workload, SPINES, Srpt(), routing=routing)) for routing in routings
    )
    assert by_hash == by_rule != by_load
