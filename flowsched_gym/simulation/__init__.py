"""The reference engine: the network simulated on SimPy."""

from flowsched_gym.simulation.clock import Clock, RowSchedule
from flowsched_gym.simulation.destination import Destination
from flowsched_gym.simulation.link_sharing import LinkSharing
from flowsched_gym.simulation.senders import Senders
from flowsched_gym.simulation.simulation import Simulation

__all__ = ["Clock", "Destination", "LinkSharing", "RowSchedule", "Senders", "Simulation"]
