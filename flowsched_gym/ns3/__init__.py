"""Artemis's destination on ns-3 itself: a program of ours, its pipe, and the episode that stands before both engines.

Optional: it needs ns-3.37 or later (Debian: ``libns3-dev``) and a C++ compiler. Nothing else of the package does.
"""

from flowsched_gym.ns3.program import build
from flowsched_gym.ns3.simulation import Ns3Simulation, Senders

__all__ = ["Ns3Simulation", "Senders", "build"]
