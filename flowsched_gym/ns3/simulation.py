"""Episodes on ns-3: what an agent is asked is this package's, connections and packets are ns-3's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.flows.decisions import NOBODY, Order, PathDecision, Rows
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.state import Controls, FlowState, new_controls, new_flow_state
from flowsched_gym.flows.tokens import Destination, open_destinations
from flowsched_gym.ns3.program import Cables, Program
from flowsched_gym.topology import Topology
from flowsched_gym.topology.network import Network
from flowsched_gym.topology.routes import Routes, count_paths_up, new_routes, path_is_up
from flowsched_gym.workload import Workload

NANOSECONDS: Final = 1e9
LAST: Final = 2**62
"""Time in ns that no episode reaches."""
NO_ROWS: IntArray = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    """Flows, their senders and the ports in ns-3.

    Attributes:
        options: Options of the program besides those of the network.
        payload: Bytes of payload of a full packet, and ``header`` bytes around it on the wire.
        room: Bytes that may wait at the port of each link, and ``mark`` bytes beyond which packets are marked,
            (num_links,).
        links: Links and paths as rules know them; links that have failed have no capacity.
        path: Path of each flow, and ``back`` that of its acknowledgements, (num_flows,).
        late: By how many s each source begins later than it could, (num_flows,).
        ideal_fct: What each flow would take alone, in s, (num_flows,).
    """

    options: dict[str, object]
    payload: int
    header: int
    room: IntArray
    mark: IntArray
    links: Network
    path: IntArray
    back: IntArray
    late: FloatArray
    ideal_fct: FloatArray


class Ns3Decision(NamedTuple):
    """What is asked; see ``packets.decision.PacketDecision``, which has more, for the fields."""

    is_due: bool
    now: float
    advanced_to: float
    candidates: IntArray
    first_candidate: int
    num_candidates: int
    active: IntArray
    num_active: int
    host: int
    can_wait: bool
    delivered: IntArray
    num_flows: int
    num_delivered: int
    completion_time: FloatArray
    state: FlowState
    controls: Controls
    network: Network
    routes: Routes | None
    flows: Rows
    episodes: Rows
    number: int = 0
    first_active: int = 0
    first_row: int = 0
    num_periods: int = 0


class Ns3Simulation:
    """Flows that come at given times, and end when ns-3 says so, which counts time in ns.

    Here flows begin when they come, on their paths, and nothing is asked.

    Args:
        workload: The flows; of their sizes ns-3 sends whole bytes, rounded up.
        topology: Hosts with one cable each, switches and links.
        senders: How they send.
        come_after: Time in s from the arrival of each flow until it comes, (num_flows,) or one number.
    """

    asking: Destination | None = None

    def __init__(
        self, workload: Workload, topology: Topology, senders: Senders, come_after: FloatArray | float = 0.0
    ) -> None:
        self.workload = workload
        self.topology = topology
        self.destinations: dict[int, Destination] = {}
        self.pending: PathDecision | None = None
        self.links = senders.links
        self.now = 0.0
        self.num_delivered = 0
        self.completion_time = np.full(workload.num_flows, np.nan)
        self._senders = senders
        self._controls = new_controls(senders.path.copy())
        self._grant_time = workload.arrival_time.copy()
        self._order = np.zeros(workload.num_flows, dtype=np.int64)
        self._underway: BoolArray = np.zeros(workload.num_flows, dtype=np.bool_)
        coming = workload.arrival_time + come_after
        self._coming = [(float(coming[row]), row) for row in np.argsort(coming, kind="stable").tolist()]
        self._next = 0
        assert workload.deadline_span is not None
        self.state = new_flow_state(
            size=workload.size,
            volume=workload.size + np.ceil(workload.size / senders.payload) * senders.header,
            arrival_time=workload.arrival_time,
            deadline_span=workload.deadline_span,
        )
        self._cables = Cables(topology)
        columns = workload.source.tolist(), workload.destination.tolist(), np.ceil(workload.size).astype(int).tolist()
        self._program = Program(
            {**senders.options, "hosts": topology.num_hosts},
            self._cables.lines(senders.room, senders.mark),
            list(zip(*columns, strict=True)),
        )

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.asking is not None or self.pending is not None

    @property
    def finished(self) -> bool:
        """Whether every flow is over."""
        return self.num_delivered == self.workload.num_flows

    @property
    def delivery_order(self) -> IntArray:
        """Rows of the flows that are over, in that order, (num_delivered,)."""
        return self._order[: self.num_delivered].copy()

    @property
    def delivered(self) -> list[int]:
        """The same as a list."""
        rows: list[int] = self._order[: self.num_delivered].tolist()
        return rows

    @property
    def path(self) -> IntArray:
        """Path of each flow, (num_flows,)."""
        return self._controls.path

    def ideal_fct(self) -> FloatArray:
        """Returns what the flows take alone, in s, (num_flows,), by this package's packets."""
        return self._senders.ideal_fct

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        return complete_records(
            self.workload,
            grant_time=self._grant_time.copy(),
            completion_time=self.completion_time.copy(),
            ideal_fct=self.ideal_fct(),
        )

    def run(self) -> None:
        """Runs until an agent is asked, or all flows are delivered."""
        self._find_decision()
        while not (self.awaits_decision or self.finished):
            is_last = self._next == len(self._coming)
            until = math.inf if is_last else self._coming[self._next][0]
            self._advance(LAST if is_last else round(until * NANOSECONDS), until)
            self._find_decision()
        if self.finished:
            self.close()

    def close(self) -> None:
        """Ends ns-3; what has become of flows can still be read."""
        self._program.close()

    def decision(self, flows: Rows, episodes: Rows) -> Ns3Decision:
        """Lays out what is asked, with what the rules keep of flows and episodes, columns by name."""
        raise NotImplementedError

    def give(self, order: int, index: int) -> None:
        """Carries out an ``Order``; refuses one that does not fit what is asked."""
        raise NotImplementedError

    def _come(self, row: int) -> None:
        """Takes note that a flow has come."""
        self._begin(row)

    def _end(self, row: int) -> None:
        """Takes note that a flow has ended."""

    def _find_decision(self) -> None:
        """Finds what an agent has to decide."""

    def _begin(self, row: int, after: float = 0.0) -> None:
        """Lets a flow begin on its path after some time in s."""
        time = self.now + after + self._senders.late[row]
        there, back = int(self.path[row]), int(self._senders.back[row])
        way = self._cables.links_of(there), self._cables.links_of(back)
        self._program.start(row, max(round(time * NANOSECONDS), round(self.now * NANOSECONDS)), *way)
        self._underway[row] = True

    def _lay_out(
        self,
        flows: Rows,
        episodes: Rows,
        *,
        candidates: tuple[IntArray, int, int],
        active: tuple[IntArray, int],
        host: int = NOBODY,
        can_wait: bool = False,
        routes: Routes | None = None,
    ) -> Ns3Decision:
        return Ns3Decision(
            is_due=self.awaits_decision,
            now=self.now,
            advanced_to=self.now,
            candidates=candidates[0],
            first_candidate=candidates[1],
            num_candidates=candidates[2],
            active=active[0],
            num_active=active[1],
            host=host,
            can_wait=can_wait,
            delivered=self.delivery_order,
            num_flows=self.workload.num_flows,
            num_delivered=self.num_delivered,
            completion_time=self.completion_time,
            state=self.state,
            controls=self._controls,
            network=self.links,
            routes=routes,
            flows=flows,
            episodes=episodes,
        )

    def _advance(self, end: int, until: float) -> None:
        """Runs ns-3 to the next flow that comes or ends, and takes note of what has happened."""
        now, ended, received = self._program.run(end)
        is_next = now == end
        self.now = max(self.now, until if is_next else now / NANOSECONDS)
        if not ended and not is_next:
            left = self.workload.flow_id[self._underway].tolist()
            raise SimulationError(f"nothing more happens in ns-3, and flows {left} have not been delivered")
        for row in ended:
            self.completion_time[row] = self.now
            self._order[self.num_delivered] = row
            self.num_delivered += 1
            self._underway[row] = False
            self._end(row)
        self._note_received(ended, self.workload.size[ended])
        self._note_received(list(received), np.array(list(received.values()), dtype=np.float64))
        while is_next and self._next < len(self._coming) and self._coming[self._next][0] <= until:
            self._next += 1
            self._come(self._coming[self._next - 1][1])

    def _note_received(self, rows: Sequence[int], count: FloatArray) -> None:
        """Writes what receivers have, in bytes on the wire."""
        attained = count + np.ceil(count / self._senders.payload) * self._senders.header
        self.state.attained[rows] = attained
        self.state.remaining[rows] = self.state.volume[rows] - attained


