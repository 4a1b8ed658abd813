"""One network of a batch, as ``fluid.simpy.Simulation`` is one on SimPy; and the replay of given flows in one."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import PeriodDecision
from flowsched_gym.flows.decisions import DecisionKind, OrderDecision, PathDecision
from flowsched_gym.flows.records import Records
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.tokens import Requests, requests_of
from flowsched_gym.fluid.compiled.orders import give_one
from flowsched_gym.fluid.compiled.simulation import BatchSimulation
from flowsched_gym.fluid.compiled.stepping import decision_of
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.decision import Decision, Engine, check_order
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.topology import Routing, Topology
from flowsched_gym.topology.network import Network
from flowsched_gym.workload import Workload

PARTS: Final = 200
"""Calls of compiled code in which a replay is made: between them it tells how far it is, and can be interrupted."""


class ActiveFlows(NamedTuple):
    """Flows that send; see ``fluid.simpy.SharedLinks``."""

    active: IntArray
    num_active: int
    advanced_to: float


class CompiledSimulation(Engine):
    """The episode in one network of a batch, with the attributes of a ``Simulation``.

    Arrays are views, not copies: when another episode begins in the network, they show that one. Rows count from the
    first of the network. Without the workload that has been loaded into it there are no ``records``.
    """

    workload: Workload

    def __init__(self, batch: BatchSimulation, workload: Workload | None = None, *, number: int = 0) -> None:
        self.batch = batch
        self.topology = batch.topology
        self.transport = batch.transport
        self.number = number
        if workload is not None:
            self.workload = workload

    @property
    def _tables(self) -> Tables:
        return self.batch.tables

    @property
    def _first_row(self) -> int:
        return self.number * self.batch.num_rows

    @property
    def now(self) -> float:
        """Time in s."""
        return self.batch.now(self.number)

    @property
    def finished(self) -> bool:
        """Whether every flow has been delivered."""
        return self.batch.finished(self.number)

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.batch.awaits_decision(self.number)

    @property
    def pending(self) -> OrderDecision | PathDecision | PeriodDecision | None:
        """What waits for a decision beside tokens, if anything."""
        choosing = self._tables.choosing
        if choosing is None or not self.awaits_decision:
            return None
        choices = choosing.choices[self.number]
        first, count = int(choices["first_asked"]), int(choices["num_asked"])
        if choosing.asks == DecisionKind.PERIOD:
            return PeriodDecision(int(choices["periods"]) - 1)
        if choosing.asks == DecisionKind.ORDER:
            return OrderDecision(choosing.asked[first : first + count].astype(np.int64) - self._first_row)
        row = int(choosing.asked[first])
        return PathDecision(row - self._first_row, int(choosing.routes.first[row]), int(choosing.routes.last[row]))

    @property
    def num_periods(self) -> int:
        """Periods that have begun."""
        return self.batch.num_periods(self.number)

    @property
    def num_delivered(self) -> int:
        """Flows delivered so far."""
        return self.batch.num_delivered(self.number)

    @property
    def delivery_order(self) -> npt.NDArray[np.integer[Any]]:
        """Rows of the flows that have been delivered, in that order, in its first ``num_delivered`` indices."""
        first = self._first_row
        rows: npt.NDArray[np.integer[Any]] = self._tables.delivered[first : first + self.batch.num_rows]
        return rows - first if first else rows

    @property
    def delivered(self) -> list[int]:
        """Rows of the flows that have been delivered, in that order."""
        return list(self.delivery_order[: self.num_delivered].tolist())

    @property
    def completion_time(self) -> npt.NDArray[np.float64]:
        """Absolute times in s of deliveries, (num_flows,), NaN where they have not happened."""
        return self._column("completion_time")

    @property
    def log(self) -> list[tuple[float, EventKind, int]] | None:
        """Events as (time in s, kind, row), where they are kept."""
        length, logged = self._tables.log_length, int(self._tables.networks["logged"][self.number])
        if not length:
            return None
        if logged > length:
            raise SimulationError(f"{logged} events happened: the log holds {length}")
        entries = self._tables.log[self.number * length : self.number * length + logged]
        return [(time, EventKind(kind), row) for time, kind, row in entries.tolist()]

    @property
    def state(self) -> FlowState:
        """The flows as arrays."""
        return FlowState(*map(self._column, FlowState._fields))

    @property
    def controls(self) -> Controls:
        """Their controls."""
        return Controls(*map(self._column, Controls._fields))

    @property
    def network(self) -> Network:
        """Links as they are now, and paths."""
        first_link = self.number * self._tables.link_stride
        capacity = self._tables.capacity[first_link : first_link + self.topology.num_links]
        return self.topology.network._replace(capacity=capacity)

    @property
    def links(self) -> ActiveFlows:
        """The flows that send."""
        tables = self._tables
        network, first = tables.networks[self.number], self.number * tables.most_active
        count = int(network["num_active"])
        active = tables.active[first : first + count].astype(np.int64) - self._first_row
        return ActiveFlows(active, count, float(network["advanced_to"]))

    @property
    def destinations(self) -> dict[int, Requests]:
        """Receiving hosts by host number; empty without tokens."""
        tables, first = self._tables, self.number * self._tables.most_destinations
        hosts = tables.destinations[first : first + int(tables.networks["num_destinations"][self.number])]
        return {int(each["host"]): self._destination(each) for each in hosts}

    @property
    def asking(self) -> Requests | None:
        """Destination that waits for a decision, if any."""
        tables = self._tables
        index = int(tables.networks["asking"][self.number])
        if index == NOBODY or not len(tables.destinations):
            return None
        return self._destination(tables.destinations[self.number * tables.most_destinations + index])

    def run(self) -> None:
        """Runs until a decision is asked, or all flows are delivered."""
        self.batch.run(self.number)

    def decision(self, flows: npt.NDArray[Any], episodes: npt.NDArray[Any]) -> Decision:
        """Lays out what is asked; see ``Engine``: the batch has the columns already."""
        return decision_of(self._tables, self.number, self._tables.choosing)

    def give(self, order: int, index: int) -> int:
        """Carries out an ``Order``; see ``Engine``."""
        check_order(self, order, index)
        return int(give_one(self._tables, self.number, int(order), index)) - self._first_row

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        return self.batch.records(self.number, self.workload)

    def _destination(self, d: Any) -> Requests:
        return requests_of(d, self._tables.requests, self._tables.holders, self._first_row)

    def _column(self, name: str) -> npt.NDArray[Any]:
        return self.batch.columns(self.number)[name]


def run_compiled(
    workload: Workload,
    topology: Topology,
    discipline: Discipline,
    *,
    routing: Routing | None = None,
    barrier: Barrier = Barrier.FLOW,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Records:
    """Runs all flows to their end, to records that are equal bit for bit to the reference engine's.

    See ``BatchSimulation``; ``progress`` is called now and then with the number of flows done and of all flows.
    """
    simulation = BatchSimulation(
        1,
        max(workload.num_flows, 1),
        topology,
        discipline,
        routing=routing,
        barrier=barrier if workload.has_stages else None,
        seed=seed,
    )
    simulation.load(0, workload)
    num_flows = workload.num_flows
    for part in range(1, PARTS + 1):
        goal = num_flows * part // PARTS
        simulation.run_until(0, goal)
        if progress is not None:
            progress(goal, num_flows)
    return simulation.records(0, workload)
