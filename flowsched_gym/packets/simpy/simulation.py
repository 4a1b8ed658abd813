"""Episodes of packets in SimPy, which run until an agent has to decide, and resume when it has."""

from typing import Any

import numpy as np
from simpy import Event

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.core.simpy_environment import NetworkEnvironment, Periods
from flowsched_gym.flows.decisions import NOBODY, Order, Rows
from flowsched_gym.flows.records import Records
from flowsched_gym.flows.state import new_controls
from flowsched_gym.flows.tokens import Destination
from flowsched_gym.packets.decision import PacketDecision
from flowsched_gym.packets.network import PacketNetwork
from flowsched_gym.packets.rules.queues import forget_counts, new_counts
from flowsched_gym.packets.setup import PacketSetup
from flowsched_gym.packets.simpy.detecting import DetectingReplay
from flowsched_gym.packets.simpy.port import QueueCounter
from flowsched_gym.packets.simpy.told import ToldReplay
from flowsched_gym.packets.state import PacketEventKind
from flowsched_gym.workload import Workload

NO_ROWS: IntArray = np.zeros(0, dtype=np.int64)


class _Episode:
    """What episodes of packets show, whatever an agent decides; beside it stands a ``Network`` of ports."""

    env: NetworkEnvironment
    network: PacketNetwork
    record: Any
    order: list[int]
    num_delivered: int
    workload: Workload
    _completion: list[float]
    _setup: PacketSetup

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


class PacketSimulation(_Episode, ToldReplay):
    """Flows into one port, whose agent acts at the beginning of each period; it is told the ``counts`` of queues."""

    def __init__(self, workload: Workload, setup: PacketSetup, period: Period) -> None:
        counter = QueueCounter(setup.scheduler.num_queues)
        super().__init__(setup.network(workload), (counter,))
        self.counts = counter.counts
        self.workload = workload
        self.topology = setup.topology
        self.pending: PeriodDecision | None = None
        self._setup = setup
        self._periods = Periods(
            period, self.env, on_begin=self._ask, counted=PacketEventKind.TIMEOUT, end=PacketEventKind.PERIOD_END
        )

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent acts."""
        return self.pending is not None

    @property
    def num_periods(self) -> int:
        """Periods that have begun."""
        return self._periods.begun

    @property
    def packets_left(self) -> IntArray:
        """Packets of each flow that are not delivered, (num_flows,)."""
        return np.array(self._packets_left, dtype=np.int64)

    def run(self, until: float | None = None) -> None:
        """Runs until an agent has to act, or all flows are acknowledged."""
        while self.pending is None and not self.finished:
            self.env.step()

    def decision(self, flows: Rows, episodes: Rows) -> PacketDecision:
        """Lays out what is asked, with what the rules keep of flows and episodes, columns by name."""
        return PacketDecision(
            number=0,
            is_due=self.awaits_decision,
            now=self.now,
            num_periods=self.num_periods,
            advanced_to=self.now,
            candidates=NO_ROWS,
            first_candidate=0,
            num_candidates=0,
            active=NO_ROWS,
            first_active=0,
            num_active=0,
            host=NOBODY,
            can_wait=False,
            delivered=self.delivery_order,
            first_row=0,
            num_flows=self.workload.num_flows,
            num_delivered=self.num_delivered,
            completion_time=self.completion_time,
            state=None,
            controls=None,
            network=None,
            record=self.record,
            flows=flows,
            episodes=episodes,
            arrival_time=self.workload.arrival_time,
            capacity=self._setup.capacity,
            counts=self.counts,
        )

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set."""
        if self.pending is None:
            raise SimulationError("no period waits to begin")
        self.pending = None
        if self.num_periods > 1:
            forget_counts(self.counts)

    def give(self, order: int, index: int) -> None:
        """Carries out the only ``Order`` that there is here."""
        self.go_on()

    def skip(self, count: int) -> None:
        """Leaves out so many periods from the next one on."""
        self._periods.skip(count)

    def _ask(self) -> None:
        self.pending = self._periods.pending()


class TokenSimulation(_Episode, DetectingReplay):
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
        hosts, counts = np.unique(workload.destination, return_counts=True)
        self.destinations = {
            host: Destination(host, setup.num_tokens, count)
            for host, count in zip(hosts.tolist(), counts.tolist(), strict=True)
        }
        self.asking: Destination | None = None
        self._last_asking = next(iter(self.destinations.values()), None)
        self._destination_of = workload.destination.tolist()
        self._start_time = self.network.start_time.tolist()
        self._grant_time = [float("nan")] * workload.num_flows
        self._controls = new_controls(self.network.path)
        self._counts = new_counts(1, 1, kept=False)
        self._decision_due = self._ended = False
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
        return PacketDecision(
            number=0,
            is_due=self.awaits_decision,
            now=self.now,
            num_periods=0,
            advanced_to=self.now,
            candidates=destination.requests,
            first_candidate=destination.head,
            num_candidates=destination.num_waiting,
            active=destination.active,
            first_active=0,
            num_active=destination.num_active,
            host=destination.host,
            can_wait=destination.can_wait,
            delivered=self.delivery_order,
            first_row=0,
            num_flows=self.workload.num_flows,
            num_delivered=self.num_delivered,
            completion_time=self.completion_time,
            state=self.state,
            controls=self._controls,
            network=self.topology.network,
            record=self.record,
            flows=flows,
            episodes=episodes,
            arrival_time=self.workload.arrival_time,
            capacity=self._setup.capacity,
            counts=self._counts,
        )

    def give(self, order: int, index: int) -> None:
        """Carries out an ``Order`` about tokens; refuses one that does not fit what is asked."""
        destination = self.asking
        if destination is None:
            raise SimulationError("no destination waits for a decision")
        if order not in (Order.GRANT, Order.POSTPONE, Order.WAIT):
            raise SimulationError(f"order is {Order(order).name}: a destination grants, postpones or waits")
        if not 0 <= index < destination.num_waiting:
            raise SimulationError(f"slot is {index}: requests wait in the slots 0 to {destination.num_waiting - 1}")
        self.asking = None
        if order == Order.GRANT:
            row = destination.grant(index)
            self._grant_time[row] = self.now
            start = self.env.at(self.now + self._start_time[row], PacketEventKind.START, row)
            start.callbacks.append(lambda _: super(TokenSimulation, self).begin(row))
        elif order == Order.POSTPONE:
            destination.postpone(index)
        else:
            destination.held = True
        self._request_decision()

    def _grant_times(self) -> FloatArray:
        return np.array(self._grant_time)

    def _request_decision(self) -> None:
        if not self._decision_due:
            self._decision_due = True
            self.env.at(self.env.now, PacketEventKind.DECISION).callbacks.append(self._find_decision)

    def _find_decision(self, _: Event) -> None:
        """Finds the destination that asks, the first by host number."""
        self._decision_due = False
        for destination in self.destinations.values():
            if destination.asks:
                self.asking = self._last_asking = destination
                return
        self._ended = self.finished
