"""Divides time into the periods after which an agent is asked."""

from collections.abc import Callable

from simpy import Event

from flowsched_gym.model.events import EventKind
from flowsched_gym.model.questions import Period, PeriodQuestion
from flowsched_gym.simulation.clock import Clock

__all__ = ["Periods"]


class Periods:
    """Tells when periods begin: the first at time 0, the next ones after so many seconds or finished flows.

    Args:
        period: When a period ends.
        clock: Clock of the simulation.
        on_due: Called at each beginning of a period.

    Attributes:
        begun: Periods that have begun.
    """

    def __init__(self, period: Period, clock: Clock, *, on_due: Callable[[], None]) -> None:
        """Schedules the first period."""
        self.begun = 0
        self._period = period
        self._clock = clock
        self._on_due = on_due
        self._counted = 0
        self._due = False
        clock.at(0.0, EventKind.EXPIRY, self._begin)

    def count(self, num_delivered: int) -> None:
        """Learns how many flows have been delivered in all."""
        flows = self._period.flows
        if flows is not None and num_delivered - self._counted >= flows:
            self._counted = num_delivered
            self._note_begin()

    def question(self) -> PeriodQuestion | None:
        """Returns what is to be asked, if a period has begun since the last question."""
        if not self._due:
            return None
        self._due = False
        return PeriodQuestion(self.begun - 1)

    def _begin(self, _: Event) -> None:
        """Begins a period by the clock, and schedules the next."""
        self._note_begin()
        if self._period.seconds is not None:
            self._clock.at(self.begun * self._period.seconds, EventKind.EXPIRY, self._begin)

    def _note_begin(self) -> None:
        """Counts a period, and asks."""
        self.begun += 1
        self._due = True
        self._on_due()
