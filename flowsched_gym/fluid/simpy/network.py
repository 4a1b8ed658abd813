"""The network as a SimPy model: the life of a flow, and the resources that it asks for."""

from itertools import groupby
from typing import Final

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.core.simpy_environment import LAST_ROW, NetworkEnvironment
from flowsched_gym.core.simpy_periods import Periods
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.fluid.contract import Discipline, check_transport
from flowsched_gym.fluid.controls import new_controls
from flowsched_gym.fluid.disciplines import Ranked
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.isolation import check_stages, ideal_times, round_trip_time
from flowsched_gym.fluid.pending_decisions import DecisionKind, OrderDecision, PathDecision
from flowsched_gym.fluid.routes import Routes, new_routes
from flowsched_gym.fluid.rules.tasks.stages import begin_sending, begin_work
from flowsched_gym.fluid.rules.transport.windows import wire_volume
from flowsched_gym.fluid.simpy.contest import Contest
from flowsched_gym.fluid.simpy.destination import Destination
from flowsched_gym.fluid.simpy.link_failures import change_links
from flowsched_gym.fluid.simpy.links import SharedLinks
from flowsched_gym.fluid.simpy.lossy_senders import LossySenders
from flowsched_gym.fluid.simpy.paths import Paths
from flowsched_gym.fluid.simpy.senders import open_windows
from flowsched_gym.fluid.simpy.stages import Turns
from flowsched_gym.fluid.stages import Barrier, fill_stages, new_stages
from flowsched_gym.fluid.state import new_flow_state
from flowsched_gym.fluid.transport import TRANSPORTS, Transport, TransportName
from flowsched_gym.topology import Routing, RoutingKind, Topology, cpu_path
from flowsched_gym.topology.network import Network
from flowsched_gym.workload import Workload

IDEAL: Final = TRANSPORTS[TransportName.IDEAL]
ECMP: Final = Routing(RoutingKind.ECMP)


