"""Serves the packet whose message has sent least, from a queue that packets enter at any place (a PIFO)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.contract import BaseScheduler, Order, Rules, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, new_messages
from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.schedulers.parameters import Count, check_gap, check_thresholds


class _Pifo(NamedTuple):
    """A queue by rank, and one behind it.

    Attributes:
        messages: Bytes sent.
        limit: Bytes sent above which packets go to the queue behind; inf where there is none.
    """

    messages: Messages
    limit: float


def _by_attained(now: float, port: int, p: int, table: PacketTable, own: _Pifo) -> Arrival:
    weight, last_seen, new = count_bytes(now, port, p, table, own.messages)
    if weight <= own.limit:
        return Arrival(0, weight, weight, last_seen, new)
    return Arrival(1, 0.0, weight, last_seen, new)


class PifoLas(BaseScheduler):
    """Least attained service with a PIFO: the packet whose message had sent least when it arrived.

    A packet of a long message may wait forever. The remedy of QCluster (section 2) is a FIFO behind the PIFO.

    Args:
        thresholds: One threshold in B: packets with more bytes sent go to a FIFO behind; none for the PIFO alone.
        count: ``before`` or ``after``: whether bytes sent include the packet.
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: A parameter is not allowed.
    """

    rules = Rules(record=_Pifo, arrive=_by_attained, order=Order.RANK)

    def __init__(
        self,
        thresholds: Sequence[float] | FloatArray = (),
        count: str = Count.BEFORE,
        message_gap: float | None = None,
    ) -> None:
        limits = check_thresholds(thresholds, None)
        if len(limits) > 1:
            raise ConfigError(f"thresholds is {limits.tolist()}: it must be one number, or none")
        self.num_queues = len(limits) + 1
        self._limit = float(limits[0]) if len(limits) else np.inf
        self._count = check_choice("count", count, Count)
        self._gap = check_gap("message_gap", message_gap)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Pifo:
        """Makes room for the bytes sent."""
        after = self._count is Count.AFTER
        return _Pifo(new_messages(traffic.num_keys, self._gap, count_after=after), self._limit)
