"""The flows of a running simulation as arrays, which rules read and write, in both worlds.

Rules address a flow by its row in the workload; rows are in the order of flow ids.
"""

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
