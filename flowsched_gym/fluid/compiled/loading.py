"""Puts flows into networks, and tells when their requests arrive."""

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.stages import Barrier, fill_stages
from flowsched_gym.flows.tokens import open_destination
from flowsched_gym.fluid.compiled.sharing import forget_network
from flowsched_gym.fluid.compiled.tables import NOBODY, Tables
from flowsched_gym.fluid.isolation import check_stages
from flowsched_gym.fluid.rules.transport.senders import wire_volume
from flowsched_gym.fluid.transport import Transport
from flowsched_gym.machine_code.decorators import engine_function, inlined_part
from flowsched_gym.topology import Topology, cpu_path
from flowsched_gym.workload import Workload


@engine_function
def load(
    t: Tables,
    n: int,
    num_flows: int,
    size: FloatArray,
    arrival_time: FloatArray,
    deadline_span: FloatArray,
    path: IntArray,
    destination: IntArray,
) -> bool:
    """Puts flows, in columns as those of a ``Workload``, into a network, at time 0.

    Returns whether the requests arrive in the order of rows; if not, ``set_order`` has to follow.
    """
    first = n * t.num_rows
    net = t.networks[n]
    last_time = 0.0
    in_order = True
    for i in range(num_flows):
        row = first + i
        t.flows[row].size = size[i]
        t.flows[row].arrival_time = arrival_time[i]
        t.flows[row].deadline = arrival_time[i] + deadline_span[i]
        t.flows[row].path = path[i]
        t.flows[row].attained = 0.0
        t.flows[row].rate = 0.0
        t.flows[row].admitted = True
        t.flows[row].rate_cap = np.inf
        t.flows[row].review_at = np.inf
        t.flows[row].grant_time = np.nan
        t.flows[row].completion_time = np.nan
        time = request_time_of(t, row)
        in_order = in_order and time >= last_time
        last_time = time
    volume = t.flows["volume"][first : first + num_flows]
    wire_volume(size[:num_flows], t.sending.segment, t.sending.header, volume)
    for row in range(first, first + num_flows):
        t.flows[row].remaining = t.flows[row].volume
    net.now = 0.0
    net.advanced_to = 0.0
    net.wake = np.inf
    net.num_flows = num_flows
    net.arrived = 0
    net.delivered = 0
    net.num_active = 0
    net.served = 0
    net.timer_head = n * t.most_active
    net.timer_tail = n * t.most_active
    net.num_destinations = 0
    net.asking = NOBODY
    net.last_asking = 0
    net.decision_due = False
    net.sharing_due = False
    net.in_order = in_order
    net.logged = 0
    forget_network(n, t.cache)
    if t.num_tokens > 0:
        _open_destinations(t, n, num_flows, destination)
    foresee_request(t, n)
    return in_order


@engine_function
def set_order(t: Tables, n: int, order: IntArray) -> None:
    """Sets the order in which requests arrive, as rows counted from the network's first, (num_flows,)."""
    first = n * t.num_rows
    for i in range(len(order)):
        t.order[first + i] = first + order[i]
    foresee_request(t, n)


@inlined_part
def _open_destinations(t: Tables, n: int, num_flows: int, destination: IntArray) -> None:
    """Opens for every host that receives flows a queue and its tokens, in the order of the hosts."""
    first = n * t.num_rows
    net = t.networks[n]
    count = t.destination_of_host
    count[:] = 0
    for i in range(num_flows):
        count[destination[i]] += 1
    index = 0
    queue = 2 * first
    active = n * t.most_active
    for host in range(len(count)):
        expected = count[host]
        if expected == 0:
            continue
        d = t.destinations[n * t.most_destinations + index]
        open_destination(d, host, t.num_tokens, expected, queue, active)
        queue += 2 * expected
        active += min(t.num_tokens, expected)
        count[host] = index
        index += 1
    net.num_destinations = index
    for i in range(num_flows):
        t.flows[first + i].destination_index = count[destination[i]]


@inlined_part
def request_time_of(t: Tables, row: int) -> float:
    """Returns when a flow, or its request, arrives."""
    time: float = t.flows[row].arrival_time
    if t.num_tokens > 0:
        time += t.paths[t.flows[row].path].delay
    return time


@inlined_part
def foresee_request(t: Tables, n: int) -> None:
    """Notes when the next request arrives."""
    net = t.networks[n]
    net.request_time = np.inf
    if net.arrived < net.num_flows:
        net.request_time = request_time_of(t, arriving_row(t, n))


@inlined_part
def arriving_row(t: Tables, n: int) -> int:
    """Returns the row of the next request."""
    row: int = n * t.num_rows + t.networks[n].arrived
    if not t.networks[n].in_order:
        row = t.order[row]
    return row


def open_stages(
    tables: Tables,
    number: int,
    workload: Workload,
    topology: Topology,
    transport: Transport,
    barrier: Barrier | None,
    path: IntArray,
    volume: FloatArray,
) -> None:
    """Puts down what the flows of a network go through before they send."""
    stages = tables.stages
    if stages is None or barrier is None:
        if workload.has_stages:
            raise ConfigError("flows of this workload have CPU work, or come after others: a barrier is needed")
        return
    check_stages(workload, topology, transport, has_tokens=tables.num_tokens > 0)
    work_path = cpu_path(topology, workload.source) if topology.num_cpus else path
    fill_stages(stages, number, workload, cpu_path=work_path, path=path, volume=volume, barrier=barrier)


def open_paths(tables: Tables, number: int, workload: Workload, topology: Topology, seed: int) -> None:
    """Lets the flows of a network choose paths, and puts down the changes of its links."""
    choosing, changes = tables.choosing, workload.link_changes
    if choosing is not None:
        choosing.choices[number] = 0
    if choosing is None or choosing.chooser is None:
        if changes is not None:
            raise ConfigError("links change in this workload: a routing is needed for flows whose paths fail")
        return
    first, last = topology.candidates(workload.source, workload.destination)
    hashes = topology.flow_hash(workload.source, workload.destination, workload.flow_id, seed=seed)
    rows = np.s_[number * tables.num_rows : number * tables.num_rows + workload.num_flows]
    for column, values in zip(choosing.routes, (first, last, hashes, workload.destination), strict=False):
        column[rows] = values
    choosing.routes.quiet_since[rows] = np.inf
    links = np.s_[number * topology.num_links : (number + 1) * topology.num_links]
    tables.capacity[links] = topology.capacity
    tables.data_capacity[links] = topology.data_capacity(tables.data_share)
    num_changes = 0
    if changes is not None:
        topology.check_link_changes(changes.link, changes.up, first, last)
        num_changes = len(changes.time)
        indices = np.s_[number * choosing.most_changes : number * choosing.most_changes + num_changes]
        for name in ("time", "link", "up"):
            choosing.changes[name][indices] = getattr(changes, name)
    choosing.choices["num_changes"][number] = num_changes
