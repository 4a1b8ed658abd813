"""AuTO: agents set the thresholds of feedback queues, and steer long flows."""

from typing import Final

from flowsched_gym.systems import SAME_LEVEL, Ability, EnvironmentSpec, SystemSpec, policies_of

__all__ = ["SYSTEM"]

LONG_FLOWS: Final = EnvironmentSpec(
    id="flowsched/AuTOLongFlows-v0",
    description="queue, largest rate and path of long flows",
    entry_point="flowsched_gym.systems.auto.long_flows.env:AuTOLongFlowsEnv",
    vector_entry_point="flowsched_gym.systems.auto.long_flows.env:AuTOLongFlowsVectorEnv",
    config="flowsched_gym.systems.auto.long_flows.config:AuTOLongFlowsConfig",
    workloads=("auto-web-search", "auto-clusters", "auto-changing"),
    baselines=("ecmp", "least-loaded"),
    heuristic_kwargs={"observation": "full", "layout": "grouped"},
    ability=Ability.of(("queue", "rate", "path"), ("active flows", "finished flows")),
    abilities={"observation": {"full": Ability.of(information=("bytes sent", "rates", "paths"))}},
    policies=policies_of(
        "flowsched_gym.systems.auto.long_flows.policies",
        {
            "random": ("RandomSteering", "any queue, rate and path", ()),
            "ecmp": ("KeepPath", "the path that a hash has chosen, the lowest queue, no limit of rates", ("paths",)),
            "least-loaded": (
                "LeastLoadedPath",
                "the path with the fewest long flows on its busier link, the lowest queue",
                ("active flows", "paths"),
            ),
            "least-crowded": (
                "LeastCrowdedPath",
                "the path with the fewest flows, long or short, on its busier link, the lowest queue",
                ("active flows", "paths"),
            ),
            "least-attained": (
                "LeastAttained",
                "that path, and a higher queue for long flows that have sent less",
                ("active flows", "paths", "bytes sent"),
            ),
        },
        actions=("queue", "rate", "path"),
    ),
)

THRESHOLDS: Final = EnvironmentSpec(
    id="flowsched/AuTOThresholds-v0",
    description="thresholds at which feedback queues demote flows",
    entry_point="flowsched_gym.systems.auto.thresholds.env:AuTOThresholdsEnv",
    vector_entry_point="flowsched_gym.systems.auto.thresholds.env:AuTOThresholdsVectorEnv",
    config="flowsched_gym.systems.auto.thresholds.config:AuTOThresholdsConfig",
    workloads=("auto-web-search", "auto-data-mining", "auto-clusters", "auto-changing", "auto-incast"),
    baselines=("qlas", "mismatched"),
    metric="mean_fct",
    ability=Ability.of(("thresholds",), ("finished flows", "queues")),
    trained=Ability.of(information=("traffic",)),
    policies=(
        *policies_of(
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
        SAME_LEVEL,
    ),
)

SYSTEM: Final = SystemSpec(
    name="auto",
    title="thresholds of multi-level feedback queues, and priority, rate and path of long flows",
    paper="L. Chen, J. Lingys, K. Chen, F. Liu, AuTO: Scaling Deep Reinforcement Learning for Datacenter-Scale "
    "Automatic Traffic Optimization, SIGCOMM 2018",
    environments=(THRESHOLDS, LONG_FLOWS),
)
