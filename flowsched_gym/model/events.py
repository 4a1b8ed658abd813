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
    ARRIVAL = 3
    """A flow, or its token request, arrives."""
    START = 4
    """A flow begins, or begins again, to send."""
    EXPIRY = 5
    """A deadline or another time limit passes."""
    DECISION = 6
    """The agent is asked."""
    SHARING = 7
    """The rates of all flows are set anew."""