class TokenSimulation(Ns3Simulation):
    """Flows that begin when their destination has granted them a token, which is free again with their last byte.

    A request, and a token, take the propagation delay of the path, and no bandwidth.
    """

    def __init__(self, workload: Workload, topology: Topology, senders: Senders, num_tokens: int) -> None:
        self._token_time = topology.path_delay(senders.path)
        super().__init__(workload, topology, senders, self._token_time)
        self.destinations = open_destinations(workload, num_tokens)
        self._grant_time = np.full(workload.num_flows, np.nan)
        self._last_asking = next(iter(self.destinations.values()))

    def decision(self, flows: Rows, episodes: Rows) -> Ns3Decision:
        """Lays out what a destination asks."""
        asked = self.asking or self._last_asking
        candidates, active = (asked.requests, asked.head, asked.num_waiting), (asked.active, asked.num_active)
        return self._lay_out(
            flows, episodes, candidates=candidates, active=active, host=asked.host, can_wait=asked.can_wait
        )

    def give(self, order: int, index: int) -> None:
        """Grants, postpones or waits."""
        if self.asking is None:
            raise SimulationError("no destination waits for a decision")
        row = self.asking.carry_out(order, index)
        self.asking = None
        if row >= 0:
            self._grant_time[row] = self.now
            self._begin(row, self._token_time[row])

    def _come(self, row: int) -> None:
        self.destinations[int(self.workload.destination[row])].request(row)

    def _end(self, row: int) -> None:
        self.destinations[int(self.workload.destination[row])].release(row)

    def _find_decision(self) -> None:
        """Finds the destination that asks, the first by host number."""
        self.asking = next((each for each in self.destinations.values() if each.asks), None)
        self._last_asking = self.asking or self._last_asking


