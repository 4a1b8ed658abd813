"""Turns simulations into observations and actions into choices."""

from flowsched_gym.encoders.actions import read_choice
from flowsched_gym.encoders.layout import Column, Encoding, Layout

__all__ = ["Column", "Encoding", "Layout", "read_choice"]
