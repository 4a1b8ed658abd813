"""Shows that a rule or a tie order that is altered in one place is noticed when native vectors are compared.

The reference engine is altered, and once the compiled one: to alter what is compiled would take a minute.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.simpy_environment import LAST_ROW, Periods
from flowsched_gym.fluid.compiled import BatchSimulation
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.simpy import NetworkEnvironment, Simulation, contest, links, network, waiting
from flowsched_gym.fluid.simpy.paths import Paths
from flowsched_gym.packets.simpy import port, sender
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
    return lambda requests, head, slot: rule(requests, head, 0)


def swapped(first: IntEnum, second: IntEnum) -> Callable[..., Any]:
    kinds = {first: second, second: first}
    return lambda at: lambda self, time, kind, *others: at(self, time, kinds.get(kind, kind), *others)


def youngest_first(at: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, time, kind, row=0, *others: at(self, time, kind, LAST_ROW - row, *others)


def arrive_youngest_first(arrivals: Callable[..., Any]) -> Callable[..., Any]:
    """Lets the flows of one instant arrive in the other order."""

    def altered(self: Simulation, times: npt.NDArray[np.float64]) -> Any:
        start = self._flow
        self._flow = lambda row: start(len(times) - 1 - row)  # type: ignore[method-assign]
        return arrivals(self, times[::-1])

    return altered


def ask_last_host_first(find: Callable[..., None]) -> Callable[..., None]:
    """Asks the destinations in the other order."""

    def altered(self: Simulation, *event: Any) -> None:
        find(self, *event)
        asking = [each for each in self.destinations.values() if each.asks]
        self.asking = asking[-1] if asking else None

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


def take_first_path(take: Callable[..., None]) -> Callable[..., None]:
    """Sends flows along the first live path, whatever is chosen."""

    def altered(self: Paths, row: int, choice: int) -> None:
        for path in range(choice + 1):
            try:
                return take(self, row, path)
            except SimulationError:
                continue

    return altered


def ask_youngest_first(request: Callable[..., Any]) -> Callable[..., Any]:
    """Asks for the paths of the flows of one instant in the other order."""

    def altered(self: Paths, row: int) -> Any:
        event = request(self, row)
        self._waiting = {row: event} | self._waiting
        return event

    return altered


def put_oldest_first(put_first: Callable[..., int]) -> Callable[..., int]:
    return lambda self, place: put_first(self, 0)


def ask_of_fewer(find: Callable[..., int]) -> Callable[..., int]:
    """Leaves out the youngest of three or more flows that compete."""

    def altered(*arguments: Any) -> int:
        found = find(*arguments)
        return found - 1 if found > 2 else found

    return altered


def end_late(end: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a period of flows last one flow longer."""

    def altered(self: Periods) -> Any:
        event = end(self)
        self._goal += 1
        return event

    return altered


def wider_window(may_send: Callable[..., bool]) -> Callable[..., bool]:
    """Lets a sender send a packet more."""
    return lambda row, windows: may_send(row, windows) or bool(windows.outstanding[row] <= windows.window[row])


def twice(count: Callable[..., None]) -> Callable[..., None]:
    """Counts what happens twice."""

    def altered(*arguments: Any) -> None:
        count(*arguments)
        count(*arguments)

    return altered


EVERYWHERE: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "rates": (links, "share_links", faster),
    "time of the next event": (links, "next_event_time", later),
    "token return after arrival": (NetworkEnvironment, "at", swapped(EventKind.DELIVERY, EventKind.ARRIVAL)),
    "completion after arrival": (NetworkEnvironment, "at", swapped(EventKind.LAST_BYTE_SENT, EventKind.ARRIVAL)),
    "last bytes of one instant": (NetworkEnvironment, "at", youngest_first),
    "arrivals of one instant": (Simulation, "_arrivals", arrive_youngest_first),
    "arrivals of one instant, compiled": (BatchSimulation, "sort_requests", sort_youngest_first),
}
"""What all environments of flows see."""
OF_PACKETS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "window of a sender": (sender, "may_send", wider_window),
    "choice before acknowledgement": (NetworkEnvironment, "at", swapped(Packets.CHOICE, Packets.ACKNOWLEDGEMENT)),
    "arrival before acknowledgement": (NetworkEnvironment, "at", swapped(Packets.ARRIVAL, Packets.ACKNOWLEDGEMENT)),
    "period before arrival": (NetworkEnvironment, "at", swapped(Packets.ARRIVAL, Packets.PERIOD_END)),
    "choice before period": (NetworkEnvironment, "at", swapped(Packets.CHOICE, Packets.PERIOD_END)),
    "count of a queue": (port, "count_start", twice),
}
"""What those of packets see."""
PARTICULAR: dict[str, dict[str, tuple[Any, str, Callable[..., Any]]]] = {
    "flowsched/Artemis-v0": {
        "window of a sender": (network, "next_window", wider),
        "request of a slot": (waiting, "take_request", oldest),
        "decision before arrival": (NetworkEnvironment, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
        "hosts of one instant": (Simulation, "_find_decision", ask_last_host_first),
    },
    "flowsched/MERPOrder-v0": {
        "flow that is chosen": (Simulation, "_put_first", put_oldest_first),
        "flows that compete": (contest, "find_competing", ask_of_fewer),
        "decision before arrival": (NetworkEnvironment, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
        "sharing before decision": (NetworkEnvironment, "at", swapped(EventKind.SHARING, EventKind.DECISION)),
    },
    "flowsched/MERPRoute-v0": {
        "path that is chosen": (Paths, "take", take_first_path),
        "paths of one instant": (Paths, "request", ask_youngest_first),
        "sharing before decision": (NetworkEnvironment, "at", swapped(EventKind.SHARING, EventKind.DECISION)),
    },
    "flowsched/AuTOThresholds-v0": {
        "flows of a period": (Periods, "_end", end_late),
        "decision before arrival": (NetworkEnvironment, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
    },
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
