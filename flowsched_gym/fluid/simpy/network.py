"""The life of a flow, as SimPy's guides write models: processes, resources that they ask for, and events.

A flow is a process that goes through one stage after the other: it arrives, waits for other flows, works on a CPU, gets
a token or a path, connects, sends, and is delivered. A network has the stages of its own features and no others. Each
stage is a method of ``SimulatedNetwork``, in the order of that life. What flows ask for are the destinations with their
tokens (``flows/tokens.py``), the links (``links.py``) and the paths (``paths.py``).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.periods import Period
from flowsched_gym.core.simpy_environment import LAST_ROW, NetworkEnvironment, Periods
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.stages import (
    Barrier,
    Stages,
    Turns,
    begin_sending,
    begin_work,
    fill_stages,
    new_stages,
)
from flowsched_gym.flows.state import new_controls, new_flow_state
from flowsched_gym.flows.tokens import Destination, open_destinations
from flowsched_gym.fluid.contract import Discipline, check_discipline
from flowsched_gym.fluid.isolation import check_stages, round_trip_time
from flowsched_gym.fluid.rules.transport.senders import next_window, wire_volume
from flowsched_gym.fluid.simpy.links import LossyLinks, SharedLinks
from flowsched_gym.fluid.simpy.paths import FlowletLinks, Paths
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.fluid.transport import TRANSPORTS, Transport, TransportName
from flowsched_gym.topology import Routing, RoutingKind, Topology, cpu_path
from flowsched_gym.topology.routes import Routes, new_routes
from flowsched_gym.workload import LinkChanges, Workload

ECMP: Final = Routing(RoutingKind.ECMP)
IDEAL: Final = TRANSPORTS[TransportName.IDEAL]

Stage = Callable[[int], Iterable[Event] | None]
"""A stage of a flow's life: takes its row, and gives the events that it waits for, one after the other, if any."""


