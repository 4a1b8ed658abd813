"""AuTO: agents set the thresholds of feedback queues, and steer long flows."""

from typing import Final

from flowsched_gym.systems import Ability, Action, EnvironmentSpec, Information, SystemSpec, policies_of

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
    ability=Ability((Action.QUEUE, Action.RATE, Action.PATH), (Information.ACTIVE_FLOWS, Information.FINISHED_FLOWS)),
    abilities={
        "observation": {"full": Ability(information=(Information.BYTES_SENT, Information.RATES, Information.PATHS))}
    },
    policies=policies_of(
        "flowsched_gym.systems.auto.long_flows.policies",
        {
            "random": ("RandomSteering", "any queue, rate and path", ()),
            "ecmp": (
                "KeepPath",
                "the path that a hash has chosen, the lowest queue, no limit of rates",
                (Information.PATHS,),
            ),
            "least-loaded": (
                "LeastLoadedPath",
                "the path with the fewest long flows on its busier link, the lowest queue",
                (Information.ACTIVE_FLOWS, Information.PATHS),
            ),
            "least-crowded": (
                "LeastCrowdedPath",
                "the path with the fewest flows, long or short, on its busier link, the lowest queue",
                (Information.ACTIVE_FLOWS, Information.PATHS),
            ),
            "least-attained": (
                "LeastAttained",
                "that path, and a higher queue for long flows that have sent less",
                (Information.ACTIVE_FLOWS, Information.PATHS, Information.BYTES_SENT),
            ),
        },
        actions=(Action.QUEUE, Action.RATE, Action.PATH),
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
    ability=Ability((Action.THRESHOLDS,), (Information.FINISHED_FLOWS, Information.QUEUES)),
    trained=Ability(information=(Information.TRAFFIC,)),
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
                (Information.TRAFFIC,),
            ),
            "pias": (
                "PiasThresholds",
                "PIAS's sum-of-ratios rule, in closed form, for the sizes and the load of each cluster",
                (Information.TRAFFIC,),
            ),
            "mismatched": (
                "MismatchedThresholds",
                "the best thresholds for other sizes: data mining for web search, web search for all others",
                (Information.TRAFFIC,),
            ),
            "equal": ("EqualSteps", "equal steps on a logarithmic scale", ()),
        },
        actions=(Action.THRESHOLDS,),
    ),
)

SYSTEM: Final = SystemSpec(
    name="auto",
    title="thresholds of multi-level feedback queues, and priority, rate and path of long flows",
    paper="L. Chen, J. Lingys, K. Chen, F. Liu, AuTO: Scaling Deep Reinforcement Learning for Datacenter-Scale "
    "Automatic Traffic Optimization, SIGCOMM 2018",
    environments=(THRESHOLDS, LONG_FLOWS),
)
