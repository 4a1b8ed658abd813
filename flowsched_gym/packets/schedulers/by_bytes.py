"""Schedulers that go by bytes: those that a message has sent (PIAS, PIFO-LAS), or that its flow has left (pFabric).

FIFO counts bytes too, to show them in a trace. PIAS: Bai et al., NSDI 2015; pFabric: Alizadeh et al., SIGCOMM 2013.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.contract import Arrival, Order, PacketTable, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, is_bare
from flowsched_gym.packets.rules.queues import Service, first_within, new_service, next_queue
from flowsched_gym.packets.schedulers.parameters import (
    BytesSent,
    Count,
    Dequeue,
    MessageScheduler,
    check_quanta,
    check_thresholds,
)


class Fifo(MessageScheduler):
    """First in, first out, in one queue; with ``mark_at`` and DCTCP's senders this is DCTCP.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: BytesSent) -> Arrival:
        """Appends the packet."""
        weight, last_seen, new = count_bytes(now, port, p, table, record.messages)
        return Arrival(0, 0.0, weight, last_seen, new)


class _Levels(NamedTuple):
    """Queues by bytes sent; thresholds in B of each port are (num_ports, num_queues - 1)."""

    messages: Messages
    thresholds: FloatArray
    service: Service


class Pias(MessageScheduler):
    """Queues by bytes sent: a packet enters the first queue with ``bytes sent <= threshold``; queue 0 is the highest.

    Bytes are counted without error, as senders that tag their packets do; a packet that is sent again counts again.
    Acknowledgements and handshakes have sent nothing.

    Args:
        thresholds: Thresholds in B, (queues - 1,), non-decreasing.
        queues: Number of queues; ``None``: one more than thresholds.
        count: ``before`` or ``after``: whether bytes sent include the packet.
        dequeue: ``sp``, strict priority, ``wrr`` or ``drr``, weighted or deficit round robin.
        weights: Packets (``wrr``) or bytes (``drr``) of each queue in a round, (queues,), >= 1; ``None`` for one
            packet, or 1,500 B.
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    record_type = _Levels
    reads_tags = True

    def __init__(
        self,
        thresholds: Sequence[float] | FloatArray,
        queues: int | None = None,
        count: str = Count.BEFORE,
        dequeue: str = Dequeue.SP,
        weights: Sequence[float] | None = None,
        message_gap: float | None = None,
    ) -> None:
        self._thresholds = check_thresholds(thresholds, queues)
        self.num_queues = len(self._thresholds) + 1
        self._count = check_choice("count", count, Count)
        self._dequeue = check_choice("dequeue", dequeue, Dequeue)
        self._quanta = check_quanta(weights, self._dequeue, self.num_queues)
        super().__init__(message_gap)

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Levels) -> Arrival:
        """Finds the queue by the bytes sent."""
        weight, last_seen, new = count_bytes(now, port, p, table, record.messages)
        queue = first_within(weight, port, record.thresholds, 0, record.thresholds.shape[1])
        return Arrival(queue, 0.0, weight, last_seen, new)

    @staticmethod
    def choose(port: int, head_size: FloatArray, record: _Levels) -> int:
        """Returns the queue whose turn it is."""
        return next_queue(port, head_size, record.service)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Levels:
        """Makes room for the bytes sent, and sets the thresholds of all ports."""
        return _Levels(
            self.new_messages(traffic, self._count),
            np.tile(self._thresholds, (num_ports, 1)),
            new_service(self._dequeue.way, self._quanta, num_ports),
        )


class _Pifo(NamedTuple):
    """A queue by rank, and one behind it for packets of messages that have sent more than the limit in B, or inf."""

    messages: Messages
    limit: float


class PifoLas(MessageScheduler):
    """Least attained service with a PIFO: the packet whose message had sent least when it arrived.

    A packet of a long message may wait forever. The remedy of QCluster (section 2) is a FIFO behind the PIFO.

    Args:
        thresholds: One threshold in B: packets with more bytes sent go to a FIFO behind; none for the PIFO alone.
        count: ``before`` or ``after``: whether bytes sent include the packet.
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    record_type = _Pifo
    reads_tags = True
    order = Order.RANK

    def __init__(
        self, thresholds: Sequence[float] | FloatArray = (), count: str = Count.BEFORE, message_gap: float | None = None
    ) -> None:
        limits = check_thresholds(thresholds, None)
        if len(limits) > 1:
            raise ConfigError(f"thresholds is {limits.tolist()}: it must be one number, or none")
        self.num_queues = len(limits) + 1
        self._limit = float(limits[0]) if len(limits) else np.inf
        self._count = check_choice("count", count, Count)
        super().__init__(message_gap)

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Pifo) -> Arrival:
        """Ranks the packet by the bytes sent, or puts it behind."""
        weight, last_seen, new = count_bytes(now, port, p, table, record.messages)
        if weight <= record.limit:
            return Arrival(0, weight, weight, last_seen, new)
        return Arrival(1, 0.0, weight, last_seen, new)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Pifo:
        """Makes room for the bytes sent."""
        return _Pifo(self.new_messages(traffic, self._count), self._limit)


class Pfabric(MessageScheduler):
    """Least payload left to send first (pFabric), and of that flow the packet that arrived first.

    A packet's rank is what its flow had left when it was sent, itself included. A full buffer drops the packet of the
    largest rank, the last one of these.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    order = Order.FLOW
    needs_remaining = True

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: BytesSent) -> Arrival:
        """Ranks the packet by what its flow has left."""
        _, last_seen, new = count_bytes(now, port, p, table, record.messages)
        left = table.remaining[p]
        return Arrival(0, left, left, last_seen, new)


class PfabricEdf(MessageScheduler):
    """Earliest deadline first (pFabric-EDF); then the flows without one by what they have left to send.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    order = Order.FLOW
    num_queues = 2
    needs_remaining = True

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: BytesSent) -> Arrival:
        """Ranks the packet by its deadline, or behind all of these by what its flow has left."""
        _, last_seen, new = count_bytes(now, port, p, table, record.messages)
        due = -np.inf if is_bare(p, table) else table.due[table.flow[p]]
        if due < np.inf:
            return Arrival(0, due, due, last_seen, new)
        left = table.remaining[p]
        return Arrival(1, left, left, last_seen, new)
