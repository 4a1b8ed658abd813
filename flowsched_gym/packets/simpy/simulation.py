"""Episodes of packets in SimPy, and those whose flows need tokens: they run until an agent has to decide."""

from typing import Any

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.flows.decisions import Rows
from flowsched_gym.flows.records import Records
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.flows.tokens import Destination, open_destinations
from flowsched_gym.packets.decision import PacketDecision, show_rates
from flowsched_gym.packets.network import PacketNetwork
from flowsched_gym.packets.rules.queues import QueueCounts, new_counts
from flowsched_gym.packets.setup import PacketSetup
from flowsched_gym.packets.simpy.detecting import DetectingReplay
from flowsched_gym.packets.simpy.port import Port
from flowsched_gym.packets.state import PacketEventKind
from flowsched_gym.topology.network import Network as Links
from flowsched_gym.workload import Workload


class Episode:
    """What episodes of packets show, whatever an agent decides; beside it stands a ``Network`` of ports."""

    env: NetworkEnvironment
    network: PacketNetwork
    ports: list[Port]
    record: Any
    order: list[int]
    num_delivered: int
    workload: Workload
    state: FlowState
    counts: QueueCounts
    _completion: list[float]
    _controls: Controls
    _setup: PacketSetup
    _decision_due = False

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        raise NotImplementedError

    @property
    def now(self) -> float:
        """Time in s."""
        return float(self.env.now)

    @property
    def finished(self) -> bool:
        """Whether every flow is over."""
        return self.num_delivered == self.workload.num_flows

    @property
    def delivered(self) -> list[int]:
        """Rows of the flows that are over, in that order."""
        return list(self.order)

    @property
    def delivery_order(self) -> IntArray:
        """The same as an array, (num_delivered,)."""
        return np.array(self.order, dtype=np.int64)

    @property
    def path(self) -> IntArray:
        """Path of each flow, the first of those that its packets take in turns, (num_flows,)."""
        return self._controls.path

    @property
    def links(self) -> Links:
        """Links and paths; links that have failed have no capacity."""
        return self.network.links

    @property
    def completion_time(self) -> FloatArray:
        """Absolute times in s of deliveries, (num_flows,), NaN where no packet has left that will be the last."""
        return np.array(self._completion)

    def ideal_fct(self) -> FloatArray:
        """Returns what the flows take alone, in s, (num_flows,)."""
        return self.network.ideal_fct()

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        completion = self.completion_time
        completion[completion > self.now] = np.nan
        return self._setup.records(self.workload, self._grant_times(), completion)

    def _grant_times(self) -> FloatArray:
        return self.workload.arrival_time.copy()

    def _lay_out(self, flows: Rows, episodes: Rows, **asked: Any) -> PacketDecision:
        """Lays out a decision: ``asked`` is what is asked, the rest is the same of every episode."""
        show_rates(self.now, asked["active"], 0, asked["num_active"], self.state)
        return PacketDecision(
            number=0,
            is_due=self.awaits_decision,
            now=self.now,
            advanced_to=self.now,
            first_active=0,
            delivered=self.delivery_order,
            first_row=0,
            num_flows=self.workload.num_flows,
            num_delivered=self.num_delivered,
            completion_time=self.completion_time,
            state=self.state,
            controls=self._controls,
            network=self.links,
            record=self.record,
            record_number=0,
            flows=flows,
            episodes=episodes,
            arrival_time=self.workload.arrival_time,
            capacity=self._setup.capacity,
            counts=self.counts,
            **asked,
        )

    def _request_decision(self) -> None:
        """Looks for a decision when all else of this instant has happened."""
        if not self._decision_due:
            self._decision_due = True
            self.env.at(self.env.now, PacketEventKind.DECISION).callbacks.append(self._find_decision)

    def _find_decision(self, _: Event) -> None:
        raise NotImplementedError


class TokenSimulation(Episode, DetectingReplay):
    """Flows that begin when their destination has granted them a token, which is free again with their last byte.

    A request, and a token, take the propagation delay of the path, and no bandwidth.

    Attributes:
        asking: Destination that waits for a decision, if any.
        destinations: Receiving hosts by host number.
    """

    def __init__(self, workload: Workload, setup: PacketSetup) -> None:
        super().__init__(setup.network(workload))
        assert setup.num_tokens is not None
        self.workload = workload
        self.topology = setup.topology
        self.destinations = open_destinations(workload, setup.num_tokens)
        self.asking: Destination | None = None
        self._last_asking = next(iter(self.destinations.values()), None)
        self._destination_of = workload.destination.tolist()
        self._start_time = self.network.start_time.tolist()
        self._grant_time = [float("nan")] * workload.num_flows
        self.counts = new_counts(1, 1, kept=False)
        self._ended = False
        self._setup = setup

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent decides."""
        return self.asking is not None

    def run(self, until: float | None = None) -> None:
        """Runs until a destination asks, or all flows are delivered."""
        while self.asking is None and not self._ended:
            self.env.step()

    def begin(self, row: int) -> None:
        """Queues the request of a flow."""
        self.destinations[self._destination_of[row]].request(row)
        self._request_decision()

    def end(self, row: int) -> None:
        """Takes back the token of a flow whose last byte has been received."""
        super().end(row)
        self.destinations[self._destination_of[row]].release(row)
        self._request_decision()

    def decision(self, flows: Rows, episodes: Rows) -> PacketDecision:
        """Lays out what is asked, with what the rules keep of flows and episodes, columns by name."""
        destination = self.asking or self._last_asking
        assert destination is not None
        return self._lay_out(
            flows,
            episodes,
            num_periods=0,
            candidates=destination.requests,
            first_candidate=destination.head,
            num_candidates=destination.num_waiting,
            active=destination.active,
            num_active=destination.num_active,
            host=destination.host,
            can_wait=destination.can_wait,
            routes=None,
        )

    def give(self, order: int, index: int) -> None:
        """Carries out an ``Order`` about tokens; refuses one that does not fit what is asked."""
        destination = self.asking
        if destination is None:
            raise SimulationError("no destination waits for a decision")
        row = destination.carry_out(order, index)
        self.asking = None
        if row >= 0:
            self._grant_time[row] = self.now
            start = self.env.at(self.now + self._start_time[row], PacketEventKind.START, row)
            start.callbacks.append(lambda _: super(TokenSimulation, self).begin(row))
        self._request_decision()

    def _grant_times(self) -> FloatArray:
        return np.array(self._grant_time)

    def _find_decision(self, _: Event) -> None:
        """Finds the destination that asks, the first by host number."""
        self._decision_due = False
        for destination in self.destinations.values():
            if destination.asks:
                self.asking = self._last_asking = destination
                return
        self._ended = self.finished
