"""The flows of a running simulation as arrays: what the rules read and write.

Rules address a flow by its row in the workload; rows are in the order of flow ids.
"""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray


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
    return FlowState(
        size=size,
        volume=volume,
        arrival_time=arrival_time,
        deadline=arrival_time + deadline_span,
        attained=np.zeros(len(size)),
        remaining=volume.copy(),
        rate=np.zeros(len(size)),
    )
