"""Packets beside the fluid in compiled code: a loop of their own."""

from flowsched_gym.packets.compiled.engine import replay_compiled, serve_compiled
from flowsched_gym.packets.compiled.networks import CompiledPackets, PacketNetworks

__all__ = [
    "CompiledPackets",
    "PacketNetworks",
    "replay_compiled",
    "serve_compiled",
]
