"""Packets beside the fluid in SimPy: ports, senders and what passes between them."""

from flowsched_gym.packets.simpy.network import NetworkReplay
from flowsched_gym.packets.simpy.port import PacketLog, QueueCounter
from flowsched_gym.packets.simpy.simulation import PacketReplay, PacketServing, PacketSimulation

__all__ = ["NetworkReplay", "PacketLog", "PacketReplay", "PacketServing", "PacketSimulation", "QueueCounter"]
