"""Gives disciplines what they share: the flows that they rule, kept from ``begin`` on."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.model.controls import Controls
from flowsched_gym.model.state import FlowState

__all__ = ["BaseDiscipline"]


class BaseDiscipline:
    """Keeps the state and the controls of the simulation that it serves."""

    state: FlowState
    controls: Controls

    def begin(self, state: FlowState, controls: Controls) -> None:
        """Keeps the flows and their controls."""
        self.state = state
        self.controls = controls

    def control(self, now: float, live: npt.NDArray[np.int64], count: int) -> None:
        """Fills the controls of the live flows."""
        raise NotImplementedError

    def review_time(self, now: float, live: npt.NDArray[np.int64], count: int) -> float:
        """Returns inf: nothing changes by itself."""
        return float("inf")
