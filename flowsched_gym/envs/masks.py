"""Adds action masks to environments some of whose actions do what they say only sometimes."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.base import Action, FlowSchedEnv
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.errors import SimulationError

__all__ = ["MaskedEnv", "MaskedVectorEnv"]

BoolArray = npt.NDArray[np.bool_]


class MaskedEnv(FlowSchedEnv[Action]):
    """Tells at every decision which actions do what they say; the others are legal but replaced."""

    @abstractmethod
    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_actions,) bool; of several choices, one after the other."""

    def _info(self, finished: list[int], terms: Mapping[str, float]) -> dict[str, Any]:
        """Adds the mask."""
        return {**super()._info(finished, terms), "action_mask": self.action_masks()}


class MaskedVectorEnv(FlowSchedVectorEnv):
    """Tells of every environment which actions do what they say."""

    _ASKED: ClassVar[tuple[str, ...]] = ("action_masks", *FlowSchedVectorEnv._ASKED)

    _masks: BoolArray

    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_envs, num_actions).

        Raises:
            SimulationError: There is no episode yet.
        """
        if not self._begun:
            raise SimulationError("there is no episode yet: call reset() first")
        return self._masks.copy()

    def _settle(self, outputs: Any) -> None:
        """Keeps the masks."""
        super()._settle(outputs)
        self._masks = self._mask(outputs)

    def _columns(self, outputs: Any) -> dict[str, npt.NDArray[Any]]:
        """Adds the masks."""
        return {**super()._columns(outputs), "action_mask": self._mask(outputs).copy()}

    @abstractmethod
    def _mask(self, outputs: Any) -> BoolArray:
        """Returns a new array of the action masks, (num_envs, num_actions)."""
