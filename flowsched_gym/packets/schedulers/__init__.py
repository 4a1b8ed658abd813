"""Schedulers of packets at a port: what ``disciplines`` are to flows."""

from flowsched_gym.packets.contract import BaseScheduler, Order, Rules, Traffic
from flowsched_gym.packets.schedulers.bytes_sent import Pias
from flowsched_gym.packets.schedulers.fair_queueing import Afq
from flowsched_gym.packets.schedulers.fifo import Fifo
from flowsched_gym.packets.schedulers.fq import Fq
from flowsched_gym.packets.schedulers.pfabric import Pfabric, PfabricEdf
from flowsched_gym.packets.schedulers.pifo_las import PifoLas
from flowsched_gym.packets.schedulers.qcluster import QCluster
from flowsched_gym.packets.schedulers.registry import COMPILED, SCHEDULERS, make_scheduler
from flowsched_gym.packets.schedulers.tagged import Tagged
from flowsched_gym.packets.setup import PacketSetup

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
