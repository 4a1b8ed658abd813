"""Scheduling disciplines that act inside the simulation at every event."""

from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.disciplines.d2tcp import D2tcp
from flowsched_gym.fluid.disciplines.edf import Edf
from flowsched_gym.fluid.disciplines.fifo import Fifo
from flowsched_gym.fluid.disciplines.fifo_lm import FifoLm
from flowsched_gym.fluid.disciplines.known_tasks import Sebf, Stf
from flowsched_gym.fluid.disciplines.las import Las
from flowsched_gym.fluid.disciplines.merp import Merp, MerpMode
from flowsched_gym.fluid.disciplines.mlfq import Mlfq
from flowsched_gym.fluid.disciplines.parameters import Within
from flowsched_gym.fluid.disciplines.ps import Ps
from flowsched_gym.fluid.disciplines.psjf import Psjf
from flowsched_gym.fluid.disciplines.qsjf import Qsjf
from flowsched_gym.fluid.disciplines.ranked import Ranked
from flowsched_gym.fluid.disciplines.registry import CLASSES, COMPILED, DISCIPLINES, make_discipline
from flowsched_gym.fluid.disciplines.size_deadline_ratio import Lsdf, Ssdf
from flowsched_gym.fluid.disciplines.sjf import Sjf
from flowsched_gym.fluid.disciplines.srpt import Srpt
from flowsched_gym.fluid.disciplines.tafe import Tafe
from flowsched_gym.fluid.disciplines.task_las import TaskLas
from flowsched_gym.fluid.disciplines.task_levels import task_levels
from flowsched_gym.fluid.disciplines.task_queues import Demotion, QueuedTasks
from flowsched_gym.fluid.disciplines.wfq import Wfq

__all__ = [
    "CLASSES",
    "COMPILED",
    "DISCIPLINES",
    "BaseDiscipline",
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
    "Rules",
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
