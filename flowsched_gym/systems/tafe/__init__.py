"""TAFE: agents order the flows of tasks."""

from typing import Final

from flowsched_gym.systems.spec import SystemSpec
from flowsched_gym.systems.tafe.tasks import TASKS

__all__ = ["SYSTEM"]

SYSTEM: Final = SystemSpec(
    name="tafe",
    title="tasks and flows together",
    paper="TAFE, sections IV and V",
    environments=(TASKS,),
)
"""What the registry knows of TAFE."""
