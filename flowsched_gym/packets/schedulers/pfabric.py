"""Serves the flow with the least left to send (pFabric: Alizadeh et al., SIGCOMM 2013), or the earliest deadline."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.packets.contract import Arrival, Order, PacketTable, Rules, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes
from flowsched_gym.packets.schedulers.parameters import MessageScheduler


class _Remaining(NamedTuple):
    """What pFabric keeps: bytes sent, which its trace shows."""

    messages: Messages


class _Due(NamedTuple):
    """What pFabric-EDF keeps: bytes sent, which its trace shows."""

    messages: Messages


def _by_remaining(now: float, port: int, p: int, table: PacketTable, own: _Remaining) -> Arrival:
    _, last_seen, new = count_bytes(now, port, p, table, own.messages)
    left = table.remaining[p]
    return Arrival(0, left, left, last_seen, new)


def _by_deadline(now: float, port: int, p: int, table: PacketTable, own: _Due) -> Arrival:
    _, last_seen, new = count_bytes(now, port, p, table, own.messages)
    due = table.due[table.flow[p]]
    if due < np.inf:
        return Arrival(0, due, due, last_seen, new)
    left = table.remaining[p]
    return Arrival(1, left, left, last_seen, new)


class Pfabric(MessageScheduler):
    """Least payload left to send first (pFabric), and of that flow the packet that arrived first.

    A packet's rank is what its flow had left when it was sent, itself included. A full buffer drops the packet of the
    largest rank, the last one of these.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: The gap is not > 0.
    """

    rules = Rules(record=_Remaining, arrive=_by_remaining, order=Order.FLOW)
    needs_remaining = True

    def new_record(self, traffic: Traffic, num_ports: int) -> _Remaining:
        """Makes room for the bytes sent."""
        return _Remaining(self.new_messages(traffic))


class PfabricEdf(MessageScheduler):
    """Earliest deadline first (pFabric-EDF); then the flows without one by what they have left to send.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: The gap is not > 0.
    """

    rules = Rules(record=_Due, arrive=_by_deadline, order=Order.FLOW)
    num_queues = 2
    needs_remaining = True

    def new_record(self, traffic: Traffic, num_ports: int) -> _Due:
        """Makes room for the bytes sent."""
        return _Due(self.new_messages(traffic))
