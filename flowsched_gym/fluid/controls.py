"""The one record through which every system steers the network."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray


class Controls(NamedTuple):
    """How each flow may use the network, (num_flows,) each.

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
    num_flows = len(path)
    return Controls(
        admitted=np.ones(num_flows, dtype=np.bool_),
        priority=np.zeros(num_flows, dtype=np.int64),
        weight=np.ones(num_flows),
        rate_cap=np.full(num_flows, np.inf),
        path=path,
        review_at=np.full(num_flows, np.inf),
    )
