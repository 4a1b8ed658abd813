"""What Gymnasium environments of all systems share."""

from flowsched_gym.envs.base import FlowSchedEnv
from flowsched_gym.envs.state import EnvState

__all__ = ["EnvState", "FlowSchedEnv"]
