"""The order of events within one instant."""

from enum import IntEnum


class EventKind(IntEnum):
    """Kinds of events, in the order in which they happen at one instant; equal kinds happen as they were scheduled.

    Flows that have sent their last byte free capacity before anything else sees the instant. A decision is requested
    after all other events of its instant. The links are shared once, after the decisions, which may change who sends.
    """

    LAST_BYTE_SENT = 0
    """A flow has sent its last byte."""
    BYTE_THRESHOLD = 1
    """A flow has attained the bytes at which its controls change."""
    DELIVERY = 2
    """The last byte of a flow has reached its destination; the token, if any, is free again."""
    LINK_CHANGE = 3
    """A link fails or comes up again."""
    ARRIVAL = 4
    """A flow, or its token request, arrives."""
    START = 5
    """A flow begins to send."""
    RESUME = 6
    """A flow goes on to send after a pause."""
    PERIOD_END = 7
    """A period ends and the next one begins."""
    DECISION = 8
    """An agent decides."""
    SHARING = 9
    """The links are shared and all rates updated."""
