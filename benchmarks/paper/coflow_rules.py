"""Coflows by the rules of a public simulator (``coflow/coflowsim``), where they are not ours.

It shows which rules make its figures. Rates are found anew when a coflow comes or ends, those of fair sharing every
8 ms; what a flow leaves idle between is lost.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.fluid.disciplines.task_queues import AALO_THRESHOLDS
from flowsched_gym.machine_code.decorators import allocating_rule
from flowsched_gym.workload import Workload

LEAST: Final = 1e-9
"""Share of a port below which nothing is left of it."""
DONE: Final = 1e-10
"""Time in s that a flow needs of a whole port below which it has ended."""
STEP: Final = 8 / 1024
"""Time step of fair sharing in s."""


class Coflows:
    """The coflows of a trace on a switch.

    Args:
        flows: Their flows, by coflow, in the order of arrival.
        ports: Number of ports p: rack r sends as host r and receives as host p + r.
        capacity: Capacity of a port in B/s.
    """

    def __init__(self, flows: Workload, *, ports: int, capacity: float) -> None:
        assert flows.task_id is not None
        self._first = np.append(np.flatnonzero(np.diff(flows.task_id, prepend=-1)), len(flows.size))
        self._arrival = flows.arrival_time[self._first[:-1]]
        self._port = np.stack([flows.source, flows.destination])
        self._size = flows.size / capacity
        self._ports = 2 * ports
        self._thresholds = np.array(AALO_THRESHOLDS) / capacity

    def smallest_bottleneck_first(self) -> FloatArray:
        """Serves those first that need the least time on their most loaded port, as they came.

        Returns:
            Coflow completion times in s, (num_coflows,), as do all of these.
        """
        ends = zip(self._first[:-1], self._first[1:], strict=True)
        loads = [np.bincount(self._port[:, a:b].ravel(), np.tile(self._size[a:b], 2)).max() for a, b in ends]
        return self._in_order(_by(loads), _madd)

    def longest_flow_first(self) -> FloatArray:
        """Serves those first whose longest flow is the shortest, as they came."""
        return self._in_order(_by(np.maximum.reduceat(self._size, self._first[:-1])), _madd)

    def first_come_first_served(self) -> FloatArray:
        """Serves those first that came first."""
        return self._in_order(_by(self._arrival), _madd)

    def first_come_first_served_without_sharing(self) -> FloatArray:
        """Serves those first that came first; ones that were passed over do not share."""
        return self._in_order(_by(self._arrival), _madd_alone)

    def least_attained_first(self) -> FloatArray:
        """Serves coflows in Aalo's queues, which they leave one at a time when a coflow comes or ends."""
        level: dict[int, tuple[int, int]] = {}
        served = 0

        def order(active: list[int], sent: FloatArray) -> list[int]:
            nonlocal served
            for coflow in sorted(active, key=lambda each: level.get(each, (0, len(self._size) + each))):
                present = level[coflow][0] if coflow in level else -1
                if present < np.searchsorted(self._thresholds, sent[coflow]):
                    level[coflow] = (present + 1, served)
                    served += 1
            return sorted(active, key=level.__getitem__)

        return self._in_order(order, _fair_one_by_one)

    def fair(self) -> FloatArray:
        """Shares ports by flow; a flow has its share of the port that has more flows, what it leaves is lost."""
        finish = np.full(len(self._arrival), np.nan)
        _fair(self._first, self._arrival, self._port, self._size.copy(), self._ports, finish)
        times: FloatArray = finish - self._arrival
        return times

    def _in_order(
        self, ordered: Callable[[list[int], FloatArray], list[int]], set_rates: Callable[..., None]
    ) -> FloatArray:
        """Replays all coflows in an order, which may look at what each has sent."""
        remaining, rate = self._size.copy(), np.zeros(len(self._size))
        finish, sent = np.full(len(self._arrival), np.nan), np.zeros(len(self._arrival))
        active: list[int] = []
        now, coming = 0.0, 0
        while coming < len(finish) or active:
            if not active:
                now = self._arrival[coming]
            while coming < len(finish) and self._arrival[coming] <= now:
                active.append(coming)
                coming += 1
            order = np.array(ordered(active, sent))
            set_rates(order, self._first, self._port, remaining, rate, np.ones(self._ports))
            elapsed = _first_end(order, self._first, remaining, rate)
            if coming < len(finish):
                elapsed = min(elapsed, self._arrival[coming] - now)
            now += elapsed
            for coflow in order:
                own = np.s_[self._first[coflow] : self._first[coflow + 1]]
                remaining[own] = np.maximum(remaining[own] - rate[own] * elapsed, 0.0)
                sent[coflow] = (self._size[own] - remaining[own]).sum()
                if (remaining[own] < DONE).all():
                    finish[coflow] = now
                    active.remove(coflow)
        times: FloatArray = finish - self._arrival
        return times


def _by(key: Sequence[float] | FloatArray) -> Callable[[list[int], FloatArray], list[int]]:
    """Returns an order by a key that does not change."""
    return lambda active, _: sorted(active, key=lambda coflow: (key[coflow], coflow))


@allocating_rule
def _madd(
    order: IntArray, first: IntArray, port: IntArray, remaining: FloatArray, rate: FloatArray, left: FloatArray
) -> None:
    """Gives MADD's rates; a coflow that meets a port with nothing left is passed over, and shares what is left."""
    passed = _madd_in_order(order, first, port, remaining, rate, left)
    _share(order[passed], first, port, remaining, rate, left)
    _give_idle(order, first, port, remaining, rate, left)


