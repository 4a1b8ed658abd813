"""The compiled engine: the same rules as the reference engine, in an event loop that Numba compiles."""

from flowsched_gym.fluid.compiled.episode import CompiledSimulation, run_compiled
from flowsched_gym.fluid.compiled.simulation import BatchSimulation

__all__ = ["BatchSimulation", "CompiledSimulation", "run_compiled"]
