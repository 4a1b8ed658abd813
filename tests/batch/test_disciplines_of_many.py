"""Holds disciplines that serve many networks of the compiled engine to the same disciplines serving one each."""

from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.disciplines import BaseDiscipline, Ranked, make_discipline
from flowsched_gym.errors import ConfigError
from flowsched_gym.model.rules.ordering.keys import serve_first
from flowsched_gym.simulation import Simulation
from flowsched_gym.topology import Topology, big_switch, one_link
from flowsched_gym.workload import Workload
from tests.flows import VARIANTS, make_flows, parameters_for

LOG_LENGTH: Final = 1_000
NUM_FLOWS: Final = 40
NUM_HOSTS: Final = 4
NUM_TOKENS: Final = 3
SWITCH: Final = big_switch(num_hosts=NUM_HOSTS, capacity=1.0)


class Case(NamedTuple):
    """A discipline, its parameters and a network."""

    discipline: str
    parameters: dict[str, Any]
    topology: Topology = SWITCH

    def make(self) -> BaseDiscipline:
        """Makes the discipline."""
        made = Ranked() if self.discipline == "ranked" else make_discipline(self.discipline, self.parameters)
        assert isinstance(made, BaseDiscipline)
        return made


def flows_of(seed: int, count: int = NUM_FLOWS) -> Workload:
    """Draws flows of which many arrive and finish at the same instants, half of them with deadlines."""
    rng = np.random.default_rng(seed)
    source = rng.integers(NUM_HOSTS, size=count)
    span = rng.integers(1, 20, count).astype(float)
    span[rng.random(count) < 0.5] = np.inf
    return make_flows(
        np.sort(rng.integers(0, 20, count)),
        rng.integers(1, 9, count),
        span=span,
        source=source,
        destination=(source + rng.integers(1, NUM_HOSTS, count)) % NUM_HOSTS,
    )


CASES: Final = {
    **{str(variant): Case(variant.discipline, parameters_for(variant, flows_of(0))) for variant in VARIANTS},
    "merp, strict": Case("merp", {"mode": "strict", "alpha": 0.75}),
    "merp, gaps": Case("merp", {"gap": 0.5, "gap_preempt": 0.25}, one_link(capacity=1.0)),
    "ranked": Case("ranked", {}),
}

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


class Networks:
    """Runs networks, and a simulation of each: the oldest request is granted, and put first where there are ranks."""

    def __init__(self, case: Case, workloads: list[Workload]) -> None:
        """Loads the networks from the last to the first."""
        if case.topology.num_links == 1:
            workloads = [make_flows(each.arrival_time, each.size) for each in workloads]
        self.batch = BatchSimulation(
            len(workloads), NUM_FLOWS, case.topology, case.make(), num_tokens=NUM_TOKENS, log_length=LOG_LENGTH
        )
        self.alone: list[tuple[Simulation, BaseDiscipline]] = []
        for workload in workloads:
            discipline = case.make()
            simulation = Simulation(workload, case.topology, discipline, num_tokens=NUM_TOKENS, keep_log=True)
            self.alone.append((simulation, discipline))
        for number in reversed(range(len(workloads))):
            self.batch.load(number, workloads[number])

    def decide(self, number: int) -> bool:
        """Runs a network to its next decision and decides; tells whether there was one."""
        batch, (simulation, discipline) = self.batch, self.alone[number]
        batch.run(number)
        simulation.run()
        if simulation.asking is None:
            return False
        row = simulation.grant(0)
        assert batch.grant(number, 0) == row
        if isinstance(discipline, Ranked):
            discipline.serve_first(row)
            serve_first(number, number * batch.num_rows + row, batch.tables.own.rank, batch.tables.own.front)
        return True

    def finish_and_compare(self) -> None:
        """Decides to the end, and compares every event."""
        for number, (simulation, _) in enumerate(self.alone):
            while self.decide(number):
                pass
            assert self.batch.finished(number)
            assert self.batch.log(number) == simulation.log


@each_case
def test_each_network_does_what_it_does_alone(case: Case) -> None:
    networks = Networks(case, [flows_of(seed) for seed in range(3)])
    for step in range(3 * NUM_FLOWS // 2):
        networks.decide(step % 3)

    networks.finish_and_compare()


@each_case
def test_a_network_goes_on_elsewhere_and_with_more_room(case: Case) -> None:
    networks = Networks(case, [flows_of(seed) for seed in range(2)])
    for step in range(NUM_FLOWS // 2):
        networks.decide(step % 2)
    other = BatchSimulation(2, 1, case.topology, case.make(), num_tokens=NUM_TOKENS, log_length=LOG_LENGTH)
    other.put(np.array([1, 0]), networks.batch.take(np.array([1, 0])))
    other.grow(2 * NUM_FLOWS, num_places=2 * NUM_HOSTS)
    networks.batch = other

    networks.finish_and_compare()


@each_case
def test_a_network_that_is_loaded_again_has_forgotten_what_was(case: Case) -> None:
    networks = Networks(case, [flows_of(seed) for seed in range(2)])
    networks.finish_and_compare()
    again = Networks(case, [flows_of(seed) for seed in (2, 3)])
    for number in range(2):
        networks.batch.load(number, again.alone[number][0].workload)
    again.batch = networks.batch

    again.finish_and_compare()


def test_a_queue_for_each_flow_is_asked_of_each_workload() -> None:
    batch = BatchSimulation(2, 5, one_link(), make_discipline("wfq", {"queue": [0, 1], "weights": [1.0, 2.0]}))
    batch.load(0, make_flows([0.0, 0.0], [1.0, 1.0]))

    with pytest.raises(ConfigError, match="queue has 2 entries: it must have one for each of 3 flows"):
        batch.load(1, make_flows([0.0] * 3, [1.0] * 3))
