"""Packets beside the fluid in SimPy: ports, senders and what passes between them."""

from flowsched_gym.packets.simpy.episode import PacketSimulation
from flowsched_gym.packets.simpy.port import PacketLog, QueueCounter
from flowsched_gym.packets.simpy.simulation import Census, PacketReplay, PacketServing

__all__ = ["Census", "PacketLog", "PacketReplay", "PacketServing", "PacketSimulation", "QueueCounter"]
