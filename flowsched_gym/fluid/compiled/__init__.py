"""The compiled engine: the same rules as the reference engine, in an event loop that Numba compiles."""

from flowsched_gym.fluid.compiled.compiled_simulation import CompiledSimulation
from flowsched_gym.fluid.compiled.replay import run_compiled
from flowsched_gym.fluid.compiled.simulation import BatchSimulation

__all__ = ["BatchSimulation", "CompiledSimulation", "run_compiled"]
