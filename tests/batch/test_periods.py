"""Holds the compiled engine to the reference engine where an agent sets thresholds, queues and rate caps anew."""

from typing import Any

import numpy as np
import pytest

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.disciplines import Mlfq
from flowsched_gym.errors import ConfigError, SimulationError
from flowsched_gym.model.questions import Asks, Period
from flowsched_gym.simulation import Simulation
from flowsched_gym.topology import big_switch
from flowsched_gym.workload import Workload, make_workload

NUM_HOSTS = 8
GROUPS = [0, 0, 0, 1, 1, 1, 0, 1]
SWITCH = big_switch(num_hosts=NUM_HOSTS, delay=1e-5)


def flows_of(seed: int, *, simultaneous: bool) -> Workload:
    """Draws flows between all hosts; if asked, many of them arrive at the same instants, in whole sizes."""
    drawn = make_workload(
        "poisson-web-search", pattern="all-to-all", num_hosts=NUM_HOSTS, num_flows=150, load=0.7
    ).draw(seed)
    if not simultaneous:
        return drawn
    names = ("flow_id", "source", "destination")
    return Workload(
        **{name: getattr(drawn, name) for name in names},
        size=np.ceil(drawn.size / 5e5) * 5e5,
        arrival_time=np.round(drawn.arrival_time / 4e-3) * 4e-3,
    )


def decide(discipline: Mlfq, rate_cap: Any, number: int, first_row: int, generator: np.random.Generator) -> None:
    """Sets thresholds at random, and queues and rate caps of some flows."""
    discipline.set_thresholds(np.sort(generator.uniform(1e4, 5e6, (2, 3)), axis=1), number)
    for row in generator.integers(150, size=6).tolist():
        discipline.pin(first_row + row, [None, 0, 2][generator.integers(3)])
        rate_cap[first_row + row] = [np.inf, 2e7][generator.integers(2)]


@pytest.mark.parametrize("within", ["ps", "fifo"])
@pytest.mark.parametrize("period", [Period(seconds=0.02), Period(flows=11)], ids=["time", "flows"])
def test_both_engines_obey_what_an_agent_sets_after_each_period(within: str, period: Period) -> None:
    limits = [[1e5, 1e6, 3e6]] * 2
    compiled = Mlfq(limits, within, GROUPS)
    batch = BatchSimulation(3, 150, SWITCH, compiled, asks=Asks.PERIOD, period=period, log_length=5_000)
    workloads = [flows_of(seed, simultaneous=seed > 0) for seed in range(3)]
    for number, workload in enumerate(workloads):
        batch.load(number, workload)
    for number, workload in enumerate(workloads):
        reference = Mlfq(limits, within, GROUPS)
        simulation = Simulation(workload, SWITCH, reference, asks=Asks.PERIOD, period=period, keep_log=True)
        one, other = (np.random.default_rng(number) for _ in range(2))
        simulation.run()
        batch.run(number)
        while simulation.question is not None:
            assert batch.question(number) == simulation.question
            first_row = number * batch.num_rows
            rows = np.s_[first_row : first_row + workload.num_flows]
            assert batch.tables.flows["attained"][rows].tobytes() == simulation.state.attained.tobytes()
            decide(reference, simulation.controls.rate_cap, 0, 0, one)
            decide(compiled, batch.tables.flows["rate_cap"], number, first_row, other)
            simulation.go_on()
            batch.go_on(number)
            simulation.run()
            batch.run(number)

        assert simulation.finished
        assert batch.log(number) == simulation.log


def test_thresholds_and_queues_travel_with_a_snapshot() -> None:
    period = Period(flows=10)
    batches = [
        BatchSimulation(2, 150, SWITCH, Mlfq([1e5, 1e6]), asks=Asks.PERIOD, period=period, log_length=5_000)
        for _ in range(2)
    ]
    batches[0].load(0, flows_of(3, simultaneous=False))
    batches[0].run(0)
    discipline = batches[0]._discipline
    assert isinstance(discipline, Mlfq)
    discipline.set_thresholds([2e4, 4e4])
    for _ in range(4):
        batches[0].go_on(0)
        batches[0].run(0)
    batches[1].put(np.array([1]), batches[0].take(np.array([0])))
    for batch, number in ((batches[0], 0), (batches[1], 1)):
        while batch.question(number) is not None:
            batch.go_on(number)
            batch.run(number)
        assert batch.finished(number)

    assert batches[0].log(0) == batches[1].log(1)


def test_periods_are_asked_for_as_simulations_ask_for_them() -> None:
    with pytest.raises(ConfigError, match="PERIOD needs one, and nothing else has one"):
        BatchSimulation(1, 1, SWITCH, Mlfq([1.0]), asks=Asks.PERIOD)
    with pytest.raises(SimulationError, match="no period waits to begin"):
        BatchSimulation(1, 1, SWITCH, Mlfq([1.0])).go_on(0)
