"""Gives disciplines what they share: the flows that they rule, and arrays for the compiled engine."""

from enum import IntEnum
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.errors import ConfigError
from flowsched_gym.model.controls import Controls
from flowsched_gym.model.state import FlowState, Network

__all__ = ["BaseDiscipline", "DisciplineArrays", "DisciplineKind"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NO_FLOATS = np.zeros(0)
NO_TABLE = np.zeros((0, 0))
NO_INTEGERS = np.zeros(0, dtype=np.int64)


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


class DisciplineArrays(NamedTuple):
    """Holds what a discipline keeps, beside the state of the flows; empty where it does not need it.

    Attributes:
        kind: Which discipline it is.
        share: Whether the flows of one level share.
        first: First key, (num_flows,).
        second: Second key, (num_flows,).
        limits: Thresholds in B, (num_queues - 1,).
        weights: Weights of queues, (num_queues,).
        level: Level or queue of each flow, (num_flows,).
        entered: Time in s at which each flow entered its level, (num_flows,).
        occupancy: Scratch, (num_queues,).
        table: Two-dimensional values, (num_flows, longest path).
    """

    kind: int
    share: bool = True
    first: FloatArray = NO_FLOATS
    second: FloatArray = NO_FLOATS
    limits: FloatArray = NO_FLOATS
    weights: FloatArray = NO_FLOATS
    level: IntArray = NO_INTEGERS
    entered: FloatArray = NO_FLOATS
    occupancy: IntArray = NO_INTEGERS
    table: FloatArray = NO_TABLE


class BaseDiscipline:
    """Keeps the state and the controls of the simulation that it serves."""

    kind: ClassVar[DisciplineKind | None] = None
    state: FlowState
    controls: Controls
    network: Network
    data_share: float = 1.0

    def begin(self, state: FlowState, controls: Controls, network: Network) -> None:
        """Keeps the flows, their controls and the network."""
        self.state = state
        self.controls = controls
        self.network = network

    def control(self, now: float, live: IntArray, count: int) -> None:
        """Fills the controls of the live flows."""
        raise NotImplementedError

    def review_time(self, now: float, live: IntArray, count: int) -> float:
        """Returns inf: nothing changes by itself."""
        return float("inf")

    def arrays(self) -> DisciplineArrays:
        """Hands over what the compiled engine needs; called after ``begin``.

        Raises:
            ConfigError: The compiled engine does not know this discipline.
        """
        if self.kind is None:
            raise ConfigError(f"engine 'compiled' does not know {type(self).__name__}: use engine 'simpy'")
        return DisciplineArrays(kind=int(self.kind))