class SimulatedNetwork(ABC):
    """The flows of one episode, which live in a network; ``Simulation``, of the same arguments, runs it.

    Attributes:
        state: The flows as arrays.
        network: Links and paths as they are now; a link that has failed has capacity 0.
        links: The links as a resource.
        destinations: Receiving hosts by host number; empty without tokens.
        routes: Between which paths each flow may choose; ``None`` where paths stay.
        delivery_order: Rows of the flows whose last byte has arrived, in that order, in the first ``num_delivered``
            entries, (num_flows,).
        completion_time: Absolute times in s at which last bytes have arrived, (num_flows,), NaN where they have not.
        log: Events as (time in s, kind, row), where asked for; a change of a link has its number for a row.
    """

    # There only where flows choose paths or links change, go through stages before they send, and an agent has periods.
    _paths: Paths
    _stages: Stages
    _turns: Turns
    _periods: Periods

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
        has_tokens = num_tokens is not None
        paths_stay = routing is None and workload.link_changes is None and asks is not DecisionKind.PATH
        check_discipline(discipline, transport, asks, period, paths_stay=paths_stay, has_tokens=has_tokens)
        assert workload.deadline_span is not None
        path = topology.ecmp(workload.source, workload.destination, workload.flow_id, seed=seed)
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
        self.routes: Routes | None = None
        self.destinations: dict[int, Destination] = {}
        self.delivery_order = np.zeros(workload.num_flows, dtype=np.int64)
        self.num_delivered = 0
        self.completion_time = np.full(workload.num_flows, np.nan)
        self.log: list[tuple[float, EventKind, int]] | None = [] if keep_log else None
        self._grant_time = np.full(workload.num_flows, np.nan)
        self._volume = volume.copy()
        self._delay = topology.path_delay(np.arange(len(topology.path_start) - 1))
        self._round_trip = round_trip_time(topology, self._delay, transport)
        self._connecting: list[int] = []
        self._over = self.env.event()
        if not paths_stay:
            self._open_paths(routing or ECMP, seed)
        self.links = self._new_links(flowlets=routing is not None and routing.kind is RoutingKind.CONGA)
        if num_tokens is not None:
            self._open_destinations(num_tokens, path)
        if workload.has_stages:
            self._open_stages(barrier)
        self._open_decisions(asks, period)
        self._life = tuple(self._life_of_flows(asks, has_tokens=has_tokens))
        discipline.begin(self.state, self.network)
        discipline.begin_network(0, 0, workload)
        if workload.link_changes is not None:
            self.env.process(self._change_links(workload.link_changes))
        request_delay = self._delay[path] if has_tokens else 0.0
        self.env.process(self._arrivals(workload.arrival_time + request_delay))
        if not workload.num_flows:
            self._over.succeed()

    @abstractmethod
    def _open_decisions(self, asks: DecisionKind, period: Period | None) -> None:
        """Prepares what an agent is asked, besides tokens."""

    @abstractmethod
    def _request_decision(self) -> None:
        """Requests a decision at the end of this instant, if there is anything to decide then."""

    def _life_of_flows(self, asks: DecisionKind, *, has_tokens: bool) -> Iterator[Stage]:
        if not has_tokens:
            yield self._admit
        yield self._arrive
        if self.workload.has_stages:
            yield self._wait_for_others
            yield self._work
            yield self._wait_for_task
        else:
            yield self._begin
        if has_tokens:
            yield self._take_token
        elif asks is DecisionKind.PATH:
            yield self._ask_for_path
        elif self.routes is not None:
            yield self._choose_path
        if self.transport.handshake_round_trips and not has_tokens:
            yield self._connect
        yield self._send_in_windows if self.transport.first_burst else self._send
        if asks is DecisionKind.PERIOD:
            yield self._count
        yield self._deliver
        if has_tokens:
            yield self._return_token
        if self.workload.has_stages:
            yield self._turns.finish

    def _arrivals(self, times: FloatArray) -> ProcessGenerator:
        """Process that starts the life of each flow when it, or its request for a token, arrives."""
        rows = np.argsort(times, kind="stable").tolist()
        for time, arriving in groupby(rows, key=times.tolist().__getitem__):
            yield self.env.at(time, EventKind.ARRIVAL)
            for row in arriving:
                self.env.process(self._flow(row))

    def _flow(self, row: int) -> ProcessGenerator:
        """Process of a flow, from its arrival, or that of its request for a token, to that of its last byte."""
        for stage in self._life:
            yield from stage(row) or ()

    def _admit(self, row: int) -> None:
        """Admits a flow as it arrives: it needs no token."""
        self.links.advance()
        self._grant_time[row] = self.env.now

    def _arrive(self, row: int) -> None:
        self._note(EventKind.ARRIVAL, row)

    def _begin(self, row: int) -> None:
        discipline = self.discipline
        discipline.begin_flow(self.env.now, 0, row, self.state, self.controls, discipline.record)

    def _wait_for_others(self, row: int) -> ProcessGenerator:
        yield self._turns.to_begin(row)

    def _work(self, row: int) -> ProcessGenerator:
        """Runs a flow on the CPU of its source, until the work that it has there is done."""
        self.links.advance()
        has_work = begin_work(self.env.now, row, self.state, self.controls, self._stages)
        self._begin(row)
        if has_work:
            yield self.links.send(row)

    def _wait_for_task(self, row: int) -> ProcessGenerator:
        """Waits until the CPU work of those flows of its task is done for which a flow waits."""
        yield self._turns.to_send(row)
        self.links.advance()
        begin_sending(row, self.state, self.controls, self._stages)

    def _take_token(self, row: int) -> ProcessGenerator:
        event = self._granted[row] = self.env.event()
        self.destinations[self._destination_of[row]].request(row)
        self._request_decision()
        yield event

    def _ask_for_path(self, row: int) -> ProcessGenerator:
        """Waits until an agent has chosen a path, where several are up."""
        if self._paths.num_up(row) > 1:
            yield self._paths.request(row)
        else:
            self._choose_path(row)

    def _choose_path(self, row: int) -> None:
        self._paths.choose(self.env.now, row, self.links.active, self.links.num_active)

    def _connect(self, row: int) -> ProcessGenerator:
        handshake = self.transport.handshake_round_trips * float(self._round_trip[self.controls.path[row]])
        self._connecting.append(row)
        yield self.env.at(self.env.now + handshake, EventKind.START, row)
        self._connecting.remove(row)

    def _send(self, row: int) -> ProcessGenerator:
        yield self.links.send(row)

    def _send_in_windows(self, row: int) -> ProcessGenerator:
        """Sends a flow window by window (TCP), until its last byte has arrived."""
        last_byte = self.links.send(row)
        self.env.process(self._open_windows(row))
        yield last_byte

    def _open_windows(self, row: int) -> ProcessGenerator:
        """Process that opens one window of a flow after the other; it is left waiting when all has been sent.

        A window is a burst at the flow's share of the links; then the sender waits until a round trip has passed since
        the burst began. Where the links are busy for longer than that, it never waits.
        """
        env, transport, controls = self.env, self.transport, self.controls
        window = transport.initial_window
        while True:
            round_end = env.now + float(self._round_trip[controls.path[row]])
            controls.review_at[row] = self.state.attained[row] + window * transport.packet
            yield self.links.window_sent(row)
            if env.now < round_end:
                controls.admitted[row] = False
                controls.review_at[row] = math.inf
                yield env.at(round_end, EventKind.RESUME, row)
                controls.admitted[row] = True
                self.links.request_sharing()
            window = next_window(window, transport.exit_window, transport.slow_start_growth, transport.later_growth)

    def _count(self, row: int) -> None:
        self._periods.count()

    def _deliver(self, row: int) -> None:
        """Records a flow whose last byte has arrived; the episode is over when that is so for all."""
        self._note(EventKind.DELIVERY, row)
        self.completion_time[row] = self.env.now
        self.delivery_order[self.num_delivered] = row
        self.num_delivered += 1
        if self.num_delivered == len(self.completion_time):
            self.env.at(self.env.now, EventKind.DELIVERY, LAST_ROW, self._over)

    def _return_token(self, row: int) -> None:
        self.destinations[self._destination_of[row]].release(row)
        self._request_decision()

    def _change_links(self, changes: LinkChanges) -> ProcessGenerator:
        """Process that lets links fail and come up; flows without a path that is up wait, and lose nothing."""
        links, paths, capacity = self.links, self._paths, self.topology.capacity
        rows = zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True)
        for time, now_changing in groupby(rows, key=lambda row: row[0]):
            yield self.env.at(time, EventKind.LINK_CHANGE)
            for _, link, up in now_changing:
                links.set_capacity(link, float(capacity[link]) if up else 0.0)
                self._note(EventKind.LINK_CHANGE, link)
            for row in sorted((*links.active[: links.num_active].tolist(), *self._connecting)):
                if not paths.is_up(row):
                    self._choose_path(row)

    def _note(self, kind: EventKind, row: int) -> None:
        if self.log is not None:
            self.log.append((self.env.now, kind, row))

    def _open_paths(self, routing: Routing, seed: int) -> None:
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
            on_moved=lambda row: self.discipline.moved(0, row, self.discipline.record),
            on_request=self._request_decision,
        )

    def _new_links(self, *, flowlets: bool) -> SharedLinks:
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

    def _open_destinations(self, num_tokens: int, path: IntArray) -> None:
        destination, handshakes = self.workload.destination, self.transport.handshake_round_trips
        self._token_time = (self._delay[path] + self.links.lateness() + handshakes * self._round_trip[path]).tolist()
        self.destinations.update(open_destinations(self.workload, num_tokens))
        self._granted: dict[int, Event] = {}
        self._destination_of = destination.tolist()

    def _open_stages(self, barrier: Barrier) -> None:
        workload, topology, path = self.workload, self.topology, self.controls.path
        self._stages = new_stages(1, workload.num_flows, 0 if workload.after is None else workload.after.num_pairs)
        work_path = cpu_path(topology, workload.source) if topology.num_cpus else path
        fill_stages(self._stages, 0, workload, cpu_path=work_path, path=path, volume=self._volume, barrier=barrier)
        self._turns = Turns(self.env, EventKind.START, self._stages)
