"""The order of events in the fluid."""

from enum import IntEnum


class EventKind(IntEnum):
    """Kinds of events, in the order in which they happen at one instant; equal kinds happen as they were scheduled.

    Flows that have sent their last byte free capacity before anything else sees the instant. A decision is requested
    after all other events of its instant. The links are shared once, after the decisions, which may change who sends.
    """

    LAST_BYTE_SENT = 0
    BYTE_THRESHOLD = 1
    """A flow has attained the bytes at which its controls change."""
    DELIVERY = 2
    """The last byte of a flow has reached its destination; the token, if any, is free again."""
    LINK_CHANGE = 3
    ARRIVAL = 4
    """A flow, or its token request, arrives."""
    START = 5
    RESUME = 6
    """A flow goes on to send after a pause."""
    PERIOD_END = 7
    """A period ends and the next one begins."""
    DECISION = 8
    SHARING = 9
    """The links are shared and all rates updated."""
