"""Schedulers that share a port among flows: bit by bit in turns, the ideal, and approximately, in queues that rotate.

Fair queueing: Demers, Keshav and Shenker, 1989; AFQ: Sharma et al., NSDI 2018.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.checks import check_numbers
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.contract import BEYOND, Arrival, Order, PacketTable, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes
from flowsched_gym.packets.schedulers.parameters import MOST_QUEUES, NUM_QUEUES, MessageScheduler, check_integer

BYTES_PER_ROUND: Final = 15_000.0
"""Ten full packets: eight rounds hold a window of 64 packets. The papers print none."""


class VirtualTime(NamedTuple):
    """Rounds in which each flow with bits left sends one of them; arrays are (num_ports,), or (num_ports, num_keys).

    Attributes:
        round: Rounds so far, in B, of each port; ``time`` is when that was so, in s.
        finish: Round in which the last packet of each key ends.
        active: Whether a key is in the heap.
        heap: Keys with bits left, by ``expected``, a binary heap of the first ``num_active``.
        expected: Round in which each of these was to end when it entered its place.
    """

    capacity: FloatArray
    round: FloatArray
    time: FloatArray
    finish: FloatArray
    active: IntArray
    heap: IntArray
    expected: FloatArray
    num_active: IntArray


class _BitRounds(NamedTuple):
    """Bytes sent, and the rounds of each port."""

    messages: Messages
    virtual: VirtualTime


class Fq(MessageScheduler):
    """Bit-by-bit round robin: packets by the round in which they would end if flows sent single bits in turns.

    With ``mark_at`` this is ideal fair queueing with ECN.

    Args:
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    record_type = _BitRounds
    order = Order.RANK

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _BitRounds) -> Arrival:
        """Ranks the packet by the round in which it ends."""
        _, last_seen, new = count_bytes(now, port, p, table, record.messages)
        finish = finish_round(now, port, table.key[table.flow[p]], table.size[p], record.virtual)
        return Arrival(0, finish, finish, last_seen, new)

    def new_record(self, traffic: Traffic, num_ports: int) -> _BitRounds:
        """Makes room for bytes sent and rounds."""
        of_keys = (num_ports, traffic.num_keys)
        virtual = VirtualTime(
            capacity=traffic.capacity,
            round=np.zeros(num_ports),
            time=np.zeros(num_ports),
            finish=np.zeros(of_keys),
            active=np.zeros(of_keys, dtype=np.int64),
            heap=np.zeros(of_keys, dtype=np.int64),
            expected=np.zeros(of_keys),
            num_active=np.zeros(num_ports, dtype=np.int64),
        )
        return _BitRounds(self.new_messages(traffic), virtual)


class _Rounds(NamedTuple):
    """Rounds of a quantum of bytes of each flow: where each key's last packet ends, in B, and each port's round.

    From ``idle_from`` on, in s, a port of ``capacity`` in B/s is idle, if it drops nothing for want of room.
    """

    messages: Messages
    quantum: float
    num_queues: int
    bid: FloatArray
    round: IntArray
    capacity: FloatArray
    idle_from: FloatArray


