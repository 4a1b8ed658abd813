"""Shows that a rule or a tie order that is altered in one place is noticed when native vectors are compared.

The reference engine is altered, and once the compiled one: to alter what is compiled would take a minute.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.batch import BatchSimulation
from flowsched_gym.model.events import EventKind
from flowsched_gym.simulation import Simulation, destination, link_sharing, senders, simulation
from flowsched_gym.simulation.clock import Clock, RowSchedule
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import Workload
from tests.envs.vectors import compare_on_ties, each_native, keep_event_logs

RATE = 8
"""Place of the rates among the arrays that `share_links` writes."""


def later(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Alters the last bit of what a rule returns."""
    return lambda *arguments: np.nextafter(rule(*arguments), np.inf)


def faster(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Alters the last bit of one rate."""

    def altered(live: npt.NDArray[np.int64], count: int, *arrays: Any) -> None:
        rule(live, count, *arrays)
        rate, row = arrays[RATE], live[count - 1]
        rate[row] = np.nextafter(rate[row], np.inf)

    return altered


def wider(rule: Callable[..., float]) -> Callable[..., float]:
    """Lets a sender send one segment more."""
    return lambda *arguments: rule(*arguments) + 1.0


def strict(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a flow be late that arrives at its deadline."""
    return lambda deadline: np.nextafter(deadline, -np.inf)


def oldest(rule: Callable[..., int]) -> Callable[..., int]:
    """Serves the oldest request, whatever slot is asked for."""
    return lambda requests, head, slot: rule(requests, head, 0)


def swapped(first: EventKind, second: EventKind) -> Callable[..., Any]:
    """Lets two kinds of events of one instant happen in the other order."""
    kinds = {first: second, second: first}

    def alter(at: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, time, kind, callback: at(self, time, kinds.get(kind, kind), callback)

    return alter


def fire_youngest_first(_: Any) -> Callable[..., None]:
    """Hands over the flows that are due at one instant in the other order."""

    def altered(self: Any, event: Any) -> None:
        self._callback(sorted(self._due.pop(self._clock._now), reverse=True))

    return altered


def arrive_youngest_first(schedule: Callable[..., None]) -> Callable[..., None]:
    """Lets the flows of one instant arrive in the other order."""

    def altered(self: Simulation, times: npt.NDArray[np.float64]) -> None:
        schedule(self, times)
        self._arrival_rows = np.lexsort((-np.arange(len(times)), times)).tolist()

    return altered


def ask_last_host_first(_: Any) -> Callable[..., None]:
    """Asks the destinations in the other order."""

    def altered(self: Simulation) -> None:
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


ALTERATIONS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "rates": (link_sharing, "share_links", faster),
    "time of the next event": (link_sharing, "next_event_time", later),
    "window of a sender": (senders, "next_window", wider),
    "latest time of a flow": (simulation, "latest_completion", strict),
    "request of a slot": (destination, "take_request", oldest),
    "token return after arrival": (Clock, "at", swapped(EventKind.TOKEN_RETURN, EventKind.ARRIVAL)),
    "decision before arrival": (Clock, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
    "completion after arrival": (Clock, "at", swapped(EventKind.COMPLETION, EventKind.ARRIVAL)),
    "last bytes of one instant": (RowSchedule, "_fire", fire_youngest_first),
    "arrivals of one instant": (Simulation, "_schedule_arrivals", arrive_youngest_first),
    "hosts of one instant": (Simulation, "_find_asking", ask_last_host_first),
    "arrivals of one instant, compiled": (BatchSimulation, "sort_requests", sort_youngest_first),
}


@each_native
@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_an_alteration_in_one_place_is_noticed(
    spec: EnvironmentSpec, alteration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_event_logs(monkeypatch)
    owner, name, alter = ALTERATIONS[alteration]
    monkeypatch.setattr(owner, name, alter(getattr(owner, name)))

    with pytest.raises(AssertionError, match="of single environments"):
        compare_on_ties(spec)
