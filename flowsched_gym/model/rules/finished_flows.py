"""How finished flows fared: their means, and one by one with their five-tuples.

The model has no ports. Each flow is sent from one port to the port that its id gives.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.arrays import FloatArray, IntArray
from flowsched_gym.model.rules.compile import inlined_rule, rule
from flowsched_gym.model.rules.numerics.sums import pairwise_sum

__all__ = [
    "FIRST_PORT",
    "NUM_TUPLE_COLUMNS",
    "PROTOCOL",
    "SOURCE_PORT",
    "mean_fares",
    "show_finished",
    "write_five_tuple",
]

SeenArray = npt.NDArray[np.float32]

SOURCE_PORT: Final = 12_000
"""Port from which all flows are sent: that of the traffic generator of AuTO's authors in the rows of their agent."""
PROTOCOL: Final = 6
"""Protocol number of TCP (RFC 9293)."""
FIRST_PORT: Final = 32_768
NUM_PORTS: Final = 28_232
"""Ports from which Linux gives a connection one: to which flows are sent, one after the other for consecutive ids."""
NUM_TUPLE_COLUMNS: Final = 5


@rule
def mean_fares(
    rows: IntArray, arrival_time: FloatArray, completion_time: FloatArray, ideal_fct: FloatArray, scratch: FloatArray
) -> tuple[float, float, float]:
    """Returns the means of flows that have finished: completion time in s, slowdown, completion time alone in s.

    Args:
        rows: The flows, (count,), at least one.
        scratch: Room for them, (3 * count,).
    """
    count = len(rows)
    for index in range(count):
        row = rows[index]
        fct = completion_time[row] - arrival_time[row]
        scratch[index] = fct
        scratch[count + index] = fct / ideal_fct[row]
        scratch[2 * count + index] = ideal_fct[row]
    fct_sum, slowdown_sum = pairwise_sum(scratch, 0, count), pairwise_sum(scratch, count, 2 * count)
    return fct_sum / count, slowdown_sum / count, pairwise_sum(scratch, 2 * count, 3 * count) / count


@inlined_rule
def write_five_tuple(
    row: int,
    flow_id: IntArray,
    source: IntArray,
    destination: IntArray,
    host: float,
    port: float,
    protocol: float,
    at: int,
    shown: SeenArray,
) -> None:
    """Writes the five-tuple of a flow, hosts counted from 1, over its units, into five entries from ``at`` on."""
    shown[at] = (source[row] + 1) / host
    shown[at + 1] = SOURCE_PORT / port
    shown[at + 2] = (destination[row] + 1) / host
    shown[at + 3] = (FIRST_PORT + flow_id[row] % NUM_PORTS) / port
    shown[at + 4] = PROTOCOL / protocol


@rule
def show_finished(
    rows: IntArray,
    flow_id: IntArray,
    source: IntArray,
    destination: IntArray,
    size: FloatArray,
    arrival_time: FloatArray,
    completion_time: FloatArray,
    host: float,
    port: float,
    protocol: float,
    squashed: bool,
    size_scale: float,
    most_size: float,
    fct_scale: float,
    most_fct: float,
    first: int,
    shown: SeenArray,
) -> None:
    """Shows flows that have finished: five-tuple, size and completion time of each.

    Args:
        rows: The flows in the order in which they are shown, (count,).
        host: Divides hosts.
        port: Divides ports.
        protocol: Divides the protocol's number.
        squashed: Whether ``x / (x + scale)`` is shown of size and completion time, or ``x / scale``, cut.
        size_scale: Scale of sizes in B.
        most_size: Where sizes that are not squashed are cut.
        fct_scale: Scale of completion times in s.
        most_fct: Where those that are not squashed are cut.
        first: Place of the first number.
        shown: Receives seven numbers of each flow.
    """
    at = first
    for index in range(len(rows)):
        row = rows[index]
        write_five_tuple(row, flow_id, source, destination, host, port, protocol, at, shown)
        at += NUM_TUPLE_COLUMNS
        fct = completion_time[row] - arrival_time[row]
        if squashed:
            shown[at] = size[row] / (size[row] + size_scale)
            shown[at + 1] = fct / (fct + fct_scale)
        else:
            shown[at] = min(size[row] / size_scale, most_size)
            shown[at + 1] = min(fct / fct_scale, most_fct)
        at += 2
