"""Schedulers of packets at a port: what ``disciplines`` are to flows. Wrong parameters raise a ``ConfigError``."""

from collections.abc import Mapping
from typing import Final

from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.hooks import make_from
from flowsched_gym.packets.contract import BEYOND, Arrival, Order, PacketTable, Scheduler, Traffic
from flowsched_gym.packets.schedulers.by_bytes import Fifo, Pfabric, PfabricEdf, Pias, PifoLas
from flowsched_gym.packets.schedulers.fair_queueing import Afq, Fq
from flowsched_gym.packets.schedulers.qcluster import QCluster
from flowsched_gym.packets.schedulers.tagged import Ranked, Tagged
from flowsched_gym.packets.setup import PacketSetup

__all__ = [
    "BEYOND",
    "SCHEDULERS",
    "Afq",
    "Arrival",
    "Fifo",
    "Fq",
    "Order",
    "PacketSetup",
    "PacketTable",
    "Pfabric",
    "PfabricEdf",
    "Pias",
    "PifoLas",
    "QCluster",
    "Ranked",
    "Scheduler",
    "Tagged",
    "Traffic",
    "find_scheduler",
    "make_scheduler",
]

SCHEDULERS: Final[Mapping[str, type[Scheduler]]] = {
    "fifo": Fifo,
    "pias": Pias,
    "qcluster": QCluster,
    "tagged": Tagged,
    "ranked": Ranked,
    "pfabric": Pfabric,
    "pfabric-edf": PfabricEdf,
    "fq": Fq,
    "afq": Afq,
    "pifo-las": PifoLas,
}
"""Classes of the schedulers by name."""


def make_scheduler(name: str, parameters: Mapping[str, object], *, beside: tuple[str, ...] = ()) -> Scheduler:
    """Makes a scheduler by name, one of ``SCHEDULERS``; ``beside`` are parameters that the caller takes itself.

    Raises:
        ConfigError: The name or a parameter is unknown, one is missing, or a value is not allowed.
    """
    if not isinstance(name, str) or name not in SCHEDULERS:
        raise ConfigError(f"scheduler is {shown(name)}: it must be one of {listed(name, SCHEDULERS)}")
    return make_from(SCHEDULERS[name], f"scheduler {name}", parameters, beside=beside)


def find_scheduler(
    scheduler: str | Scheduler, parameters: Mapping[str, object], *, beside: tuple[str, ...] = ()
) -> Scheduler:
    """Makes a scheduler by its name, or returns one that is there already, as a user's own is; see ``make_scheduler``.

    Raises:
        ConfigError: See ``make_scheduler``; or there are parameters for one that is made.
    """
    if not isinstance(scheduler, Scheduler):
        return make_scheduler(scheduler, parameters, beside=beside)
    if parameters:
        raise ConfigError(
            f"scheduler {type(scheduler).__name__} is made, and has no parameter {shown(next(iter(parameters)))}: "
            f"parameters may have {', '.join(beside)}"
        )
    return scheduler
