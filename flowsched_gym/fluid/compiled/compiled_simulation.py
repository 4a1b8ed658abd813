"""One episode on the compiled engine, as ``fluid.simpy.Simulation`` is one on SimPy."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.periods import PeriodDecision
from flowsched_gym.flows.records import Records
from flowsched_gym.fluid.compiled import decisions, history
from flowsched_gym.fluid.compiled.simulation import BatchSimulation
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.pending_decisions import OrderDecision, PathDecision
from flowsched_gym.fluid.routes import Routes
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.fluid.transport import Transport
from flowsched_gym.topology import Topology
from flowsched_gym.topology.network import Network
from flowsched_gym.workload import Workload

IntArray = npt.NDArray[np.int64]
Rows = npt.NDArray[np.integer[Any]]


class ActiveFlows(NamedTuple):
    """Flows that send; see ``fluid.simpy.SharedLinks``."""

    active: IntArray
    num_active: int
    advanced_to: float


class Requests(NamedTuple):
    """A destination's requests and tokens; see ``fluid.simpy.Destination``."""

    host: int
    tokens: int
    expected: int
    requests: IntArray
    head: int
    tail: int
    active: IntArray
    num_active: int

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return self.tail - self.head


class CompiledSimulation:
    """The episode in the only network of a batch, with the attributes of a ``Simulation``.

    Arrays are views, not copies: when another episode begins in the batch, they show that one.

    Args:
        batch: The batch.
        workload: The flows, which are loaded.
    """

    def __init__(self, batch: BatchSimulation, workload: Workload) -> None:
        """Loads the flows."""
        self.batch = batch
        self.workload = workload
        batch.load(0, workload)

    @property
    def topology(self) -> Topology:
        """The network."""
        return self.batch.topology

    @property
    def transport(self) -> Transport:
        """How a flow sends."""
        return self.batch.transport

    @property
    def now(self) -> float:
        """Time in s."""
        return self.batch.now(0)

    @property
    def finished(self) -> bool:
        """Whether every flow has been delivered."""
        return self.batch.finished(0)

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.batch.awaits_decision(0)

    @property
    def pending(self) -> OrderDecision | PathDecision | PeriodDecision | None:
        """What waits for a decision beside tokens, if anything."""
        return decisions.pending(self.batch.tables, 0)

    @property
    def num_periods(self) -> int:
        """Periods that have begun."""
        return self.batch.num_periods(0)

    @property
    def num_delivered(self) -> int:
        """Flows delivered so far."""
        return self.batch.num_delivered(0)

    @property
    def delivery_order(self) -> Rows:
        """Rows of the flows that have been delivered, in that order, in its first ``num_delivered`` indices."""
        return self.batch.tables.delivered

    @property
    def delivered(self) -> list[int]:
        """Rows of the flows that have been delivered, in that order."""
        rows: list[int] = self.delivery_order[: self.num_delivered].tolist()
        return rows

    @property
    def completion_time(self) -> npt.NDArray[np.float64]:
        """Absolute times in s of deliveries, (num_flows,), NaN where they have not happened."""
        return self._column("completion_time")

    @property
    def log(self) -> list[tuple[float, EventKind, int]] | None:
        """Events as (time in s, kind, row), where they are kept."""
        return history.log(self.batch.tables, 0) if self.batch.tables.log_length else None

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
        return self.topology.network._replace(capacity=self.batch.tables.capacity[: self.topology.num_links])

    @property
    def routes(self) -> Routes | None:
        """Between which paths each flow may choose; ``None`` where paths stay."""
        choosing = self.batch.tables.choosing
        return None if choosing is None or choosing.chooser is None else choosing.routes

    @property
    def links(self) -> ActiveFlows:
        """The flows that send."""
        tables = self.batch.tables
        network = tables.networks[0]
        count = int(network["num_active"])
        return ActiveFlows(tables.active[:count].astype(np.int64), count, float(network["advanced_to"]))

    @property
    def destinations(self) -> dict[int, Requests]:
        """Receiving hosts by host number; empty without tokens."""
        tables = self.batch.tables
        hosts = tables.destinations[: int(tables.networks["num_destinations"][0])]
        return {int(each["host"]): self._destination(each) for each in hosts}

    @property
    def asking(self) -> Requests | None:
        """Destination that waits for a decision, if any."""
        host = decisions.asking(self.batch.tables, 0)
        return None if host is None else self.destinations[host]

    def run(self) -> None:
        """Runs until a decision is asked, or all flows are delivered."""
        self.batch.run(0)

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set.

        Raises:
            SimulationError: No period waits to begin.
        """
        self.batch.go_on(0)

    def move(self, row: int, choice: int) -> None:
        """Sends an active flow along another of its paths; see ``Simulation.move``."""
        decisions.move(self.batch.tables, 0, row, choice)

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        return self.batch.records(0, self.workload)

    def _destination(self, d: Any) -> Requests:
        """Copies the state of a destination."""
        tables = self.batch.tables
        requests = tables.requests[d["head"] : d["tail"]].astype(np.int64)
        active = tables.holders[d["first_holder"] : d["first_holder"] + d["num_holders"]].astype(np.int64)
        host, tokens, expected = int(d["host"]), int(d["tokens"]), int(d["expected"])
        return Requests(host, tokens, expected, requests, 0, len(requests), active, len(active))

    def _column(self, name: str) -> npt.NDArray[Any]:
        """Views a column of the flows."""
        return self.batch.tables.flows[name][: self.workload.num_flows]
