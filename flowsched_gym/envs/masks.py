"""Action masks of environments some of whose actions do what they say only sometimes."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.errors import SimulationError
from flowsched_gym.envs.base import Action, FlowSchedEnv
from flowsched_gym.envs.vector import FlowSchedVectorEnv
from flowsched_gym.fluid.compiled.stepping import Results

BoolArray = npt.NDArray[np.bool_]


class MaskedEnv(FlowSchedEnv[Action]):
    """An environment with masks; the actions that a mask leaves out are legal, but replaced."""

    def action_masks(self) -> BoolArray:
        """Returns which actions do what they say, (num_actions,) bool; of several choices, one after the other.

        Raises:
            SimulationError: There is no episode yet.
        """
        raise NotImplementedError

    def _info(self, finished: Sequence[int], terms: dict[str, float]) -> dict[str, Any]:
        """Adds the mask."""
        return {**super()._info(finished, terms), "action_mask": self.action_masks()}


class MaskedVectorEnv(FlowSchedVectorEnv):
    """Vector environments with masks."""

    _SHARED: ClassVar[tuple[str, ...]] = (*FlowSchedVectorEnv._SHARED, "num_actions")
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

    def _settle(self, outputs: Results) -> None:
        """Stores the masks."""
        super()._settle(outputs)
        self._masks = outputs.mask

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        """Adds the masks."""
        return {**super()._columns(outputs), "action_mask": outputs.mask.copy()}
