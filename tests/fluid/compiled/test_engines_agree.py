"""Holds the compiled engine to the reference engine: the same events and results, to the last bit."""

from dataclasses import fields
from functools import partial

import pytest
from hypothesis import given, settings

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, WorkloadError
from flowsched_gym.fluid import Discipline, Records
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology, big_switch, one_link
from flowsched_gym.workload import Workload, draw_flows, make_workload
from tests.fluid.compiled.twins import Twins
from tests.simulate import EACH_COMPILED, Variant, make_flows, parameters_for
from tests.strategies import NUM_HOSTS, random_flows, simultaneous_flows

NEAR = [
    one_link(capacity=1.0),
    one_link(capacity=3.0, delay=0.1),
    big_switch(num_hosts=NUM_HOSTS, capacity=1.0),
    big_switch(num_hosts=NUM_HOSTS, capacity=3.0, delay=0.1),
]

each_variant = pytest.mark.parametrize("variant", EACH_COMPILED)
each_topology = pytest.mark.parametrize("topology", NEAR, ids=["link", "slow link", "switch", "slow switch"])


def replay(workload: Workload, variant: Variant, topology: Topology | str, engine: str) -> Records:
    """Replays flows on an engine."""
    return flowsched_gym.replay(
        workload,
        discipline=variant.discipline,
        topology=topology,
        parameters=parameters_for(variant, workload),
        engine=engine,
    )


def assert_engines_agree(workload: Workload, variant: Variant, topology: Topology | str) -> None:
    assert_equal(replay(workload, variant, topology, "compiled"), replay(workload, variant, topology, "simpy"))


def assert_equal(compiled: Records, reference: Records) -> None:
    """Compares every array of the records, bit by bit."""
    for field in fields(Records):
        expected, actual = getattr(reference, field.name), getattr(compiled, field.name)
        assert actual.dtype == expected.dtype
        assert actual.tobytes() == expected.tobytes(), f"{field.name}: {actual.tolist()} is not {expected.tolist()}"


@each_variant
@each_topology
@settings(max_examples=15)
@given(workload=random_flows() | simultaneous_flows() | simultaneous_flows())
def test_engines_agree_on_any_flows(variant: Variant, topology: Topology, workload: Workload) -> None:
    parameters = parameters_for(variant, workload)
    Twins(workload, topology, partial(make_discipline, variant.discipline, parameters)).finish()


@each_variant
def test_engines_agree_on_workloads_of_the_papers(variant: Variant) -> None:
    for name, topology in (("poisson-web-search", "one-link"), ("gather-heavy", "big-switch")):
        assert_engines_agree(draw_flows(make_workload(name), num_flows=200, seed=5), variant, topology)


def test_the_compiled_engine_refuses_what_the_reference_refuses() -> None:
    workload = make_flows([0.0], [1.0], source=[7])
    for engine in ("simpy", "compiled"):
        with pytest.raises(WorkloadError, match="source is 7 in row 0"):
            replay(workload, Variant("ps"), big_switch(num_hosts=2), engine)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    ("size", "capacity", "message"),
    [
        (5e-324, 1e9, r"size in row 1 takes 5e-324 B at 1000000000\.0 B/s: 0\.0 s, too short"),
        (1e300, 1e-300, r"size in row 1 takes 1e\+300 B at 1e-300 B/s: inf s"),
        (1.7e308, 1.0, "all flows after another until infinity"),
    ],
)
def test_flows_that_send_for_no_time_or_forever_are_refused(engine, size, capacity, message) -> None:
    workload = make_flows([0.0, 0.0, 0.0], [1.0, size, size])
    with pytest.raises(WorkloadError, match=message):
        replay(workload, Variant("ps"), one_link(capacity=capacity), engine)


@each_variant
def test_engines_agree_and_end_near_the_ends_of_float64(variant: Variant) -> None:
    for scale in (1e-300, 1e300):
        workload = make_flows([0.0, 0.0, scale, scale], [scale, 2 * scale, scale, 3 * scale])
        assert_engines_agree(workload, variant, one_link(capacity=1.0))


def test_an_engine_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(ConfigError, match="engine is 'cuda': it must be one of simpy, compiled"):
        replay(make_flows([0.0], [1.0]), Variant("ps"), "one-link", "cuda")


@each_variant
def test_running_in_pieces_changes_nothing(variant: Variant) -> None:
    workload = draw_flows(make_workload("gather-heavy"), num_flows=100, seed=6)
    discipline = make_discipline(variant.discipline, parameters_for(variant, workload))
    assert isinstance(discipline, Discipline)
    simulation = Simulation(workload, big_switch(num_hosts=workload.num_hosts), discipline)
    time = 0.0
    while not simulation.finished:
        time += 0.0007
        simulation.run(until=time)

    whole = replay(workload, variant, "big-switch", "compiled")
    assert simulation.records().completion_time.tolist() == whole.completion_time.tolist()
