"""TAFE: agents order the flows of tasks, or set the thresholds of the queues that hold them."""

from typing import Final

from flowsched_gym.systems import SAME_LEVEL, SEARCH, Ability, EnvironmentSpec, PolicySpec, SystemSpec, policies_of

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
    ability=Ability.of(("order",), ("ages", "bytes sent")),
    abilities={"information": {"full": Ability.of(information=("bytes left",))}},
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
                "stf-estimated": (
                    "EstimatedTask",
                    "shortest task first, estimated by the flows that have finished",
                    ("bytes sent",),
                ),
                "tafe-shortest": (
                    "TafeShortest",
                    "TAFE's levels, and of the first task its shortest stage",
                    ("ages", "bytes sent", "bytes left"),
                ),
                "stf": ("ShortestTask", "shortest task first: the fewest bytes left", ("bytes left",)),
                "least-work": (
                    "LeastWork",
                    "the task with the least left to do, bytes at line rate and time on CPUs",
                    ("bytes left",),
                ),
                "stf-longest": (
                    "ShortestByLongest",
                    "the task first whose longest flow has the least left",
                    ("bytes left",),
                ),
                "srpt": ("ShortestStage", "the flow first whose stage has the least left", ("bytes left",)),
            },
            actions=("order",),
        ),
        PolicySpec(
            name="johnson",
            description="that task, and sooner flows that are soon done with a CPU and have much to send",
            target="flowsched_gym.systems.tafe.tasks.policies:Johnson",
            options={
                "remaining": "weight of what the flow's stage has left, beside its task's work, 1",
                "unsent": "weight of what it has still to send, which is taken away, 1",
            },
            ability=Ability.of(("order",), ("bytes left",)),
            ranges={"remaining": (-2.0, 1.0, 3.0), "unsent": (-2.0, 1.0, 3.0)},
        ),
        PolicySpec(
            name="johnson-ratio",
            description="the least work of a task, times on a CPU the share of it in what the flow needs",
            target="flowsched_gym.systems.tafe.tasks.policies:JohnsonRatio",
            options={
                "unsent": "weight of what the flow has still to send in that share, 0.8",
                "backlog": "flows that run or send elsewhere with which that counts half, 10",
            },
            ability=Ability.of(("order",), ("bytes left",)),
            ranges={"unsent": (0.0, 0.8, 2.0), "backlog": (0.5, 10.0, 40.0)},
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
    ability=Ability.of(("thresholds",), ("finished tasks", "queues")),
    trained=Ability.of(information=("traffic",)),
    policies=(
        *policies_of(
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
        SAME_LEVEL,
    ),
)

SYSTEM: Final = SystemSpec(
    name="tafe",
    title="tasks and flows together",
    paper="Y. Zhang, K. Xu, H. Wang, M. Shen, Towards Shorter Task Completion Time in Datacenter Networks, sections IV "
    "and V",
    environments=(TASKS, THRESHOLDS),
)
