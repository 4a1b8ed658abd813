"""Packets beside the fluid in SimPy: ports, senders and what passes between them."""

from flowsched_gym.packets.simpy.asking import FlowSimulation, StagedSimulation
from flowsched_gym.packets.simpy.detecting import DetectingReplay
from flowsched_gym.packets.simpy.network import Network, PacketServing
from flowsched_gym.packets.simpy.port import PacketLog, QueueCounter
from flowsched_gym.packets.simpy.simulation import TokenSimulation

__all__ = [
    "DetectingReplay",
    "FlowSimulation",
    "Network",
    "PacketLog",
    "PacketServing",
    "QueueCounter",
    "StagedSimulation",
    "TokenSimulation",
]
