"""Holds the clock to absolute times and to the order of kinds."""

import pickle

import pytest

from flowsched_gym.errors import SimulationError
from flowsched_gym.model import EventKind
from flowsched_gym.simulation import Clock, RowSchedule


def run(clock: Clock) -> None:
    """Runs until nothing is left to happen."""
    clock.run()


def test_the_clock_refuses_the_past() -> None:
    clock = Clock()
    clock.at(2.0, EventKind.ARRIVAL, lambda _: None)
    run(clock)

    with pytest.raises(SimulationError, match=r"event START at 1\.5 s is in the past: it is 2\.0 s"):
        clock.at(1.5, EventKind.START, lambda _: None)


def test_an_event_happens_at_exactly_its_time() -> None:
    clock = Clock()
    times = []
    # With a relative delay the second event would be at 0.2 + (0.9 - 0.2), which is not 0.9.
    assert 0.2 + (0.9 - 0.2) != 0.9
    clock.at(0.2, EventKind.ARRIVAL, lambda _: clock.at(0.9, EventKind.ARRIVAL, lambda _: times.append(clock.now)))
    run(clock)

    assert times == [0.9]


def test_events_of_one_instant_happen_by_kind_and_then_in_the_order_of_scheduling() -> None:
    clock = Clock()
    seen: list[tuple[EventKind, int]] = []
    scheduled = [(kind, number) for number in range(2) for kind in reversed(EventKind)]
    for kind, number in scheduled:
        clock.at(1.0, kind, lambda _, kind=kind, number=number: seen.append((kind, number)))  # type: ignore[misc]
    run(clock)

    assert seen == sorted(scheduled)


class Listener:
    """Writes down what it hears, in a form that can be pickled with its clock."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def first(self, _: object) -> None:
        self.heard.append("first")

    def second(self, _: object) -> None:
        self.heard.append("second")

    def third(self, _: object) -> None:
        self.heard.append("third")


def test_a_clock_that_was_pickled_goes_on_with_its_events_in_their_order() -> None:
    clock, listener = Clock(), Listener()
    clock.at(0.5, EventKind.ARRIVAL, lambda _: None)
    run(clock)
    clock.at(1.0, EventKind.ARRIVAL, listener.first)
    clock.at(1.0, EventKind.ARRIVAL, listener.second)
    again, its_listener = pickle.loads(pickle.dumps((clock, listener)))
    for each, ears in ((clock, listener), (again, its_listener)):
        assert each.now == 0.5
        each.at(1.0, EventKind.ARRIVAL, ears.third)
        run(each)

    assert listener.heard == its_listener.heard == ["first", "second", "third"]
    assert listener is not its_listener


def test_an_event_may_schedule_another_one_at_its_own_instant() -> None:
    clock = Clock()
    seen: list[str] = []

    def arrive(_: object) -> None:
        clock.at(1.0, EventKind.DECISION, lambda _: seen.append("decision"))
        clock.at(1.0, EventKind.COMPLETION, lambda _: seen.append("completion"))

    clock.at(1.0, EventKind.ARRIVAL, arrive)
    run(clock)

    assert seen == ["completion", "decision"]
    assert clock.now == 1.0


def test_flows_that_are_due_at_one_instant_are_handed_over_together_in_the_order_of_rows() -> None:
    clock = Clock()
    calls: list[tuple[float, list[int]]] = []
    schedule = RowSchedule(clock, EventKind.TOKEN_RETURN, lambda rows: calls.append((clock.now, rows)))
    for time, row in ((2.0, 7), (1.0, 4), (2.0, 3), (2.0, 5), (1.5, 0)):
        schedule.add(time, row)
    run(clock)

    assert calls == [(1.0, [4]), (1.5, [0]), (2.0, [3, 5, 7])]


def test_a_schedule_can_be_used_again_for_an_instant_that_has_begun() -> None:
    clock = Clock()
    calls: list[list[int]] = []

    def hand_over(rows: list[int]) -> None:
        calls.append(rows)
        if rows == [1]:
            schedule.add(clock.now, 0)

    schedule = RowSchedule(clock, EventKind.START, hand_over)
    schedule.add(1.0, 1)
    run(clock)

    assert calls == [[1], [0]]
