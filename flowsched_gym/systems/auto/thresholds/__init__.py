"""The thresholds at which feedback queues demote flows (AuTO's agent of short flows, sRLA)."""

from typing import Final

from flowsched_gym.systems.spec import Ability, EnvironmentSpec, policies_of

__all__ = ["THRESHOLDS"]

THRESHOLDS: Final = EnvironmentSpec(
    id="flowsched/AuTOThresholds-v0",
    description="thresholds at which feedback queues demote flows",
    entry_point="flowsched_gym.systems.auto.thresholds.env:AuTOThresholdsEnv",
    vector_entry_point="flowsched_gym.systems.auto.thresholds.env:AuTOThresholdsVectorEnv",
    config="flowsched_gym.systems.auto.thresholds.config:AuTOThresholdsConfig",
    workloads=("auto-web-search", "auto-data-mining", "auto-clusters", "auto-changing", "auto-incast"),
    baselines=("qlas", "mismatched"),
    metric="mean_fct",
    ability=Ability(("thresholds",), ("finished flows", "queues")),
    trained=Ability(information=("traffic",)),
    policies=policies_of(
        "flowsched_gym.systems.auto.thresholds.policies",
        {
            "random": (
                "flowsched_gym.envs.policies.thresholds:RandomThresholds",
                "any thresholds, drawn anew in each period",
                (),
            ),
            "qlas": (
                "BestThresholds",
                "the best thresholds in theory for the sizes and the load of each cluster",
                ("traffic",),
            ),
            "pias": (
                "PiasThresholds",
                "PIAS's sum-of-ratios rule, in closed form, for the sizes and the load of each cluster",
                ("traffic",),
            ),
            "mismatched": (
                "MismatchedThresholds",
                "the best thresholds for other sizes: data mining for web search, web search for all others",
                ("traffic",),
            ),
            "equal": ("EqualSteps", "equal steps on a logarithmic scale", ()),
        },
        actions=("thresholds",),
    ),
)
"""What the registry knows of the environment."""
