"""Fixes the order in which events of one instant happen."""

from enum import IntEnum

__all__ = ["EventKind"]


class EventKind(IntEnum):
    """Breaks ties at one instant: the smaller kind happens first; among equals, the one scheduled first.

    Completions free capacity before anything else sees the instant; a decision is asked when all of the instant's
    events have happened; the links are shared once, after the decisions, because these may change who sends.
    """

    COMPLETION = 0
    """A flow has sent its last byte."""
    DEMOTION = 1
    """A flow has crossed a level of attained service at which its controls change."""
    TOKEN_RETURN = 2
    """The last byte of a flow has reached the destination, whose token is free again."""
    LINK_CHANGE = 3
    """A link fails or comes up again."""
    ARRIVAL = 4
    """A flow, or its token request, arrives."""
    START = 5
    """A flow begins to send."""
    RESUME = 6
    """A flow goes on to send after a pause."""
    EXPIRY = 7
    """A deadline, a period or another time limit passes."""
    DECISION = 8
    """The agent is asked."""
    SHARING = 9
    """The rates of all flows are set anew."""
