"""Gives disciplines what they share: the flows that they rule, and arrays for the compiled engine."""

from enum import IntEnum
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.errors import ConfigError
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.rules.expansion import STALE_LINK, STALE_MEMBER
from flowsched_gym.model.rules.virtual_deadlines import MATCH
from flowsched_gym.model.state import FlowState, Network

__all__ = ["KEPT", "BaseDiscipline", "DisciplineArrays", "DisciplineKind"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

NO_FLOATS = np.zeros(0)
NO_MARKS = np.zeros((0, 2), dtype=np.int64)
NO_TABLE = np.zeros((0, 0))
NO_INTEGERS = np.zeros(0, dtype=np.int64)
NO_STALE_LINKS = np.zeros(0, dtype=STALE_LINK)
NO_STALE_MEMBERS = np.zeros(0, dtype=STALE_MEMBER)
NO_MATCHES = np.zeros(0, dtype=MATCH)


class DisciplineKind(IntEnum):
    """Numbers the disciplines that the compiled engine knows."""

    PS = 0
    FIFO = 1
    PSJF = 2
    SRPT = 3
    SJF = 4
    EDF = 5
    RATIO = 6
    LAS = 7
    FEEDBACK = 8
    SIZE_CLASSES = 9
    WEIGHTED = 10
    MERP = 11
    RANKED = 12


class DisciplineArrays(NamedTuple):
    """Holds what a discipline keeps, beside the state of the flows; empty where it does not need it.

    The flows are those of all networks, one network after the other.

    Attributes:
        kind: Which discipline it is.
        share: Whether the flows of one level share.
        settings: Numbers of this discipline alone.
        limits: Thresholds in B, (num_queues - 1,).
        weights: Weights of queues, (num_queues,).
        occupancy: Scratch, (num_queues,).
        links: Scratch, (num_links,) STALE_LINK.
        members: Scratch, (num_flows of a network * longest path,) STALE_MEMBER.
        matches: Scratch, (2 * num_flows of a network,) MATCH.
        first: First key, (num_flows,).
        second: Second key, (num_flows,).
        level: Level, queue or rank of each flow, (num_flows,).
        entered: Time in s at which each flow entered its level, (num_flows,).
        group: Group of hosts of each flow's source, (num_flows,).
        pinned: Level at which a flow is held, -1 for none, (num_flows,).
        mark: Links of each flow's path in bits, (num_flows, 2).
        table: Two-dimensional values: (num_flows, longest path), or (groups of all networks, num_queues - 1).
        unknown: Flows whose virtual deadline has not been found yet, or whether levels may have changed,
            (num_networks,).
        held: Time in s until which nobody sends, (num_networks,); the first flow of an episode sets it.
        front: Smallest rank given so far, (num_networks,); it may go on falling in the next episode.
        num_groups: Groups of hosts in a network.
    """

    kind: int
    share: bool = True
    settings: FloatArray = NO_FLOATS
    limits: FloatArray = NO_FLOATS
    weights: FloatArray = NO_FLOATS
    occupancy: IntArray = NO_INTEGERS
    links: Records = NO_STALE_LINKS
    members: Records = NO_STALE_MEMBERS
    matches: Records = NO_MATCHES
    first: FloatArray = NO_FLOATS
    second: FloatArray = NO_FLOATS
    level: IntArray = NO_INTEGERS
    entered: FloatArray = NO_FLOATS
    group: IntArray = NO_INTEGERS
    pinned: IntArray = NO_INTEGERS
    mark: IntArray = NO_MARKS
    table: FloatArray = NO_TABLE
    unknown: IntArray = NO_INTEGERS
    held: FloatArray = NO_FLOATS
    front: IntArray = NO_INTEGERS
    num_groups: int = 1


KEPT: Final = ("first", "second", "level", "entered", "group", "pinned", "mark", "table", "unknown", "held", "front")
"""Fields of ``DisciplineArrays`` that belong to flows or networks, and change as time goes on."""


class BaseDiscipline:
    """Keeps the state and the controls of the simulation that it serves.

    What a subclass keeps besides, it makes in ``make_room``, for all flows and networks, and sets in ``begin_flow``.
    The compiled engine takes it from ``arrays`` and calls the same rules in ``batch.control``. It remembers how links
    were shared where flows share within ``num_priorities`` priorities, from 0 on; with 0 it begins anew at each event.
    """

    kind: ClassVar[DisciplineKind | None] = None
    state: FlowState
    controls: Controls
    network: Network
    data_share: float = 1.0
    stops_flows: bool = False
    num_priorities: int = 0

    def begin(self, state: FlowState, controls: Controls, network: Network) -> None:
        """Prepares for these flows."""
        self.check_flows(len(state.size))
        self.make_room(state, controls, network)

    def check_flows(self, num_flows: int) -> None:
        """Checks that the parameters fit so many flows.

        Raises:
            ConfigError: They do not.
        """

    def make_room(self, state: FlowState, controls: Controls, network: Network, num_networks: int = 1) -> None:
        """Makes room for what is kept.

        Args:
            state: Flows of all networks, as many for each.
            controls: Their controls.
            network: Links and paths, the same for all networks.
            num_networks: Networks, >= 1.
        """
        self.state = state
        self.controls = controls
        self.network = network

    def begin_network(self, n: int, first_row: int, source: IntArray) -> None:
        """Prepares for an episode of network ``n``, whose flows are sent by these hosts, (num_flows,)."""

    def begin_flow(self, row: int) -> None:
        """Sets what is kept of a flow that arrives."""

    def moved(self, row: int) -> None:
        """Learns that the path of a live flow has changed."""

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Fills the controls of the live flows."""
        raise NotImplementedError

    def review_time(self, now: float, live: IntArray, count: int) -> float:
        """Returns inf: nothing changes by itself."""
        return float("inf")

    def arrays(self) -> DisciplineArrays:
        """Hands over what the compiled engine needs; called after ``make_room``.

        Raises:
            ConfigError: The compiled engine does not know this discipline.
        """
        if self.kind is None:
            raise ConfigError(f"engine 'compiled' does not know {type(self).__name__}: use engine 'simpy'")
        return DisciplineArrays(kind=int(self.kind))
