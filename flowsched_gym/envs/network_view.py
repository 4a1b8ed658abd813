"""Shows one running network to the part of a system that acts in it, whichever engine runs it.

Both engines keep the same columns of flows, so what a system observes, sets and pays once per period is written once,
in NumPy on such a view, and gives the same bits in both.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.disciplines import Mlfq
from flowsched_gym.simulation import Simulation

__all__ = ["KeptColumns", "NetworkView", "view_network", "view_simulation"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class KeptColumns(NamedTuple):
    """Holds what a view shows of flows beside the columns of the engine, each (num_flows,), or so for each network.

    Attributes:
        flow_id: Identifiers, int64.
        source: Sending hosts, int64.
        destination: Receiving hosts, int64.
        by_arrival: Rows in the order of arrival, those of one instant in their own, int64.
        ideal_fct: Completion times in s alone on the empty network, float64.
    """

    flow_id: IntArray
    source: IntArray
    destination: IntArray
    by_arrival: IntArray
    ideal_fct: FloatArray


@dataclass(kw_only=True, eq=False)
class NetworkView:
    """Shows a network that waits for an action, or whose flows have all been delivered.

    Columns are those of the engine, not copies, and valid until it goes on; only ``rate_cap`` may be written. Rows
    count from 0 in each network, in the order of flow ids.

    Attributes:
        now: Time in s.
        begun_at: Time in s of the last action, when the period began that has ended now; 0 before the second.
        num_periods: Periods that have begun.
        size: Bytes to deliver, (num_flows,) float64.
        arrival_time: Absolute times in s, (num_flows,) float64, later than now for flows to come.
        attained: Bytes sent, (num_flows,) float64; of live flows alone, as are the next two.
        remaining: Bytes left to send.
        rate: Rates in B/s of the period that has ended.
        rate_cap: Largest rates in B/s, inf for none; may be written, for live flows.
        path: Rows of the path table, (num_flows,), integers.
        completion_time: Absolute times in s, (num_flows,) float64; NaN before the last byte is delivered.
        flow_id: Identifiers, (num_flows,) int64, increasing.
        source: Sending hosts, (num_flows,) int64.
        destination: Receiving hosts, (num_flows,) int64.
        by_arrival: Rows in the order of arrival, (num_flows,) int64.
        ideal_fct: Completion times in s alone on the empty network, (num_flows,) float64.
        capacity: Capacities of the links now in B/s, (num_links,) float64.
        discipline: The feedback queues of all networks of the engine.
        moves: Sends a live flow of this network along another of its paths.
        sending: Rows of the live flows in any order, as the engine counts them, from ``first_row``.
        deliveries: Rows in the order of their delivery, as the engine counts them, from ``first_row``.
        told: How many of these there were at the last action; 0 before the second.
        network: Number of this network among them.
        first_row: Row there of the first flow.
    """

    now: float
    begun_at: float
    num_periods: int
    size: FloatArray
    arrival_time: FloatArray
    attained: FloatArray
    remaining: FloatArray
    rate: FloatArray
    rate_cap: FloatArray
    path: npt.NDArray[np.integer[Any]]
    completion_time: FloatArray
    flow_id: IntArray
    source: IntArray
    destination: IntArray
    by_arrival: IntArray
    ideal_fct: FloatArray
    capacity: FloatArray
    discipline: Mlfq
    moves: Callable[[int, int], None]
    sending: npt.NDArray[np.integer[Any]]
    deliveries: Sequence[int] | npt.NDArray[np.integer[Any]]
    told: int
    network: int = 0
    first_row: int = 0

    @property
    def num_flows(self) -> int:
        """Flows of the episode."""
        return len(self.size)

    @functools.cached_property
    def live(self) -> IntArray:
        """Rows of the flows that have arrived and not sent their last byte, (num_live,), increasing."""
        return np.sort(self.sending.astype(np.int64) - self.first_row)

    @property
    def num_delivered(self) -> int:
        """Flows that have been delivered."""
        return len(self.deliveries)

    @functools.cached_property
    def delivered(self) -> IntArray:
        """Rows in the order of their delivery, (num_delivered,)."""
        return self.delivered_between(0, self.num_delivered)

    @functools.cached_property
    def finished(self) -> IntArray:
        """Those delivered since the last action, (num_finished,); all before the second."""
        return self.delivered_between(self.told, self.num_delivered)

    @functools.cached_property
    def finished_fct(self) -> FloatArray:
        """Completion times in s of these, (num_finished,)."""
        return self.fct(self.finished)

    @property
    def arrived(self) -> IntArray:
        """Rows of the flows that have arrived since the last action, (num_arrived,), increasing."""
        period = (self.begun_at, self.now)
        first, end = np.searchsorted(self.arrival_time, period, side="right", sorter=self.by_arrival)
        return np.sort(self.by_arrival[first:end])

    @property
    def period(self) -> float:
        """Time in s since the last action."""
        return self.now - self.begun_at

    def delivered_between(self, first: int, end: int) -> IntArray:
        """Returns the rows of the flows that were delivered after ``first`` others, up to the one number ``end``."""
        return np.array(self.deliveries[first:end], dtype=np.int64) - self.first_row

    def fct(self, rows: IntArray) -> FloatArray:
        """Returns the completion times in s of flows that have been delivered, waiting included, (count,)."""
        times: FloatArray = self.completion_time[rows] - self.arrival_time[rows]
        return times

    def thresholds(self) -> FloatArray:
        """Returns the thresholds of each group of hosts in B, (num_groups, num_queues - 1), a copy."""
        return self.discipline.thresholds(self.network)

    def set_thresholds(self, rows: FloatArray) -> None:
        """Sets the thresholds from now on, (num_groups, num_queues - 1) in B, each row increasing.

        Raises:
            ConfigError: They are not finite, positive and increasing, or not as many as there are.
        """
        self.discipline.set_thresholds(rows, self.network)

    def queues_of(self, rows: IntArray) -> IntArray:
        """Returns the queues of live flows, (count,), as of the last time that links were shared."""
        return self.discipline.queues_of(rows + self.first_row)

    def pin(self, row: int | IntArray, queue: int | IntArray | None) -> None:
        """Holds live flows in queues from now on, whatever they attain; ``None`` lets them go; see ``Mlfq.pin``.

        Raises:
            ConfigError: There is no such queue.
        """
        self.discipline.pin(row + self.first_row, queue)

    def move(self, row: int, choice: int) -> None:
        """Sends a live flow along one of its paths from now on.

        Raises:
            SimulationError: Paths stay in this network, there is no such path, or one of its links has failed.
        """
        self.moves(row, choice)


def view_simulation(simulation: Simulation, kept: KeptColumns, *, told: int, begun_at: float) -> NetworkView:
    """Views a simulation of the reference engine whose discipline is ``Mlfq``.

    Args:
        simulation: The simulation.
        kept: Its other columns, (num_flows,) each.
        told: Flows that had been delivered at the last action.
        begun_at: Time in s of the last action.
    """
    state, controls, links = simulation.state, simulation.controls, simulation.links
    assert isinstance(simulation.discipline, Mlfq)
    return NetworkView(
        now=simulation.now,
        begun_at=begun_at,
        num_periods=simulation.num_periods,
        size=state.size,
        arrival_time=state.arrival_time,
        attained=state.attained,
        remaining=state.remaining,
        rate=state.rate,
        rate_cap=controls.rate_cap,
        path=controls.path,
        completion_time=simulation.completion_time,
        **kept._asdict(),
        capacity=simulation.network.capacity,
        discipline=simulation.discipline,
        moves=simulation.move,
        sending=links.live[: links.count],
        deliveries=simulation.delivered,
        told=told,
    )


def view_network(
    batch: BatchSimulation,
    number: int,
    discipline: Mlfq,
    kept: KeptColumns,
    *,
    told: int,
    begun_at: float,
) -> NetworkView:
    """Views a network of the compiled engine.

    Args:
        batch: The networks.
        number: Number of the network.
        discipline: Their discipline.
        kept: Their other columns, (num_networks, num_rows) each.
        told: Flows that had been delivered at the last action.
        begun_at: Time in s of the last action.
    """
    tables = batch.tables
    net = tables.networks[number]
    num_flows, first, first_live = int(net["num_flows"]), number * tables.num_rows, number * tables.num_active
    flows = tables.flows[first : first + num_flows]
    num_links, first_link = batch.topology.num_links, number * tables.link_stride
    return NetworkView(
        now=float(net["now"]),
        begun_at=begun_at,
        num_periods=batch.num_periods(number),
        size=flows["size"],
        arrival_time=flows["arrival_time"],
        attained=flows["attained"],
        remaining=flows["remaining"],
        rate=flows["rate"],
        rate_cap=flows["rate_cap"],
        path=flows["path"],
        completion_time=flows["completion_time"],
        **{name: column[number, :num_flows] for name, column in kept._asdict().items()},
        capacity=tables.capacity[first_link : first_link + num_links],
        discipline=discipline,
        moves=functools.partial(batch.move, number),
        sending=tables.live[first_live : first_live + int(net["live"])],
        deliveries=tables.delivered[first : first + int(net["delivered"])],
        told=told,
        network=number,
        first_row=first,
    )
