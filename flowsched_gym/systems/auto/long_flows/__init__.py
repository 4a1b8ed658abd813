"""Priority, rate and path of long flows (AuTO's agent of long flows, lRLA)."""

from typing import Final

from flowsched_gym.systems.spec import Ability, EnvironmentSpec, policies_of

__all__ = ["LONG_FLOWS"]

LONG_FLOWS: Final = EnvironmentSpec(
    id="flowsched/AuTOLongFlows-v0",
    description="queue, largest rate and path of long flows",
    entry_point="flowsched_gym.systems.auto.long_flows.env:AuTOLongFlowsEnv",
    vector_entry_point="flowsched_gym.systems.auto.long_flows.env:AuTOLongFlowsVectorEnv",
    config="flowsched_gym.systems.auto.long_flows.config:AuTOLongFlowsConfig",
    workloads=("auto-web-search", "auto-clusters", "auto-changing"),
    baselines=("ecmp", "least-loaded"),
    heuristic_kwargs={"observation": "full", "layout": "grouped"},
    ability=Ability(("queue", "rate", "path"), ("active flows", "finished flows")),
    abilities={"observation": {"full": Ability(information=("bytes sent", "rates", "paths"))}},
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
            "least-attained": (
                "LeastAttained",
                "that path, and a higher queue for long flows that have sent less",
                ("active flows", "paths", "bytes sent"),
            ),
        },
        actions=("queue", "rate", "path"),
    ),
)
"""What the registry knows of the environment."""
