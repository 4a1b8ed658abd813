"""Makes schedulers by name."""

import inspect
from collections.abc import Mapping
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.suggestions import listed, similar
from flowsched_gym.packets.contract import BaseScheduler, Rules
from flowsched_gym.packets.schedulers.bytes_sent import Pias
from flowsched_gym.packets.schedulers.fair_queueing import Afq
from flowsched_gym.packets.schedulers.fifo import Fifo
from flowsched_gym.packets.schedulers.fq import Fq
from flowsched_gym.packets.schedulers.pfabric import Pfabric, PfabricEdf
from flowsched_gym.packets.schedulers.pifo_las import PifoLas
from flowsched_gym.packets.schedulers.qcluster import QCluster
from flowsched_gym.packets.schedulers.tagged import Tagged

SCHEDULERS: Final[Mapping[str, type[BaseScheduler]]] = {
    "fifo": Fifo,
    "pias": Pias,
    "qcluster": QCluster,
    "tagged": Tagged,
    "pfabric": Pfabric,
    "pfabric-edf": PfabricEdf,
    "fq": Fq,
    "afq": Afq,
    "pifo-las": PifoLas,
}
"""Classes of the schedulers by name."""

COMPILED: Final[Mapping[type, Rules]] = {each.rules.record: each.rules for each in SCHEDULERS.values()}
"""Their rules by the records of what they keep; the compiled engine knows no others."""


def make_scheduler(name: str, parameters: Mapping[str, object], *, beside: tuple[str, ...] = ()) -> BaseScheduler:
    """Makes a scheduler.

    Args:
        name: One of ``SCHEDULERS``.
        parameters: Keyword arguments of its class.
        beside: Parameters that the caller takes itself, which may have been meant.

    Raises:
        ConfigError: The name or a parameter is unknown, one is missing, or a value is not allowed.
    """
    if not isinstance(name, str) or name not in SCHEDULERS:
        raise ConfigError(f"scheduler is {shown(name)}: it must be one of {listed(name, SCHEDULERS)}")
    allowed = inspect.signature(SCHEDULERS[name]).parameters
    unknown = [parameter for parameter in parameters if parameter not in allowed]
    if unknown:
        takes = ", ".join([*allowed, *beside])
        hint = similar(unknown[0], [*allowed, *beside])
        raise ConfigError(f"scheduler {name} has no parameter {shown(unknown[0])}: it takes {takes}{hint}")
    missing = [each.name for each in allowed.values() if each.default is each.empty and each.name not in parameters]
    if missing:
        raise ConfigError(f"scheduler {name} needs {', '.join(missing)}: it takes {', '.join([*allowed, *beside])}")
    return SCHEDULERS[name](**parameters)
