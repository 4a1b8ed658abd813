"""Shares links from memory where flows share within priorities; see ``model.rules.sharing.changes``.

Each function takes the memory of its own: where it is ``None``, compiled code has nothing of it.
"""

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.tables import View
from flowsched_gym.model.rules.compile import inlined_rule
from flowsched_gym.model.rules.sharing.changes import leave, share_changes
from flowsched_gym.model.rules.sharing.memory import Memory, alter

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
def remembers(t: View, n: int, memory: Memory | None, shares_anew: bool | None) -> bool:
    """Tells whether the links of a network can be shared from memory; flows with a largest rate are not remembered."""
    if memory is None:
        return False
    if shares_anew is None or memory.networks[n].known:
        return True
    for place in range(n * t.num_active, n * t.num_active + t.networks[n].live):
        if t.controls.rate_cap[t.live[place]] < np.inf:
            return False
    return True


@inlined_rule
def altered_flows(t: View, n: int, memory: Memory | None) -> tuple[IntArray, int]:
    """Returns the live flows that may have changed since links were shared, or all, and how many these are."""
    if memory is not None and memory.networks[n].known:
        return memory.altered[n * t.num_rows : (n + 1) * t.num_rows], memory.networks[n].num_altered
    return t.live[n * t.num_active : (n + 1) * t.num_active], t.networks[n].live


@inlined_rule
def share_from_memory(t: View, n: int, rows: IntArray, count: int, capacity: FloatArray, memory: Memory | None) -> None:
    """Sets the rates of a network, where these flows may have changed, and who has one."""
    if memory is None:
        return
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
        memory,
        t.served[n * t.num_active : (n + 1) * t.num_active],
        net.served,
    )


@inlined_rule
def leave_links(t: View, n: int, row: int, memory: Memory | None) -> None:
    """Takes a flow that has finished from its links."""
    if memory is not None:
        net = t.networks[n]
        served = t.served[n * t.num_active : (n + 1) * t.num_active]
        net.served = leave(n, row, t.state.rate, memory, served, net.served)


@inlined_rule
def arrive_at_links(t: View, n: int, row: int, memory: Memory | None) -> None:
    """Forgets the flow that had a row before; and all of the network if this one has a largest rate."""
    if memory is not None:
        memory.flows[row].level = 0
        memory.flows[row].place = 0
        if t.controls.rate_cap[row] < np.inf:
            forget_network(n, memory)


@inlined_rule
def alter_flow(n: int, row: int, memory: Memory | None) -> None:
    """Notes that a flow has begun to send, or may have another priority or path, or pauses, or goes on."""
    if memory is not None:
        alter(n, row, memory)


@inlined_rule
def forget_network(n: int, memory: Memory | None) -> None:
    """Forgets all of a network: what changes besides its flows, and their priorities and paths."""
    if memory is not None:
        memory.networks[n].known = False
