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
from flowsched_gym.model.questions import PathQuestion
from flowsched_gym.simulation import Simulation, contest, destination, link_sharing, senders, simulation
from flowsched_gym.simulation.clock import Clock, RowSchedule
from flowsched_gym.simulation.decisions import Decisions
from flowsched_gym.simulation.periods import Periods
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import Workload
from tests.envs.vectors import NATIVE, compare_on_ties, keep_event_logs

RATE = 8
"""Place of the rates among the arrays that `share_links` writes."""


def later(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Alters the last bit of what a rule returns."""
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


def take_first_path(take: Callable[..., int]) -> Callable[..., int]:
    """Sends flows along the first live path, whatever is chosen."""

    def altered(self: Simulation, choice: int) -> int:
        question, paths = self.question, self._paths
        assert paths is not None
        assert isinstance(question, PathQuestion)
        row, first, last = question
        before = int(self.controls.path[row])
        for path in range(first, last):
            paths.set(row, path)
            if paths.is_live(row):
                choice = path - first
                break
        paths.set(row, before)
        return take(self, choice)

    return altered


def ask_youngest_first(_: Any) -> Callable[..., None]:
    """Asks for the paths of the flows of one instant in the other order."""

    def altered(self: Simulation, row: int) -> None:
        assert self._paths is not None
        if self._paths.num_live(row) > 1:
            self._unrouted.insert(0, row)
            self._request_decision()
        else:
            self._paths.choose(self.clock._now, row, self.links.live, self.links.count)
            self.senders.begin([row])

    return altered


def put_oldest_first(serve_first: Callable[..., int]) -> Callable[..., int]:
    """Puts the oldest flow first, whichever is chosen."""
    return lambda self, place: serve_first(self, 0)


def ask_of_fewer(find: Callable[..., int]) -> Callable[..., int]:
    """Leaves out the youngest of three or more flows that compete."""

    def altered(*arguments: Any) -> int:
        found = find(*arguments)
        return found - 1 if found > 2 else found

    return altered


def count_one_late(count: Callable[..., None]) -> Callable[..., None]:
    """Lets a period of flows last one flow longer."""
    return lambda self, num_delivered: count(self, num_delivered - 1)


EVERYWHERE: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "rates": (link_sharing, "share_links", faster),
    "time of the next event": (link_sharing, "next_event_time", later),
    "token return after arrival": (Clock, "at", swapped(EventKind.TOKEN_RETURN, EventKind.ARRIVAL)),
    "completion after arrival": (Clock, "at", swapped(EventKind.COMPLETION, EventKind.ARRIVAL)),
    "last bytes of one instant": (RowSchedule, "_fire", fire_youngest_first),
    "arrivals of one instant": (Simulation, "_schedule_arrivals", arrive_youngest_first),
    "arrivals of one instant, compiled": (BatchSimulation, "sort_requests", sort_youngest_first),
}
PARTICULAR: dict[str, dict[str, tuple[Any, str, Callable[..., Any]]]] = {
    "flowsched/Artemis-v0": {
        "window of a sender": (senders, "next_window", wider),
        "latest time of a flow": (simulation, "latest_completion", strict),
        "request of a slot": (destination, "take_request", oldest),
        "decision before arrival": (Clock, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
        "hosts of one instant": (Simulation, "_find_asking", ask_last_host_first),
    },
    "flowsched/MERPOrder-v0": {
        "flow that is chosen": (Decisions, "serve_first", put_oldest_first),
        "flows that compete": (contest, "find_competing", ask_of_fewer),
        "decision before arrival": (Clock, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
        "sharing before decision": (Clock, "at", swapped(EventKind.SHARING, EventKind.DECISION)),
    },
    "flowsched/MERPRoute-v0": {
        "path that is chosen": (Decisions, "take_path", take_first_path),
        "paths of one instant": (Decisions, "_find_path", ask_youngest_first),
        "sharing before decision": (Clock, "at", swapped(EventKind.SHARING, EventKind.DECISION)),
    },
    "flowsched/AuTOThresholds-v0": {
        "flows of a period": (Periods, "count", count_one_late),
        "decision before arrival": (Clock, "at", swapped(EventKind.ARRIVAL, EventKind.DECISION)),
    },
}
"""What only environments see that have it, by id."""

CASES = [
    pytest.param(spec, *alteration, id=f"{spec.id}-{name}")
    for spec in NATIVE
    for name, alteration in (EVERYWHERE | PARTICULAR.get(spec.id, {})).items()
]


@pytest.mark.parametrize(("spec", "owner", "name", "alter"), CASES)
def test_an_alteration_in_one_place_is_noticed(
    spec: EnvironmentSpec, owner: Any, name: str, alter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_event_logs(monkeypatch)
    monkeypatch.setattr(owner, name, alter(getattr(owner, name)))

    with pytest.raises(AssertionError, match="of single environments"):
        compare_on_ties(spec)
