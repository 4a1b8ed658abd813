"""Packets beside the fluid in compiled code: a loop of their own."""

from flowsched_gym.packets.compiled.engine import (
    CompiledPackets,
    PacketNetworks,
    replay_compiled,
    run_compiled_network,
    serve_compiled,
)

__all__ = ["CompiledPackets", "PacketNetworks", "replay_compiled", "run_compiled_network", "serve_compiled"]
