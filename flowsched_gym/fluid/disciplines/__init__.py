"""Scheduling disciplines that act inside the simulation at every event, and how they are made by name."""

from collections.abc import Mapping
from typing import Final

from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.hooks import make_from
from flowsched_gym.fluid.contract import Discipline
from flowsched_gym.fluid.disciplines.fair import D2tcp, Las, Ps
from flowsched_gym.fluid.disciplines.known_tasks import Sebf, Stf
from flowsched_gym.fluid.disciplines.merp import Merp, MerpMode
from flowsched_gym.fluid.disciplines.orders import Edf, Fifo, Lsdf, Psjf, Ranked, Sjf, Srpt, Ssdf
from flowsched_gym.fluid.disciplines.queues import Mlfq, Qsjf, Wfq, Within
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

DISCIPLINES: Final[Mapping[str, type[Discipline]]] = {
    "fifo": Fifo,
    "ps": Ps,
    "srpt": Srpt,
    "sjf": Sjf,
    "psjf": Psjf,
    "las": Las,
    "edf": Edf,
    "ssdf": Ssdf,
    "lsdf": Lsdf,
    "mlfq": Mlfq,
    "qsjf": Qsjf,
    "wfq": Wfq,
    "merp": Merp,
    "tafe": Tafe,
    "fifo-lm": FifoLm,
    "task-las": TaskLas,
    "d2tcp": D2tcp,
    "stf": Stf,
    "sebf": Sebf,
}


def make_discipline(
    name: str, parameters: Mapping[str, object] | None = None, *, beside: tuple[str, ...] = ()
) -> Discipline:
    """Makes one of ``DISCIPLINES``, with the keyword arguments of its class.

    Parameters ``beside`` are those that the caller takes itself, which may have been meant.

    Raises:
        ConfigError: The name or a parameter is unknown, one is missing, or a value is not allowed.
    """
    if not isinstance(name, str) or name not in DISCIPLINES:
        raise ConfigError(f"discipline is {shown(name)}: it must be one of {listed(name, DISCIPLINES)}")
    return make_from(DISCIPLINES[name], f"discipline {name}", parameters, beside=beside)
