"""TAFE: agents order the flows of tasks, or set the thresholds of the queues that hold them."""

from typing import Final

from flowsched_gym.systems import SEARCH, Ability, Action, EnvironmentSpec, Information, SystemSpec, policies_of

__all__ = ["SYSTEM"]

TASKS: Final = EnvironmentSpec(
    id="flowsched/TAFETasks-v0",
    description="which of the flows that are ready goes next, with its task's state beside it",
    entry_point="flowsched_gym.systems.tafe.tasks.env:TAFETasksEnv",
    vector_entry_point="flowsched_gym.systems.tafe.tasks.env:TAFETasksVectorEnv",
    config="flowsched_gym.systems.tafe.tasks.config:TAFETasksConfig",
    workloads=("tafe-log", "tafe-web-search", "tafe-alibaba"),
    baselines=("tafe", "las", "stf"),
    planners=SEARCH,
    metric="mean_tct",
    heuristic_kwargs={"information": "full"},
    ability=Ability((Action.ORDER,), (Information.AGES, Information.BYTES_SENT)),
    abilities={"information": {"full": Ability(information=(Information.BYTES_LEFT,))}},
    policies=(
        *policies_of(
            "flowsched_gym.systems.tafe.tasks.policies",
            {
                "random": ("RandomFlow", "any visible flow", ()),
                "fifo": ("FirstTask", "first in, first out over tasks", (Information.AGES,)),
                "tafe": (
                    "Tafe",
                    "TAFE's levels by the bytes that a task has sent, at its paper's thresholds",
                    (Information.AGES, Information.BYTES_SENT),
                ),
                "las": ("LeastSent", "the task that has sent the least", (Information.BYTES_SENT,)),
                "stf-estimated": (
                    "EstimatedTask",
                    "shortest task first, estimated by the flows that have finished",
                    (Information.BYTES_SENT,),
                ),
                "tafe-shortest": (
                    "TafeShortest",
                    "TAFE's levels, and of the first task its shortest stage",
                    (Information.AGES, Information.BYTES_SENT, Information.BYTES_LEFT),
                ),
                "stf": ("ShortestTask", "shortest task first: the fewest bytes left", (Information.BYTES_LEFT,)),
                "least-work": (
                    "LeastWork",
                    "the task with the least left to do, bytes at line rate and time on CPUs",
                    (Information.BYTES_LEFT,),
                ),
                "stf-longest": (
                    "ShortestByLongest",
                    "the task first whose longest flow has the least left",
                    (Information.BYTES_LEFT,),
                ),
                "srpt": ("ShortestStage", "the flow first whose stage has the least left", (Information.BYTES_LEFT,)),
            },
            actions=(Action.ORDER,),
        ),
    ),
)

THRESHOLDS: Final = EnvironmentSpec(
    id="flowsched/TAFEThresholds-v0",
    description="thresholds at which feedback queues demote tasks",
    entry_point="flowsched_gym.systems.tafe.thresholds.env:TAFEThresholdsEnv",
    vector_entry_point="flowsched_gym.systems.tafe.thresholds.env:TAFEThresholdsVectorEnv",
    config="flowsched_gym.systems.tafe.thresholds.config:TAFEThresholdsConfig",
    workloads=("tafe-log", "tafe-web-search", "tafe-alibaba"),
    baselines=("tenfold", "paper", "thirds", "constant"),
    metric="mean_tct",
    ability=Ability((Action.THRESHOLDS,), (Information.FINISHED_TASKS, Information.QUEUES)),
    trained=Ability(information=(Information.TRAFFIC,)),
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
            "thirds": ("Thirds", "the largest task over the number of queues", (Information.TRAFFIC,)),
            "paper": (
                "PaperThresholds",
                "the mean task, and 3/4 of the largest (TAFE, section V-B)",
                (Information.TRAFFIC,),
            ),
        },
        actions=(Action.THRESHOLDS,),
    ),
)

SYSTEM: Final = SystemSpec(
    name="tafe", title="tasks and flows together", paper="TAFE, sections IV and V", environments=(TASKS, THRESHOLDS)
)
