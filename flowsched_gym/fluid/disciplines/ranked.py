"""Serves flows by ranks that somebody outside gives them, such as an agent."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.rules.ordering.keys import order_by, serve_first
from flowsched_gym.fluid.state import FlowState
from flowsched_gym.topology.network import Network


class _Ranks(NamedTuple):
    """Ranks of flows.

    Attributes:
        rank: Rank of each flow: smaller first; 0 when it arrives, (num_flows,).
        front: Smallest rank given so far, (num_networks,); it may go on falling in the next episode.
    """

    rank: IntArray
    front: IntArray


class Ranked(Discipline):
    """Smallest rank first, preemptively; it gives no ranks by itself."""

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
        serve_first(n, row, record.rank, record.front)

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Ranks:
        """Makes room for the ranks."""
        return _Ranks(np.zeros(num_flows, dtype=np.int64), np.zeros(num_networks, dtype=np.int64))

    @property
    def rank(self) -> IntArray:
        """Rank of each flow, (num_flows,) int64, smaller first, 0 when a flow arrives."""
        return self.record.rank
