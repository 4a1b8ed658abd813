"""The systems: one folder each."""

from flowsched_gym.systems.spec import EnvironmentSpec, PolicySpec, SystemSpec

__all__ = ["EnvironmentSpec", "PolicySpec", "SystemSpec"]
