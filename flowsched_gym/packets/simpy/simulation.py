"""One port in SimPy: packets that are given, flows whose senders wait for acknowledgements, or these with an agent."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.core.simpy_environment import NetworkEnvironment, Periods
from flowsched_gym.flows.records import Records
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.packets.rules.queues import forget_counts
from flowsched_gym.packets.rules.windows import Windows, acknowledge, may_send, note_sent, time_out
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.setup import PacketFlows
from flowsched_gym.packets.simpy.port import PacketLog, Port, QueueCounter, only_place
from flowsched_gym.packets.state import FlowOutcomes, PacketEventKind
from flowsched_gym.topology import Topology
from flowsched_gym.workload import Workload


class PacketServing:
    """Packets at times in s that are given, (num_packets,), non-decreasing, into one port; ``log`` has their fates."""

    def __init__(self, arrival_time: FloatArray, table: PacketTable, setup: PacketSetup, record: Any) -> None:
        self.env = NetworkEnvironment()
        self.log = PacketLog()
        self._port = Port(
            self.env,
            setup.scheduler,
            only_place(setup),
            record,
            table,
            sizes=table.size.tolist(),
            flow=table.flow.tolist(),
            observers=(self.log,),
            on_departure=lambda p, port: None,
            on_drop=lambda p: None,
        )
        self.env.process(self._arrive(arrival_time.tolist()))

    def _arrive(self, times: list[float]) -> ProcessGenerator:
        for p, time in enumerate(times):
            yield self.env.at(time, PacketEventKind.ARRIVAL)
            self._port.receive(p)


class PacketReplay:
    """Flows whose senders send packets into one port; ``order`` has those that are acknowledged, in that order."""

    def __init__(
        self, flows: PacketFlows, setup: PacketSetup, observers: Sequence[PacketLog | QueueCounter] = ()
    ) -> None:
        num_flows = flows.num_flows
        self.env = NetworkEnvironment()
        self.record = setup.new_record(flows)
        self.order: list[int] = []
        self._first = flows.first_packet.tolist()
        self._flow = flows.table.flow.tolist()
        self._delay = setup.senders.delay
        self._min_rto = setup.senders.min_rto
        self._windows = setup.new_windows(flows)
        self._senders: dict[int, _Sender] = {}
        self._left = flows.packets.tolist()
        self._completion = [float("nan")] * num_flows
        self._drops = [0] * num_flows
        self._marks = [0] * num_flows
        self._disordered = [0] * num_flows
        self._latest = [-1] * num_flows
        self.port = Port(
            self.env,
            setup.scheduler,
            only_place(setup),
            self.record,
            flows.table,
            sizes=flows.table.size.tolist(),
            flow=self._flow,
            observers=observers,
            on_departure=self._depart,
            on_drop=self._drop,
        )
        self.env.process(self._arrive(flows.arrival_time))

    @property
    def num_delivered(self) -> int:
        """Flows acknowledged so far."""
        return len(self.order)

    def run(self, until: float | None = None) -> None:
        """Runs until this time in s, or to the end."""
        self.env.run(until)

    def outcomes(self) -> FlowOutcomes:
        """Returns what became of each flow."""
        counts = (self._drops, self._marks, self._disordered, [0] * len(self._drops))
        return FlowOutcomes(np.array(self._completion), *map(np.array, counts))

    def _arrive(self, times: FloatArray) -> ProcessGenerator:
        """Starts the flows in the order of their arrival, and at one instant by id."""
        for row in np.argsort(times, kind="stable").tolist():
            yield self.env.at(float(times[row]), PacketEventKind.ARRIVAL)
            packets = range(self._first[row], self._first[row + 1])
            self._senders[row] = _Sender(
                self.env, row, packets, self._windows, send=self.port.receive, on_end=self.order.append
            )

    def _depart(self, p: int, port: int) -> None:
        row = self._flow[p]
        marked = p in self.port.marked
        if marked:
            self.port.marked.discard(p)
            self._marks[row] += 1
        if p < self._latest[row]:
            self._disordered[row] += 1
        else:
            self._latest[row] = p
        delivery = self.env.now + self._delay
        self._left[row] -= 1
        if self._left[row] == 0:
            self._completion[row] = delivery
        self._senders[row].expect_acknowledgement(delivery + self._delay, marked=marked)

    def _drop(self, p: int) -> None:
        row = self._flow[p]
        self._drops[row] += 1
        self._senders[row].expect_timeout(self.env.now + self._min_rto, p)


class PacketSimulation(PacketReplay):
    """Flows into one port, whose agent acts at the beginning of each period; it is told the ``counts`` of queues."""

    def __init__(self, workload: Workload, topology: Topology, setup: PacketSetup, period: Period) -> None:
        packets = setup.cut(workload)
        counter = QueueCounter(packets.table, setup.scheduler.num_queues)
        super().__init__(packets, setup, (counter,))
        self.counts = counter.counts
        self.workload = workload
        self.topology = topology
        self.pending: PeriodDecision | None = None
        self._setup = setup
        self._periods = Periods(
            period, self.env, on_begin=self._ask, counted=PacketEventKind.TIMEOUT, end=PacketEventKind.PERIOD_END
        )

    @property
    def now(self) -> float:
        """Time in s."""
        return float(self.env.now)

    @property
    def finished(self) -> bool:
        """Whether every flow has been acknowledged."""
        return self.num_delivered == self.workload.num_flows

    @property
    def awaits_decision(self) -> bool:
        """Whether time stands still until an agent acts."""
        return self.pending is not None

    @property
    def num_periods(self) -> int:
        """Periods that have begun."""
        return self._periods.begun

    @property
    def delivery_order(self) -> IntArray:
        """Rows of the flows that have been acknowledged, in that order, (num_delivered,)."""
        return np.array(self.order, dtype=np.int64)

    @property
    def completion_time(self) -> FloatArray:
        """Absolute times in s of deliveries, (num_flows,), NaN for packets that have not left the port."""
        return np.array(self._completion)

    @property
    def packets_left(self) -> IntArray:
        """Packets of each flow that are not delivered, (num_flows,)."""
        return np.array(self._left, dtype=np.int64)

    def run(self, until: float | None = None) -> None:
        """Runs until an agent has to act, or all flows are acknowledged."""
        while self.pending is None and not self.finished:
            self.env.step()

    def go_on(self) -> None:
        """Begins a period, with the controls as they have been set."""
        if self.pending is None:
            raise SimulationError("no period waits to begin")
        self.pending = None
        if self.num_periods > 1:
            forget_counts(self.counts)

    def ideal_fct(self) -> FloatArray:
        """Returns what the flows take alone, in s, (num_flows,)."""
        return self._setup.ideal_fct(self.workload)

    def records(self) -> Records:
        """Returns what has become of every flow so far."""
        completion = self.completion_time
        completion[completion > self.now] = np.nan
        return self._setup.records(self.workload, completion)

    def _ask(self) -> None:
        self.pending = self._periods.pending()


class _Sender:
    """The sender of one flow: it waits for acknowledgements, and sends what its window has room for."""

    def __init__(
        self,
        env: NetworkEnvironment,
        row: int,
        packets: range,
        windows: Windows,
        *,
        send: Callable[[int], None],
        on_end: Callable[[int], None],
    ) -> None:
        self._env = env
        self._row = row
        self._windows = windows
        self._send = send
        self._on_end = on_end
        self._unsent = deque(packets)
        self._num_left = len(packets)
        self._lost: deque[int] = deque()
        self._news: Event
        env.process(self._run())

    def expect_acknowledgement(self, time: float, *, marked: bool) -> None:
        """Lets an acknowledgement arrive at this time."""
        arrival = self._env.at(time, PacketEventKind.ACKNOWLEDGEMENT)
        arrival.callbacks.append(lambda _: self._acknowledge(marked))

    def expect_timeout(self, time: float, p: int) -> None:
        """Lets the sender notice at this time that a packet is lost."""
        self._env.at(time, PacketEventKind.TIMEOUT).callbacks.append(lambda _: self._time_out(p))

    def _run(self) -> ProcessGenerator:
        while True:
            while (self._lost or self._unsent) and may_send(self._row, self._windows):
                note_sent(self._row, self._windows)
                self._send((self._lost or self._unsent).popleft())
            if not self._num_left:
                return
            self._news = Event(self._env)
            yield self._news

    def _acknowledge(self, marked: bool) -> None:
        self._num_left -= 1
        acknowledge(self._env.now, self._row, marked, self._windows)
        if not self._num_left:
            self._on_end(self._row)
        self._news.succeed()

    def _time_out(self, p: int) -> None:
        self._lost.append(p)
        time_out(self._env.now, self._row, self._windows)
        self._news.succeed()
