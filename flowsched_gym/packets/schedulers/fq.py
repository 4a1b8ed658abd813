"""Serves flows bit by bit in turns (Demers, Keshav and Shenker, 1989), the ideal of fair queueing."""

from typing import NamedTuple

from flowsched_gym.packets.contract import BaseScheduler, Order, Rules, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, new_messages
from flowsched_gym.packets.rules.table import Arrival, PacketTable
from flowsched_gym.packets.rules.virtual_time import VirtualTime, finish_round, new_virtual_time
from flowsched_gym.packets.schedulers.parameters import check_gap


class _Rounds(NamedTuple):
    """Bytes sent, and the rounds of each port."""

    messages: Messages
    virtual: VirtualTime


def _by_finish(now: float, port: int, p: int, table: PacketTable, own: _Rounds) -> Arrival:
    _, last_seen, new = count_bytes(now, port, p, table, own.messages)
    finish = finish_round(now, port, table.key[table.flow[p]], table.size[p], own.virtual)
    return Arrival(0, finish, finish, last_seen, new)


class Fq(BaseScheduler):
    """Bit-by-bit round robin: packets by the round in which they would end if flows sent single bits in turns.

    With ``mark_at`` this is ideal fair queueing with ECN.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: The gap is not > 0.
    """

    rules = Rules(record=_Rounds, arrive=_by_finish, order=Order.RANK)

    def __init__(self, message_gap: float | None = None) -> None:
        self._gap = check_gap("message_gap", message_gap)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Rounds:
        """Makes room for bytes sent and rounds."""
        return _Rounds(
            new_messages(traffic.num_keys, self._gap, count_after=False),
            new_virtual_time(traffic.num_keys, traffic.capacity, num_ports),
        )
