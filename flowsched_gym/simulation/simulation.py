"""Puts the parts of the reference engine together: arrivals, destinations, senders, links, records."""

from typing import Final

import numpy as np
import numpy.typing as npt
from simpy import Event

from flowsched_gym.disciplines import Ranked
from flowsched_gym.errors import ConfigError
from flowsched_gym.model.controls import new_controls
from flowsched_gym.model.discipline import Discipline, check_transport
from flowsched_gym.model.events import EventKind
from flowsched_gym.model.questions import Asks, Period
from flowsched_gym.model.records import Records, complete_records
from flowsched_gym.model.routes import Routes, new_routes
from flowsched_gym.model.rules.progress import latest_completion
from flowsched_gym.model.rules.transport import wire_volume
from flowsched_gym.model.state import Network, new_flow_state
from flowsched_gym.model.transport import TRANSPORTS, Transport, TransportName
from flowsched_gym.routing import Routing, RoutingKind
from flowsched_gym.simulation.clock import Clock, RowSchedule
from flowsched_gym.simulation.contest import Contest
from flowsched_gym.simulation.decisions import Decisions
from flowsched_gym.simulation.destination import Destination
from flowsched_gym.simulation.link_failures import LinkFailures
from flowsched_gym.simulation.link_sharing import LinkSharing
from flowsched_gym.simulation.paths import Paths
from flowsched_gym.simulation.periods import Periods
from flowsched_gym.simulation.senders import Senders
from flowsched_gym.topology import Topology, isolated_fct, round_trip_time
from flowsched_gym.workload import Workload

__all__ = ["Simulation"]

IDEAL: Final = TRANSPORTS[TransportName.IDEAL]
ECMP: Final = Routing(RoutingKind.ECMP)


