"""How finished flows fared: their means, and one by one with their five-tuples.

The model has no ports. Each flow is sent from one port to the port that its id gives.
"""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray, ObservationArray
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.machine_code.decorators import allocating_rule, inlined_rule, rule
from flowsched_gym.machine_code.numerics import pairwise_sum

SOURCE_PORT: Final = 12_000
"""Port from which all flows are sent: that of the traffic generator of AuTO's authors in the rows of their agent."""
PROTOCOL: Final = 6
"""Protocol number of TCP (RFC 9293)."""
FIRST_PORT: Final = 32_768
NUM_PORTS: Final = 28_232
"""Ports from which Linux gives a connection one: to which flows are sent, one after the other for consecutive ids."""
NUM_TUPLE_COLUMNS: Final = 5


class FlowUnits(NamedTuple):
    """Units that turn the columns of a flow into numbers that are shown.

    Attributes:
        host: Divides hosts, counted from 1.
        port: Divides ports.
        protocol: Divides the protocol's number.
        squashed: Whether ``x / (x + scale)`` is shown of size and completion time, or ``x / scale``, cut.
        size_scale: Scale of sizes in B.
        most_size: Where sizes that are not squashed are cut.
        fct_scale: Scale of completion times in s.
        most_fct: Where those that are not squashed are cut.
    """

    host: float = 1.0
    port: float = 1.0
    protocol: float = 1.0
    squashed: bool = False
    size_scale: float = 1.0
    most_size: float = np.inf
    fct_scale: float = 1.0
    most_fct: float = np.inf


@allocating_rule
def mean_fares(rows: IntArray, flows: FlowColumns) -> tuple[float, float, float]:
    """Returns the means of flows that have finished: completion time in s, slowdown, completion time alone in s.

    Args:
        rows: The flows, (count,), at least one.
    """
    count = len(rows)
    values = np.empty(3 * count)
    for index in range(count):
        row = rows[index]
        fct = flows.completion_time[row] - flows.arrival_time[row]
        values[index] = fct
        values[count + index] = fct / flows.ideal_fct[row]
        values[2 * count + index] = flows.ideal_fct[row]
    fct_sum, slowdown_sum = pairwise_sum(values, 0, count), pairwise_sum(values, count, 2 * count)
    return fct_sum / count, slowdown_sum / count, pairwise_sum(values, 2 * count, 3 * count) / count


@inlined_rule
def write_five_tuple(row: int, flows: FlowColumns, units: FlowUnits, at: int, shown: ObservationArray) -> None:
    """Writes the five-tuple of a flow, hosts counted from 1, into five entries from ``at`` on."""
    shown[at] = (flows.source[row] + 1) / units.host
    shown[at + 1] = SOURCE_PORT / units.port
    shown[at + 2] = (flows.destination[row] + 1) / units.host
    shown[at + 3] = (FIRST_PORT + flows.flow_id[row] % NUM_PORTS) / units.port
    shown[at + 4] = PROTOCOL / units.protocol


@rule
def show_finished(rows: IntArray, flows: FlowColumns, units: FlowUnits, first: int, shown: ObservationArray) -> None:
    """Shows flows that have finished: five-tuple, size and completion time of each.

    Args:
        rows: The flows in the order in which they are shown, (count,).
        first: Index of the first number.
        shown: Receives seven numbers of each flow.
    """
    at = first
    for index in range(len(rows)):
        row = rows[index]
        write_five_tuple(row, flows, units, at, shown)
        at += NUM_TUPLE_COLUMNS
        size, fct = flows.size[row], flows.completion_time[row] - flows.arrival_time[row]
        if units.squashed:
            shown[at] = size / (size + units.size_scale)
            shown[at + 1] = fct / (fct + units.fct_scale)
        else:
            shown[at] = min(size / units.size_scale, units.most_size)
            shown[at + 1] = min(fct / units.fct_scale, units.most_fct)
        at += 2
