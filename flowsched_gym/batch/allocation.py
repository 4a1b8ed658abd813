"""Shares the links of a network: all of them at each event, or incrementally, where there is an allocation cache.

Each function takes the cache besides: where it is ``None``, compiled code has nothing of it.
"""

from flowsched_gym.arrays import IntArray
from flowsched_gym.batch.tables import View
from flowsched_gym.model.rules.compile import inlined_rule
from flowsched_gym.model.rules.sharing.allocation_cache import AllocationCache, forget, mark_stale
from flowsched_gym.model.rules.sharing.incremental import leave, share_incrementally
from flowsched_gym.model.rules.sharing.share_links import share_links, sort_by_priority
from flowsched_gym.model.state import Network

__all__ = ["changed_flows", "forget_network", "leave_links", "mark_changed", "set_rates"]


@inlined_rule
def set_rates(t: View, n: int, rows: IntArray, count: int, cache: AllocationCache | None) -> None:
    """Sets the rates of the active flows of a network, of which these may have changed, and lists those that have one.

    The active flows are sorted by priority: whoever adds up over them must do it in one order.
    """
    net = t.networks[n]
    first_link = n * t.link_stride
    network = Network(
        t.data_capacity[first_link : first_link + len(t.links)], t.network.path_start, t.network.path_links
    )
    active = t.live[n * t.num_active : (n + 1) * t.num_active]
    served = t.served[n * t.num_active : (n + 1) * t.num_active]
    if cache is None:
        net.served = share_links(active, net.live, t.controls, network, t.state.rate, t.filling, served, net.served)
    else:
        sort_by_priority(active, net.live, t.controls.priority)
        net.served = share_incrementally(n, rows, count, t.controls, network, t.state.rate, served, net.served, cache)


@inlined_rule
def changed_flows(t: View, n: int, cache: AllocationCache | None) -> tuple[IntArray, int]:
    """Returns the active flows that may have changed since links were shared, or all, and how many these are."""
    if cache is not None and cache.networks[n].known:
        return cache.stale[n * t.num_rows : (n + 1) * t.num_rows], cache.networks[n].num_stale
    return t.live[n * t.num_active : (n + 1) * t.num_active], t.networks[n].live


@inlined_rule
def mark_changed(n: int, row: int, cache: AllocationCache | None) -> None:
    """Notes that a flow has begun to send, or may have another priority or path, or pauses, or goes on."""
    if cache is not None:
        mark_stale(n, row, cache)


@inlined_rule
def leave_links(t: View, n: int, row: int, cache: AllocationCache | None) -> None:
    """Takes a flow that has finished from its links."""
    if cache is not None:
        net = t.networks[n]
        served = t.served[n * t.num_active : (n + 1) * t.num_active]
        net.served = leave(n, row, t.state.rate, served, net.served, cache)


@inlined_rule
def forget_network(n: int, cache: AllocationCache | None) -> None:
    """Forgets all of a network: what changes besides its flows, and their priorities and paths."""
    if cache is not None:
        forget(n, cache)
