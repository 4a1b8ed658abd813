"""TAFE: agents order the flows of tasks, or set the thresholds of the queues that hold them."""

from typing import Final

from flowsched_gym.systems.spec import SystemSpec
from flowsched_gym.systems.tafe.tasks import TASKS
from flowsched_gym.systems.tafe.thresholds import THRESHOLDS

__all__ = ["SYSTEM"]

SYSTEM: Final = SystemSpec(
    name="tafe",
    title="tasks and flows together",
    paper="TAFE, sections IV and V",
    environments=(TASKS, THRESHOLDS),
)
"""What the registry knows of TAFE."""
