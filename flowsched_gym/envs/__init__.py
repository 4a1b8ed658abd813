"""What Gymnasium environments of all systems share."""

from flowsched_gym.envs.base import FlowSchedEnv

__all__ = ["FlowSchedEnv"]
