"""Packets beside the fluid in compiled code: a loop of their own."""

from flowsched_gym.packets.compiled.engine import CompiledPackets, Outcome, PacketNetworks, run_compiled

__all__ = ["CompiledPackets", "Outcome", "PacketNetworks", "run_compiled"]
