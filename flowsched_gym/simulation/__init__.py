"""The reference engine: the network as a SimPy model."""

from flowsched_gym.simulation.destination import Destination
from flowsched_gym.simulation.environment import NetworkEnvironment
from flowsched_gym.simulation.links import SharedLinks
from flowsched_gym.simulation.simulation import Simulation

__all__ = ["Destination", "NetworkEnvironment", "SharedLinks", "Simulation"]
