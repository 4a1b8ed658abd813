"""Holds many networks of the compiled engine to simulations of one: decisions, events, records, snapshots."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.fluid import TRANSPORTS
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.topology import big_switch, one_link
from flowsched_gym.workload import Workload, make_workload
from tests.fluid.compiled.twins import LOG_LENGTH, Twins
from tests.simulate import make_flows, network_of
from tests.strategies import NUM_HOSTS, random_flows, simultaneous_flows

CASES = {
    "one destination": (make_workload("gather-a1"), "ideal", 10, 250e-6),
    "windows": (make_workload("gather-heavy"), "tcp", 3, 250e-6),
    "many destinations": (make_workload("gather-multi"), "ideal", 3, 0.0),
    "many destinations, windows": (make_workload("gather-multi"), "tcp", 2, 1e-4),
    "requests one by one": (make_workload("gather-multi", request_jitter=0.03), "ideal", 3, 1e-4),
    "every flow its own destination": (make_workload("scatter-a1", burst_rate=40.0), "ideal", 2, 0.0),
}
"""Where flows come from, how they send, tokens, and the delay of a link in s."""


def twins(
    workload: Workload, transport: Any, num_tokens: int, num_hosts: int, *, delay: float, capacity: float
) -> Twins:
    topology = big_switch(num_hosts=num_hosts, delay=delay, capacity=capacity)
    return Twins(workload, topology, Ps, transport=TRANSPORTS[transport], num_tokens=num_tokens)


def twins_of(case: str) -> Twins:
    source, transport, num_tokens, delay = CASES[case]
    return twins(source.draw(5), transport, num_tokens, source.num_hosts, delay=delay, capacity=1.25e8)


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
def test_it_does_so_on_any_flows(transport: str, num_tokens: int, delay: float, workload: Workload, seed: int) -> None:
    twins(workload, transport, num_tokens, NUM_HOSTS, delay=delay, capacity=1.0).finish(seed)


def test_a_snapshot_goes_on_elsewhere_as_often_as_one_likes() -> None:
    pair = twins_of("many destinations, windows")
    generator = np.random.default_rng(3)
    for _ in range(40):
        pair.decide(generator)
    taken = pair.batch.take(np.array([1, 1, 1]))
    with pytest.raises(ValueError, match="read-only"):
        taken.blocks["flows"]["size"][0] = 1.0
    snapshot = pickle.loads(pickle.dumps(taken))
    other = BatchSimulation(
        3, 1, pair.batch.topology, Ps(), transport=pair.batch.transport, num_tokens=2, log_length=LOG_LENGTH
    )
    assert len(snapshot) == 3
    other.put(np.array([2, 0, 1]), snapshot)
    pair.batch, pair.number = other, 0
    pair.finish(seed=4)
    found = network_of(other, 0).log
    other.put(np.array([2]), snapshot.pick(np.array([1])))
    assert network_of(other, 1).log == network_of(other, 2).log != found

    before = network_of(other, 1).log
    network_of(other, 2).grant(0)
    other.run(2)
    assert network_of(other, 1).log == before


def test_a_log_that_is_too_short_says_so() -> None:
    batch = BatchSimulation(1, 3, one_link(), Ps(), log_length=5)
    batch.load(0, make_flows([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]))
    batch.run_until(0, 3)
    with pytest.raises(SimulationError, match="9 events happened: the log holds 5"):
        _ = network_of(batch, 0).log


def test_decisions_that_nobody_asks_for_are_refused() -> None:
    batch = BatchSimulation(1, 2, one_link(), Ps(), num_tokens=1)
    batch.load(0, make_flows([0.0, 0.0], [1.0, 1.0]))
    for act in (
        lambda: network_of(batch, 0).grant(0),
        lambda: network_of(batch, 0).postpone(0),
        lambda: network_of(batch, 0).wait(),
    ):
        with pytest.raises(SimulationError, match="no destination waits for a decision"):
            act()
    batch.run(0)
    with pytest.raises(SimulationError, match="slot is 2: requests wait in the slots 0 to 1"):
        network_of(batch, 0).grant(2)
    with pytest.raises(SimulationError, match="slot is -1: requests wait in the slots 0 to 1"):
        network_of(batch, 0).postpone(-1)
    assert network_of(batch, 0).grant(1) == 1
