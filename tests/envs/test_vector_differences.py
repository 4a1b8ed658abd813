"""Shows that a rule or a tie order that is altered in one place is noticed when native vectors are compared.

The reference engine is altered, and once the compiled one: to alter what is compiled would take a minute.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.flows import tokens
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.simpy import NetworkEnvironment, Simulation, links, network
from flowsched_gym.fluid.state import EventKind
from flowsched_gym.packets.simpy import port
from flowsched_gym.packets.state import PacketEventKind as Packets
from flowsched_gym.workload import Workload
from tests.envs.vectors import NATIVE, compare_on_ties, keep_event_logs

RATE = 2
"""Place of the rates among the arrays that `share_links` writes."""


def later(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: np.nextafter(rule(*arguments), np.inf)


def faster(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Alters the last bit of the largest rate."""

    def altered(live: npt.NDArray[np.int64], count: int, *arrays: Any) -> int:
        num_served: int = rule(live, count, *arrays)
        rate = arrays[RATE]
        row = live[np.argmax(rate[live[:count]])]
        rate[row] = np.nextafter(rate[row], np.inf)
        return num_served

    return altered


def wider(rule: Callable[..., float]) -> Callable[..., float]:
    return lambda *arguments: rule(*arguments) + 1.0


def oldest(rule: Callable[..., int]) -> Callable[..., int]:
    return lambda d, slot, *arrays: rule(d, 0, *arrays)


def swapped(first: IntEnum, second: IntEnum) -> Callable[..., Any]:
    kinds = {first: second, second: first}
    return lambda at: lambda self, time, kind, *others: at(self, time, kinds.get(kind, kind), *others)


def arrive_youngest_first(arrivals: Callable[..., Any]) -> Callable[..., Any]:
    """Lets the flows of one instant arrive in the other order."""

    def altered(self: Simulation, times: npt.NDArray[np.float64]) -> Any:
        start = self._flow
        self._flow = lambda row: start(len(times) - 1 - row)  # type: ignore[method-assign]
        return arrivals(self, times[::-1])

    return altered


def sort_youngest_first(sort: Callable[..., None]) -> Callable[..., None]:
    """Lets the flows of one instant arrive in the other order in the compiled engine."""

    def altered(self: BatchSimulation, number: int, workload: Workload) -> None:
        sort(self, number, workload)
        rows = np.s_[number * self.num_rows : number * self.num_rows + workload.num_flows]
        order = self.tables.order[rows]
        times = workload.arrival_time[order - rows.start]
        self.tables.order[rows] = order[np.lexsort((-np.arange(len(times)), times))]

    return altered


def twice(count: Callable[..., None]) -> Callable[..., None]:
    """Counts what happens twice."""

    def altered(*arguments: Any) -> None:
        count(*arguments)
        count(*arguments)

    return altered


Alterations = dict[str, tuple[Any, str, Callable[..., Any]]]

DECISION_FIRST: Alterations = {
    "decision before arrival": (NetworkEnvironment, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
}
SHARING_FIRST: Alterations = {
    "sharing before decision": (NetworkEnvironment, "at", swapped(EventKind.SHARING, EventKind.DECISION)),
}
EVERYWHERE: Alterations = {
    "rates": (links, "share_links", faster),
    "time of the next event": (links, "next_event_time", later),
    "token return after arrival": (NetworkEnvironment, "at", swapped(EventKind.DELIVERY, EventKind.ARRIVAL)),
    "arrivals of one instant": (Simulation, "_arrivals", arrive_youngest_first),
    "arrivals of one instant, compiled": (BatchSimulation, "sort_requests", sort_youngest_first),
}
"""What all environments of flows see."""
OF_PACKETS: Alterations = {
    "arrival before acknowledgement": (NetworkEnvironment, "at", swapped(Packets.ARRIVAL, Packets.ACKNOWLEDGEMENT)),
    "count of a queue": (port, "count_start", twice),
}
"""What those of packets see."""
PARTICULAR: dict[str, Alterations] = {
    "flowsched/Artemis-v0": {
        "window of a sender": (network, "next_window", wider),
        "request of a slot": (tokens, "grant_token", oldest),
        **DECISION_FIRST,
    },
    "flowsched/MERPOrder-v0": {
        "flow that is chosen": (Simulation, "_put_first", lambda put_first: lambda self, place: put_first(self, 0)),
        **DECISION_FIRST,
        **SHARING_FIRST,
    },
    "flowsched/MERPRoute-v0": SHARING_FIRST,
    "flowsched/AuTOThresholds-v0": DECISION_FIRST,
}
"""What only environments see that have it, by id."""

CASES = [
    pytest.param(spec, *alteration, id=f"{spec.id}-{name}")
    for spec in NATIVE
    for name, alteration in (
        OF_PACKETS if spec.id == "flowsched/QCluster-v0" else EVERYWHERE | PARTICULAR.get(spec.id, {})
    ).items()
]


@pytest.mark.parametrize(("spec", "owner", "name", "alter"), CASES)
def test_an_alteration_in_one_place_is_noticed(spec, owner, name, alter, monkeypatch) -> None:
    keep_event_logs(monkeypatch)
    monkeypatch.setattr(owner, name, alter(getattr(owner, name)))
    with pytest.raises(AssertionError, match="of single environments"):
        compare_on_ties(spec)
