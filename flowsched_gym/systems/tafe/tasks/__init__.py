"""Which of the flows that are ready goes next (TAFE, section IV)."""

from typing import Final

from flowsched_gym.systems.spec import Ability, EnvironmentSpec, policies_of

__all__ = ["TASKS"]

TASKS: Final = EnvironmentSpec(
    id="flowsched/TAFETasks-v0",
    description="which of the flows that are ready goes next, with its task's state beside it",
    entry_point="flowsched_gym.systems.tafe.tasks.env:TAFETasksEnv",
    vector_entry_point="flowsched_gym.systems.tafe.tasks.env:TAFETasksVectorEnv",
    config="flowsched_gym.systems.tafe.tasks.config:TAFETasksConfig",
    workloads=("tafe-log", "tafe-web-search", "tafe-alibaba"),
    baselines=("tafe", "las", "stf"),
    metric="mean_tct",
    heuristic_kwargs={"information": "full"},
    ability=Ability(("order",), ("ages", "bytes sent")),
    abilities={"information": {"full": Ability(information=("bytes left",))}},
    policies=(
        *policies_of(
            "flowsched_gym.systems.tafe.tasks.policies",
            {
                "random": ("RandomFlow", "any visible flow", ()),
                "fifo": ("FirstTask", "first in, first out over tasks", ("ages",)),
                "tafe": (
                    "Tafe",
                    "TAFE's levels by the bytes that a task has sent, at its paper's thresholds",
                    ("ages", "bytes sent"),
                ),
                "las": ("LeastSent", "the task that has sent the least", ("bytes sent",)),
                "tafe-shortest": (
                    "TafeShortest",
                    "TAFE's levels, and of the first task its shortest stage",
                    ("ages", "bytes sent", "bytes left"),
                ),
                "stf": ("ShortestTask", "shortest task first: the fewest bytes left", ("bytes left",)),
                "stf-longest": (
                    "ShortestByLongest",
                    "the task first whose longest flow has the least left",
                    ("bytes left",),
                ),
                "srpt": ("ShortestStage", "the flow first whose stage has the least left", ("bytes left",)),
            },
            actions=("order",),
        ),
    ),
)
"""What the registry knows of the environment."""
