"""Which path a new flow takes through a fat-tree (MERP, section 5)."""

from typing import Final

from flowsched_gym.systems.spec import EnvironmentSpec, PolicySpec

__all__ = ["ROUTE"]

ROUTE: Final = EnvironmentSpec(
    id="flowsched/MERPRoute-v0",
    description="which path a new flow takes through a fat-tree",
    entry_point="flowsched_gym.systems.merp.route.env:MERPRouteEnv",
    vector_entry_point="flowsched_gym.systems.merp.route.env:MERPRouteVectorEnv",
    config="flowsched_gym.systems.merp.route.config:MERPRouteConfig",
    workloads=("poisson-fat-tree", "poisson-fat-tree-failures"),
    settings=({"workload": "poisson-fat-tree"}, {"workload": "poisson-fat-tree-failures"}),
    policies=(
        PolicySpec(
            name="random",
            description="any path that is up",
            target="flowsched_gym.systems.merp.route.policies:RandomPath",
        ),
        PolicySpec(
            name="ecmp",
            description="equal-cost multi-path: a path that is up, by a hash",
            target="flowsched_gym.systems.merp.route.policies:HashedPath",
        ),
        PolicySpec(
            name="least-loaded",
            description="fewest bytes left on the most loaded link of the path",
            target="flowsched_gym.systems.merp.route.policies:LeastLoadedPath",
        ),
        PolicySpec(
            name="conga",
            description="least utilised path, any of these by a hash, chosen once",
            target="flowsched_gym.systems.merp.route.policies:CongaPath",
        ),
        PolicySpec(
            name="memr",
            description="smallest expansion ratio, then the largest rate to expect (MERP, Algorithms 4 to 6)",
            target="flowsched_gym.systems.merp.route.policies:MemrPath",
        ),
    ),
)
"""What the registry knows of the environment."""
