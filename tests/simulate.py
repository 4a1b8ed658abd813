"""Builds small flow sets and runs every discipline on them: what the tests of the core share."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.fluid import Records
from flowsched_gym.fluid.compiled import BatchSimulation, CompiledSimulation
from flowsched_gym.fluid.disciplines import DISCIPLINES, make_discipline
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import Topology, one_link
from flowsched_gym.workload import Workload

Numbers = Sequence[float] | npt.NDArray[np.float64]
Hosts = Sequence[int] | npt.NDArray[np.int64]


class Variant(NamedTuple):
    """A discipline and how it serves the flows of one queue, where it has queues."""

    discipline: str
    within: str | None = None

    def __str__(self) -> str:
        return self.discipline if self.within is None else f"{self.discipline}-{self.within}"


QUEUED: Final = dict.fromkeys(("mlfq", "qsjf", "wfq"), ("ps", "fifo")) | {"tafe": ("serial", "remaining")}
VARIANTS: Final = tuple(Variant(name, within) for name in DISCIPLINES for within in QUEUED.get(name, (None,)))
"""Every discipline of the registry; those with queues in both ways of serving one."""

OF_TASKS: Final = frozenset({"tafe", "fifo-lm", "task-las", "d2tcp", "stf", "sebf"})
"""Disciplines that look at tasks, or whose weights depend on time; ``tests/theory/test_tasks.py`` is about these."""

COMPILED: Final = tuple(
    variant for variant in VARIANTS if str(variant) in {"ps", "fifo", "srpt", "mlfq-ps", "merp", "tafe-serial"}
)
"""Disciplines for tests on the compiled engine, where each costs ten seconds of compiling, or more."""

EACH_COMPILED: Final = [
    pytest.param(variant, marks=() if variant in COMPILED else pytest.mark.exhaustive, id=str(variant))
    for variant in VARIANTS
]
"""All disciplines, those besides ``COMPILED`` exhaustive."""

each_engine = pytest.mark.parametrize("engine", ["simpy", "compiled"])

LEAST_P_VALUE: Final = 1e-3
"""Seeds are fixed: one in a thousand of them would fail by chance, a wrong distribution fails with every one."""
ARRAYS: Final = ("flow_id", "task_id", "source", "destination", "size", "arrival_time", "deadline_span")


def rows_of(workload: Workload, num_flows: int | None = None) -> list[list[float]]:
    """Returns the columns of flows, or of the first ones."""
    return [getattr(workload, name)[:num_flows].tolist() for name in ARRAYS]


def on_each_engine(*disciplines: str) -> pytest.MarkDecorator:
    """Parametrises a test with disciplines and engines; ``COMPILED`` says which are not exhaustive there."""
    cases = [
        pytest.param(name, engine, marks=pytest.mark.exhaustive if rare else ())
        for name in disciplines
        for engine in ("simpy", "compiled")
        for rare in [engine == "compiled" and Variant(name) not in COMPILED]
    ]
    return pytest.mark.parametrize(("discipline", "engine"), cases)


def make_flows(
    arrival: Numbers,
    size: Numbers,
    *,
    span: Numbers | None = None,
    source: Hosts | None = None,
    destination: Hosts | None = None,
) -> Workload:
    """Builds a workload with the ids 0, 1, ...; without hosts, all flows go from host 1 to host 0."""
    count = len(arrival)
    return Workload(
        flow_id=np.arange(count),
        source=np.ones(count, dtype=np.int64) if source is None else np.array(source),
        destination=np.zeros(count, dtype=np.int64) if destination is None else np.array(destination),
        size=np.array(size, dtype=np.float64),
        arrival_time=np.array(arrival, dtype=np.float64),
        deadline_span=None if span is None else np.array(span, dtype=np.float64),
    )


def parameters_for(variant: Variant, workload: Workload) -> dict[str, object]:
    """Returns parameters that put the flows of a workload into three queues, where the discipline has queues."""
    if variant.discipline not in QUEUED:
        return {}
    if variant.discipline == "wfq":
        queues: dict[str, object] = {"queue": (workload.flow_id % 3).tolist(), "weights": [1.0, 2.0, 4.0]}
    else:
        mean = float(workload.size.mean())
        queues = {"thresholds": [mean / 2, mean]}
    return queues | {"within": variant.within}


def make_simulation(
    workload: Workload,
    variant: Variant,
    topology: Topology | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Simulation:
    """Prepares a discipline on a topology, by default one link of capacity 1, without running it."""
    parameters = parameters_for(variant, workload) if parameters is None else parameters
    topology = one_link(capacity=1.0) if topology is None else topology
    return Simulation(workload, topology, make_discipline(variant.discipline, parameters))


def simulate(
    workload: Workload,
    variant: Variant,
    topology: Topology | None = None,
    parameters: Mapping[str, object] | None = None,
) -> Records:
    """Runs a discipline on a topology, by default one link of capacity 1, to the end."""
    simulation = make_simulation(workload, variant, topology, parameters)
    simulation.run()
    return simulation.records()


def grant_oldest(simulation: Simulation) -> Simulation:
    """Runs to the end; each decision grants the oldest request."""
    simulation.run()
    while simulation.asking is not None:
        simulation.grant(0)
        simulation.run()
    return simulation


def network_of(batch: BatchSimulation, number: int) -> CompiledSimulation:
    """Returns a network of a batch."""
    return CompiledSimulation(batch, number=number)
