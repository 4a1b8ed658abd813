"""Holds disciplines that serve many networks of the compiled engine to the same disciplines serving one each."""

from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid import Discipline
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology, big_switch, one_link
from flowsched_gym.workload import Workload
from tests.simulate import COMPILED, VARIANTS, make_flows, network_of, parameters_for

LOG_LENGTH: Final = 1_000
NUM_FLOWS: Final = 40
NUM_HOSTS: Final = 4
SWITCH: Final = big_switch(num_hosts=NUM_HOSTS, capacity=1.0)


class Case(NamedTuple):
    """A discipline, its parameters and a network."""

    discipline: str
    parameters: dict[str, Any]
    topology: Topology = SWITCH

    def make(self) -> Discipline:
        """Makes the discipline."""
        made = make_discipline(self.discipline, self.parameters)
        assert isinstance(made, Discipline)
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
}

UNCOMPILED: Final = {str(variant) for variant in VARIANTS if variant not in COMPILED}

each_case = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=pytest.mark.exhaustive if name in UNCOMPILED else ())
        for name, case in CASES.items()
    ],
)


class Networks:
    """Runs networks, and holds each to a simulation of its flows alone."""

    def __init__(self, case: Case, workloads: list[Workload]) -> None:
        self.case = case
        self.batch = BatchSimulation(len(workloads), 1, case.topology, case.make(), log_length=LOG_LENGTH)
        self.load(workloads)

    def load(self, workloads: list[Workload]) -> None:
        """Loads the networks from the last to the first."""
        if self.case.topology.num_links == 1:
            workloads = [make_flows(each.arrival_time, each.size) for each in workloads]
        self.workloads = workloads
        for number in reversed(range(len(workloads))):
            self.batch.load(number, workloads[number])

    def run_in_turns(self, num_delivered: int) -> None:
        """Runs all networks, by one flow each in turn."""
        for delivered in range(1, num_delivered + 1):
            for number in range(len(self.workloads)):
                self.batch.run_until(number, delivered)

    def finish_and_compare(self) -> None:
        """Runs to the end, and compares every event."""
        self.run_in_turns(NUM_FLOWS)
        for number, workload in enumerate(self.workloads):
            alone = Simulation(workload, self.case.topology, self.case.make(), keep_log=True)
            alone.run()
            assert self.batch.finished(number)
            assert network_of(self.batch, number).log == alone.log


@each_case
def test_each_network_does_what_it_does_alone_and_goes_on_elsewhere_and_is_loaded_again(case: Case) -> None:
    networks = Networks(case, [flows_of(seed) for seed in range(3)])
    networks.run_in_turns(NUM_FLOWS // 3)
    other = BatchSimulation(3, 1, case.topology, case.make(), log_length=LOG_LENGTH)
    order = np.array([1, 2, 0])
    other.put(order, networks.batch.take(order))
    other.grow(2 * NUM_FLOWS)
    networks.batch = other
    networks.finish_and_compare()

    networks.load([flows_of(seed) for seed in (4, 5, 6)])
    networks.finish_and_compare()


def test_a_queue_for_each_flow_is_asked_of_each_workload() -> None:
    batch = BatchSimulation(2, 5, one_link(), make_discipline("wfq", {"queue": [0, 1], "weights": [1.0, 2.0]}))
    batch.load(0, make_flows([0.0, 0.0], [1.0, 1.0]))
    with pytest.raises(ConfigError, match="queue has 2 entries: it must have one for each of 3 flows"):
        batch.load(1, make_flows([0.0] * 3, [1.0] * 3))
