"""Scheduling disciplines that act inside the simulation at every event."""

from flowsched_gym.disciplines.base import KEPT, BaseDiscipline, DisciplineArrays, DisciplineKind
from flowsched_gym.disciplines.feedback import Mlfq
from flowsched_gym.disciplines.merp import Merp, MerpMode
from flowsched_gym.disciplines.ordered import Edf, Fifo, Lsdf, Psjf, Ranked, Sjf, Srpt, Ssdf
from flowsched_gym.disciplines.parameters import Within
from flowsched_gym.disciplines.registry import DISCIPLINES, make_discipline
from flowsched_gym.disciplines.shared import Las, Ps, Qsjf, Wfq

__all__ = [
    "DISCIPLINES",
    "KEPT",
    "BaseDiscipline",
    "DisciplineArrays",
    "DisciplineKind",
    "Edf",
    "Fifo",
    "Las",
    "Lsdf",
    "Merp",
    "MerpMode",
    "Mlfq",
    "Ps",
    "Psjf",
    "Qsjf",
    "Ranked",
    "Sjf",
    "Srpt",
    "Ssdf",
    "Wfq",
    "Within",
    "make_discipline",
]
