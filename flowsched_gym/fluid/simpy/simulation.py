"""One episode in SimPy, which runs until an agent has to decide, and resumes when it has."""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.core.simpy_environment import NetworkEnvironment, Periods
from flowsched_gym.fluid.contract import Discipline, check_discipline
from flowsched_gym.fluid.controls import new_controls
from flowsched_gym.fluid.decision import (
    ABOUT_TOKENS,
    Decision,
    Engine,
    Order,
    Rows,
    check_move,
    check_order,
    check_period,
)
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.isolation import check_stages, round_trip_time
from flowsched_gym.fluid.pending_decisions import DecisionKind, OrderDecision, PathDecision
from flowsched_gym.fluid.routes import new_routes
from flowsched_gym.fluid.rules.transport.senders import wire_volume
from flowsched_gym.fluid.simpy.contest import Contest
from flowsched_gym.fluid.simpy.links import SharedLinks
from flowsched_gym.fluid.simpy.lossy_links import LossyLinks
from flowsched_gym.fluid.simpy.network import SimulatedNetwork
from flowsched_gym.fluid.simpy.paths import FlowletLinks, Paths
from flowsched_gym.fluid.simpy.waiting import Destination, Turns
from flowsched_gym.fluid.stages import Barrier, fill_stages, new_stages
from flowsched_gym.fluid.state import new_flow_state
from flowsched_gym.fluid.transport import TRANSPORTS, Transport, TransportName
from flowsched_gym.topology import Routing, RoutingKind, Topology, cpu_path
from flowsched_gym.workload import Workload

IDEAL: Final = TRANSPORTS[TransportName.IDEAL]
ECMP: Final = Routing(RoutingKind.ECMP)
NO_ROWS: Final[IntArray] = np.zeros(0, dtype=np.int64)

PendingDecision = OrderDecision | PathDecision | PeriodDecision


