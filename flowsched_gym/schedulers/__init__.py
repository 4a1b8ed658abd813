"""Schedulers of packets at a port: what ``disciplines`` are to flows."""

from flowsched_gym.schedulers.afq import Afq
from flowsched_gym.schedulers.base import BaseScheduler, Order, Rules, Traffic
from flowsched_gym.schedulers.fifo import Fifo
from flowsched_gym.schedulers.fq import Fq
from flowsched_gym.schedulers.pfabric import Pfabric, PfabricEdf
from flowsched_gym.schedulers.pias import Pias
from flowsched_gym.schedulers.pifo_las import PifoLas
from flowsched_gym.schedulers.qcluster import QCluster
from flowsched_gym.schedulers.registry import COMPILED, SCHEDULERS, make_scheduler
from flowsched_gym.schedulers.setup import PacketSetup
from flowsched_gym.schedulers.tagged import Tagged

__all__ = [
    "COMPILED",
    "SCHEDULERS",
    "Afq",
    "BaseScheduler",
    "Fifo",
    "Fq",
    "Order",
    "PacketSetup",
    "Pfabric",
    "PfabricEdf",
    "Pias",
    "PifoLas",
    "QCluster",
    "Rules",
    "Tagged",
    "Traffic",
    "make_scheduler",
]
