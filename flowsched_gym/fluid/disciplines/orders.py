"""Serves flows in an order: of arrival, of size, of what is left, of deadlines, or of ranks that an agent gives."""

from typing import ClassVar, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.flows.state import Controls, FlowState
from flowsched_gym.fluid.contract import Discipline, Nothing
from flowsched_gym.fluid.rules.ordering.keys import (
    order_by,
    order_by_finite,
    order_without_preemption,
    size_deadline_ratio,
)
from flowsched_gym.topology.network import Network


class Fifo(Discipline):
    """First in, first out."""

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: Nothing,
    ) -> None:
        """Orders flows by their arrival."""
        order_by(active, count, state.arrival_time, state.arrival_time, controls.priority)


class Srpt(Discipline):
    """Shortest remaining processing time first."""

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: Nothing,
    ) -> None:
        """Orders flows by what is left of them."""
        order_by(active, count, state.remaining, state.arrival_time, controls.priority)


class Psjf(Discipline):
    """Smallest original size first, preemptively."""

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: Nothing,
    ) -> None:
        """Orders flows by their size."""
        order_by(active, count, state.size, state.arrival_time, controls.priority)


class _Keys(NamedTuple):
    """Keys of the order, (num_flows,) each; ``sign`` 1 is for the smallest first, -1 for the largest."""

    first: FloatArray
    second: FloatArray
    sign: float


class _Ordered(Discipline):
    """An order by two keys."""

    record_type = _Keys
    kept = ("first", "second")
    _sign: ClassVar[float] = 1.0

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Keys:
        """Makes room for the keys."""
        return _Keys(np.zeros(num_flows), np.zeros(num_flows), self._sign)


class Sjf(_Ordered):
    """Smallest flow (job) first, without preemption."""

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _Keys,
    ) -> None:
        """Puts the flow that has begun first, and orders the others by their size."""
        first, second, _ = record
        order_without_preemption(
            active, count, state.size, state.attained, state.arrival_time, controls.priority, first, second
        )


class Edf(_Ordered):
    """Earliest absolute deadline first, preemptively; flows without one come last, shortest remaining first."""

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _Keys,
    ) -> None:
        """Orders flows by their deadline."""
        second = record.second
        order_by_finite(active, count, state.deadline, state.remaining, state.arrival_time, controls.priority, second)


class Ssdf(_Ordered):
    """Smallest size-deadline ratio first (Artemis, section 4.2), preemptively; flows without a deadline come last."""

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: _Keys) -> None:
        """Finds the ratio of a flow, which never changes."""
        record.first[row] = size_deadline_ratio(row, state.size, state.arrival_time, state.deadline, record.sign)

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _Keys,
    ) -> None:
        """Orders flows by their ratio."""
        first, second, _ = record
        order_by_finite(active, count, first, state.remaining, state.arrival_time, controls.priority, second)


class Lsdf(Ssdf):
    """Largest size-deadline ratio first (Artemis, section 4.2), preemptively; flows without a deadline come last."""

    _sign = -1.0


class _Ranks(NamedTuple):
    """Ranks of flows, smaller first, (num_flows,); ``front`` is the smallest given so far, (num_networks,).

    It may go on falling in the next episode.
    """

    rank: IntArray
    front: IntArray


class Ranked(Discipline):
    """Smallest rank first, preemptively; it gives no ranks by itself, but somebody outside does, such as an agent."""

    record_type = _Ranks
    kept = ("rank",)
    kept_once = ("front",)
    record: _Ranks

    @staticmethod
    def begin_flow(now: float, n: int, row: int, state: FlowState, controls: Controls, record: _Ranks) -> None:
        """Gives a flow that arrives the rank 0."""
        record.rank[row] = 0

    @staticmethod
    def control(
        now: float,
        n: int,
        active: IntArray,
        count: int,
        state: FlowState,
        controls: Controls,
        network: Network,
        record: _Ranks,
    ) -> None:
        """Orders flows by their rank."""
        order_by(active, count, record.rank, state.arrival_time, controls.priority)

    @staticmethod
    def serve_first(n: int, row: int, record: _Ranks) -> None:
        """Puts a flow before all others; its new rank counts from the next sharing of the links on."""
        record.front[n] -= 1
        record.rank[row] = record.front[n]

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Ranks:
        """Makes room for the ranks."""
        return _Ranks(np.zeros(num_flows, dtype=np.int64), np.zeros(num_networks, dtype=np.int64))
