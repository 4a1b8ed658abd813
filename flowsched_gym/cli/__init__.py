"""Offers the package on the command line: ``flowsched list | workload | replay | evaluate | leaderboard``."""

from flowsched_gym.cli.app import main

__all__ = ["main"]
