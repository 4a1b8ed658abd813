"""Flows of AuTO's environments: where they are drawn from, the best thresholds for them, how finished ones fared.

The model has no ports. Each flow is sent from one port to the port that its id gives.
"""

import functools
from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray, ObservationArray
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.envs.arguments import change_arrivals
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.machine_code.decorators import allocating_rule, inlined_rule, rule
from flowsched_gym.machine_code.numerics import pairwise_sum
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.workload import (
    ClusterWorkload,
    Distribution,
    PoissonWorkload,
    WorkloadLike,
    WorkloadSource,
    find_source,
    found_for_each,
    leaves_open,
    workload_label,
)

SOURCE_PORT: Final = 12_000
"""Port from which all flows are sent: that of the traffic generator of AuTO's authors in the rows of their agent."""
PROTOCOL: Final = 6
"""Protocol number of TCP (RFC 9293)."""
FIRST_PORT: Final = 32_768
NUM_PORTS: Final = 28_232
"""Ports from which Linux gives a connection one: to which flows are sent, one after the other for consecutive ids."""
NUM_TUPLE_COLUMNS: Final = 5
LAST_PORT: Final = 65_535.0
LAST_PROTOCOL: Final = 255.0
USUAL_LOAD: Final = 0.8
"""Load for which the paper computes thresholds, where nothing else is said (section 6)."""


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


def squashed_units(hosts: int, size_scale: float, fct_scale: float) -> FlowUnits:
    """Returns units in which all is from 0 to 1, and sizes in B and times in s of these scales are one half."""
    return FlowUnits(
        host=float(hosts),
        port=LAST_PORT,
        protocol=LAST_PROTOCOL,
        squashed=True,
        size_scale=size_scale,
        fct_scale=fct_scale,
    )


@found_for_each
def flow_source(
    workload: WorkloadLike, *, load: float | None, flows: int | None, hosts: int, capacity: float
) -> WorkloadSource:
    """Finds where an environment draws its flows from.

    A load, given here or with the name of a workload, is one of hosts with the environment's capacity; a named workload
    between all hosts is one between all hosts of the environment.

    ``capacity`` is that of all sending links of a host together in B/s.

    Raises:
        ConfigError: There is no such workload, it has more hosts than the environment, or an argument changes one that
            cannot be changed.
        FlowFileError: The flow file has a fault.
    """
    source = find_source(workload)
    meshed = isinstance(source, ClusterWorkload) or (
        isinstance(source, PoissonWorkload) and source.pattern == "all-to-all" and source.busiest_share is None
    )
    own = {"num_hosts": hosts, "capacity": capacity} if meshed else {}
    given = {name: value for name, value in own.items() if leaves_open(workload, name)}
    source = change_arrivals(source, workload, given, load=load, flows=flows, capacity=capacity)
    if source.num_hosts > hosts:
        raise ConfigError(
            f"workload {shown(workload_label(workload))} has {source.num_hosts} hosts: the network has {hosts}"
        )
    return source


def qlas_thresholds(size: Distribution | str, load: float, num_queues: int) -> tuple[float, ...]:
    """Returns the best thresholds of queues by attained bytes on one link, in B; see ``optimal_thresholds``.

    Raises:
        ConfigError: There is no such distribution, or no best thresholds at this load.
    """
    hashable: Any = size  # distributions are
    return _best(hashable, load, num_queues)


@functools.lru_cache(maxsize=64)
def _best(size: Any, load: float, num_queues: int) -> tuple[float, ...]:
    """Finds them once; it takes some 40 ms."""
    return tuple(optimal_thresholds("qlas", size, load, num_queues).tolist())
