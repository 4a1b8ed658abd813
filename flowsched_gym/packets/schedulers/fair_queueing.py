"""Serves flows approximately fairly, in queues whose priorities rotate (AFQ: Sharma et al., NSDI 2018)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.packets.contract import BaseScheduler, Rules, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes, new_messages
from flowsched_gym.packets.rules.table import BEYOND, Arrival, PacketTable
from flowsched_gym.packets.schedulers.parameters import MOST_QUEUES, NUM_QUEUES, check_gap, check_integer, check_numbers

BYTES_PER_ROUND: Final = 15_000.0
"""Ten full packets: eight rounds hold a window of 64 packets. The papers print none."""


class _Rounds(NamedTuple):
    """Rounds of each port.

    Attributes:
        messages: Bytes sent, which the trace shows.
        quantum: Bytes of each flow in a round.
        num_queues: Rounds ahead that have a queue.
        bid: Bytes at which the last packet of each key ends, in rounds of the quantum, (num_ports, num_keys) float64.
        round: Round that is served, (num_ports,) int64.
    """

    messages: Messages
    quantum: float
    num_queues: int
    bid: FloatArray
    round: IntArray


def _bid(now: float, port: int, p: int, table: PacketTable, own: _Rounds) -> Arrival:
    _, last_seen, new = count_bytes(now, port, p, table, own.messages)
    key = table.key[table.flow[p]]
    bid = max(own.bid[port, key], own.round[port] * own.quantum) + table.size[p]
    rounds = int(bid / own.quantum)
    if rounds - own.round[port] >= own.num_queues:
        return Arrival(BEYOND, 0.0, bid, last_seen, new)
    own.bid[port, key] = bid
    return Arrival(rounds % own.num_queues, 0.0, bid, last_seen, new)


def _rotate(port: int, head_size: FloatArray, own: _Rounds) -> int:
    queue = own.round[port] % own.num_queues
    while head_size[queue] == 0.0:
        own.round[port] += 1
        queue = own.round[port] % own.num_queues
    return int(queue)


class Afq(BaseScheduler):
    """Approximate fair queueing: each queue is a round to come, in which each flow sends so many bytes.

    A packet whose round lies beyond the last queue is dropped (queue -1 in the trace), as in AFQ's Algorithm 1. Bytes
    are counted without error, where AFQ has a sketch.

    Args:
        queues: Number of queues, >= 2.
        weights: One number: bytes of each flow in a round, >= 1; ``None`` for 15,000.
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.

    Raises:
        ConfigError: A parameter is not allowed.
    """

    rules = Rules(record=_Rounds, arrive=_bid, choose=_rotate)

    def __init__(
        self, queues: int = NUM_QUEUES, weights: Sequence[float] | None = None, message_gap: float | None = None
    ) -> None:
        self.num_queues = check_integer("queues", queues, at_least=2, at_most=MOST_QUEUES)
        given = [BYTES_PER_ROUND] if weights is None else weights
        self._quantum = float(check_numbers("weights", given, count=1, at_least=1.0)[0])
        self._gap = check_gap("message_gap", message_gap)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Rounds:
        """Makes room for the bids.

        Raises:
            ConfigError: A packet would find no queue although it were alone.
        """
        if traffic.largest_packet > self._quantum * (self.num_queues - 1):
            raise ConfigError(
                f"weights is [{self._quantum:g}]: with {self.num_queues} queues it must be >= "
                f"{traffic.largest_packet / (self.num_queues - 1):g}, or no round has room for the largest packet"
            )
        return _Rounds(
            new_messages(traffic.num_keys, self._gap, count_after=False),
            self._quantum,
            self.num_queues,
            np.zeros((num_ports, traffic.num_keys)),
            np.zeros(num_ports, dtype=np.int64),
        )
