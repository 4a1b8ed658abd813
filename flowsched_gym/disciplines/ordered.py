"""Serves flows one after another in an order; on a network, each in its turn takes what is left on its path."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.disciplines.base import BaseDiscipline, DisciplineArrays, DisciplineKind
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.ordering import (
    order_by_arrival,
    order_by_deadline,
    order_by_rank,
    order_by_ratio,
    order_by_remaining,
    order_by_size,
    order_without_preemption,
    serve_first,
    size_deadline_ratio,
)
from flowsched_gym.model.state import FlowState, Network

__all__ = ["Edf", "Fifo", "Lsdf", "Psjf", "Ranked", "Sjf", "Srpt", "Ssdf"]

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

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for the keys."""
        super().make_room(state, controls, network, num_networks)
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

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for the key."""
        super().make_room(state, controls, network, num_networks)
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

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for the ratios and the key."""
        super().make_room(state, controls, network, num_networks)
        self._ratio = np.zeros(len(state.size))
        self._second = np.zeros(len(state.size))

    def begin_flow(self, row: int) -> None:
        """Computes the ratio, which never changes."""
        state = self.state
        self._ratio[row] = size_deadline_ratio(row, state.size, state.arrival_time, state.deadline, self._sign)

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks by ratio."""
        state = self.state
        order_by_ratio(
            live, count, self._ratio, state.remaining, state.arrival_time, self.controls.priority, self._second
        )

    def arrays(self) -> DisciplineArrays:
        """Hands over the ratios and the key."""
        return super().arrays()._replace(settings=np.array([self._sign]), first=self._ratio, second=self._second)


class Ssdf(_SizeDeadlineRatio):
    """Smallest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = 1.0


class Lsdf(_SizeDeadlineRatio):
    """Largest size-deadline ratio first (Artemis, section 4.2), preemptively."""

    _sign = -1.0


class Ranked(BaseDiscipline):
    """Serves by a rank that somebody outside gives each flow, preemptively; it does not order flows by itself.

    Attributes:
        rank: Rank of each flow, (num_flows,) int64: smaller first; 0 when a flow arrives.
    """

    kind = DisciplineKind.RANKED

    rank: IntArray

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for the ranks."""
        super().make_room(state, controls, network, num_networks)
        self.rank = np.zeros(len(state.size), dtype=np.int64)
        self._front = np.zeros(num_networks, dtype=np.int64)

    def begin_flow(self, row: int) -> None:
        """Puts a flow behind all that were there before it and have no rank either."""
        self.rank[row] = 0

    def serve_first(self, row: int) -> None:
        """Puts a flow before all others; its new rank counts from the next sharing of the links on."""
        serve_first(0, row, self.rank, self._front)

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Ranks as told."""
        order_by_rank(live, count, self.rank, self.state.arrival_time, self.controls.priority)

    def arrays(self) -> DisciplineArrays:
        """Hands over the ranks."""
        return super().arrays()._replace(level=self.rank, front=self._front)
