"""Packets beside the fluid in compiled code: a loop of their own."""

from flowsched_gym.batch.packets.engine import CompiledOutcomes, replay_compiled, serve_compiled

__all__ = ["CompiledOutcomes", "replay_compiled", "serve_compiled"]
