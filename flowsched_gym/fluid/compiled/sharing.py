"""What a network asks of its discipline, and how it shares links: all at each event, or incrementally, from a cache.

In compiled code there is the one discipline that is used, which the type of its record tells. Functions that share take
the allocation cache besides: where it is ``None``, compiled code has nothing of it.
"""

from typing import Any

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.core.errors import SimulationError
from flowsched_gym.fluid.compiled.allocation_cache import AllocationCache, forget, mark_stale
from flowsched_gym.fluid.compiled.incremental import leave, share_incrementally
from flowsched_gym.fluid.compiled.tables import Tables, controls_of, network_of
from flowsched_gym.fluid.contract import Discipline, is_own, of_discipline
from flowsched_gym.fluid.rules.sharing import share_links, sort_by_priority
from flowsched_gym.machine_code.decorators import chosen_by_presence, chosen_by_type, inlined_part

begin_flow = of_discipline(Discipline.begin_flow)
control = of_discipline(Discipline.control)
review_time = of_discipline(Discipline.review_time)
average = of_discipline(Discipline.average)
finished = of_discipline(Discipline.finished)
all_may_change = of_discipline(Discipline.all_may_change)
serve_first = of_discipline(Discipline.serve_first)


def _share_anew(t: Tables, n: int, rows: IntArray, count: int, cache: None) -> None:
    net = t.networks[n]
    active = t.active[n * t.most_active : (n + 1) * t.most_active]
    served = t.served[n * t.most_active : (n + 1) * t.most_active]
    controls, network = controls_of(t.flows), network_of(t, n, t.data_capacity)
    net.served = share_links(active, net.num_active, controls, network, t.flows["rate"], t.filling, served, net.served)


def _trust(rows: IntArray, count: int, priority: IntArray, most: int, record: Any) -> None:
    pass


def _check(rows: IntArray, count: int, priority: IntArray, most: int, record: Any) -> None:
    for index in range(count):
        if not 0 <= priority[rows[index]] < most:
            raise SimulationError("the discipline has set a priority outside of its num_priorities")


_check_priorities = chosen_by_type(lambda _, record: _check if is_own(record) else _trust)(_check)


def _share_changes(t: Tables, n: int, rows: IntArray, count: int, cache: AllocationCache) -> None:
    net = t.networks[n]
    active = t.active[n * t.most_active : (n + 1) * t.most_active]
    served = t.served[n * t.most_active : (n + 1) * t.most_active]
    controls, network = controls_of(t.flows), network_of(t, n, t.data_capacity)
    _check_priorities(rows, count, controls.priority, cache.num_priorities, t.record)
    # As ``share_links`` leaves them: whoever adds up over these flows must do it in one order.
    sort_by_priority(active, net.num_active, controls.priority)
    net.served = share_incrementally(n, rows, count, controls, network, t.flows["rate"], served, net.served, cache)


set_rates = chosen_by_presence(_share_anew, _share_changes)
"""Sets the rates of the active flows of a network, of which these may have changed, and lists who has one."""


@inlined_part
def changed_flows(t: Tables, n: int, cache: AllocationCache | None) -> tuple[IntArray, int]:
    """Returns the active flows that may have changed since links were shared, or all, and how many these are."""
    if cache is not None and cache.networks[n].known:
        return cache.stale[n * t.num_rows : (n + 1) * t.num_rows], cache.networks[n].num_stale
    return t.active[n * t.most_active : (n + 1) * t.most_active], t.networks[n].num_active


@inlined_part
def mark_changed(n: int, row: int, cache: AllocationCache | None) -> None:
    """Notes that a flow has begun to send, or may have another priority or path, or pauses, or goes on."""
    if cache is not None:
        mark_stale(n, row, cache)


@inlined_part
def leave_links(t: Tables, n: int, row: int, cache: AllocationCache | None) -> None:
    """Takes a flow that has finished from its links."""
    if cache is not None:
        net = t.networks[n]
        served = t.served[n * t.most_active : (n + 1) * t.most_active]
        net.served = leave(n, row, t.flows["rate"], served, net.served, cache)


@inlined_part
def forget_network(n: int, cache: AllocationCache | None) -> None:
    """Forgets all of a network: what changes besides its flows, and their priorities and paths."""
    if cache is not None:
        forget(n, cache)
