"""Packets beside the fluid in SimPy: ports, senders and what passes between them."""

from flowsched_gym.packets.simpy.asking import FlowSimulation, PacketSimulation, StagedSimulation
from flowsched_gym.packets.simpy.detecting import DetectingReplay
from flowsched_gym.packets.simpy.network import Network
from flowsched_gym.packets.simpy.port import PacketLog, QueueCounter
from flowsched_gym.packets.simpy.simulation import TokenSimulation
from flowsched_gym.packets.simpy.told import PacketServing, ToldReplay

__all__ = [
    "DetectingReplay",
    "FlowSimulation",
    "Network",
    "PacketLog",
    "PacketServing",
    "PacketSimulation",
    "QueueCounter",
    "StagedSimulation",
    "TokenSimulation",
    "ToldReplay",
]
