"""Turns simulations into observations and actions into choices."""

from flowsched_gym.encoders.actions import as_integers, read_choice, read_choices
from flowsched_gym.encoders.layout import Column, Encoding, Layout, Rows

__all__ = ["Column", "Encoding", "Layout", "Rows", "as_integers", "read_choice", "read_choices"]
