"""Serves packets in the order of arrival."""

from typing import NamedTuple

from flowsched_gym.packets.contract import BaseScheduler, Rules, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, new_messages
from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.schedulers.parameters import check_gap


class _OneQueue(NamedTuple):
    """What a port with one queue keeps: bytes sent, which its trace shows."""

    messages: Messages


def _append(now: float, port: int, p: int, table: PacketTable, own: _OneQueue) -> Arrival:
    weight, last_seen, new = count_bytes(now, port, p, table, own.messages)
    return Arrival(0, 0.0, weight, last_seen, new)


class Fifo(BaseScheduler):
    """First in, first out, in one queue; with ``mark_at`` and DCTCP's senders this is DCTCP.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: The gap is not > 0.
    """

    rules = Rules(record=_OneQueue, arrive=_append)

    def __init__(self, message_gap: float | None = None) -> None:
        self._gap = check_gap("message_gap", message_gap)

    def new_record(self, traffic: Traffic, num_ports: int) -> _OneQueue:
        """Makes room for the bytes sent."""
        return _OneQueue(new_messages(traffic.num_keys, self._gap, count_after=False))
