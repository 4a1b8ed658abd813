"""SimPy's environment, with events at absolute times."""

from enum import IntEnum
from heapq import heappush
from typing import Final

from simpy import Environment, Event

from flowsched_gym.core.errors import SimulationError

ROWS: Final = 2**32
"""Priorities of a kind, one for each flow. SimPy's own, 0 and 1, come before them all: what follows at once."""
LAST_ROW: Final = ROWS - 1
"""Behind all flows: what happens when all events of one kind and instant have happened."""


class NetworkEnvironment(Environment):
    """SimPy's environment, with events that happen at exactly their time, and at one instant by kind and flow.

    SimPy's timeouts are relative: ``now + (time - now)`` may differ from ``time`` in the last bit, and two engines
    would no longer agree.
    """

    def at(self, time: float, kind: IntEnum, row: int = 0, event: Event | None = None) -> Event:
        """Schedules an event at an absolute time.

        The one place where this package reaches behind SimPy's public interface.

        Args:
            time: Absolute time in s, >= now.
            kind: Decides the order within the instant.
            row: Decides the order among events of one kind: the flow that it happens to.
            event: The event, if it is there already, as that of a request.

        Returns:
            The event.

        Raises:
            SimulationError: The time is in the past.
        """
        if time < self._now:
            raise SimulationError(f"event {kind.name} at {time!r} s is in the past: it is {self._now!r} s")
        if event is None:
            event = Event(self)
        event._ok = True
        event._value = None
        priority = (kind + 1) * ROWS + row
        heappush(self._queue, (time, priority, next(self._eid), event))  # type: ignore[misc]  # SimPy names two only
        return event
