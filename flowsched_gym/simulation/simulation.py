"""Puts the parts of the reference engine together: arrivals, destinations, senders, links, records."""

from dataclasses import fields
from typing import Final

import numpy as np
import numpy.typing as npt
from simpy import Event

from flowsched_gym.errors import SimulationError
from flowsched_gym.model.controls import new_controls
from flowsched_gym.model.discipline import Discipline
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.records import Records, complete_records
from flowsched_gym.model.rules.progress import latest_completion
from flowsched_gym.model.rules.transport import wire_volume
from flowsched_gym.model.state import new_flow_state
from flowsched_gym.model.transport import TRANSPORTS, Transport, TransportName
from flowsched_gym.simulation.clock import Clock, RowSchedule
from flowsched_gym.simulation.destination import Destination
from flowsched_gym.simulation.link_sharing import LinkSharing
from flowsched_gym.simulation.senders import Senders
from flowsched_gym.topology import Topology, isolated_fct, round_trip_time
from flowsched_gym.workload import Workload

__all__ = ["Simulation"]

IDEAL: Final = TRANSPORTS[TransportName.IDEAL]


class Simulation:
    """Simulates one episode: the flows of a workload on a topology.

    Without tokens, a flow sends from its arrival on. With tokens, its request travels to the destination, waits there
    for a decision, the token travels back, and then it sends; the token is free again when the last byte has arrived.

    Args:
        workload: The flows.
        topology: The network.
        discipline: Fills the controls of the flows that send.
        transport: How a flow sends.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        seed: Seed of the hash by which flows are spread over equal paths.
        keep_log: Whether to keep ``log``.

    Attributes:
        clock: SimPy's environment.
        state: The flows as arrays.
        controls: Their controls.
        links: Link sharing.
        destinations: Receiving hosts by host number; empty without tokens.
        asking: Destination that waits for a decision, if any.
        delivered: Rows of the flows whose last byte has arrived, in that order.
        log: Events as (time in s, kind, row), where asked for.

    Raises:
        WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
    """

    def __init__(
        self,
        workload: Workload,
        topology: Topology,
        discipline: Discipline,
        *,
        transport: Transport = IDEAL,
        num_tokens: int | None = None,
        seed: int = 0,
        keep_log: bool = False,
    ) -> None:
        """Schedules the first arrivals."""
        assert workload.deadline_span is not None
        path = topology.ecmp(workload.source, workload.destination, workload.flow_id, seed=seed)
        delay = topology.path_delay(path)
        self.workload = workload
        self.topology = topology
        self.transport = transport
        self._path = path
        self._path_delay = delay
        self._round_trip = round_trip_time(topology, delay, transport)
        self._round_trip_of: list[float] = self._round_trip.tolist()
        self._volume = np.empty(workload.num_flows)
        wire_volume(workload.size, transport.segment, transport.header, self._volume)
        topology.check_times(path, self._volume, workload.arrival_time)
        self.state = new_flow_state(
            size=workload.size,
            volume=self._volume,
            arrival_time=workload.arrival_time,
            deadline_span=workload.deadline_span,
        )
        self.controls = new_controls(path)
        self.clock = Clock()
        self.links = LinkSharing(
            self.clock,
            self.state,
            self.controls,
            topology.network,
            discipline,
            on_finished=self._on_sent,
            on_crossed=self._on_crossed,
        )
        self.senders = Senders(self.clock, transport, self.state, self.controls, self._round_trip_of, self.links)
        self.log: list[tuple[float, EventKind, int]] | None = [] if keep_log else None
        self.delivered: list[int] = []
        self.asking: Destination | None = None
        self._delay = delay.tolist()
        self._latest = latest_completion(self.state.deadline).tolist()
        self._grant_time = np.full(workload.num_flows, np.nan)
        self._completion_time = np.full(workload.num_flows, np.nan)
        self._deliveries = RowSchedule(self.clock, EventKind.TOKEN_RETURN, self._on_delivered)
        self._decision_due = False
        self._has_tokens = num_tokens is not None
        self.destinations: dict[int, Destination] = {}
        if num_tokens is not None:
            hosts, counts = np.unique(workload.destination, return_counts=True)
            for host, count in zip(hosts.tolist(), counts.tolist(), strict=True):
                self.destinations[host] = Destination(host, num_tokens, count)
        self._destination_of: list[int] = workload.destination.tolist()
        discipline.begin(self.state, self.controls, topology.network)
        self._schedule_arrivals(workload.arrival_time + delay if self._has_tokens else workload.arrival_time)

    @property
    def now(self) -> float:
        """Time in s."""
        return self.clock._now

    @property
    def finished(self) -> bool:
        """Whether every flow has been delivered."""
        return len(self.delivered) == self.workload.num_flows

    @property
    def fixed(self) -> tuple[object, ...]:
        """What the episode reads and never changes; another simulation of the same flows has equals in these places."""
        workload, topology = self.workload, self.topology
        return (
            workload,
            *(getattr(workload, field.name) for field in fields(workload)),
            topology,
            *topology.network,
            self.transport,
            self._path_delay,
            self._round_trip,
            self._round_trip_of,
            self._volume,
            self.state.deadline,
            self._delay,
            self._latest,
            self._destination_of,
            self._arrival_rows,
            self._arrival_times,
        )

    @property
    def num_delivered(self) -> int:
        """Flows delivered so far."""
        return len(self.delivered)

    def run(self, until: float = np.inf) -> None:
        """Runs until a decision is asked, all flows are delivered, or the next event is later than ``until``."""
        clock, delivered, total = self.clock, self.delivered, self.workload.num_flows
        step = clock.step
        if until == np.inf:
            while self.asking is None and len(delivered) < total:
                step()
        else:
            while self.asking is None and len(delivered) < total and clock.peek() <= until:
                step()

    def met_deadline(self, row: int) -> bool:
        """Tells whether a delivered flow met its deadline; one without a deadline did."""
        return bool(self._completion_time[row] <= self._latest[row])

    def grant(self, slot: int) -> int:
        """Gives a token of the asking destination to the request in a slot; returns the flow's row.

        Raises:
            SimulationError: No destination asks, or no request waits in the slot.
        """
        destination = self._take_asking(slot)
        row = destination.grant(slot)
        self._grant_time[row] = self.clock._now
        if self.log is not None:
            self._note(EventKind.DECISION, [row])
        self.senders.permit(row, self._delay[row])
        self._ask()
        return row

    def postpone(self, slot: int) -> int:
        """Sends the request in a slot to the back of the asking destination's queue; returns the flow's row.

        Raises:
            SimulationError: No destination asks, or no request waits in the slot.
        """
        row = self._take_asking(slot).postpone(slot)
        self._ask()
        return row

    def wait(self) -> None:
        """Lets the asking destination wait for its next request or token."""
        destination = self._take_asking()
        destination.held = True
        self._ask()

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        return complete_records(
            self.workload,
            grant_time=self._grant_time.copy(),
            completion_time=self._completion_time.copy(),
            ideal_fct=isolated_fct(
                self.topology, self._path, self._volume, self.transport, needs_token=self._has_tokens
            ),
        )

    def _schedule_arrivals(self, times: npt.NDArray[np.float64]) -> None:
        """Puts the first arrivals on the clock; each arrival schedules the next."""
        order = np.lexsort((np.arange(len(times)), times))
        self._arrival_rows: list[int] = order.tolist()
        self._arrival_times: list[float] = times[order].tolist()
        self._next_arrival = 0
        if self._arrival_rows:
            self.clock.at(self._arrival_times[0], EventKind.ARRIVAL, self._on_arrival)

    def _on_arrival(self, _: Event) -> None:
        """Takes in all flows, or token requests, that arrive now."""
        first, times = self._next_arrival, self._arrival_times
        now = times[first]
        last = first + 1
        while last < len(times) and times[last] == now:
            last += 1
        rows = self._arrival_rows[first:last]
        self._next_arrival = last
        if last < len(times):
            self.clock.at(times[last], EventKind.ARRIVAL, self._on_arrival)
        if self.log is not None:
            self._note(EventKind.ARRIVAL, rows)
        if not self._has_tokens:
            self._grant_time[rows] = now
            for row in rows:
                self.senders.permit(row, 0.0)
            return
        for row in rows:
            self.destinations[self._destination_of[row]].enqueue(row)
        self._request_decision()

    def _on_sent(self, rows: list[int]) -> None:
        """Lets the last bytes travel to the destination."""
        self.senders.forget(rows)
        if self.log is not None:
            self._note(EventKind.COMPLETION, rows)
        for row in rows:
            self._deliveries.add(self.clock._now + self._delay[row], row)

    def _on_crossed(self, rows: list[int]) -> None:
        """Tells the senders, and the log, about flows that have reached ``review_at``."""
        if self.log is not None:
            self._note(EventKind.DEMOTION, rows)
        self.senders.pause_or_go_on(rows)

    def _on_delivered(self, rows: list[int]) -> None:
        """Records flows whose last byte has arrived, and frees their tokens."""
        now = self.clock._now
        for row in rows:
            self._completion_time[row] = now
        self.delivered.extend(rows)
        if self.log is not None:
            self._note(EventKind.TOKEN_RETURN, rows)
        if self._has_tokens:
            for row in rows:
                self.destinations[self._destination_of[row]].take_back(row)
            self._request_decision()

    def _request_decision(self) -> None:
        """Looks at the end of this instant whether a destination can decide."""
        if not self._decision_due:
            self._decision_due = True
            self.clock.at(self.clock._now, EventKind.DECISION, self._on_decision)

    def _on_decision(self, _: Event) -> None:
        """Asks, now that everything else of this instant has happened."""
        self._decision_due = False
        self._find_asking()

    def _find_asking(self) -> None:
        """Finds the first destination, by host number, that has to decide."""
        for destination in self.destinations.values():
            if destination.asks:
                self.asking = destination
                return

    def _ask(self) -> None:
        """Asks again within this instant: at once where nothing else happens in it, else after that."""
        if self.clock.peek() > self.clock._now:
            self._find_asking()
        else:
            self._request_decision()

    def _take_asking(self, slot: int = 0) -> Destination:
        """Takes the destination that waits for a decision on the request in a slot."""
        destination = self.asking
        if destination is None:
            raise SimulationError("no destination waits for a decision")
        waiting = destination.tail - destination.head
        if not 0 <= slot < waiting:
            raise SimulationError(f"slot is {slot}: requests wait in the slots 0 to {waiting - 1}")
        self.asking = None
        return destination

    def _note(self, kind: EventKind, rows: list[int]) -> None:
        """Adds events of this instant to the log."""
        assert self.log is not None
        self.log.extend((self.clock._now, kind, row) for row in rows)
