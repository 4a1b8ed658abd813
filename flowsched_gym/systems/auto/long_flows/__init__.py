"""Priority, rate and path of long flows (AuTO's agent of long flows, lRLA)."""

from typing import Final

from flowsched_gym.systems.spec import EnvironmentSpec, PolicySpec

__all__ = ["LONG_FLOWS"]

POLICIES: Final = "flowsched_gym.systems.auto.long_flows.policies"

LONG_FLOWS: Final = EnvironmentSpec(
    id="flowsched/AuTOLongFlows-v0",
    description="queue, largest rate and path of long flows",
    entry_point="flowsched_gym.systems.auto.long_flows.env:AuTOLongFlowsEnv",
    vector_entry_point="flowsched_gym.systems.auto.long_flows.env:AuTOLongFlowsVectorEnv",
    config="flowsched_gym.systems.auto.long_flows.config:AuTOLongFlowsConfig",
    workloads=("auto-web-search", "auto-clusters", "auto-changing"),
    settings=({"workload": "auto-web-search", "flows": 2_000},),
    heuristic_kwargs={"observation": "full", "layout": "grouped"},
    policies=(
        PolicySpec(name="random", description="any queue, rate and path", target=f"{POLICIES}:RandomSteering"),
        PolicySpec(
            name="ecmp",
            description="the path that a hash has chosen, the lowest queue, no limit of rates",
            target=f"{POLICIES}:KeepPath",
        ),
        PolicySpec(
            name="least-loaded",
            description="the path with the fewest long flows on its busier link, the lowest queue",
            target=f"{POLICIES}:LeastLoadedPath",
        ),
        PolicySpec(
            name="least-attained",
            description="that path, and a higher queue for long flows that have sent less",
            target=f"{POLICIES}:LeastAttained",
        ),
    ),
)
"""What the registry knows of the environment."""
