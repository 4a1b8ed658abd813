"""AuTO: agents set the thresholds of feedback queues, and steer long flows."""

from typing import Final

from flowsched_gym.systems.auto.long_flows import LONG_FLOWS
from flowsched_gym.systems.auto.thresholds import THRESHOLDS
from flowsched_gym.systems.spec import SystemSpec

__all__ = ["SYSTEM"]

SYSTEM: Final = SystemSpec(
    name="auto",
    title="thresholds of multi-level feedback queues, and priority, rate and path of long flows",
    paper="L. Chen, J. Lingys, K. Chen, F. Liu, AuTO: Scaling Deep Reinforcement Learning for Datacenter-Scale "
    "Automatic Traffic Optimization, SIGCOMM 2018",
    environments=(THRESHOLDS, LONG_FLOWS),
)
"""What the registry knows of AuTO."""
