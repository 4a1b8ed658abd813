"""Holds the compiled engine to the reference engine where flows choose paths, links fail, and an agent is asked."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.fluid import TRANSPORTS
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.decision import DecisionKind
from flowsched_gym.fluid.disciplines import Fifo, Merp, Ps, Ranked, Srpt
from flowsched_gym.topology import ROUTINGS, fat_tree, leaf_spine, make_routing, one_link, tree9
from flowsched_gym.workload import LinkChanges, Workload, make_workload
from tests.fluid.compiled.twins import LOG_LENGTH, Twins
from tests.simulate import make_flows, network_of

SPINES = {
    delay: leaf_spine(num_leaves=2, num_spines=3, hosts_per_leaf=2, capacity=1.0, delay=delay) for delay in (0.0, 0.1)
}
SPINE_LINKS = range(8, 20)
PAIRS = [(source, destination) for source in range(4) for destination in range(4) if source != destination]


@st.composite
def failing_networks(draw: st.DrawFn) -> Workload:
    """Draws flows on ``SPINES``, at few instants, and changes of links between them; at the end all are up."""
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
@given(workload=failing_networks(), delay=st.sampled_from(sorted(SPINES)))
def test_flows_find_their_paths_alike_while_links_fail(routing, discipline, workload, delay) -> None:
    Twins(workload, SPINES[delay], discipline, routing=make_routing(routing)).finish()


@settings(max_examples=20)
@given(workload=failing_networks(), seed=st.integers(0, 99))
def test_an_agent_is_asked_for_paths_alike(workload: Workload, seed: int) -> None:
    Twins(workload, SPINES[0.1], Merp, routing=make_routing("ecmp"), asks=DecisionKind.PATH).finish(seed)


@pytest.mark.exhaustive
def test_windows_and_handshakes_go_on_while_links_fail() -> None:
    workload = make_workload("poisson-fat-tree-failures", num_flows=60).draw(3)
    topology = fat_tree(delay=1e-5)
    Twins(workload, topology, Fifo, transport=TRANSPORTS["tcp"], routing=make_routing("conga")).finish()


# Those of MERPOrder in tests/envs say so of environments, which compile for themselves.
@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "topology"), [("poisson-pareto", one_link()), ("poisson-tree", tree9())])
def test_an_agent_is_asked_for_orders_alike(name: str, topology: Any) -> None:
    workload = make_workload(name, num_flows=150).draw(1)
    assert Twins(workload, topology, Ranked, asks=DecisionKind.ORDER).finish() > 50


@pytest.mark.parametrize(
    "asks", [pytest.param(DecisionKind.ORDER, marks=pytest.mark.exhaustive), DecisionKind.PATH], ids=str
)
def test_networks_go_on_elsewhere_from_a_snapshot(asks: DecisionKind) -> None:
    name, topology, discipline = {
        DecisionKind.ORDER: ("poisson-tree", tree9(), Ranked),
        DecisionKind.PATH: ("poisson-fat-tree-failures", fat_tree(), Merp),
    }[asks]
    workload = make_workload(name, num_flows=120).draw(2)
    routing = make_routing("ecmp") if asks is DecisionKind.PATH else None
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


def test_a_network_that_is_loaded_again_has_all_its_links() -> None:
    plain = make_flows([0.0, 0.0], [3.0, 3.0], source=[0, 1], destination=[2, 3])
    failing = replace(plain, link_changes=LinkChanges.of([(1.0, link, False) for link in (8, 9)]))
    batch = BatchSimulation(1, 2, SPINES[0.0], Merp(), routing=make_routing("memr"))
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
    network_of(batch, 1).serve_first(0)
    batch.run_until(0, 1)
    batch.run_until(1, 3)

    assert batch.finished(0)
    # When flow 2 arrives at 5 s nobody competes with it; flow 0 finishes at 9 s and leaves flow 1 alone.
    assert batch.finished(1)
