"""The thresholds at which TAFE's feedback queues demote tasks (TAFE, sections IV-A and V-B)."""

from typing import Final

from flowsched_gym.systems.spec import Ability, EnvironmentSpec, policies_of

__all__ = ["THRESHOLDS"]

THRESHOLDS: Final = EnvironmentSpec(
    id="flowsched/TAFEThresholds-v0",
    description="thresholds at which feedback queues demote tasks",
    entry_point="flowsched_gym.systems.tafe.thresholds.env:TAFEThresholdsEnv",
    vector_entry_point="flowsched_gym.systems.tafe.thresholds.env:TAFEThresholdsVectorEnv",
    config="flowsched_gym.systems.tafe.thresholds.config:TAFEThresholdsConfig",
    workloads=("tafe-log", "tafe-web-search", "tafe-alibaba"),
    baselines=("tenfold", "paper", "thirds", "constant"),
    metric="mean_tct",
    ability=Ability(("thresholds",), ("finished tasks", "queues")),
    trained=Ability(information=("traffic",)),
    policies=policies_of(
        "flowsched_gym.systems.tafe.thresholds.policies",
        {
            "random": (
                "flowsched_gym.envs.policies.thresholds:RandomThresholds",
                "any thresholds, drawn anew in each period",
                (),
            ),
            "constant": ("EqualSteps", "equal steps on a logarithmic scale", ()),
            "tenfold": ("TenfoldThresholds", "100 KB, then ten times the threshold before: Aalo's spacing", ()),
            "thirds": ("Thirds", "the largest task over the number of queues", ("traffic",)),
            "paper": ("PaperThresholds", "the mean task, and 3/4 of the largest (TAFE, section V-B)", ("traffic",)),
        },
        actions=("thresholds",),
    ),
)
"""What the registry knows of the environment."""
