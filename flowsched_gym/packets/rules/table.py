"""The packets as rules see them."""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray

BEYOND: Final = -1
"""In place of a queue: the scheduler has no queue for the packet, and drops it."""


class PacketTable(NamedTuple):
    """Packets and their flows.

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
