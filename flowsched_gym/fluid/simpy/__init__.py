"""The reference engine: the network as a SimPy model."""

from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.fluid.simpy.links import SharedLinks
from flowsched_gym.fluid.simpy.simulation import Simulation

__all__ = ["NetworkEnvironment", "SharedLinks", "Simulation"]
