"""Holds the compiled engine to the reference engine, to the last bit: one network, and many at once."""

from functools import partial
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowsched_gym
from flowsched_gym.core.errors import ConfigError, SimulationError, WorkloadError
from flowsched_gym.fluid import TRANSPORTS, Records
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Ps, make_discipline
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology, big_switch, one_link
from flowsched_gym.workload import Workload, draw_flows, make_workload
from tests.fluid.twins import Twins, assert_same_records
from tests.simulate import COMPILED, EACH_COMPILED, VARIANTS, Variant, make_flows, network_of, parameters_for
from tests.strategies import NUM_HOSTS, random_flows, simultaneous_flows

LINK: Final = one_link(capacity=1.0)
SWITCH: Final = big_switch(num_hosts=4, capacity=1.0)
NUM_FLOWS: Final = 40

each_variant = pytest.mark.parametrize("variant", EACH_COMPILED)


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
    assert_same_records(*(replay(workload, variant, topology, engine) for engine in ("compiled", "simpy")))


@each_variant
@pytest.mark.parametrize(
    "topology",
    [
        LINK,
        one_link(capacity=3.0, delay=0.1),
        big_switch(num_hosts=NUM_HOSTS, capacity=1.0),
        big_switch(num_hosts=NUM_HOSTS, capacity=3.0, delay=0.1),
    ],
    ids=["link", "slow link", "switch", "slow switch"],
)
@settings(max_examples=15)
@given(workload=random_flows() | simultaneous_flows() | simultaneous_flows())
def test_engines_agree_on_any_flows(variant: Variant, topology: Topology, workload: Workload) -> None:
    parameters = parameters_for(variant, workload)
    Twins(workload, topology, partial(make_discipline, variant.discipline, parameters)).finish()


@each_variant
def test_engines_agree_on_workloads_of_the_papers_and_near_the_ends_of_float64(variant: Variant) -> None:
    for name, topology in (("poisson-web-search", "one-link"), ("gather-heavy", "big-switch")):
        assert_engines_agree(draw_flows(make_workload(name), num_flows=200, seed=5), variant, topology)
    for scale in (1e-300, 1e300):
        workload = make_flows([0.0, 0.0, scale, scale], [scale, 2 * scale, scale, 3 * scale])
        assert_engines_agree(workload, variant, LINK)


@each_variant
def test_running_in_pieces_changes_nothing(variant: Variant) -> None:
    workload = draw_flows(make_workload("gather-heavy"), num_flows=100, seed=6)
    discipline = make_discipline(variant.discipline, parameters_for(variant, workload))
    simulation = Simulation(workload, big_switch(num_hosts=workload.num_hosts), discipline)
    time = 0.0
    while not simulation.finished:
        time += 0.0007
        simulation.run(until=time)

    whole = replay(workload, variant, "big-switch", "compiled")
    assert simulation.records().completion_time.tolist() == whole.completion_time.tolist()


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    ("workload", "topology", "message"),
    [
        (make_flows([0.0], [1.0], source=[7]), big_switch(num_hosts=2), "source is 7 in row 0"),
        *(
            (make_flows([0.0] * 3, [1.0, size, size]), one_link(capacity=capacity), message)
            for size, capacity, message in (
                (5e-324, 1e9, r"size in row 1 takes 5e-324 B at 1000000000\.0 B/s: 0\.0 s, too short"),
                (1e300, 1e-300, r"size in row 1 takes 1e\+300 B at 1e-300 B/s: inf s"),
                (1.7e308, 1.0, "all flows after another until infinity"),
            )
        ),
    ],
    ids=["an unknown host", "no time", "for ever", "for ever together"],
)
def test_flows_of_unknown_hosts_or_that_send_for_no_time_or_forever_are_refused(
    engine: str, workload: Workload, topology: Topology, message: str
) -> None:
    with pytest.raises(WorkloadError, match=message):
        replay(workload, Variant("ps"), topology, engine)


CASES: Final[dict[str, tuple[Any, Any, int, float]]] = {
    "one destination": (make_workload("gather-a1"), "ideal", 10, 250e-6),
    "windows": (make_workload("gather-heavy"), "tcp", 3, 250e-6),
    "many destinations": (make_workload("gather-multi"), "ideal", 3, 0.0),
    "many destinations, windows": (make_workload("gather-multi"), "tcp", 2, 1e-4),
    "requests one by one": (make_workload("gather-multi", request_jitter=0.03), "ideal", 3, 1e-4),
    "every flow its own destination": (make_workload("scatter-a1", burst_rate=40.0), "ideal", 2, 0.0),
}
"""Where flows come from, how they send, tokens, and the delay of a link in s."""


def twins_of(case: str) -> Twins:
    source, transport, num_tokens, delay = CASES[case]
    topology = big_switch(num_hosts=source.num_hosts, delay=delay)
    return Twins(source.draw(5), topology, Ps, transport=TRANSPORTS[transport], num_tokens=num_tokens)


