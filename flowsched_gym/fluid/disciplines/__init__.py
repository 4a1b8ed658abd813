"""Scheduling disciplines that act inside the simulation at every event."""

from flowsched_gym.fluid.disciplines.attained import Las, Mlfq
from flowsched_gym.fluid.disciplines.deadlines import Edf, Lsdf, Ssdf
from flowsched_gym.fluid.disciplines.fair import D2tcp, Ps, Wfq
from flowsched_gym.fluid.disciplines.known_tasks import Sebf, Stf
from flowsched_gym.fluid.disciplines.merp import Merp, MerpMode
from flowsched_gym.fluid.disciplines.parameters import Within
from flowsched_gym.fluid.disciplines.ranked import Ranked
from flowsched_gym.fluid.disciplines.registry import DISCIPLINES, make_discipline
from flowsched_gym.fluid.disciplines.sizes import Fifo, Psjf, Qsjf, Sjf, Srpt
from flowsched_gym.fluid.disciplines.task_queues import Demotion, FifoLm, QueuedTasks, Tafe, TaskLas, task_levels

__all__ = [
    "DISCIPLINES",
    "D2tcp",
    "Demotion",
    "Edf",
    "Fifo",
    "FifoLm",
    "Las",
    "Lsdf",
    "Merp",
    "MerpMode",
    "Mlfq",
    "Ps",
    "Psjf",
    "Qsjf",
    "QueuedTasks",
    "Ranked",
    "Sebf",
    "Sjf",
    "Srpt",
    "Ssdf",
    "Stf",
    "Tafe",
    "TaskLas",
    "Wfq",
    "Within",
    "make_discipline",
    "task_levels",
]