class PathSimulation(Ns3Simulation):
    """Flows that begin when they arrive, on a path that an agent chooses where two or more are up."""

    def __init__(self, workload: Workload, topology: Topology, senders: Senders) -> None:
        super().__init__(workload, topology, senders)
        first, last = topology.candidates(workload.source, workload.destination)
        hashes = np.zeros(workload.num_flows, dtype=np.int64)  # nobody looks at them
        self._routes = new_routes(first=first, last=last, hash=hashes, destination=workload.destination)
        self._first_back, self._last_back = topology.candidates(workload.destination, workload.source)
        self._waiting: list[int] = []
        self._active: list[int] = []

    def decision(self, flows: Rows, episodes: Rows) -> Ns3Decision:
        """Lays out whose path is asked for; rates are means since flows arrived."""
        rows = NO_ROWS if self.pending is None else self.pending.candidates
        active, state = np.array(self._active, dtype=np.int64), self.state
        elapsed = self.now - state.arrival_time[active]
        state.rate[active] = np.divide(state.attained[active], elapsed, out=np.zeros(len(active)), where=elapsed > 0)
        return self._lay_out(
            flows, episodes, candidates=(rows, 0, len(rows)), active=(active, len(active)), routes=self._routes
        )

    def give(self, order: int, index: int) -> None:
        """Sends the flow that waits along one of its paths."""
        asked = self.pending
        if asked is None or order != Order.TAKE_PATH:
            raise SimulationError(f"order is {Order(order).name}: {'nothing' if asked is None else 'a path'} is asked")
        if not 0 <= index < asked.last - asked.first or not path_is_up(asked.first + index, self.links):
            raise SimulationError(f"index is {index}: the flow has no such path, or a link of it has failed")
        row = asked.row
        self.pending = None
        self._waiting.remove(row)
        self._controls.path[row] = asked.first + index
        first, last = int(self._first_back[row]), int(self._last_back[row])
        if path_is_up(back := first + index % (last - first), self.links):
            self._senders.back[row] = back
        self._start(row)

    def _come(self, row: int) -> None:
        if count_paths_up(self._routes.first[row], self._routes.last[row], self.links) > 1:
            self._waiting.append(row)
        else:
            self._start(row)

    def _start(self, row: int) -> None:
        self._active.append(row)
        self._begin(row)

    def _end(self, row: int) -> None:
        self._active.remove(row)

    def _find_decision(self) -> None:
        """Finds the flow that has waited longest for a path."""
        if self._waiting:
            row = self._waiting[0]
            self.pending = PathDecision(row, int(self._routes.first[row]), int(self._routes.last[row]))