@allocating_rule
def _madd_alone(
    order: IntArray, first: IntArray, port: IntArray, remaining: FloatArray, rate: FloatArray, left: FloatArray
) -> None:
    """Gives MADD's rates; a coflow that was passed over has what is idle."""
    _madd_in_order(order, first, port, remaining, rate, left)
    _give_idle(order, first, port, remaining, rate, left)


@allocating_rule
def _fair_one_by_one(
    order: IntArray, first: IntArray, port: IntArray, remaining: FloatArray, rate: FloatArray, left: FloatArray
) -> None:
    """Lets the flows of one coflow after the other share what is left."""
    for index in range(len(order)):
        rate[first[order[index]] : first[order[index] + 1]] = 0.0
        _share(order[index : index + 1], first, port, remaining, rate, left)


@allocating_rule
def _madd_in_order(
    order: IntArray, first: IntArray, port: IntArray, remaining: FloatArray, rate: FloatArray, left: FloatArray
) -> BoolArray:
    """Lets all flows of one coflow after the other end together; returns which were passed over."""
    passed = np.zeros(len(order), dtype=np.bool_)
    for index, coflow in enumerate(order):
        load, time = np.zeros(len(left)), 0.0
        for flow in range(first[coflow], first[coflow + 1]):
            rate[flow] = 0.0
            if remaining[flow] >= DONE:
                load[port[0, flow]] += remaining[flow]
                load[port[1, flow]] += remaining[flow]
        for one in range(len(left)):
            if load[one] > 0:
                time = max(time, load[one] / left[one] if left[one] > 0 else np.inf)
        passed[index] = time == np.inf
        if not passed[index]:
            for flow in range(first[coflow], first[coflow + 1]):
                if remaining[flow] >= DONE:
                    rate[flow] = remaining[flow] / time
            _take(left, load / time)
    return passed


@allocating_rule
def _share(
    order: IntArray, first: IntArray, port: IntArray, remaining: FloatArray, rate: FloatArray, left: FloatArray
) -> None:
    """Gives each flow what is left at its two ports over the flows there, the smaller of both."""
    count, used = np.zeros(len(left)), np.zeros(len(left))
    for again in range(2):
        for coflow in order:
            for flow in range(first[coflow], first[coflow + 1]):
                one, other = port[0, flow], port[1, flow]
                if remaining[flow] >= DONE and left[one] > 0 and left[other] > 0:
                    if again:
                        rate[flow] = min(left[one] / count[one], left[other] / count[other])
                        used[one] += rate[flow]
                        used[other] += rate[flow]
                    else:
                        count[one] += 1.0
                        count[other] += 1.0
    _take(left, used)


@allocating_rule
def _give_idle(
    order: IntArray, first: IntArray, port: IntArray, remaining: FloatArray, rate: FloatArray, left: FloatArray
) -> None:
    """Gives what is idle to flow after flow, by arrival."""
    for coflow in np.sort(order):
        for flow in range(first[coflow], first[coflow + 1]):
            if remaining[flow] >= DONE:
                idle = min(left[port[0, flow]], left[port[1, flow]])
                rate[flow] += idle
                left[port[0, flow]] -= idle
                left[port[1, flow]] -= idle


@allocating_rule
def _take(left: FloatArray, used: FloatArray) -> None:
    """Takes what is used from what is left."""
    for one in range(len(left)):
        left[one] = left[one] - used[one] if left[one] - used[one] > LEAST else 0.0


@allocating_rule
def _first_end(order: IntArray, first: IntArray, remaining: FloatArray, rate: FloatArray) -> float:
    """Returns in how many s the first coflow ends at these rates."""
    least = np.inf
    for coflow in order:
        time = 0.0
        for flow in range(first[coflow], first[coflow + 1]):
            if remaining[flow] >= DONE:
                time = max(time, remaining[flow] / rate[flow] if rate[flow] > 0 else np.inf)
        least = min(least, time)
    return least


@allocating_rule
def _fair(
    first: IntArray, arrival: FloatArray, port: IntArray, remaining: FloatArray, ports: int, finish: FloatArray
) -> None:
    """Shares ports fairly, step by step, and finds when each coflow ends."""
    count, owner = np.zeros(ports), np.empty(len(remaining), dtype=np.int64)
    active, num_active, coming, now = np.empty(len(remaining), dtype=np.int64), 0, 0, 0.0
    while coming < len(arrival) or num_active > 0:
        if num_active == 0:
            now = arrival[coming]
        while coming < len(arrival) and arrival[coming] <= now:
            for flow in range(first[coming], first[coming + 1]):
                owner[flow] = coming
                active[num_active] = flow
                num_active += 1
                count[port[0, flow]] += 1.0
                count[port[1, flow]] += 1.0
            coming += 1
        now += STEP
        before, going = count.copy(), 0
        for index in range(num_active):
            flow = active[index]
            one, other = port[0, flow], port[1, flow]
            remaining[flow] -= STEP / max(before[one], before[other])
            if remaining[flow] < DONE:
                count[one] -= 1.0
                count[other] -= 1.0
                finish[owner[flow]] = now
            else:
                active[going] = flow
                going += 1
        num_active = going
