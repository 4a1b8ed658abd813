"""The thresholds at which feedback queues demote flows (AuTO's agent of short flows, sRLA)."""

from typing import Final

from flowsched_gym.systems.spec import EnvironmentSpec, policies_of

__all__ = ["THRESHOLDS"]

THRESHOLDS: Final = EnvironmentSpec(
    id="flowsched/AuTOThresholds-v0",
    description="thresholds at which feedback queues demote flows",
    entry_point="flowsched_gym.systems.auto.thresholds.env:AuTOThresholdsEnv",
    vector_entry_point="flowsched_gym.systems.auto.thresholds.env:AuTOThresholdsVectorEnv",
    config="flowsched_gym.systems.auto.thresholds.config:AuTOThresholdsConfig",
    workloads=("auto-web-search", "auto-data-mining", "auto-clusters", "auto-changing", "auto-incast"),
    metric="mean_fct",
    policies=policies_of(
        "flowsched_gym.systems.auto.thresholds.policies",
        {
            "random": ("RandomThresholds", "any thresholds, drawn anew in each period"),
            "qlas": ("BestThresholds", "the best thresholds in theory for the sizes and the load of each cluster"),
            "pias": (
                "PiasThresholds",
                "PIAS's sum-of-ratios rule, in closed form, for the sizes and the load of each cluster",
            ),
            "mismatched": (
                "MismatchedThresholds",
                "the best thresholds for other sizes: data mining for web search, web search for all others",
            ),
            "equal": ("EqualSteps", "equal steps on a logarithmic scale"),
        },
    ),
)
"""What the registry knows of the environment."""