class Simulation(Decisions):
    """Simulates one episode: the flows of a workload on a topology.

    Without tokens, a flow sends from its arrival on. With tokens, its request travels to the destination, waits there
    for a decision, the token travels back, and then it sends; the token is free again when the last byte has arrived.

    Args:
        workload: The flows.
        topology: The network.
        discipline: Fills the controls of the flows that send.
        transport: How a flow sends.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        routing: How flows choose among their paths, by the state of the network; ``None``: by a hash alone. Where links
            change, a flow without a live path waits, and nothing that it has sent is lost.
        asks: About what an agent is asked. ``ORDER`` needs the discipline ``Ranked``, ``PERIOD`` a period.
        period: When a period ends.
        seed: Seed of the hash by which flows are spread over equal paths.
        keep_log: Whether to keep ``log``.

    Attributes:
        clock: SimPy's environment.
        state: The flows as arrays.
        controls: Their controls.
        network: Links and paths as they are now; a link that has failed has capacity 0.
        links: Link sharing.
        destinations: Receiving hosts by host number; empty without tokens.
        asking: Destination that waits for a decision, if any.
        question: What else waits for a decision, if anything.
        delivered: Rows of the flows whose last byte has arrived, in that order.
        log: Events as (time in s, kind, row), where asked for; a change of a link has its number for a row.

    Raises:
        WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
        ConfigError: There are tokens, and paths are chosen or links change; an order is asked for, and the discipline
            is not ``Ranked``; or both the discipline and the senders stop flows.
    """

    def __init__(
        self,
        workload: Workload,
        topology: Topology,
        discipline: Discipline,
        *,
        transport: Transport = IDEAL,
        num_tokens: int | None = None,
        routing: Routing | None = None,
        asks: Asks = Asks.NOTHING,
        period: Period | None = None,
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
        check_transport(discipline, transport)
        if asks is Asks.ORDER and not isinstance(discipline, Ranked):
            raise ConfigError(f"asks is ORDER: the discipline must be Ranked, it is {type(discipline).__name__}")
        self._discipline = discipline
        self._asks = asks
        self.question = None
        self._periods = None
        self.network = network = self._open_paths(routing, seed, has_tokens=num_tokens is not None)
        self._contest = Contest(self.state, self.controls, network) if asks is Asks.ORDER else None
        self.links = LinkSharing(
            self.clock,
            self.state,
            self.controls,
            network,
            discipline,
            on_finished=self._on_sent,
            on_crossed=self._on_crossed,
            paths=self._paths,
        )
        self.senders = Senders(
            self.clock,
            transport,
            self.state,
            self.controls,
            self._round_trip_of,
            self.links,
            on_started=None if self._contest is None else self._contend,
        )
        if workload.link_changes is not None:
            assert self._paths is not None
            LinkFailures(
                workload.link_changes,
                topology.capacity,
                self.clock,
                self.links,
                self.senders,
                self._paths,
                on_changed=self._on_links_changed,
            )
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
        discipline.begin(self.state, self.controls, network)
        discipline.begin_network(0, 0, workload.source)
        if (asks is Asks.PERIOD) != (period is not None):
            raise ConfigError(f"asks is {asks.name} and period is {period}: PERIOD needs one, and nothing else has one")
        if period is not None:
            self._periods = Periods(period, self.clock, on_due=self._request_decision)
        self._schedule_arrivals(workload.arrival_time + delay if self._has_tokens else workload.arrival_time)

    @property
    def now(self) -> float:
        """Time in s."""
        return self.clock._now

    @property
    def discipline(self) -> Discipline:
        """Who fills the controls."""
        return self._discipline

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
            *workload.arrays,
            topology,
            *topology.network,
            self.transport,
            self._path_delay,
            self._round_trip,
            self._volume,
            self.state.deadline,
            self._latest,
            self._destination_of,
            self._arrival_rows,
            self._arrival_times,
            *(() if self._paths is not None else (self._delay, self._round_trip_of)),
        )

    @property
    def routes(self) -> Routes | None:
        """Between which paths each flow may choose; ``None`` where paths stay."""
        return None if self._paths is None else self._paths.routes

    @property
    def completion_time(self) -> npt.NDArray[np.float64]:
        """Absolute times in s at which last bytes have arrived, (num_flows,), NaN where they have not; not a copy."""
        return self._completion_time

    @property
    def num_periods(self) -> int:
        """Periods that have begun, after which an agent is asked; none where it is not."""
        return 0 if self._periods is None else self._periods.begun

    @property
    def num_delivered(self) -> int:
        """Flows delivered so far."""
        return len(self.delivered)

    def run(self, until: float = np.inf) -> None:
        """Runs until a decision is asked, all flows are delivered, or the next event is later than ``until``."""
        clock, delivered, total = self.clock, self.delivered, self.workload.num_flows
        step = clock.step
        if until == np.inf:
            while self.asking is None and self.question is None and len(delivered) < total:
                step()
        else:
            while self.asking is None and self.question is None and len(delivered) < total and clock.peek() <= until:
                step()

    def met_deadline(self, row: int) -> bool:
        """Tells whether a delivered flow met its deadline; one without a deadline did."""
        return bool(self._completion_time[row] <= self._latest[row])

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        return complete_records(
            self.workload,
            grant_time=self._grant_time.copy(),
            completion_time=self._completion_time.copy(),
            ideal_fct=isolated_fct(
                self.topology,
                self.topology.ideal_path(self.workload.source, self.workload.destination),
                self._volume,
                self.transport,
                needs_token=self._has_tokens,
            ),
        )

    def _open_paths(self, routing: Routing | None, seed: int, *, has_tokens: bool) -> Network:
        """Lets flows choose paths where they can; returns the running network."""
        workload, topology = self.workload, self.topology
        changes = workload.link_changes
        self._unrouted: list[int] = []
        self._paths: Paths | None = None
        if routing is None and changes is None and self._asks is not Asks.PATH:
            return topology.network
        if has_tokens:
            raise ConfigError("num_tokens is given: flows with tokens keep their paths, and their links stay up")
        network = topology.network._replace(capacity=topology.capacity.copy())
        first, last = topology.candidates(workload.source, workload.destination)
        routes = new_routes(
            first=first,
            last=last,
            hash=topology.flow_hash(workload.source, workload.destination, workload.flow_id, seed=seed),
            destination=workload.destination,
        )
        self._paths = Paths(routing or ECMP, routes, self.state, self.controls, network, on_moved=self._on_moved)
        if changes is not None:
            topology.check_link_changes(changes.link, changes.up, first, last)
        return network

    def _on_moved(self, row: int) -> None:
        """Notes that a flow has taken another path."""
        path = self.controls.path[row : row + 1]
        self._delay[row] = float(self.topology.path_delay(path)[0])
        self._round_trip_of[row] = float(
            round_trip_time(self.topology, np.array([self._delay[row]]), self.transport)[0]
        )
        self._discipline.moved(row)

    def _on_links_changed(self, links: list[int]) -> None:
        """Tells the log about links that have failed or come up."""
        self._note(EventKind.LINK_CHANGE, links)

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
        if not self._has_tokens:
            self.links.settle()
        self._note(EventKind.ARRIVAL, rows)
        for row in rows:
            self._discipline.begin_flow(row)
        if not self._has_tokens:
            self._grant_time[rows] = now
            if self._paths is None:
                self.senders.begin(rows)
                return
            for row in rows:
                self._find_path(row)
            return
        for row in rows:
            self.destinations[self._destination_of[row]].enqueue(row)
        self._request_decision()

    def _on_sent(self, rows: list[int]) -> None:
        """Lets the last bytes travel to the destination."""
        self.senders.forget(rows)
        self._note(EventKind.COMPLETION, rows)
        if self._contest is not None:
            self._contend(rows)
        for row in rows:
            self._deliveries.add(self.clock._now + self._delay[row], row)

    def _on_crossed(self, rows: list[int]) -> None:
        """Tells the senders, and the log, about flows that have reached ``review_at``."""
        self._note(EventKind.DEMOTION, rows)
        self.senders.pause_or_go_on(rows)

    def _on_delivered(self, rows: list[int]) -> None:
        """Records flows whose last byte has arrived, and frees their tokens."""
        now = self.clock._now
        for row in rows:
            self._completion_time[row] = now
        self.delivered.extend(rows)
        if self._periods is not None:
            self._periods.count(len(self.delivered))
        self._note(EventKind.TOKEN_RETURN, rows)
        if self._has_tokens:
            for row in rows:
                self.destinations[self._destination_of[row]].take_back(row)
            self._request_decision()
