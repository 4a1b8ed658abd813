"""A running simulation as arrays, which the rules read and write, and the order of its events.

Rules address a flow by its row in the workload; rows are in the order of flow ids.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray


class FlowState(NamedTuple):
    """State of every flow of the workload, (num_flows,) each.

    Attributes:
        size: Bytes to deliver, > 0.
        volume: Bytes on the wire that the size takes, headers included, >= size.
        arrival_time: Absolute arrival times in s.
        deadline: Absolute deadlines in s, inf where there is none.
        attained: Bytes on the wire sent so far, 0 to volume.
        remaining: Bytes on the wire left to send, volume - attained.
        rate: Current rates in B/s on the wire, >= 0. Written by link sharing alone.
    """

    size: FloatArray
    volume: FloatArray
    arrival_time: FloatArray
    deadline: FloatArray
    attained: FloatArray
    remaining: FloatArray
    rate: FloatArray


def new_flow_state(
    *, size: FloatArray, volume: FloatArray, arrival_time: FloatArray, deadline_span: FloatArray
) -> FlowState:
    """Builds the state in which no flow has sent anything."""
    deadline, nothing = arrival_time + deadline_span, np.zeros(len(size))
    return FlowState(size, volume, arrival_time, deadline, nothing, volume.copy(), nothing.copy())


class Controls(NamedTuple):
    """How each flow may use the network, (num_flows,) each: through it every system steers.

    Attributes:
        admitted: False while the flow may not send at all.
        priority: Smaller is served first; flows of equal priority share by weight.
        weight: Share inside one priority, > 0.
        rate_cap: Largest rate in B/s, > 0, inf for none.
        path: Row of the network's path table.
        review_at: Attained bytes at which the controls of the flow change, inf for never. The flow is stopped at
            exactly this many bytes to be looked at.
    """

    admitted: BoolArray
    priority: IntArray
    weight: FloatArray
    rate_cap: FloatArray
    path: IntArray
    review_at: FloatArray


def new_controls(path: IntArray) -> Controls:
    """Builds controls under which all flows share equally on the given paths."""
    never = np.full(len(path), np.inf)
    return Controls(
        admitted=np.ones(len(path), dtype=np.bool_),
        priority=np.zeros(len(path), dtype=np.int64),
        weight=np.ones(len(path)),
        rate_cap=never,
        path=path,
        review_at=never.copy(),
    )


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
