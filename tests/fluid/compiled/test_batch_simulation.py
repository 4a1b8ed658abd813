"""Holds the compiled engine to what it refuses, and networks that are loaded again to beginning anew."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, SimulationError, WorkloadError
from flowsched_gym.core.periods import Period
from flowsched_gym.fluid.compiled import BatchSimulation, decisions, history
from flowsched_gym.fluid.disciplines import Merp, Mlfq, Ps, Ranked
from flowsched_gym.fluid.pending_decisions import DecisionKind
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import (
    Routing,
    RoutingKind,
    big_switch,
    fat_tree,
    leaf_spine,
    make_routing,
    multi_plane,
    one_link,
    tree9,
)
from flowsched_gym.workload import LinkChanges, Workload, make_workload
from tests.simulate import make_flows


def test_a_log_that_is_too_short_says_so() -> None:
    batch = BatchSimulation(1, 3, one_link(), Ps(), log_length=5)
    batch.load(0, make_flows([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]))
    batch.run_until(0, 3)
    with pytest.raises(SimulationError, match="9 events happened: the log holds 5"):
        history.log(batch.tables, 0)


def test_decisions_that_nobody_asks_for_are_refused() -> None:
    batch = BatchSimulation(1, 2, one_link(), Ps(), num_tokens=1)
    batch.load(0, make_flows([0.0, 0.0], [1.0, 1.0]))
    for act in (
        lambda: decisions.grant(batch.tables, 0, 0),
        lambda: decisions.postpone(batch.tables, 0, 0),
        lambda: decisions.wait(batch.tables, 0),
    ):
        with pytest.raises(SimulationError, match="no destination waits for a decision"):
            act()
    batch.run(0)
    with pytest.raises(SimulationError, match="slot is 2: requests wait in the slots 0 to 1"):
        decisions.grant(batch.tables, 0, 2)
    with pytest.raises(SimulationError, match="slot is -1: requests wait in the slots 0 to 1"):
        decisions.postpone(batch.tables, 0, -1)
    assert decisions.grant(batch.tables, 0, 1) == 1


SPINES = leaf_spine(num_leaves=2, num_spines=3, hosts_per_leaf=2, capacity=1.0, delay=0.0)


def test_a_network_that_is_loaded_again_has_all_its_links() -> None:
    plain = make_flows([0.0, 0.0], [3.0, 3.0], source=[0, 1], destination=[2, 3])
    failing = replace(plain, link_changes=LinkChanges.of([(1.0, link, False) for link in (8, 9)]))
    batch = BatchSimulation(1, 2, SPINES, Merp(), routing=make_routing("memr"))
    completed = []
    for workload in (failing, plain, failing):
        batch.load(0, workload)
        batch.run_until(0, 2)
        completed.append(batch.records(0, workload).completion_time.tolist())

    assert completed[0] == completed[2] == [3.0, 5.0]
    assert completed[1] == [3.0, 3.0]


def test_what_does_not_go_together_is_refused() -> None:
    failing = make_workload("poisson-fat-tree-failures", num_flows=5).draw(0)
    with pytest.raises(ConfigError, match="links change in this workload: a routing is needed"):
        BatchSimulation(1, 5, fat_tree(), Ps()).load(0, failing)
    with pytest.raises(ConfigError, match="asks is PATH: a routing is needed"):
        BatchSimulation(1, 5, fat_tree(), Ps(), asks=DecisionKind.PATH)
    with pytest.raises(ConfigError, match="asks is ORDER: the discipline must be Ranked, it is Ps"):
        BatchSimulation(1, 5, fat_tree(), Ps(), asks=DecisionKind.ORDER)
    with pytest.raises(ConfigError, match="flows with tokens keep their paths"):
        BatchSimulation(1, 5, fat_tree(), Ps(), num_tokens=1, routing=make_routing("ecmp"))
    with pytest.raises(ConfigError, match="PERIOD needs one, and nothing else has one"):
        BatchSimulation(1, 1, SWITCH, Mlfq([1.0]), asks=DecisionKind.PERIOD)
    with pytest.raises(SimulationError, match="no period waits to begin"):
        BatchSimulation(1, 1, SWITCH, Mlfq([1.0])).go_on(0)
    with pytest.raises(ConfigError, match="engine 'compiled' does not know Mine: use engine 'simpy'"):
        BatchSimulation(1, 1, one_link(), type("Mine", (Ps,), {})())
    flows = make_flows([0.0], [1.0], source=[0], destination=[8])
    changing = replace(flows, link_changes=LinkChanges.of([(0.0, 64, False)]))
    with pytest.raises(WorkloadError, match="topology tree9 has the links 0 to 23"):
        BatchSimulation(1, 5, tree9(), Ps(), routing=make_routing("ecmp")).load(0, changing)


@pytest.mark.exhaustive
def test_an_episode_that_has_ended_does_not_let_flows_of_others_compete() -> None:
    # Flow 0 is alone on the uplink of host 0; in the other network flows 0 and 1 are on other links of one host.
    ended = make_flows([0.0], [1.0], source=[0], destination=[1])
    going_on = make_flows([0.0, 0.0, 5.0], [9.0, 9.0, 1.0], source=[0, 0, 7], destination=[1, 1, 8])
    batch = BatchSimulation(2, 3, tree9(capacity=1.0), Ranked(), asks=DecisionKind.ORDER)
    batch.load(0, ended)
    batch.load(1, going_on)
    batch.run_until(1, 3)
    decisions.serve_first(batch.tables, 1, 0)
    batch.run_until(0, 1)
    batch.run_until(1, 3)

    assert batch.finished(0)
    # When flow 2 arrives at 5 s nobody competes with it; flow 0 finishes at 9 s and leaves flow 1 alone.
    assert batch.finished(1)


SWITCH = big_switch(num_hosts=8, delay=1e-5)
PLANES = multi_plane(num_hosts=8, num_planes=3, capacity=5e7, delay=1e-5)
ECMP = Routing(RoutingKind.ECMP)


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
    workload = make_flows([0.0] * 9, [1e6] * 9)
    batch = BatchSimulation(1, 9, SWITCH, Mlfq([1e5]), **how)
    batch.load(0, workload)
    simulation, routed = (
        Simulation(workload, topology, Mlfq([1e5]), routing=routing, **how)
        for topology, routing in ((SWITCH, None), (PLANES, ECMP))
    )
    moves = simulation.move, routed.move, lambda row, choice: decisions.move(batch.tables, 0, row, choice)
    for move in moves:
        with pytest.raises(SimulationError, match="no period waits to begin"):
            move(0, 3)
    simulation.run()
    routed.run()
    batch.run(0)
    for move, expected in zip(moves, ("no routing", "choice is 3: the flow has", "no routing"), strict=True):
        with pytest.raises(SimulationError, match=expected):
            move(0, 3)
