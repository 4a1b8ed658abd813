"""SimPy's environment, with events at absolute times, and the periods after which an agent is asked."""

import math
from collections.abc import Callable
from enum import IntEnum
from heapq import heappush
from typing import Final

from simpy import Environment
from simpy import Event as Event  # noqa: PLC0414 - for annotations elsewhere
from simpy.events import ProcessGenerator

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.core.periods import Period, PeriodDecision

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
        """Schedules an event, or one that is there already, at an absolute time in s, >= now, and returns it.

        The one place where this package reaches behind SimPy's public interface. The kind decides the order within the
        instant; the row, the flow that it happens to, decides it among events of one kind.
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


class Periods:
    """Periods that begin at time 0 and then after so many seconds or delivered flows; ``begun`` have begun.

    At each beginning ``on_begin`` is called. An event of the kind ``end`` ends one; behind the last of the kind
    ``counted`` all flows of an instant have been counted.
    """

    def __init__(
        self, period: Period, env: NetworkEnvironment, *, on_begin: Callable[[], None], counted: IntEnum, end: IntEnum
    ) -> None:
        self.begun = 0
        self._skipped = 0
        self._due = False
        self._period = period
        self._env = env
        self._on_begin = on_begin
        self._counted_kind = counted
        self._end_kind = end
        self._num_delivered = 0
        self._goal = math.inf
        self._enough = env.event()
        env.process(self._begin())

    def count(self) -> None:
        """Counts a flow that has been delivered."""
        self._num_delivered += 1
        if self._num_delivered >= self._goal:
            self._goal = math.inf
            # A period ends when all flows of this instant have been counted.
            self._env.at(self._env.now, self._counted_kind, LAST_ROW, self._enough)

    def skip(self, count: int) -> None:
        """Leaves out so many periods from the next one on."""
        self._skipped = count

    def pending(self) -> PeriodDecision | None:
        """Returns what is to be asked, if a period has begun since the last decision."""
        if not self._due:
            return None
        self._due = False
        return PeriodDecision(self.begun - 1)

    def _begin(self) -> ProcessGenerator:
        yield self._env.at(0.0, self._end_kind)
        while True:
            self.begun += 1
            self._due = True
            self._on_begin()
            yield self._end()
            if self._skipped:
                self.begun += self._skipped
                self._skipped = 0
                yield self._end()

    def _end(self) -> Event:
        if self._period.seconds is not None:
            return self._env.at(self.begun * self._period.seconds, self._end_kind)
        assert self._period.flows is not None
        self._goal = self._num_delivered + self._period.flows
        self._enough = self._env.event()
        return self._enough
