"""CPUs, each of which runs the flow that goes first by ranks that an agent or the scheduler gives.

In the fluid, too, flows that are ranked run one after the other. Here nothing happens to a CPU between two choices, so
that the end of the work tells how much of it is left.
"""

from typing import Any, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.stages import NOBODY
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.machine_code.decorators import chosen_by_type, inlined_part
from flowsched_gym.packets.contract import Scheduler
from flowsched_gym.topology.network import Network, first_cpu_path


class Cpus(NamedTuple):
    """The CPUs of hosts.

    Attributes:
        first_path: Row of the path table that stands for the first of them.
        share: Part of a whole CPU that each has, (num_cpus,) float64, > 0.
        running: Flow that runs on each, (num_cpus,) int64, or ``NOBODY``.
        end: When that will have done its work, in s, (num_cpus,) float64.
        rank: Ranks of flows, the smallest goes first, (num_flows,) float64.
    """

    first_path: int
    share: FloatArray
    running: IntArray
    end: FloatArray
    rank: FloatArray


def new_cpus(links: Network, num_flows: int) -> Cpus:
    """Makes the CPUs behind links, on which nothing runs."""
    share = links.capacity[len(links.capacity) - links.num_cpus :].copy()
    running = np.full(len(share), NOBODY)
    return Cpus(first_cpu_path(links), share, running, np.zeros(len(share)), np.zeros(num_flows))


def _hook(name: str, record: Any) -> Any:
    return getattr(record.scheduler, name)


of_scheduler = chosen_by_type(_hook)
"""Calls, in place of a hook of ``Scheduler``, that of the scheduler whose record is its last argument."""
work_rank = of_scheduler(Scheduler.work_rank)


@inlined_part
def choose_work(
    now: float, cpu: int, active: Any, count: int, state: FlowState, controls: Controls, c: Cpus, record: Any
) -> int:
    """Lets the first of the flows on a CPU run there; returns the one that ran before, or ``NOBODY``.

    ``active`` holds the rows of active flows in its first ``count`` entries; ``record`` is what the scheduler keeps.
    """
    before, first = c.running[cpu], NOBODY
    for index in range(count):
        row = active[index]
        if controls.path[row] == c.first_path + cpu:
            c.rank[row] = work_rank(row, c.rank[row], record)
            if first == NOBODY or c.rank[row] < c.rank[first]:
                first = row
    if first != before:
        _note_left(now, cpu, state, c)
        c.running[cpu] = first
        if first != NOBODY:
            c.end[cpu] = now + state.remaining[first] / c.share[cpu]
    return before  # type: ignore[no-any-return]  # a row


@inlined_part
def end_work(cpu: int, state: FlowState, c: Cpus) -> None:
    """Ends the work of the flow that runs on a CPU."""
    row = c.running[cpu]
    state.attained[row] = state.volume[row]
    state.remaining[row] = 0.0
    c.running[cpu] = NOBODY


@inlined_part
def note_work(now: float, state: FlowState, c: Cpus) -> None:
    """Notes how much work is left of the flows that run; how often that is done changes nothing."""
    for cpu in range(len(c.running)):
        _note_left(now, cpu, state, c)


@inlined_part
def _note_left(now: float, cpu: int, state: FlowState, c: Cpus) -> None:
    row = c.running[cpu]
    if row != NOBODY:
        state.remaining[row] = min((c.end[cpu] - now) * c.share[cpu], state.remaining[row])
        state.attained[row] = state.volume[row] - state.remaining[row]