class Afq(MessageScheduler):
    """Approximate fair queueing: each queue is a round to come, in which each flow sends so many bytes.

    A packet whose round lies beyond the last queue is dropped (queue -1 in the trace), as in AFQ's Algorithm 1, but at
    an idle port, which goes on to its round: what a full buffer drops counts too, and the flow could never send again.
    Bytes are counted without error, where AFQ has a sketch.

    Args:
        queues: Number of queues, >= 2.
        weights: One number: bytes of each flow in a round, >= 1; ``None`` for 15,000.
        message_gap: Silence in s after which a key's next packet begins a new message; ``None`` for never.
    """

    record_type = _Rounds
    drops = True

    def __init__(
        self, queues: int = NUM_QUEUES, weights: Sequence[float] | None = None, message_gap: float | None = None
    ) -> None:
        self.num_queues = check_integer("queues", queues, at_least=2, at_most=MOST_QUEUES)
        given = [BYTES_PER_ROUND] if weights is None else weights
        self._quantum = float(check_numbers("weights", given, count=1, at_least=1.0)[0])
        super().__init__(message_gap)

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: _Rounds) -> Arrival:
        """Finds the round in which the packet ends, and its queue."""
        _, last_seen, new = count_bytes(now, port, p, table, record.messages)
        key = table.key[table.flow[p]]
        bid = max(record.bid[port, key], record.round[port] * record.quantum) + table.size[p]
        rounds = int(bid / record.quantum)
        if rounds - record.round[port] >= record.num_queues:
            if now < record.idle_from[port]:
                return Arrival(BEYOND, 0.0, bid, last_seen, new)
            record.round[port] = rounds - record.num_queues + 1
        record.idle_from[port] = max(record.idle_from[port], now) + table.size[p] / record.capacity[port]
        record.bid[port, key] = bid
        return Arrival(rounds % record.num_queues, 0.0, bid, last_seen, new)

    @staticmethod
    def choose(port: int, head_size: FloatArray, record: _Rounds) -> int:
        """Goes on to the next round with packets."""
        queue = record.round[port] % record.num_queues
        while head_size[queue] == 0.0:
            record.round[port] += 1
            queue = record.round[port] % record.num_queues
        return int(queue)

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
            self.new_messages(traffic),
            self._quantum,
            self.num_queues,
            np.zeros((num_ports, traffic.num_keys)),
            np.zeros(num_ports, dtype=np.int64),
            traffic.capacity,
            np.zeros(num_ports),
        )


@inlined_part
def finish_round(now: float, port: int, key: int, size: float, virtual: VirtualTime) -> float:
    """Returns the round in which a packet that arrives ends, which is its rank."""
    _advance(now, port, virtual)
    finish: float = max(virtual.round[port], virtual.finish[port, key]) + size
    virtual.finish[port, key] = finish
    if virtual.active[port, key] == 0:
        virtual.active[port, key] = 1
        last = virtual.num_active[port]
        virtual.num_active[port] = last + 1
        _rise(last, key, finish, virtual.heap[port], virtual.expected[port])
    return finish


@inlined_part
def _advance(now: float, port: int, virtual: VirtualTime) -> None:
    """Advances the rounds to now: the more flows have bits left, the slower they go."""
    heap, expected, finish = virtual.heap[port], virtual.expected[port], virtual.finish[port]
    while virtual.num_active[port] > 0:
        count = virtual.num_active[port]
        key = heap[0]
        if finish[key] > expected[0]:
            _sink(count, key, finish[key], heap, expected)
            continue
        end = virtual.time[port] + (expected[0] - virtual.round[port]) * count / virtual.capacity[port]
        if end > now:
            virtual.round[port] += (now - virtual.time[port]) * virtual.capacity[port] / count
            break
        virtual.round[port] = expected[0]
        virtual.time[port] = end
        virtual.active[port, key] = 0
        virtual.num_active[port] = count - 1
        if count > 1:
            _sink(count - 1, heap[count - 1], expected[count - 1], heap, expected)
    virtual.time[port] = now


@inlined_part
def _rise(place: int, key: int, value: float, heap: IntArray, expected: FloatArray) -> None:
    """Puts a key into the heap, from its end upwards."""
    while place > 0:
        above = (place - 1) // 2
        if expected[above] <= value:
            break
        heap[place], expected[place] = heap[above], expected[above]
        place = above
    heap[place], expected[place] = key, value


@inlined_part
def _sink(count: int, key: int, value: float, heap: IntArray, expected: FloatArray) -> None:
    """Puts a key into the heap, from its top downwards, in place of the one there."""
    place = 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and expected[below + 1] < expected[below]:
            below += 1
        if expected[below] >= value:
            break
        heap[place], expected[place] = heap[below], expected[below]
        place = below
    heap[place], expected[place] = key, value