class Simulation(SimulatedNetwork, Engine):
    """A network and the flows of one episode; time stands still while ``asking`` or ``pending`` waits for an agent.

    Args:
        workload: The flows.
        topology: The network.
        discipline: Fills the controls of the flows that send.
        transport: How a flow sends.
        num_tokens: Flows that a destination lets send at once; ``None`` for no tokens.
        routing: How flows choose among their paths, by the state of the network; ``None``: by a hash alone. Where links
            change, a flow without a path that is up waits, and nothing that it has sent is lost.
        asks: About what an agent is asked. ``ORDER`` needs the discipline ``Ranked``, ``PERIOD`` a period.
        period: When a period ends.
        barrier: When a flow whose CPU work is done may send.
        seed: Seed of the hash by which flows are spread over equal paths.
        keep_log: Whether to keep ``log``.

    Attributes:
        asking: Destination that waits for a decision, if any.
        last_asking: The one that waited last.
        pending: What else waits for a decision, if anything.
        num_periods: Periods that have begun, after which an agent is asked; none where it is not.

    Raises:
        WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
        ConfigError: There are tokens, and paths are chosen, links change or flows have stages; an order is asked for,
            and the discipline is not ``Ranked``; both the discipline and the senders stop flows; or flows have CPU
            work, and the topology has no CPUs.
    """

    _contest: Contest

    def __init__(
        self,
        workload: Workload,
        topology: Topology,
        discipline: Discipline,
        *,
        transport: Transport = IDEAL,
        num_tokens: int | None = None,
        routing: Routing | None = None,
        asks: DecisionKind = DecisionKind.NOTHING,
        period: Period | None = None,
        barrier: Barrier = Barrier.FLOW,
        seed: int = 0,
        keep_log: bool = False,
    ) -> None:
        changes, has_tokens = workload.link_changes, num_tokens is not None
        paths_stay = routing is None and changes is None and asks is not DecisionKind.PATH
        check_discipline(discipline, transport, asks, period, paths_stay=paths_stay, has_tokens=has_tokens)
        assert workload.deadline_span is not None
        path = topology.ecmp(workload.source, workload.destination, workload.flow_id, seed=seed)
        delay = topology.path_delay(path)
        volume = np.empty(workload.num_flows)
        wire_volume(workload.size, transport.segment, transport.header, volume)
        topology.check_times(path, volume, workload.arrival_time)
        if workload.has_stages:
            check_stages(workload, topology, transport, has_tokens=has_tokens)
        self.env = NetworkEnvironment()
        self.workload = workload
        self.topology = topology
        self.transport = transport
        self.discipline = discipline
        self.state = new_flow_state(
            size=workload.size,
            volume=volume,
            arrival_time=workload.arrival_time.copy() if workload.has_stages else workload.arrival_time,
            deadline_span=workload.deadline_span,
        )
        self.controls = new_controls(path)
        self.network = topology.network
        self.routes = None
        self.destinations = {}
        self.asking: Destination | None = None
        self.last_asking: Destination | None = None
        self.pending: PendingDecision | None = None
        self.num_periods = 0
        self.delivery_order = np.zeros(workload.num_flows, dtype=np.int64)
        self.num_delivered = 0
        self.completion_time = np.full(workload.num_flows, np.nan)
        self.log = [] if keep_log else None
        self._grant_time = np.full(workload.num_flows, np.nan)
        self._volume = volume.copy()
        self._delay = delay.tolist()
        self._round_trip = round_trip_time(topology, delay, transport).tolist()
        self._connecting = []
        self._over = self.env.event()
        self._decision_due = False
        self._find_pending: Callable[[], PendingDecision | None] = lambda: None
        if not paths_stay:
            self._open_paths(routing or ECMP, seed)
        self.links = self._new_links(flowlets=routing is not None and routing.kind is RoutingKind.CONGA)
        if num_tokens is not None:
            self._open_destinations(num_tokens, delay)
        if workload.has_stages:
            self._open_stages(path, barrier)
        self._open_decisions(asks, period)
        self._life = tuple(self._life_of_flows(asks, has_tokens=has_tokens))
        discipline.begin(self.state, self.network)
        discipline.begin_network(0, 0, workload)
        if changes is not None:
            self.env.process(self._change_links(changes))
        self.env.process(self._arrivals(workload.arrival_time + delay if has_tokens else workload.arrival_time))
        if not workload.num_flows:
            self._over.succeed()

    def _open_paths(self, routing: Routing, seed: int) -> None:
        """Prepares a network in which flows choose paths, and links may change."""
        workload, topology = self.workload, self.topology
        first, last = topology.candidates(workload.source, workload.destination)
        if workload.link_changes is not None:
            topology.check_link_changes(workload.link_changes.link, workload.link_changes.up, first, last)
        self.network = topology.network._replace(capacity=topology.capacity.copy())
        self.routes = new_routes(
            first=first,
            last=last,
            hash=topology.flow_hash(workload.source, workload.destination, workload.flow_id, seed=seed),
            destination=workload.destination,
        )
        self._paths = Paths(
            routing,
            self.routes,
            self.state,
            self.controls,
            self.network,
            self.env,
            on_moved=self._on_moved,
            on_request=self._request_decision,
        )

    def _new_links(self, *, flowlets: bool) -> SharedLinks:
        """Makes the links as a resource: as they are, or for senders that lose packets or choose paths anew."""
        arguments = (
            self.env,
            self.state,
            self.controls,
            self.network,
            self.topology.data_capacity(self.discipline.data_share),
            self.discipline,
            self._delay,
            self._note,
        )
        if self.transport.losses is not None:
            return LossyLinks(*arguments, workload=self.workload, topology=self.topology, transport=self.transport)
        return FlowletLinks(*arguments, paths=self._paths) if flowlets else SharedLinks(*arguments)

    def _open_destinations(self, num_tokens: int, delay: FloatArray) -> None:
        """Gives tokens to the hosts that receive flows."""
        destination, handshakes = self.workload.destination, self.transport.handshake_round_trips
        token_time = (delay + self.links.lateness() + handshakes * np.array(self._round_trip)).tolist()
        hosts, counts = np.unique(destination, return_counts=True)
        for host, count in zip(hosts.tolist(), counts.tolist(), strict=True):
            self.destinations[host] = Destination(
                self.env, host, num_tokens, count, token_time, on_change=self._request_decision
            )
        self._destination_of = destination.tolist()

    def _open_stages(self, path: IntArray, barrier: Barrier) -> None:
        """Prepares what flows go through before they send."""
        workload, topology = self.workload, self.topology
        self._stages = new_stages(1, workload.num_flows, 0 if workload.after is None else workload.after.num_pairs)
        work_path = cpu_path(topology, workload.source) if topology.num_cpus else path
        fill_stages(self._stages, 0, workload, cpu_path=work_path, path=path, volume=self._volume, barrier=barrier)
        self._turns = Turns(self.env, self._stages)

    def _open_decisions(self, asks: DecisionKind, period: Period | None) -> None:
        """Prepares what an agent is asked besides tokens."""
        if period is not None:
            kinds = {"counted": EventKind.DELIVERY, "end": EventKind.PERIOD_END}
            self._periods = Periods(period, self.env, on_begin=self._begin_period, **kinds)
            self._find_pending = self._find_period
        elif asks is DecisionKind.ORDER:
            self._contest = Contest(self.state, self.controls, self.network, on_touch=self._request_decision)
            self.links.on_change.append(self._contest.touch)
            self._find_pending = self._find_order
        elif asks is DecisionKind.PATH:
            self._find_pending = self._paths.pending

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.asking is not None or self.pending is not None

    def run(self, until: float = math.inf) -> None:
        """Runs until a decision is asked, all flows are delivered, or the next event is later than ``until``."""
        env, over, is_bounded = self.env, self._over, until < math.inf
        while self.asking is None and self.pending is None and not over.processed:
            if is_bounded and env.peek() > until:
                return
            env.step()

    def decision(self, flows: Rows, episodes: Rows) -> Decision:
        """Lays out what is asked; see ``Engine``."""
        links, pending = self.links, self.pending
        destination = self.asking or self.last_asking
        rows, first, count = NO_ROWS, 0, 0
        active, num_active, host, can_wait = links.active, links.num_active, -1, False
        if destination is not None:
            rows, first, count = destination.requests, destination.head, destination.num_waiting
            active, num_active = destination.active, destination.num_active
            host, can_wait = destination.host, destination.can_wait
        elif pending is not None:
            rows = pending.candidates
            count = len(rows)
        return Decision(
            0,
            self.awaits_decision,
            self.now,
            links.advanced_to,
            rows,
            first,
            count,
            active,
            0,
            num_active,
            host,
            can_wait,
            self.delivery_order,
            0,
            self.num_delivered,
            self.completion_time,
            self.state,
            self.controls,
            self.network,
            self.routes,
            flows,
            episodes,
        )

    def give(self, order: int, index: int) -> int:
        """Carries out an ``Order``; see ``Engine``."""
        check_order(self, order, index)
        if order not in ABOUT_TOKENS:
            return self._put_first(index) if order == Order.SERVE_FIRST else self._send_along(index)
        destination, self.asking = self.asking, None
        assert destination is not None
        row = -1
        if order == Order.GRANT:
            row = destination.grant(index)
            self._grant_time[row] = self.env.now
            self._note(EventKind.DECISION, row)
        elif order == Order.POSTPONE:
            row = destination.postpone(index)
        else:
            destination.held = True
        self._ask()
        return row

    def _put_first(self, index: int) -> int:
        """Puts a flow, of those that compete, before all others."""
        assert isinstance(self.pending, OrderDecision)
        row = int(self.pending.rows[index])
        self._note(EventKind.DECISION, row)
        self.discipline.serve_first(0, row, self.discipline.record)
        self.pending = self._contest.next()
        return row

    def _send_along(self, choice: int) -> int:
        """Sends the flow that waits for a path along one of its paths."""
        assert isinstance(self.pending, PathDecision)
        row = self.pending.row
        self._paths.grant(row, self.pending.first + choice)
        self.pending = None
        self._note(EventKind.DECISION, row)
        self._ask()
        return row

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set; see ``Engine``."""
        number = check_period(self).number
        self.pending = None
        self._note(EventKind.DECISION, number)
        self.links.request_sharing()

    def move(self, row: int, choice: int) -> None:
        """Sends an active flow along another of its paths; see ``Engine``."""
        path = check_move(self, row, choice)
        self._paths.take(row, path)

    def _ask(self) -> None:
        """Requests the next decision: at once where nothing else happens in this instant, else after that."""
        if self.env.peek() > self.env.now:
            self._find_decision()
        else:
            self._request_decision()

    def _request_decision(self) -> None:
        """Requests a decision at the end of this instant, if there is anything to decide then."""
        if not self._decision_due:
            self._decision_due = True
            self.env.at(self.env.now, EventKind.DECISION).callbacks.append(self._find_decision)

    def _find_decision(self, _: Event | None = None) -> None:
        """Finds what an agent has to decide: of destinations, the first by host number."""
        self._decision_due = False
        self.pending = self._find_pending()
        for destination in self.destinations.values():
            if destination.asks:
                self.asking = self.last_asking = destination
                return

    def _find_order(self) -> OrderDecision | None:
        """Finds the flows of which an agent puts one first."""
        return self._contest.pending(self.links.active, self.links.num_active)

    def _begin_period(self) -> None:
        """Asks an agent at the beginning of a period."""
        self.num_periods += 1
        self._request_decision()

    def _find_period(self) -> PeriodDecision | None:
        """Finds the period that begins, if one does; its flows are shown as they stand now."""
        self.links.advance()
        return self._periods.pending()
