"""The order of events of packets within one instant."""

from enum import IntEnum


class PacketEventKind(IntEnum):
    """Kinds of events, in the order in which they happen at one instant; equal kinds happen as they were scheduled."""

    TRANSMISSION_END = 0
    """A port has sent the last bit of a packet."""
    ACKNOWLEDGEMENT = 1
    """An acknowledgement reaches its sender."""
    TIMEOUT = 2
    """A sender notices that a packet is lost."""
    ARRIVAL = 3
    """A flow, or a packet by itself, arrives; several by their ids."""
    PERIOD_END = 4
    """A period ends and the next one begins."""
    DECISION = 5
    """An agent decides."""
    CHOICE = 6
    """An idle port chooses the packet that it sends next."""
