"""One port in SimPy: packets that are given, or flows whose senders wait for acknowledgements."""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from simpy.events import ProcessGenerator

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.packets.contract import PacketTable
from flowsched_gym.packets.schedulers import PacketSetup
from flowsched_gym.packets.setup import PacketFlows
from flowsched_gym.packets.simpy.port import PacketLog, Port, QueueCounter
from flowsched_gym.packets.simpy.sender import Sender
from flowsched_gym.packets.state import FlowOutcomes, PacketEventKind


class Census(NamedTuple):
    """Where the packets are that have been sent: ``sent`` is the sum of all others."""

    sent: int
    delivered: int
    dropped: int
    queued: int
    in_flight: int


class _OnePort:
    """A port, and where its packets are.

    Args:
        table: The packets.
        setup: The port and the senders.
        record: What the scheduler keeps.
        observers: Note what happens at the port.

    Attributes:
        env: Environment of the simulation.
        record: What the scheduler keeps.
        port: The port.
    """

    def __init__(
        self, table: PacketTable, setup: PacketSetup, record: Any, observers: Sequence[PacketLog | QueueCounter] = ()
    ) -> None:
        self.env = NetworkEnvironment()
        self.record = record
        self._delay = setup.senders.delay
        self._sent = 0
        self._delivered = 0
        self._dropped = 0
        self._deliveries: deque[float] = deque()
        self.port = Port(
            self.env,
            0,
            setup,
            record,
            table,
            setup.capacity,
            observers=observers,
            on_departure=self._depart,
            on_drop=self._drop,
        )

    def census(self) -> Census:
        """Counts the packets by where they are now."""
        self._deliver()
        on_their_way = len(self._deliveries) + self.port.sending
        return Census(self._sent, self._delivered, self._dropped, self.port.num_waiting, on_their_way)

    def _send(self, p: int) -> None:
        self._sent += 1
        self.port.receive(p)

    def _depart(self, p: int) -> None:
        self._deliver()
        self._deliveries.append(self.env.now + self._delay)

    def _drop(self, p: int) -> None:
        self._dropped += 1

    def _deliver(self) -> None:
        """Counts the packets that have been delivered by now."""
        while self._deliveries and self._deliveries[0] <= self.env.now:
            self._deliveries.popleft()
            self._delivered += 1


class PacketServing(_OnePort):
    """Packets at times that are given, into one port.

    Args:
        arrival_time: When each packet arrives, in s, (num_packets,), non-decreasing.
        table: The packets.
        setup: The port.
        record: What the scheduler keeps.

    Attributes:
        log: Writes what becomes of each packet.
    """

    def __init__(self, arrival_time: FloatArray, table: PacketTable, setup: PacketSetup, record: Any) -> None:
        self.log = PacketLog()
        super().__init__(table, setup, record, (self.log,))
        self.env.process(self._arrive(arrival_time.tolist()))

    def _arrive(self, times: list[float]) -> ProcessGenerator:
        for p, time in enumerate(times):
            yield self.env.at(time, PacketEventKind.ARRIVAL)
            self._send(p)


class PacketReplay(_OnePort):
    """Flows whose senders send packets into one port.

    Args:
        flows: The flows and their packets.
        setup: The port and the senders.
        observers: Note what happens at the port.

    Attributes:
        order: Flows that have been sent and acknowledged, in that order.
    """

    def __init__(
        self, flows: PacketFlows, setup: PacketSetup, observers: Sequence[PacketLog | QueueCounter] = ()
    ) -> None:
        super().__init__(flows.table, setup, setup.new_record(flows), observers)
        num_flows = flows.num_flows
        self._first = flows.first_packet.tolist()
        self._flow = flows.table.flow.tolist()
        self._min_rto = setup.senders.min_rto
        self._windows = setup.new_windows(flows)
        self._senders: dict[int, Sender] = {}
        self._left = flows.packets.tolist()
        self._completion = [float("nan")] * num_flows
        self._drops = [0] * num_flows
        self._marks = [0] * num_flows
        self._disordered = [0] * num_flows
        self._latest = [-1] * num_flows
        self.order: list[int] = []
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
        return FlowOutcomes(
            np.array(self._completion), np.array(self._drops), np.array(self._marks), np.array(self._disordered)
        )

    def _arrive(self, times: FloatArray) -> ProcessGenerator:
        """Starts the flows in the order of their arrival, and at one instant by id."""
        for row in np.argsort(times, kind="stable").tolist():
            yield self.env.at(float(times[row]), PacketEventKind.ARRIVAL)
            packets = range(self._first[row], self._first[row + 1])
            self._senders[row] = Sender(
                self.env, row, packets, self._windows, send=self._send, on_end=self.order.append
            )

    def _depart(self, p: int) -> None:
        """Delivers a packet, and sends its acknowledgement back."""
        super()._depart(p)
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
        super()._drop(p)
        row = self._flow[p]
        self._drops[row] += 1
        self._senders[row].expect_timeout(self.env.now + self._min_rto, p)
