"""Shares links from memory where flows share within priorities; see ``model.rules.sharing_changes``."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.tables import View
from flowsched_gym.model.rules.compile import inlined_rule
from flowsched_gym.model.rules.sharing_changes import leave, share_changes
from flowsched_gym.model.rules.sharing_memory import alter

__all__ = [
    "alter_flow",
    "altered_flows",
    "arrive_at_links",
    "forget_network",
    "leave_links",
    "remembers",
    "share_from_memory",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@inlined_rule
def remembers(t: View, n: int) -> bool:
    """Tells whether the links of a network can be shared from memory; flows with a largest rate are not remembered."""
    if t.memory.num_classes == 0:
        return False
    if t.memory.networks[n].known:
        return True
    for place in range(n * t.num_active, n * t.num_active + t.networks[n].live):
        if t.controls.rate_cap[t.live[place]] < np.inf:
            return False
    return True


@inlined_rule
def altered_flows(t: View, n: int) -> tuple[IntArray, int]:
    """Returns the live flows that may have changed since links were shared, or all, and how many these are."""
    if t.memory.num_classes > 0 and t.memory.networks[n].known:
        return t.memory.altered[n * t.num_rows : (n + 1) * t.num_rows], t.memory.networks[n].num_altered
    return t.live[n * t.num_active : (n + 1) * t.num_active], t.networks[n].live


@inlined_rule
def share_from_memory(t: View, n: int, rows: IntArray, count: int, capacity: FloatArray) -> None:
    """Sets the rates of a network, where these flows may have changed, and who has one."""
    net = t.networks[n]
    net.served = share_changes(
        n,
        rows,
        count,
        t.controls.admitted,
        t.controls.priority,
        t.controls.path,
        capacity,
        t.network.path_start,
        t.network.path_links,
        t.state.rate,
        t.memory,
        t.served[n * t.num_active : (n + 1) * t.num_active],
        net.served,
    )


@inlined_rule
def leave_links(t: View, n: int, row: int) -> None:
    """Takes a flow that has finished from its links."""
    if t.memory.num_classes > 0:
        net = t.networks[n]
        served = t.served[n * t.num_active : (n + 1) * t.num_active]
        net.served = leave(n, row, t.state.rate, t.memory, served, net.served)


@inlined_rule
def arrive_at_links(t: View, n: int, row: int) -> None:
    """Forgets the flow that had a row before; and all of the network if this one has a largest rate."""
    if t.memory.num_classes > 0:
        t.memory.flows[row].level = 0
        t.memory.flows[row].place = 0
        if t.controls.rate_cap[row] < np.inf:
            forget_network(t, n)


@inlined_rule
def alter_flow(t: View, n: int, row: int) -> None:
    """Notes that a flow has begun to send, or may have another priority or path, or pauses, or goes on."""
    if t.memory.num_classes > 0:
        alter(n, row, t.memory)


@inlined_rule
def forget_network(t: View, n: int) -> None:
    """Forgets all of a network: what changes besides its flows, and their priorities and paths."""
    if t.memory.num_classes > 0:
        t.memory.networks[n].known = False