@pytest.mark.parametrize("case", CASES)
def test_a_network_of_a_batch_does_what_a_simulation_does(case: str) -> None:
    pair = twins_of(case)
    generator = np.random.default_rng(0)
    for _ in range(150):
        pair.decide(generator)
    pair.batch.put(np.array([2]), pair.batch.take(np.array([1])))
    pair.number = 2
    for _ in range(100):
        pair.decide(generator)
    pair.batch.grow(2 * pair.workload.num_flows, most_destinations=20)

    pair.finish(seed=1)


@pytest.mark.parametrize(
    ("transport", "num_tokens", "delay"), [("ideal", 1, 0.0), ("ideal", 2, 0.5), ("tcp", 1, 0.0), ("tcp", 2, 0.5)]
)
@settings(max_examples=25)
@given(workload=st.one_of(simultaneous_flows(), simultaneous_flows(), random_flows()), seed=st.integers(0, 2**32 - 1))
def test_it_does_so_on_any_flows(transport: Any, num_tokens: int, delay: float, workload: Workload, seed: int) -> None:
    topology = big_switch(num_hosts=NUM_HOSTS, delay=delay, capacity=1.0)
    Twins(workload, topology, Ps, transport=TRANSPORTS[transport], num_tokens=num_tokens).finish(seed)


def test_a_log_that_is_too_short_says_so() -> None:
    batch = BatchSimulation(1, 3, one_link(), Ps(), log_length=5)
    batch.load(0, make_flows([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]))
    batch.run_until(0, 3)
    with pytest.raises(SimulationError, match="9 events happened: the log holds 5"):
        _ = network_of(batch, 0).log


def flows_of(seed: int) -> Workload:
    """Draws flows of which many arrive and finish at the same instants, half of them with deadlines."""
    rng = np.random.default_rng(seed)
    source = rng.integers(4, size=NUM_FLOWS)
    span = rng.integers(1, 20, NUM_FLOWS).astype(float)
    span[rng.random(NUM_FLOWS) < 0.5] = np.inf
    return make_flows(
        np.sort(rng.integers(0, 20, NUM_FLOWS)),
        rng.integers(1, 9, NUM_FLOWS),
        span=span,
        source=source,
        destination=(source + rng.integers(1, 4, NUM_FLOWS)) % 4,
    )


def load(batch: BatchSimulation, seeds: range) -> list[Workload]:
    """Loads the networks, from the last to the first."""
    workloads = [flows_of(seed) for seed in seeds]
    for number in reversed(range(len(workloads))):
        batch.load(number, workloads[number])
    return workloads


def run_in_turns(batch: BatchSimulation, num_delivered: int) -> None:
    """Runs three networks, by one flow each in turn."""
    for delivered in range(1, num_delivered + 1):
        for number in range(3):
            batch.run_until(number, delivered)


@pytest.mark.parametrize(
    ("name", "parameters", "topology"),
    [
        *(
            pytest.param(
                variant.discipline,
                parameters_for(variant, flows_of(0)),
                SWITCH,
                id=str(variant),
                marks=() if variant in COMPILED else pytest.mark.exhaustive,
            )
            for variant in VARIANTS
        ),
        pytest.param("merp", {"mode": "strict", "alpha": 0.75}, SWITCH, id="merp, strict"),
        pytest.param("merp", {"gap": 0.5, "gap_preempt": 0.25}, LINK, id="merp, gaps"),
    ],
)
def test_each_network_does_what_it_does_alone_and_goes_on_elsewhere_and_is_loaded_again(
    name: str, parameters: dict[str, Any], topology: Topology
) -> None:
    first, other = (
        BatchSimulation(3, 1, topology, make_discipline(name, parameters), log_length=1_000) for _ in range(2)
    )
    workloads = load(first, range(3))
    run_in_turns(first, NUM_FLOWS // 3)
    order = np.array([1, 2, 0])
    other.put(order, first.take(order))
    other.grow(2 * NUM_FLOWS)
    for again in (False, True):
        if again:
            workloads = load(other, range(4, 7))
        run_in_turns(other, NUM_FLOWS)
        for number, workload in enumerate(workloads):
            alone = Simulation(workload, topology, make_discipline(name, parameters), keep_log=True)
            alone.run()
            assert other.finished(number)
            assert network_of(other, number).log == alone.log


def test_a_queue_for_each_flow_is_asked_of_each_workload() -> None:
    batch = BatchSimulation(2, 5, one_link(), make_discipline("wfq", {"queue": [0, 1], "weights": [1.0, 2.0]}))
    batch.load(0, make_flows([0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(ConfigError, match="queue has 2 entries: it must have one for each of 3 flows"):
        batch.load(1, make_flows([0.0] * 3, [1.0] * 3))
