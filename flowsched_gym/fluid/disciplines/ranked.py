"""Serves flows by ranks that somebody outside gives them, such as an agent."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import IntArray
from flowsched_gym.fluid.controls import Controls
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
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


def _go_behind(now: float, n: int, row: int, state: FlowState, controls: Controls, own: _Ranks) -> None:
    own.rank[row] = 0


def _by_rank(
    now: float,
    n: int,
    active: IntArray,
    count: int,
    state: FlowState,
    controls: Controls,
    network: Network,
    own: _Ranks,
) -> None:
    order_by(active, count, own.rank, state.arrival_time, controls.priority)


def _go_before(n: int, row: int, own: _Ranks) -> None:
    serve_first(n, row, own.rank, own.front)


class Ranked(BaseDiscipline):
    """Smallest rank first, preemptively; it gives no ranks by itself."""

    rules = Rules(
        record=_Ranks,
        kept=("rank",),
        kept_once=("front",),
        begin_flow=_go_behind,
        control=_by_rank,
        serve_first=_go_before,
    )
    own: _Ranks

    def new_record(self, num_flows: int, network: Network, num_networks: int) -> _Ranks:
        """Makes room for the ranks."""
        return _Ranks(np.zeros(num_flows, dtype=np.int64), np.zeros(num_networks, dtype=np.int64))

    @property
    def rank(self) -> IntArray:
        """Rank of each flow, (num_flows,) int64, smaller first, 0 when a flow arrives."""
        return self.own.rank

    def serve_first(self, row: int) -> None:
        """Puts a flow before all others; its new rank counts from the next sharing of the links on."""
        self.rules.serve_first(0, row, self.own)
