"""The periods after which an agent is asked."""

import math
from collections.abc import Callable
from enum import IntEnum

from simpy import Event
from simpy.events import ProcessGenerator

from flowsched_gym.core.periods import Period, PeriodDecision
from flowsched_gym.core.simpy_environment import LAST_ROW, NetworkEnvironment


class Periods:
    """Periods that begin at time 0 and then after so many seconds or delivered flows.

    Args:
        period: When a period ends.
        env: Environment of the simulation.
        on_begin: Called at each beginning of a period.
        counted: Kind of the events behind the last of which all flows of an instant have been counted.
        end: Kind of the event that ends one.

    Attributes:
        begun: Periods that have begun.
    """

    def __init__(
        self,
        period: Period,
        env: NetworkEnvironment,
        *,
        on_begin: Callable[[], None],
        counted: IntEnum,
        end: IntEnum,
    ) -> None:
        self.begun = 0
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

    def _end(self) -> Event:
        """Returns the event at which the period that has just begun ends."""
        if self._period.seconds is not None:
            return self._env.at(self.begun * self._period.seconds, self._end_kind)
        assert self._period.flows is not None
        self._goal = self._num_delivered + self._period.flows
        self._enough = self._env.event()
        return self._enough
