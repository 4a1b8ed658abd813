"""Flows of AuTO's environments: where they are drawn from, the best thresholds for them, how finished ones fared.

The model has no ports. Each flow is sent from one port to the port that its id gives.
"""

import functools
from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import ObservationArray
from flowsched_gym.envs.columns import Column
from flowsched_gym.flows.fields import FlowColumns
from flowsched_gym.fluid.decision import AnyIntArray, Decision
from flowsched_gym.machine_code.decorators import allocating_rule, inlined_part, inlined_rule, rule
from flowsched_gym.machine_code.numerics import pairwise_sum
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.workload import (
    ClusterWorkload,
    Distribution,
    PoissonWorkload,
    ReadWorkload,
    WorkloadSource,
    fit_workload,
)

SOURCE_PORT: Final = 12_000
"""Port from which all flows are sent: that of the traffic generator of AuTO's authors in the rows of their agent."""
PROTOCOL: Final = 6
"""Protocol number of TCP (RFC 9293)."""
FIRST_PORT: Final = 32_768
NUM_PORTS: Final = 28_232
"""Ports from which Linux gives a connection one: to which flows are sent, one after the other for consecutive ids."""
LAST_PORT: Final = 65_535.0
LAST_PROTOCOL: Final = 255.0
FIVE_TUPLE: Final = (
    ("source", "sending host, counted from 1", ", over the number of hosts"),
    ("source_port", "port that it is sent from", ", over 65535"),
    ("destination", "receiving host, counted from 1", ", over the number of hosts"),
    ("destination_port", "port that it is sent to, by its id", ", over 65535"),
    ("protocol", "protocol number, that of TCP", ", over 255"),
)
"""Name and meaning of each number of a five-tuple, and what makes a share of it."""
NUM_TUPLE_COLUMNS: Final = len(FIVE_TUPLE)
USUAL_LOAD: Final = 0.8
"""Load for which the paper computes thresholds, where nothing else is said (section 6)."""


class FlowUnits(NamedTuple):
    """Units of the numbers of a flow that are shown: they divide hosts, ports, protocols and queues.

    Attributes:
        squashed: Whether ``x / (x + scale)`` is shown of size in B and completion time in s, or ``x / scale``, cut to
            ``most_size`` and ``most_fct``.
    """

    host: float = 1.0
    port: float = 1.0
    protocol: float = 1.0
    squashed: bool = False
    size_scale: float = 1.0
    most_size: float = np.inf
    fct_scale: float = 1.0
    most_fct: float = np.inf
    first_queue: int = 0
    num_queues: float = 1.0


@inlined_part
def flow_columns(decision: Decision) -> FlowColumns:
    """Views the flows of a decision whose discipline has feedback queues, column by column."""
    flows, state, controls = decision.flows, decision.state, decision.controls
    return FlowColumns(
        flows["flow_id"],
        flows["source"],
        flows["destination"],
        state.size,
        state.arrival_time,
        decision.completion_time,
        flows["ideal_fct"],
        state.attained,
        state.remaining,
        state.rate,
        controls.rate_cap,
        controls.path,
        decision.record.level,
    )


@allocating_rule
def mean_fares(rows: AnyIntArray, flows: FlowColumns) -> tuple[float, float, float]:
    """Returns means of flows that have finished, one at least: completion time in s, slowdown, time alone in s."""
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
def show_finished(rows: AnyIntArray, flows: FlowColumns, units: FlowUnits, first: int, shown: ObservationArray) -> None:
    """Shows five-tuple, size and completion time of flows that have finished, in the order of rows."""
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
    return FlowUnits(float(hosts), LAST_PORT, LAST_PROTOCOL, True, size_scale, fct_scale=fct_scale)


def five_tuple_columns(prefix: str = "") -> tuple[Column, ...]:
    """Describes a five-tuple in these units."""
    return tuple(Column.fraction(prefix + name, meaning + share) for name, meaning, share in FIVE_TUPLE)


def flow_source(config: Any, workload: ReadWorkload, capacity: float) -> WorkloadSource:
    """Finds where an environment draws its flows from.

    A load, given as argument or with the name of a workload, is one of hosts with this capacity in B/s, that of all
    sending links of a host together; a named workload between all hosts is one between all of the environment's.
    """

    def network(one: ReadWorkload, source: Any) -> dict[str, object]:
        is_meshed = isinstance(source, ClusterWorkload) or (
            source.pattern == "all-to-all" and source.busiest_share is None
        )
        return {"num_hosts": config.hosts, "capacity": capacity} if is_meshed else {}

    return fit_workload(
        workload,
        config.workload_changes(),
        kinds=(PoissonWorkload, ClusterWorkload),
        what="Poisson arrivals",
        capacity=capacity,
        network=network,
        room=(config.hosts, "the network"),
    )


@functools.lru_cache(maxsize=64)  # it takes some 40 ms
def qlas_thresholds(size: Distribution | str, load: float, num_queues: int) -> tuple[float, ...]:
    """Returns the best thresholds of queues by attained bytes on one link, in B; see ``optimal_thresholds``."""
    return tuple(optimal_thresholds("qlas", size, load, num_queues).tolist())
