"""The native vector environment of AuTO's long flows."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs import MaskedVectorEnv, PeriodVectorEnv
from flowsched_gym.envs.period_vector import StepResults
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig
from flowsched_gym.systems.auto.long_flows.control import LongFlowsControl
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv

__all__ = ["AuTOLongFlowsVectorEnv"]


class AuTOLongFlowsVectorEnv(PeriodVectorEnv, MaskedVectorEnv):
    """Runs many ``AuTOLongFlowsEnv`` in one compiled call per step; see there for spaces, rewards and arguments.

    Args:
        num_envs: Environments, >= 1.
        workload: As in ``AuTOLongFlowsEnv``.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.
        **arguments: The other arguments of ``AuTOLongFlowsEnv``.

    Raises:
        ConfigError: An argument has another type or is out of its range.
        FlowFileError: The flow file has a fault.
    """

    config: AuTOLongFlowsConfig
    _SINGLE = AuTOLongFlowsEnv
    _control: LongFlowsControl

    def _mask(self, outputs: StepResults) -> npt.NDArray[np.bool_]:
        """Returns a new array of the action masks, (num_envs, num_actions)."""
        return np.array([self._control.masks(self._view(network)) for network in self._current.tolist()])