class SimulatedNetwork:
    """A network and the flows of one episode.

    The flows are processes, the tokens of destinations and the links are resources that they ask for. Time stands still
    while ``asking`` or ``pending`` waits for an agent.

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
        env: SimPy's environment.
        state: The flows as arrays.
        controls: Their controls.
        discipline: Who fills the controls.
        network: Links and paths as they are now; a link that has failed has capacity 0.
        links: The links as a resource.
        destinations: Receiving hosts by host number; empty without tokens.
        asking: Destination that waits for a decision, if any.
        last_asking: The one that waited last.
        pending: What else waits for a decision, if anything.
        delivery_order: Rows of the flows whose last byte has arrived, in that order, in the first ``num_delivered``
            entries, (num_flows,).
        num_delivered: Flows delivered so far.
        completion_time: Absolute times in s at which last bytes have arrived, (num_flows,), NaN where they have not.
        log: Events as (time in s, kind, row), where asked for; a change of a link has its number for a row.

    Raises:
        WorkloadError: A flow's host is not in the topology, or its sending takes no time, or forever.
        ConfigError: There are tokens, and paths are chosen, links change or flows have stages; an order is asked for,
            and the discipline is not ``Ranked``; both the discipline and the senders stop flows; or flows have CPU
            work, and the topology has no CPUs.
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
        asks: DecisionKind = DecisionKind.NOTHING,
        period: Period | None = None,
        barrier: Barrier = Barrier.FLOW,
        seed: int = 0,
        keep_log: bool = False,
    ) -> None:
        paths_stay = routing is None and workload.link_changes is None and asks is not DecisionKind.PATH
        check_transport(discipline, transport, paths_stay=paths_stay)
        if asks is DecisionKind.ORDER and not isinstance(discipline, Ranked):
            raise ConfigError(f"asks is ORDER: the discipline must be Ranked, it is {type(discipline).__name__}")
        if (asks is DecisionKind.PERIOD) != (period is not None):
            raise ConfigError(f"asks is {asks.name} and period is {period}: PERIOD needs one, and nothing else has one")
        assert workload.deadline_span is not None
        path = topology.ecmp(workload.source, workload.destination, workload.flow_id, seed=seed)
        delay = topology.path_delay(path)
        round_trip = round_trip_time(topology, delay, transport)
        volume = np.empty(workload.num_flows)
        wire_volume(workload.size, transport.segment, transport.header, volume)
        topology.check_times(path, volume, workload.arrival_time)
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
        self.log: list[tuple[float, EventKind, int]] | None = [] if keep_log else None
        self.delivery_order = np.zeros(workload.num_flows, dtype=np.int64)
        self.num_delivered = 0
        self.completion_time = np.full(workload.num_flows, np.nan)
        self.asking: Destination | None = None
        self.last_asking: Destination | None = None
        self.pending: OrderDecision | PathDecision | PeriodDecision | None = None
        self._asks = asks
        self._has_tokens = num_tokens is not None
        self._decision_due = False
        self._over = self.env.event()
        self._delay: list[float] = delay.tolist()
        self._round_trip: list[float] = round_trip.tolist()
        self._grant_time = np.full(workload.num_flows, np.nan)
        self._connecting: list[int] = []
        self._volume = volume.copy()
        self._open_stages(path, barrier)
        self.network = self._open_paths(routing, seed)
        self._contest = None
        if asks is DecisionKind.ORDER:
            self._contest = Contest(self.state, self.controls, self.network, on_touch=self._request_decision)
        self._periods = None
        if period is not None:
            kinds = {"counted": EventKind.DELIVERY, "end": EventKind.PERIOD_END}
            self._periods = Periods(period, self.env, on_begin=self._request_decision, **kinds)
        data_capacity = topology.data_capacity(discipline.data_share)
        senders = None
        if transport.losses is not None:
            senders = LossySenders(workload, transport, self.state, self.controls, topology, data_capacity)
        self.links = SharedLinks(
            self.env,
            self.state,
            self.controls,
            self.network,
            data_capacity,
            discipline,
            self._delay,
            note=self._note,
            on_change=None if self._contest is None else self._contest.touch,
            paths=self._paths,
            senders=senders,
        )
        self.destinations: dict[int, Destination] = {}
        if num_tokens is not None:
            lateness = 0.0 if senders is None else senders.jitter()
            token_time = (delay + lateness + transport.handshake_round_trips * round_trip).tolist()
            hosts, counts = np.unique(workload.destination, return_counts=True)
            for host, count in zip(hosts.tolist(), counts.tolist(), strict=True):
                self.destinations[host] = Destination(
                    self.env, host, num_tokens, count, token_time, on_change=self._request_decision
                )
        self._destination_of: list[int] = workload.destination.tolist()
        discipline.begin(self.state, self.network)
        discipline.begin_network(0, 0, workload)
        self._start_processes(workload.arrival_time + delay if self._has_tokens else workload.arrival_time)

    def _open_stages(self, path: IntArray, barrier: Barrier) -> None:
        """Prepares what flows go through before they send, where they do."""
        workload, topology = self.workload, self.topology
        self._turns: Turns | None = None
        if not workload.has_stages:
            return
        check_stages(workload, topology, self.transport, has_tokens=self._has_tokens)
        self._stages = new_stages(1, workload.num_flows, 0 if workload.after is None else workload.after.num_pairs)
        work_path = cpu_path(topology, workload.source) if topology.num_cpus else path
        fill_stages(self._stages, 0, workload, cpu_path=work_path, path=path, volume=self._volume, barrier=barrier)
        self._turns = Turns(self.env, self._stages)

    def _open_paths(self, routing: Routing | None, seed: int) -> Network:
        """Prepares the choice of paths where flows have one; returns the running network."""
        workload, topology = self.workload, self.topology
        changes = workload.link_changes
        self._paths: Paths | None = None
        if routing is None and changes is None and self._asks is not DecisionKind.PATH:
            return topology.network
        if self._has_tokens:
            raise ConfigError("num_tokens is given: flows with tokens keep their paths, and their links stay up")
        network = topology.network._replace(capacity=topology.capacity.copy())
        first, last = topology.candidates(workload.source, workload.destination)
        routes = new_routes(
            first=first,
            last=last,
            hash=topology.flow_hash(workload.source, workload.destination, workload.flow_id, seed=seed),
            destination=workload.destination,
        )
        self._paths = Paths(
            routing or ECMP,
            routes,
            self.state,
            self.controls,
            network,
            self.env,
            on_moved=self._on_moved,
            on_request=self._request_decision,
        )
        if changes is not None:
            topology.check_link_changes(changes.link, changes.up, first, last)
        return network

    def _start_processes(self, arrival_time: FloatArray) -> None:
        changes = self.workload.link_changes
        if changes is not None:
            assert self._paths is not None
            self.env.process(
                change_links(
                    self.env, changes, self.topology.capacity, self.links, self._paths, self._connecting, self._note
                )
            )
        self.env.process(self._arrivals(arrival_time))
        if not self.workload.num_flows:
            self._over.succeed()

    def _arrivals(self, times: FloatArray) -> ProcessGenerator:
        """Starts the life of each flow when it, or its request for a token, arrives."""
        env = self.env
        rows = np.argsort(times, kind="stable").tolist()
        for time, arriving in groupby(rows, key=times.tolist().__getitem__):
            yield env.at(time, EventKind.ARRIVAL)
            if not self._has_tokens:
                self.links.advance()
            for row in arriving:
                env.process(self._flow(row))

    def _flow(self, row: int) -> ProcessGenerator:
        """Process of a flow, from its arrival, or that of its request for a token, to that of its last byte."""
        self._note(EventKind.ARRIVAL, row)
        if not self._has_tokens:
            self._grant_time[row] = self.env.now
        if self._turns is not None:
            yield from self._prepare(row, self._turns)
        else:
            self._begin_flow(row)
        if self._has_tokens:
            destination = self.destinations[self._destination_of[row]]
            yield destination.request(row)  # until an agent has granted it, and the token has come
        else:
            yield from self._find_path(row)
            yield from self._connect(row)
        last_byte = self.links.send(row)
        if self.transport.first_burst:
            self.env.process(self._open_windows(row))
        yield last_byte  # until it has arrived
        self._deliver(row)
        if self._has_tokens:
            destination.release(row)
        if self._turns is not None:
            self._turns.finish(row)

    def _prepare(self, row: int, turns: Turns) -> ProcessGenerator:
        """Takes a flow through its stages: it waits for others, does its CPU work, and waits for those of its task."""
        stages, delay = self._stages, self._delay[row]
        yield turns.to_begin(row)
        self.links.advance()
        has_work = begin_work(self.env.now, row, self.state, self.controls, stages)
        self._begin_flow(row)
        if has_work:
            self._delay[row] = 0.0
            yield self.links.send(row)  # until its work is done
            self._delay[row] = delay
        yield turns.to_send(row)
        self.links.advance()
        begin_sending(row, self.state, self.controls, stages)

    def _begin_flow(self, row: int) -> None:
        """Lets the discipline prepare for a flow."""
        discipline = self.discipline
        discipline.begin_flow(self.env.now, 0, row, self.state, self.controls, discipline.record)

    def _find_path(self, row: int) -> ProcessGenerator:
        """Chooses a path for a flow that arrives, or waits until an agent has chosen one."""
        if self._paths is None:
            return
        if self._asks is DecisionKind.PATH and self._paths.num_up(row) > 1:
            yield self._paths.request(row)
        else:
            self._paths.choose(self.env.now, row, self.links.active, self.links.num_active)

    def _connect(self, row: int) -> ProcessGenerator:
        """Waits until the handshake of a flow is over, where there is one."""
        if self.transport.handshake_round_trips:
            handshake = self.transport.handshake_round_trips * self._round_trip[row]
            self._connecting.append(row)
            yield self.env.at(self.env.now + handshake, EventKind.START, row)
            self._connecting.remove(row)

    def _open_windows(self, row: int) -> ProcessGenerator:
        return open_windows(self.env, row, self.transport, self.state, self.controls, self._round_trip, self.links)

    def _deliver(self, row: int) -> None:
        """Records a flow whose last byte has arrived."""
        env = self.env
        self._note(EventKind.DELIVERY, row)
        self.completion_time[row] = env.now
        self.delivery_order[self.num_delivered] = row
        self.num_delivered += 1
        if self._periods is not None:
            self._periods.count()
        if self.finished:
            env.at(env.now, EventKind.DELIVERY, LAST_ROW, self._over)

    def _on_moved(self, row: int) -> None:
        """Reacts to a new path of a flow."""
        delay = self.topology.path_delay(self.controls.path[row : row + 1])
        self._delay[row] = float(delay[0])
        self._round_trip[row] = float(round_trip_time(self.topology, delay, self.transport)[0])
        self.discipline.moved(0, row, self.discipline.record)

    def _note(self, kind: EventKind, row: int) -> None:
        """Adds an event of this instant to the log, where there is one."""
        if self.log is not None:
            self.log.append((self.env.now, kind, row))

    @property
    def now(self) -> float:
        """Time in s."""
        return float(self.env.now)  # rules that are not compiled leave NumPy's numbers there

    @property
    def finished(self) -> bool:
        """Whether every flow has been delivered."""
        return self.num_delivered == len(self.completion_time)

    @property
    def routes(self) -> Routes | None:
        """Between which paths each flow may choose; ``None`` where paths stay."""
        return None if self._paths is None else self._paths.routes

    @property
    def num_periods(self) -> int:
        """Periods that have begun, after which an agent is asked; none where it is not."""
        return 0 if self._periods is None else self._periods.begun

    @property
    def delivered(self) -> list[int]:
        """Rows of the flows whose last byte has arrived, in that order."""
        rows: list[int] = self.delivery_order[: self.num_delivered].tolist()
        return rows

    def records(self) -> Records:
        """Returns the records of every flow so far."""
        workload = self.workload
        return complete_records(
            workload,
            grant_time=self._grant_time.copy(),
            completion_time=self.completion_time.copy(),
            ideal_fct=self.ideal_fct(),
        )

    def ideal_fct(self) -> FloatArray:
        """Returns what the flows take alone on the empty network, in s, (num_flows,)."""
        return ideal_times(self.topology, self.workload, self._volume, self.transport, needs_token=self._has_tokens)

    def _request_decision(self) -> None:
        """Requests a decision at the end of this instant, if there is anything to decide then."""
        if not self._decision_due:
            self._decision_due = True
            self.env.at(self.env.now, EventKind.DECISION).callbacks.append(self._find_decision)

    def _find_decision(self, _: Event | None = None) -> None:
        """Finds what an agent has to decide: of destinations, the first by host number."""
        self._decision_due = False
        if self._periods is not None:
            self.links.advance()
            self.pending = self._periods.pending()
        elif self._contest is not None:
            self.pending = self._contest.pending(self.links.active, self.links.num_active)
        elif self._paths is not None:
            self.pending = self._paths.pending()
        for destination in self.destinations.values():
            if destination.asks:
                self.asking = self.last_asking = destination
                return
