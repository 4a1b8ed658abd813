"""Artemis's destinations and MERP's paths on ns-3 itself: a program of ours, its pipe, and the episodes of both.

Optional: it needs ns-3.37 or later (Debian: ``libns3-dev``) and a C++ compiler. Nothing else of the package does.
"""

from functools import partial

from flowsched_gym.ns3.program import build
from flowsched_gym.ns3.simulation import Ns3Simulation, PathSimulation, Senders, TokenSimulation

__all__ = ["Ns3Simulation", "PathSimulation", "Senders", "TokenSimulation", "build"]
__dir__ = partial(sorted, __all__)
