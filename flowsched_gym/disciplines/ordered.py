"""Serves flows one after another in an order; on a network, each in its turn takes what is left on its path."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.disciplines.base import BaseDiscipline, DisciplineArrays, DisciplineKind
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.ordering import (
    order_by_arrival,
    order_by_deadline,
    order_by_ratio,
    order_by_remaining,
    order_by_size,
    order_without_preemption,
)
from flowsched_gym.model.state import FlowState, Network

__all__ = ["Edf", "Fifo", "Lsdf", "Psjf", "Sjf", "Srpt", "Ssdf"]

IntArray = npt.NDArray[np.int64]


class Fifo(BaseDiscipline):
    """First in, first out."""

    kind = DisciplineKind.FIFO

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks by arrival."""
        order_by_arrival(live, count, self.state.arrival_time, self.controls.priority)


class Psjf(BaseDiscipline):
    """Smallest original size first, preemptively."""

    kind = DisciplineKind.PSJF

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks by size."""
        order_by_size(live, count, self.state.size, self.state.arrival_time, self.controls.priority)


class Srpt(BaseDiscipline):
    """Shortest remaining processing time first."""

    kind = DisciplineKind.SRPT

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks by remaining bytes."""
        order_by_remaining(live, count, self.state.remaining, self.state.arrival_time, self.controls.priority)


class Sjf(BaseDiscipline):
    """Smallest flow (job) first, without preemption."""

    kind = DisciplineKind.SJF

    def begin(self, state: FlowState, controls: Controls, network: Network) -> None:
        """Makes room for the keys."""
        super().begin(state, controls, network)
        self._first = np.zeros(len(state.size))
        self._second = np.zeros(len(state.size))

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks those that have begun first, then by size."""
        state = self.state
        order_without_preemption(
            live,
            count,
            state.size,
            state.attained,
            state.arrival_time,
            self.controls.priority,
            self._first,
            self._second,
        )

    def arrays(self) -> DisciplineArrays:
        """Hands over the keys."""
        return super().arrays()._replace(first=self._first, second=self._second)


class Edf(BaseDiscipline):
    """Earliest absolute deadline first, preemptively; flows without one come last, shortest remaining first."""

    kind = DisciplineKind.EDF

    def begin(self, state: FlowState, controls: Controls, network: Network) -> None:
        """Makes room for the key."""
        super().begin(state, controls, network)
        self._second = np.zeros(len(state.size))

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks by deadline."""
        state = self.state
        order_by_deadline(
            live, count, state.deadline, state.remaining, state.arrival_time, self.controls.priority, self._second
        )

    def arrays(self) -> DisciplineArrays:
        """Hands over the key."""
        return super().arrays()._replace(second=self._second)


class _SizeDeadlineRatio(BaseDiscipline):
    """Ranks by the ratio of size and time allowed after arrival; flows without a deadline come last."""

    kind = DisciplineKind.RATIO

    _sign: float

    def begin(self, state: FlowState, controls: Controls, network: Network) -> None:
        """Computes the ratios, which never change."""
        super().begin(state, controls, network)
        span = state.deadline - state.arrival_time
        self._ratio = np.where(np.isinf(span), np.inf, self._sign * state.size / span)
        self._second = np.zeros(len(state.size))

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks by ratio."""
        state = self.state
        order_by_ratio(
            live, count, self._ratio, state.remaining, state.arrival_time, self.controls.priority, self._second
        )

    def arrays(self) -> DisciplineArrays:
        """Hands over the ratios and the key."""
        return super().arrays()._replace(first=self._ratio, second=self._second)


class Ssdf(_SizeDeadlineRatio):
    """Smallest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = 1.0


class Lsdf(_SizeDeadlineRatio):
    """Largest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = -1.0
