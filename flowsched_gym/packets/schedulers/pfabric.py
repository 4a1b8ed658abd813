"""Serves the flow with the least left to send (pFabric: Alizadeh et al., SIGCOMM 2013), or the earliest deadline."""

import numpy as np

from flowsched_gym.packets.contract import Arrival, Order, PacketTable
from flowsched_gym.packets.rules.messages import count_bytes
from flowsched_gym.packets.schedulers.parameters import BytesSent, MessageScheduler


class Pfabric(MessageScheduler):
    """Least payload left to send first (pFabric), and of that flow the packet that arrived first.

    A packet's rank is what its flow had left when it was sent, itself included. A full buffer drops the packet of the
    largest rank, the last one of these.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: The gap is not > 0.
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

    Raises:
        ConfigError: The gap is not > 0.
    """

    order = Order.FLOW
    num_queues = 2
    needs_remaining = True

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: BytesSent) -> Arrival:
        """Ranks the packet by its deadline, or behind all of these by what its flow has left."""
        _, last_seen, new = count_bytes(now, port, p, table, record.messages)
        due = table.due[table.flow[p]]
        if due < np.inf:
            return Arrival(0, due, due, last_seen, new)
        left = table.remaining[p]
        return Arrival(1, left, left, last_seen, new)
