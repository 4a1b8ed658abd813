"""An episode of Artemis on ns-3: destinations and their tokens are ours, connections and packets are ns-3's."""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.flows.decisions import Rows
from flowsched_gym.flows.records import Records, complete_records
from flowsched_gym.flows.state import Controls, FlowState, new_controls, new_flow_state
from flowsched_gym.flows.tokens import Destination, open_destinations
from flowsched_gym.ns3.program import Star
from flowsched_gym.topology import Topology
from flowsched_gym.topology.network import Network
from flowsched_gym.workload import Workload

NANOSECONDS: Final = 1e9
LAST: Final = 2**62
"""Time in ns that no episode reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Senders:
    """Senders and ports in ns-3.

    Attributes:
        options: Options of the program besides those of the network.
        payload: Bytes of payload of a full packet, and ``header`` bytes around it on the wire.
        late: By how many s each source begins later than it could, (num_flows,).
        ideal_fct: What each flow would take alone, in s, (num_flows,).
    """

    options: dict[str, object]
    payload: int
    header: int
    late: FloatArray
    ideal_fct: FloatArray


class Ns3Decision(NamedTuple):
    """What a destination asks; see ``packets.decision.PacketDecision``, which has more, for the fields."""

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
    flows: Rows
    episodes: Rows
    number: int = 0
    first_active: int = 0
    first_row: int = 0
    num_periods: int = 0


class Ns3Simulation:
    """Flows that begin on ns-3 when their destination has granted them a token; see ``packets.simpy.TokenSimulation``.

    A request, and a token, take the propagation delay of the path, and no bandwidth. ns-3 counts time in ns.

    Args:
        workload: The flows; of their sizes ns-3 sends whole bytes, rounded up.
        topology: Hosts around one switch.
        num_tokens: Flows that a destination lets send at once.
        senders: How they send.
    """

    def __init__(self, workload: Workload, topology: Topology, num_tokens: int, senders: Senders) -> None:
        self.workload = workload
        self.topology = topology
        self.destinations = open_destinations(workload, num_tokens)
        self.asking: Destination | None = None
        self.now = 0.0
        self.num_delivered = 0
        self.completion_time = np.full(workload.num_flows, np.nan)
        path, _ = topology.candidates(workload.source, workload.destination)
        self._senders = senders
        self._controls = new_controls(path)
        self._grant_time = np.full(workload.num_flows, np.nan)
        self._token_time = topology.path_delay(path)
        self._order = np.zeros(workload.num_flows, dtype=np.int64)
        self._last_asking = next(iter(self.destinations.values()), None)
        self._underway: BoolArray = np.zeros(workload.num_flows, dtype=np.bool_)
        request_time = workload.arrival_time + self._token_time
        self._requests = [(float(request_time[row]), row) for row in np.argsort(request_time, kind="stable").tolist()]
        self._next = 0
        assert workload.deadline_span is not None
        self.state = new_flow_state(
            size=workload.size,
            volume=workload.size + np.ceil(workload.size / senders.payload) * senders.header,
            arrival_time=workload.arrival_time,
            deadline_span=workload.deadline_span,
        )
        network = {"hosts": topology.num_hosts, "rate": 8 * topology.capacity[0], "delay": topology.delay[0]}
        columns = (
            workload.source.tolist(),
            workload.destination.tolist(),
            np.ceil(workload.size).astype(np.int64).tolist(),
        )
        self._star = Star(network | senders.options, list(zip(*columns, strict=True)))

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.asking is not None

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
        return self._order[: self.num_delivered].tolist()

    @property
    def path(self) -> IntArray:
        """Path of each flow, (num_flows,)."""
        return self._controls.path

    @property
    def links(self) -> Network:
        """Links and paths."""
        return self.topology.network

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
        """Runs until a destination asks, or all flows are delivered."""
        self._find_asking()
        while self.asking is None and not self.finished:
            is_last = self._next == len(self._requests)
            until = math.inf if is_last else self._requests[self._next][0]
            self._advance(LAST if is_last else round(until * NANOSECONDS), until)
            self._find_asking()
        if self.finished:
            self._star.close()

    def decision(self, flows: Rows, episodes: Rows) -> Ns3Decision:
        """Lays out what is asked, with what the rules keep of flows and episodes, columns by name."""
        destination = self.asking or self._last_asking
        assert destination is not None
        return Ns3Decision(
            is_due=self.awaits_decision,
            now=self.now,
            advanced_to=self.now,
            candidates=destination.requests,
            first_candidate=destination.head,
            num_candidates=destination.num_waiting,
            active=destination.active,
            num_active=destination.num_active,
            host=destination.host,
            can_wait=destination.can_wait,
            delivered=self.delivery_order,
            num_flows=self.workload.num_flows,
            num_delivered=self.num_delivered,
            completion_time=self.completion_time,
            state=self.state,
            controls=self._controls,
            network=self.links,
            flows=flows,
            episodes=episodes,
        )

    def give(self, order: int, index: int) -> None:
        """Carries out an ``Order`` about tokens; refuses one that does not fit what is asked."""
        if self.asking is None:
            raise SimulationError("no destination waits for a decision")
        row = self.asking.carry_out(order, index)
        self.asking = None
        if row >= 0:
            self._grant_time[row] = self.now
            begin = self.now + self._token_time[row] + self._senders.late[row]
            self._star.start(row, max(round(begin * NANOSECONDS), round(self.now * NANOSECONDS)))
            self._underway[row] = True

    def _advance(self, end: int, until: float) -> None:
        """Runs ns-3 to the next request or delivery, and takes note of what has happened."""
        now, ended, received = self._star.run(end)
        is_request = now == end
        self.now = max(self.now, until if is_request else now / NANOSECONDS)
        if not ended and not is_request:
            left = self.workload.flow_id[self._underway].tolist()
            raise SimulationError(f"nothing more happens in ns-3, and flows {left} have not been delivered")
        for row in ended:
            self.completion_time[row] = self.now
            self._order[self.num_delivered] = row
            self.num_delivered += 1
            self._underway[row] = False
            self.destinations[int(self.workload.destination[row])].release(row)
        self._note_received(ended, self.workload.size[ended])
        self._note_received(list(received), np.array(list(received.values()), dtype=np.float64))
        while is_request and self._next < len(self._requests) and self._requests[self._next][0] <= until:
            row = self._requests[self._next][1]
            self.destinations[int(self.workload.destination[row])].request(row)
            self._next += 1

    def _note_received(self, rows: list[int], count: FloatArray) -> None:
        """Writes what receivers have, in bytes on the wire."""
        attained = count + np.ceil(count / self._senders.payload) * self._senders.header
        self.state.attained[rows] = attained
        self.state.remaining[rows] = self.state.volume[rows] - attained

    def _find_asking(self) -> None:
        """Finds the destination that asks, the first by host number."""
        self.asking = next((each for each in self.destinations.values() if each.asks), None)
        self._last_asking = self.asking or self._last_asking
