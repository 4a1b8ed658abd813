"""The compiled engine: the same rules as the reference engine, in an event loop that Numba compiles."""

from flowsched_gym.batch.replay import run_compiled

__all__ = ["run_compiled"]
