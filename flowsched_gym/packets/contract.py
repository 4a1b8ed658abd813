"""The contract of a scheduler of packets: rules, written once for both engines, and a record of what they keep.

The rules are plain functions. SimPy's port calls them as they are; the compiled engine compiles those of the one
scheduler that it runs, and finds them by the type of its record. A user's own scheduler runs on both alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError

BEYOND: Final = -1
"""In place of a queue: the scheduler has no queue for the packet, and drops it."""


class Order(IntEnum):
    """Orders in which a port serves the packets that wait."""

    ARRIVAL = 0
    """Queues, first in, first out; the scheduler chooses among them."""
    RANK = 1
    """The highest queue first, in it the smallest rank; a full buffer drops what would be served last."""
    FLOW = 2
    """As ``RANK``, but of the flow of that packet the one that arrived first."""


class PacketTable(NamedTuple):
    """Packets and their flows, as rules see them.

    Attributes:
        flow: Row of each packet's flow, (num_packets,) int64.
        size: Bytes on the wire of each packet, (num_packets,) float64, > 0.
        header: Bytes of these that are no payload, >= 0.
        remaining: Bytes of payload that the flow has left to send, this packet's included, (num_packets,) float64;
            empty where the scheduler does not ask.
        key: Key of each flow, (num_flows,) int64.
        due: Absolute deadline of each flow in s, (num_flows,) float64, inf where there is none.
        num_senders: Ports at which packets begin, the first ones; 0: there is but one port.
        tag: Weight that a packet was given there, (num_packets,) float64, or (0,); this alone changes.
    """

    flow: IntArray
    size: FloatArray
    header: float
    remaining: FloatArray
    key: IntArray
    due: FloatArray
    num_senders: int = 0
    tag: FloatArray = np.zeros(0)


class Arrival(NamedTuple):
    """What a scheduler says of a packet that arrives at its port.

    Attributes:
        queue: Queue of the packet, 0 the highest; ``BEYOND`` to drop it.
        rank: Place in its queue where that is served by rank: smaller first.
        weight: The number by which the queue was chosen, mostly bytes sent.
        last_seen: When the message's last packet before this one arrived, in s; NaN where there was none.
        new_message: Whether a message begins with this packet.
    """

    queue: int
    rank: float
    weight: float
    last_seen: float
    new_message: bool


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


def _highest_queue(port: int, head_size: FloatArray, own: Any) -> int:
    """Returns the highest queue that holds a packet."""
    queue = 0
    while head_size[queue] == 0.0:
        queue += 1
    return queue


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of a scheduler: functions of plain arrays that Numba can compile, called by position.

    ``packets.rules`` says what their parameters mean.

    Attributes:
        record: NamedTuple of what the scheduler keeps, a type of its own.
        order: Order in which packets that wait are served.
        arrive: Says what becomes of a packet that arrives, ``(now, port, p, table, own)``.
        choose: Returns the queue that an idle port serves, ``(port, head_size, own)``: see ``queues.next_queue``.
            Only asked where the order is ``Order.ARRIVAL``. By default the highest that holds a packet.
    """

    record: type
    order: Order = Order.ARRIVAL
    arrive: Callable[[float, int, int, PacketTable, Any], Arrival]
    choose: Callable[[int, FloatArray, Any], int] = _highest_queue


RULES: Final[dict[type, Rules]] = {}
"""The rules of all schedulers by the records of what they keep: a scheduler is known once its class is defined."""


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

    def __init_subclass__(cls) -> None:
        """Makes its rules known by their record.

        Raises:
            ConfigError: Another scheduler has the record.
        """
        super().__init_subclass__()
        rules = getattr(cls, "rules", None)
        if rules is not None and RULES.setdefault(rules.record, rules) != rules:
            raise ConfigError(
                f"record of {cls.__name__} is {rules.record.__name__}, which another scheduler has: by its record an "
                "engine knows a scheduler, so that each needs a NamedTuple of its own"
            )

    @abstractmethod
    def new_record(self, traffic: Traffic, num_ports: int) -> Any:
        """Makes the record of what it keeps.

        Raises:
            ConfigError: The parameters do not fit the traffic.
        """
