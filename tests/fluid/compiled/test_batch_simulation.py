"""Holds many networks of the compiled engine to simulations of one: decisions, events, records, snapshots."""

import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.fluid import TRANSPORTS, Records
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import big_switch, one_link
from flowsched_gym.workload import Workload, make_workload
from tests.simulate import make_flows, network_of
from tests.strategies import NUM_HOSTS, random_flows, simultaneous_flows

LOG_LENGTH = 20_000

CASES = {
    "one destination": (make_workload("gather-a1"), "ideal", 10, 250e-6),
    "windows": (make_workload("gather-heavy"), "tcp", 3, 250e-6),
    "many destinations": (make_workload("gather-multi"), "ideal", 3, 0.0),
    "many destinations, windows": (make_workload("gather-multi"), "tcp", 2, 1e-4),
    "requests one by one": (make_workload("gather-multi", request_jitter=0.03), "ideal", 3, 1e-4),
    "every flow its own destination": (make_workload("scatter-a1", burst_rate=40.0), "ideal", 2, 0.0),
}
"""Where flows come from, how they send, tokens, and the delay of a link in s."""


class Twins:
    """Is a simulation, and a network of a batch that does the same: whatever one is told, both are told."""

    def __init__(
        self, workload: Workload, transport: str, num_tokens: int, num_hosts: int, *, delay: float, capacity: float
    ) -> None:
        topology = big_switch(num_hosts=num_hosts, delay=delay, capacity=capacity)
        how: dict[str, Any] = {"transport": TRANSPORTS[transport], "num_tokens": num_tokens}  # type: ignore[index]
        self.workload = workload
        self.simulation = Simulation(workload, topology, Ps(), keep_log=True, **how)
        self.batch = BatchSimulation(3, 4, topology, Ps(), log_length=LOG_LENGTH, **how)
        self.number = 1
        self.batch.load(self.number, workload)
        self.run()

    def run(self) -> None:
        """Runs to the next decision."""
        self.simulation.run()
        self.batch.run(self.number)
        simulation, batch, number = self.simulation, self.batch, self.number
        assert batch.now(number) == simulation.now
        assert batch.finished(number) == simulation.finished
        hosts = [None if each.asking is None else each.asking.host for each in (simulation, network_of(batch, number))]
        assert hosts[0] == hosts[1]

    def decide(self, generator: np.random.Generator) -> None:
        """Grants, postpones or waits at random, and runs on."""
        simulation, batch, number = self.simulation, self.batch, self.number
        asking = simulation.asking
        assert asking is not None
        assert network_of(batch, number).asking.num_waiting == asking.num_waiting
        slot = int(generator.integers(min(5, asking.num_waiting)))
        kind = generator.integers(6)
        if kind == 0:
            assert network_of(batch, number).postpone(slot) == simulation.postpone(slot)
        elif kind == 1 and asking.can_wait:
            network_of(batch, number).wait()
            simulation.wait()
        else:
            assert network_of(batch, number).grant(slot) == simulation.grant(slot)
        self.run()

    def compare(self) -> None:
        """Compares all that has happened."""
        assert network_of(self.batch, self.number).log == self.simulation.log
        assert network_of(self.batch, self.number).delivered == self.simulation.delivered
        found, expected = self.batch.records(self.number, self.workload), self.simulation.records()
        for field in fields(Records):
            assert getattr(found, field.name).tobytes() == getattr(expected, field.name).tobytes(), field.name

    def finish(self, seed: int) -> None:
        """Decides at random to the end, and compares."""
        generator = np.random.default_rng(seed)
        while not self.simulation.finished:
            self.decide(generator)
        self.compare()


def twins_of(case: str) -> Twins:
    source, transport, num_tokens, delay = CASES[case]
    return Twins(source.draw(5), transport, num_tokens, source.num_hosts, delay=delay, capacity=1.25e8)


@pytest.mark.parametrize("case", CASES)
def test_a_network_of_a_batch_does_what_a_simulation_does(case: str) -> None:
    twins = twins_of(case)
    generator = np.random.default_rng(0)
    for _ in range(150):
        twins.decide(generator)
    twins.batch.put(np.array([2]), twins.batch.take(np.array([1])))
    twins.number = 2
    for _ in range(100):
        twins.decide(generator)
    twins.batch.grow(2 * twins.workload.num_flows, most_destinations=20)

    twins.finish(seed=1)


@pytest.mark.parametrize(
    ("transport", "num_tokens", "delay"), [("ideal", 1, 0.0), ("ideal", 2, 0.5), ("tcp", 1, 0.0), ("tcp", 2, 0.5)]
)
@settings(max_examples=25)
@given(workload=st.one_of(simultaneous_flows(), simultaneous_flows(), random_flows()), seed=st.integers(0, 2**32 - 1))
def test_it_does_so_on_any_flows(transport: str, num_tokens: int, delay: float, workload: Workload, seed: int) -> None:
    Twins(workload, transport, num_tokens, NUM_HOSTS, delay=delay, capacity=1.0).finish(seed)


def test_a_snapshot_goes_on_elsewhere_as_often_as_one_likes() -> None:
    twins = twins_of("many destinations, windows")
    generator = np.random.default_rng(3)
    for _ in range(40):
        twins.decide(generator)
    taken = twins.batch.take(np.array([1, 1, 1]))
    with pytest.raises(ValueError, match="read-only"):
        taken.blocks["flows"]["size"][0] = 1.0
    snapshot = pickle.loads(pickle.dumps(taken))
    other = BatchSimulation(
        3, 1, twins.batch.topology, Ps(), transport=twins.batch.transport, num_tokens=2, log_length=LOG_LENGTH
    )
    assert len(snapshot) == 3
    other.put(np.array([2, 0, 1]), snapshot)
    twins.batch, twins.number = other, 0
    twins.finish(seed=4)
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
