"""Solves networks by hand in which links fail, flows choose paths, and an agent is asked; both engines do alike."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError, SimulationError, WorkloadError
from flowsched_gym.flows.decisions import DecisionKind, PathDecision
from flowsched_gym.fluid import TRANSPORTS, EventKind, Transport
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Fifo, Merp, Ps, Ranked, Srpt
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import ROUTINGS, Topology, fat_tree, leaf_spine, make_routing, one_link, tree9
from flowsched_gym.workload import LinkChanges, Workload, make_workload
from tests.fluid.twins import LOG_LENGTH, Twins
from tests.simulate import make_flows, network_of

SPINES = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=2, capacity=1.0)
"""Hosts 0 and 1, and 2 and 3; leaf 0 reaches spine s by link 8 + s, leaf 1 is reached from it by link 14 + s."""
UP = (8, 9)
FAR = 2
THREE_SPINES = {
    delay: leaf_spine(num_leaves=2, num_spines=3, hosts_per_leaf=2, capacity=1.0, delay=delay) for delay in (0.0, 0.1)
}
SPINE_LINKS = range(8, 20)
PAIRS = [(source, destination) for source in range(4) for destination in range(4) if source != destination]


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
    changed = [(time, link) for time, kind, link in simulation.log if kind is EventKind.LINK_CHANGE]
    assert changed == [(time, link) for time, link, _ in changes]


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


def test_an_agent_chooses_among_live_paths_and_is_not_asked_where_one_is_left() -> None:
    workload = flows((0.0, 4.0), (0.0, 4.0), (2.0, 4.0), changes=[(1.0, UP[1], False)])
    simulation = Simulation(workload, SPINES, Ps(), asks=DecisionKind.PATH)
    with pytest.raises(SimulationError, match="no path waits for a decision"):
        simulation.take_path(0)
    simulation.run()
    assert isinstance(simulation.pending, PathDecision)
    assert simulation.pending.row == 0
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

    failed = flows((1.0, 4.0), changes=[(0.0, 9, False)])
    simulation = Simulation(failed, THREE_SPINES[0.0], Ps(), asks=DecisionKind.PATH)
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
        competed.append(simulation.pending.rows.tolist())
        assert simulation.serve_first(competed[-1].index(row)) == row
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


def test_an_order_that_is_not_asked_for_or_has_no_such_flow_is_refused() -> None:
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


@st.composite
def failing_networks(draw: st.DrawFn) -> Workload:
    """Draws flows on ``THREE_SPINES``, at few instants, and changes of links between them; at the end all are up."""
    count = draw(st.integers(1, 10))
    hosts = draw(st.lists(st.sampled_from(PAIRS), min_size=count, max_size=count))
    times = draw(st.lists(st.integers(0, 6).map(float), min_size=count, max_size=count))
    sizes = draw(st.lists(st.integers(1, 5).map(float) | st.floats(1e-2, 1e2), min_size=count, max_size=count))
    rows = draw(
        st.lists(st.tuples(st.integers(0, 12).map(float), st.sampled_from(SPINE_LINKS), st.booleans()), max_size=12)
    )
    changes = [*sorted(rows, key=lambda row: row[0]), *((13.0, link, True) for link in SPINE_LINKS)]
    plain = make_flows(times, sizes, source=[pair[0] for pair in hosts], destination=[pair[1] for pair in hosts])
    return replace(plain, link_changes=LinkChanges.of(changes))


@pytest.mark.parametrize(
    ("routing", "discipline"),
    [
        ("ecmp", Merp),
        ("memr", Merp),
        *(
            pytest.param(routing, discipline, marks=pytest.mark.exhaustive)
            for routing in ROUTINGS
            for discipline in (Fifo, Srpt, Merp)
        ),
    ],
)
@settings(max_examples=20)
@given(workload=failing_networks(), delay=st.sampled_from(sorted(THREE_SPINES)))
def test_flows_find_their_paths_alike_while_links_fail(routing, discipline, workload, delay) -> None:
    Twins(workload, THREE_SPINES[delay], discipline, routing=make_routing(routing)).finish()


@settings(max_examples=20)
@given(workload=failing_networks(), seed=st.integers(0, 99))
def test_an_agent_is_asked_for_paths_alike(workload: Workload, seed: int) -> None:
    Twins(workload, THREE_SPINES[0.1], Merp, routing=make_routing("ecmp"), asks=DecisionKind.PATH).finish(seed)


@pytest.mark.exhaustive
def test_windows_and_handshakes_go_on_while_links_fail() -> None:
    workload = make_workload("poisson-fat-tree-failures", num_flows=60).draw(3)
    topology = fat_tree(delay=1e-5)
    Twins(workload, topology, Fifo, transport=TRANSPORTS["tcp"], routing=make_routing("conga")).finish()


@pytest.mark.parametrize(
    ("asks", "name", "topology", "discipline", "routing"),
    [
        pytest.param(DecisionKind.ORDER, "poisson-tree", tree9(), Ranked, None, marks=pytest.mark.exhaustive),
        (DecisionKind.PATH, "poisson-fat-tree-failures", fat_tree(), Merp, make_routing("ecmp")),
    ],
    ids=["order", "path"],
)
def test_networks_go_on_elsewhere_from_a_snapshot(asks, name, topology, discipline, routing) -> None:
    workload = make_workload(name, num_flows=120).draw(2)
    twins = Twins(workload, topology, discipline, asks=asks, routing=routing)
    generator = np.random.default_rng(0)
    for _ in range(40):
        twins.decide(generator)
    snapshot = pickle.loads(pickle.dumps(twins.batch.take(np.array([twins.number]))))
    other = BatchSimulation(2, 1, topology, discipline(), log_length=LOG_LENGTH, asks=asks, routing=routing)
    other.put(np.array([0]), snapshot)
    twins.batch, twins.number = other, 0
    other.grow(2 * workload.num_flows, num_changes=9)

    assert twins.finish() > 20


def test_what_does_not_go_together_is_refused() -> None:
    one, ecmp = flows((0.0, 1.0)), make_routing("ecmp")
    for how, message in (
        ({"asks": DecisionKind.ORDER}, "asks is ORDER: the discipline must be Ranked, it is Ps"),
        ({"num_tokens": 1, "routing": ecmp}, "flows with tokens keep their paths"),
    ):
        for make in (lambda **how: Simulation(one, SPINES, Ps(), **how), partial(BatchSimulation, 1, 5, SPINES, Ps())):
            with pytest.raises(ConfigError, match=message):
                make(**how)
    with pytest.raises(ConfigError, match="asks is PATH: a routing is needed"):
        BatchSimulation(1, 5, SPINES, Ps(), asks=DecisionKind.PATH)
    with pytest.raises(ConfigError, match="links change in this workload: a routing is needed"):
        BatchSimulation(1, 5, SPINES, Ps()).load(0, flows((0.0, 1.0), changes=[(0.0, UP[0], False)]))
    with pytest.raises(WorkloadError, match="topology leaf-spine has the links 0 to 15"):
        BatchSimulation(1, 5, SPINES, Ps(), routing=ecmp).load(0, flows((0.0, 1.0), changes=[(0.0, 16, False)]))


@pytest.mark.exhaustive
def test_an_episode_that_has_ended_does_not_let_flows_of_others_compete() -> None:
    # Flow 0 is alone on the uplink of host 0; in the other network flows 0 and 1 are on other links of one host.
    ended = make_flows([0.0], [1.0], source=[0], destination=[1])
    going_on = make_flows([0.0, 0.0, 5.0], [9.0, 9.0, 1.0], source=[0, 0, 7], destination=[1, 1, 8])
    batch = BatchSimulation(2, 3, tree9(capacity=1.0), Ranked(), asks=DecisionKind.ORDER)
    batch.load(0, ended)
    batch.load(1, going_on)
    batch.run_until(1, 3)
    network_of(batch, 1).serve_first(0)
    batch.run_until(0, 1)
    batch.run_until(1, 3)

    assert batch.finished(0)
    # When flow 2 arrives at 5 s nobody competes with it; flow 0 finishes at 9 s and leaves flow 1 alone.
    assert batch.finished(1)
