"""Schedules callbacks at absolute times on SimPy's event queue.

SimPy's own timeouts are relative: ``now + (time - now)`` may differ from ``time`` in the last bit, and two engines
would no longer agree. So events are put on the queue at their absolute time, with their kind as SimPy's priority.
"""

from collections.abc import Callable
from heapq import heappush
from itertools import count

from simpy import Environment, Event

from flowsched_gym.errors import SimulationError
from flowsched_gym.model.events import EventKind

__all__ = ["Clock", "RowSchedule"]


class _Call(Event):
    """Is an event that has succeeded already, with one callback; leaner to make than SimPy's own."""

    def __init__(self, environment: Environment, callback: Callable[[Event], None]) -> None:
        """Sets what SimPy's event loop reads."""
        self.env = environment
        self.callbacks = [callback]
        self._ok = True
        self._value = None


class Clock(Environment):
    """Is SimPy's environment, with callbacks at absolute times, and can be pickled between two events."""

    def at(self, time: float, kind: EventKind, callback: Callable[[Event], None]) -> Event:
        """Calls back at an absolute time.

        Args:
            time: Absolute time in s, >= now.
            kind: Decides the order within the instant.
            callback: Receives the event.

        Returns:
            The event on the queue.

        Raises:
            SimulationError: The time is in the past.
        """
        if time < self._now:
            raise SimulationError(f"event {kind.name} at {time!r} s is in the past: it is {self._now!r} s")
        event = _Call(self, callback)
        heappush(self._queue, (time, kind, next(self._eid), event))  # type: ignore[misc]  # the kind is SimPy's priority
        return event

    def __getstate__(self) -> tuple[float, int, list[object]]:
        """Takes out the time, the next number and the queue; SimPy's counter cannot be pickled from Python 3.14 on."""
        # One number is used up; the numbers only order events, so that changes nothing.
        return self._now, next(self._eid), [*self._queue]

    def __setstate__(self, state: tuple[float, int, list[object]]) -> None:
        """Goes on where the other clock was."""
        now, number, queue = state
        super().__init__(now)
        self._eid = count(number)
        self._queue[:] = queue  # type: ignore[assignment]  # the events of the other clock


class RowSchedule:
    """Gathers flows that are due at the same instant into one event.

    Args:
        clock: Clock of the simulation.
        kind: Kind of the events.
        callback: Receives the rows that are due, in increasing order.
    """

    __slots__ = ("_callback", "_clock", "_due", "_kind")

    def __init__(self, clock: Clock, kind: EventKind, callback: Callable[[list[int]], None]) -> None:
        """Starts with nothing due."""
        self._clock = clock
        self._kind = kind
        self._callback = callback
        self._due: dict[float, list[int]] = {}

    def add(self, time: float, row: int) -> None:
        """Makes a flow due at an absolute time in s."""
        rows = self._due.get(time)
        if rows is None:
            self._due[time] = [row]
            self._clock.at(time, self._kind, self._fire)
        else:
            rows.append(row)

    def pending(self) -> list[int]:
        """Returns the rows that are not due yet."""
        return [row for rows in self._due.values() for row in rows]

    def _fire(self, _: Event) -> None:
        """Hands over the rows that are due now."""
        rows = self._due.pop(self._clock._now)
        rows.sort()
        self._callback(rows)
