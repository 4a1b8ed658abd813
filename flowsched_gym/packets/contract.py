"""What schedulers of packets are made of: rules, written once for both engines, and a record of what they keep.

The rules of a scheduler are plain functions. The reference engine calls them as they are; the compiled engine compiles
those of the one scheduler that it runs (``packets.compiled.control``), which it finds by the type of the record.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.packets.rules.table import Arrival, PacketTable


class Order(IntEnum):
    """Orders in which a port serves the packets that wait."""

    ARRIVAL = 0
    """Queues, first in, first out; the scheduler chooses among them."""
    RANK = 1
    """The highest queue first, in it the smallest rank; a full buffer drops what would be served last."""
    FLOW = 2
    """As ``RANK``, but of the flow of that packet the one that arrived first."""


class Traffic(NamedTuple):
    """What a scheduler may know before packets arrive.

    Attributes:
        num_packets: Number of packets that are sent; those sent again count once.
        key_id: Identifier of each key, by which it is hashed, (num_keys,) int64.
        capacity: Capacity of each port in B/s, (num_ports,) float64.
        seed: Seed of the hash.
        packets_of_flow: Packets of each flow, (num_flows,) int64; ``None`` where each packet is given by itself.
        largest_packet: Most bytes on the wire of a packet.
        payload: Most bytes of payload of a packet.
    """

    num_packets: int
    key_id: IntArray
    capacity: FloatArray
    seed: int
    packets_of_flow: IntArray | None
    largest_packet: float
    payload: float

    @property
    def num_keys(self) -> int:
        """Number of messages, or connections, whose bytes are counted together."""
        return len(self.key_id)


def _first_queue(port: int, head_size: FloatArray, own: Any) -> int:
    """Returns the only queue."""
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of a scheduler: functions of plain arrays that Numba can compile, with these names of parameters.

    Attributes:
        record: NamedTuple of what the scheduler keeps, a type of its own.
        arrive: Says what becomes of a packet that arrives, ``(now, port, p, table, own)``.
        choose: Returns the queue that an idle port serves, ``(port, head_size, own)``: see ``queues.next_queue``.
            Only asked where the order is ``Order.ARRIVAL``.
        order: Order in which packets that wait are served.
    """

    record: type
    arrive: Callable[[float, int, int, PacketTable, Any], Arrival]
    choose: Callable[[int, FloatArray, Any], int] = _first_queue
    order: Order = Order.ARRIVAL


class BaseScheduler(ABC):
    """A scheduler: its parameters, checked, and the rules that read them.

    Attributes:
        rules: Its rules.
        num_queues: Queues of a port.
        needs_remaining: Whether it must know how much a flow has left to send.
        sketch_bytes: Memory of its sketch at each port, where it has one.
    """

    rules: ClassVar[Rules]
    num_queues: int = 1
    needs_remaining: bool = False
    sketch_bytes: int = 0

    @abstractmethod
    def new_record(self, traffic: Traffic, num_ports: int) -> Any:
        """Makes the record of what it keeps.

        Raises:
            ConfigError: The parameters do not fit the traffic.
        """
