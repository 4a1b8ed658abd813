"""Scheduling disciplines that act inside the simulation at every event."""

from flowsched_gym.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.disciplines.d2tcp import D2tcp
from flowsched_gym.disciplines.edf import Edf
from flowsched_gym.disciplines.fifo import Fifo
from flowsched_gym.disciplines.fifo_lm import FifoLm
from flowsched_gym.disciplines.known_tasks import Sebf, Stf
from flowsched_gym.disciplines.las import Las
from flowsched_gym.disciplines.merp import Merp, MerpMode
from flowsched_gym.disciplines.mlfq import Mlfq
from flowsched_gym.disciplines.parameters import Within
from flowsched_gym.disciplines.ps import Ps
from flowsched_gym.disciplines.psjf import Psjf
from flowsched_gym.disciplines.qsjf import Qsjf
from flowsched_gym.disciplines.ranked import Ranked
from flowsched_gym.disciplines.registry import CLASSES, COMPILED, DISCIPLINES, make_discipline
from flowsched_gym.disciplines.size_deadline_ratio import Lsdf, Ssdf
from flowsched_gym.disciplines.sjf import Sjf
from flowsched_gym.disciplines.srpt import Srpt
from flowsched_gym.disciplines.tafe import Tafe
from flowsched_gym.disciplines.task_las import TaskLas
from flowsched_gym.disciplines.task_levels import task_levels
from flowsched_gym.disciplines.task_queues import Demotion, QueuedTasks
from flowsched_gym.disciplines.wfq import Wfq

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
