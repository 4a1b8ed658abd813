"""Serves packets in queues by the bytes that their messages have sent (PIAS: Bai et al., NSDI 2015)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.packets.contract import BaseScheduler, Rules, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, new_messages
from flowsched_gym.packets.rules.queues import Service, first_within, new_service, next_queue
from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.schedulers.parameters import (
    Count,
    Dequeue,
    check_choice,
    check_gap,
    check_quanta,
    check_thresholds,
)


class _Levels(NamedTuple):
    """Queues by bytes sent.

    Attributes:
        messages: Bytes sent.
        thresholds: Thresholds in B of each port, (num_ports, num_queues - 1) float64.
        service: How queues are served.
    """

    messages: Messages
    thresholds: FloatArray
    service: Service


def _demote(now: float, port: int, p: int, table: PacketTable, own: _Levels) -> Arrival:
    weight, last_seen, new = count_bytes(now, port, p, table, own.messages)
    queue = first_within(weight, port, own.thresholds, 0, own.thresholds.shape[1])
    return Arrival(queue, 0.0, weight, last_seen, new)


def _next_queue(port: int, head_size: FloatArray, own: _Levels) -> int:
    return next_queue(port, head_size, own.service)


class Pias(BaseScheduler):
    """Queues by bytes sent: a packet enters the first queue with ``bytes sent <= threshold``; queue 0 is the highest.

    Bytes are counted without error, as senders that tag their packets do; a packet that is sent again counts again.

    Args:
        thresholds: Thresholds in B, (queues - 1,), non-decreasing.
        queues: Number of queues; ``None``: one more than thresholds.
        count: ``before`` or ``after``: whether bytes sent include the packet.
        dequeue: ``sp``, strict priority, ``wrr`` or ``drr``, weighted or deficit round robin.
        weights: Packets (``wrr``) or bytes (``drr``) of each queue in a round, (queues,), >= 1; ``None`` for one
            packet, or 1,500 B.
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: A parameter is not allowed.
    """

    rules = Rules(record=_Levels, arrive=_demote, choose=_next_queue)

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
        self._gap = check_gap("message_gap", message_gap)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Levels:
        """Makes room for the bytes sent, and sets the thresholds of all ports."""
        return _Levels(
            new_messages(traffic.num_keys, self._gap, count_after=self._count is Count.AFTER),
            np.tile(self._thresholds, (num_ports, 1)),
            new_service(self._dequeue.way, self._quanta, num_ports),
        )
