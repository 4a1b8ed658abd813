"""Heuristic policies that act through an environment from its observation alone."""

from flowsched_gym.envs.policies.policy import Planner, Policy, is_pure
from flowsched_gym.envs.policies.slots import (
    EarliestDeadline,
    FirstSlot,
    LargestRatio,
    LastSlot,
    LeastSlack,
    RandomSlot,
    SlotPolicy,
    SmallestColumn,
    SmallestRatio,
    SmallestRemaining,
    SmallestSize,
)

__all__ = [
    "EarliestDeadline",
    "FirstSlot",
    "LargestRatio",
    "LastSlot",
    "LeastSlack",
    "Planner",
    "Policy",
    "RandomSlot",
    "SlotPolicy",
    "SmallestColumn",
    "SmallestRatio",
    "SmallestRemaining",
    "SmallestSize",
    "is_pure",
]
