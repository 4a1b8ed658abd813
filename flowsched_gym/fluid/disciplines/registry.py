"""Makes disciplines by name."""

import inspect
from collections.abc import Mapping
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.suggestions import listed, similar
from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules
from flowsched_gym.fluid.disciplines.d2tcp import D2tcp
from flowsched_gym.fluid.disciplines.edf import Edf
from flowsched_gym.fluid.disciplines.fifo import Fifo
from flowsched_gym.fluid.disciplines.fifo_lm import FifoLm
from flowsched_gym.fluid.disciplines.known_tasks import Sebf, Stf
from flowsched_gym.fluid.disciplines.las import Las
from flowsched_gym.fluid.disciplines.merp import Merp
from flowsched_gym.fluid.disciplines.mlfq import Mlfq
from flowsched_gym.fluid.disciplines.ps import Ps
from flowsched_gym.fluid.disciplines.psjf import Psjf
from flowsched_gym.fluid.disciplines.qsjf import Qsjf
from flowsched_gym.fluid.disciplines.ranked import Ranked
from flowsched_gym.fluid.disciplines.size_deadline_ratio import Lsdf, Ssdf
from flowsched_gym.fluid.disciplines.sjf import Sjf
from flowsched_gym.fluid.disciplines.srpt import Srpt
from flowsched_gym.fluid.disciplines.tafe import Tafe
from flowsched_gym.fluid.disciplines.task_las import TaskLas
from flowsched_gym.fluid.disciplines.wfq import Wfq

DISCIPLINES: Final[Mapping[str, type[BaseDiscipline]]] = {
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
"""Classes of the disciplines by name."""

CLASSES: Final[frozenset[type[BaseDiscipline]]] = frozenset((*DISCIPLINES.values(), Ranked))
"""All disciplines of the package."""

COMPILED: Final[Mapping[type, Rules]] = {each.rules.record: each.rules for each in CLASSES}
"""Their rules by the records of what they keep; the compiled engine knows no others."""


def make_discipline(
    name: str, parameters: Mapping[str, object] | None = None, *, beside: tuple[str, ...] = ()
) -> BaseDiscipline:
    """Makes a discipline.

    Args:
        name: One of ``DISCIPLINES``.
        parameters: Keyword arguments of its class.
        beside: Parameters that the caller takes itself, which may have been meant.

    Raises:
        ConfigError: The name or a parameter is unknown, one is missing, or a value is not allowed.
    """
    if not isinstance(name, str) or name not in DISCIPLINES:
        raise ConfigError(f"discipline is {shown(name)}: it must be one of {listed(name, DISCIPLINES)}")
    parameters = dict(parameters or {})
    takes_none = DISCIPLINES[name].__init__ is object.__init__
    allowed = [] if takes_none else list(inspect.signature(DISCIPLINES[name]).parameters)
    unknown = [parameter for parameter in parameters if parameter not in allowed]
    if unknown:
        takes = ", ".join(allowed) or "none"
        if beside:
            takes += f"; there are also {', '.join(beside)}"
        hint = similar(unknown[0], [*allowed, *beside])
        raise ConfigError(f"discipline {name} has no parameter {shown(unknown[0])}: it takes {takes}{hint}")
    try:
        return DISCIPLINES[name](**parameters)
    except TypeError as error:
        raise ConfigError(f"discipline {name} takes {', '.join(allowed)}: {error}") from None
