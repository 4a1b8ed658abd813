"""The systems: one folder each."""

from flowsched_gym.systems.spec import Ability, EnvironmentSpec, PolicySpec, SystemSpec

__all__ = ["Ability", "EnvironmentSpec", "PolicySpec", "SystemSpec"]
