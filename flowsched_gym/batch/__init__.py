"""The compiled engine: the same rules as the reference engine, in an event loop that Numba compiles."""

from flowsched_gym.batch.compiled_simulation import CompiledSimulation
from flowsched_gym.batch.replay import run_compiled
from flowsched_gym.batch.simulation import BatchSimulation
from flowsched_gym.batch.snapshot import Snapshot

__all__ = ["BatchSimulation", "CompiledSimulation", "Snapshot", "run_compiled"]
