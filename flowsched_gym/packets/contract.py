"""The contract of a scheduler of packets: all that an engine asks of it, each hook once.

A hook is a static method on plain arrays, which Numba can compile: it reads and writes arrays, and makes none. SimPy's
port calls the hooks of its scheduler as they are. The compiled engine compiles those of the one scheduler that it runs,
found by the type of its record (``packets.compiled.queues``). So a rule is written once, and a user's own scheduler
runs on both engines, to the same bits.
"""

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.hooks import check_hooks, derive_record_type, make_record

HOOKS: Final = ("arrive", "choose", "serve_first", "serve_last", "work_rank")
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
        bare_size: Bytes on the wire up to which a packet counts as one without payload, an acknowledgement or part of a
            handshake; 0: there are none.
    """

    flow: IntArray
    size: FloatArray
    header: float
    remaining: FloatArray
    key: IntArray
    due: FloatArray
    num_senders: int = 0
    tag: FloatArray = np.zeros(0)
    bare_size: float = 0.0


class Arrival(NamedTuple):
    """What a scheduler says of a packet that arrives at its port.

    Attributes:
        queue: Queue of the packet, 0 the highest; ``BEYOND`` to drop it, where the scheduler ``drops``.
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
        size_of_flow: Bytes of payload of each flow, (num_flows,) float64; ``None`` where packets are given.
        due: Absolute deadline of each flow in s, (num_flows,) float64, inf where there is none.
        arrival_time: When each flow arrives in s, (num_flows,) float64.
        source: Its host, (num_flows,) int64.
        key: Key of each flow, or packet that is given, (num_flows,) int64.
    """

    num_packets: int
    key_id: IntArray
    capacity: FloatArray
    seed: int
    packets_of_flow: IntArray | None
    largest_packet: float
    payload: float
    size_of_flow: FloatArray | None
    due: FloatArray
    arrival_time: FloatArray
    source: IntArray
    key: IntArray

    @property
    def num_keys(self) -> int:
        """Number of messages, or connections, whose bytes are counted together."""
        return len(self.key_id)


class Scheduler(ABC):
    """A scheduler: its parameters, checked, and the hooks, which read them in its record.

    A subclass defines ``arrive``, where its queues are not served in strict priority ``choose``, and names the
    ``record_type`` that ``new_record`` fills. One object serves any number of replays. ``packets.rules`` says what
    arguments of hooks mean. A queue that is not there, or no packet in it, and an index beyond the end of an array are
    a ``ConfigError`` on both engines; in machine code, hooks of the package itself are not checked.

    Attributes:
        record_type: NamedTuple of what is kept, with one entry, or row, for each port where ports differ. A class that
            defines hooks gets a type of its own, derived from this.
        order: Order in which packets that wait are served.
        num_queues: Queues of a port.
        needs_remaining: Whether it must know how much a flow has left to send.
        drops: Whether ``arrive`` may drop packets.
        reads_tags: Whether it chooses by the bytes that hosts have tagged packets with.
        sketch_bytes: Memory of its sketch at each port, where it has one.
    """

    record_type: ClassVar[type[Any]]
    order: ClassVar[Order] = Order.ARRIVAL
    drops: ClassVar[bool] = False
    reads_tags: ClassVar[bool] = False
    num_queues: int = 1
    needs_remaining: bool = False
    sketch_bytes: int = 0

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Any) -> Arrival:
        """Decides what becomes of a packet that arrives at a port."""
        raise NotImplementedError

    @staticmethod
    def choose(port: int, head_size: FloatArray, record: Any) -> int:
        """Returns the queue that an idle port serves; asked where the order is ``Order.ARRIVAL``.

        Without it, the highest queue that holds a packet: strict priority.

        Args:
            port: Number of the port.
            head_size: Bytes of the first packet of each queue, (num_queues,), 0 where there is none; at least one is
                not 0.
            record: What the scheduler keeps.
        """
        queue = 0
        while head_size[queue] == 0.0:
            queue += 1
        return queue

    @staticmethod
    def serve_first(row: int, record: Any) -> float:
        """Puts a flow before all others, as an agent has decided; returns its rank, which those that wait get too.

        Without it, no agent can: no packet is brought forward.
        """
        return np.inf

    @staticmethod
    def serve_last(row: int, record: Any) -> float:
        """Puts a flow that is ready, maybe long after its arrival, behind all others; returns its rank."""
        return np.inf

    @staticmethod
    def work_rank(row: int, rank: float, record: Any) -> float:
        """Returns the rank of a flow's work on its CPU, which serves the smallest first; ``rank`` is what it was.

        CPUs ask when work begins or ends there, an agent has put a flow first, a flow is delivered, or a period begins.
        Without it, the rank that ``serve_first`` or ``serve_last`` has given stays.
        """
        return rank

    def __init_subclass__(cls) -> None:
        """Gives a class that defines hooks a type of record of its own, by which the compiled engine finds them."""
        super().__init_subclass__()
        check_hooks(cls, HOOKS)
        if not vars(cls).keys().isdisjoint((*HOOKS, "order", "drops", "record_type")):
            derive_record_type(cls, "scheduler")

    @abstractmethod
    def new_record(self, traffic: Traffic, num_ports: int) -> Any:
        """Returns what is kept: the values of the fields of ``record_type``.

        Raises:
            ConfigError: The parameters do not fit the traffic.
        """

    def make_record(self, traffic: Traffic, num_ports: int) -> Any:
        """Makes the record of so many ports; see ``new_record``."""
        return make_record(self, self.new_record(traffic, num_ports))


def hook_error(scheduler: Scheduler, hook: str, queue: int | None = None) -> ConfigError:
    """Makes the error of a hook that returned a queue that it may not, or, if none, left the bounds of an array."""
    begin = f"scheduler {type(scheduler).__name__}: {hook}"
    if queue is not None:
        declared = "" if scheduler.drops else ", with drops = True"
        allowed = {"arrive": f", or {BEYOND} to drop the packet{declared}", "choose": ", and hold a packet"}[hook]
        last = scheduler.num_queues - 1
        return ConfigError(f"{begin} returned queue {queue}: it must be from 0 to {last}{allowed}")
    asks = hook == "choose" or scheduler.needs_remaining
    hint = "" if asks else " (table.remaining is empty where, as here, needs_remaining is False)"
    return ConfigError(f"{begin} reads or writes beyond the end of an array{hint}")
