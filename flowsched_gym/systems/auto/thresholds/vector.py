"""The native vector environment of AuTO's thresholds."""

from flowsched_gym.envs import PeriodVectorEnv
from flowsched_gym.systems.auto.thresholds.config import AuTOThresholdsConfig
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv

__all__ = ["AuTOThresholdsVectorEnv"]


class AuTOThresholdsVectorEnv(PeriodVectorEnv):
    """Runs many ``AuTOThresholdsEnv`` in one compiled call per step; see there for spaces, rewards and arguments.

    Args:
        num_envs: Environments, >= 1.
        workload: As in ``AuTOThresholdsEnv``.
        autoreset_mode: When an environment that has ended begins its next episode.
        max_episode_steps: Decisions after which Gymnasium's time limit would truncate; ``None`` for none.
        **arguments: The other arguments of ``AuTOThresholdsEnv``.

    Raises:
        ConfigError: An argument has another type or is out of its range.
        FlowFileError: The flow file has a fault.
    """

    config: AuTOThresholdsConfig
    _SINGLE = AuTOThresholdsEnv
    _SHARED = (*PeriodVectorEnv._SHARED, "traffic")
